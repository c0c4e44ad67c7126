"""Drafts that no connected account would post; approved and due ones in groups that one account would help."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from copydesk.desk.context import DeskContext
from copydesk.desk.ids import shorten_ids
from copydesk.desk.platforms import Platforms
from copydesk.model.delivery import AccountQuestion, ConnectedAccount
from copydesk.model.draft import Format
from copydesk.model.ids import IdKind
from copydesk.posting.registry import platform_label
from copydesk.store import accounts, drafts, queue_window, schedule
from copydesk.store.database import Transaction
from copydesk.store.drafts import DraftTargets
from copydesk.text.formatting import plural

MAX_APPROVED = 1000
"""Approved drafts that are looked at, the newest ones: it is done after every change of the database."""


_MissingAccount = tuple[tuple[str, ...], Format | None]
"""The platforms and the format that an account is missing for; None for any format."""


class _Waiting(NamedTuple):
    """What waits to be posted: due drafts, oldest first, and approved ones, newest first."""

    connected: tuple[ConnectedAccount, ...]
    due: tuple[DraftTargets, ...]
    approved: tuple[DraftTargets, ...]


class _Group(NamedTuple):
    """Ids of drafts that wait for the same account."""

    due: list[str]
    approved: list[str]


async def list_without_account(ctx: DeskContext, draft_ids: Sequence[str]) -> tuple[str, ...]:
    """Return the ids of those drafts that no connected account would post; unknown ids are left out."""
    return await ctx.read(_find_without_account, draft_ids, ctx.platforms)


def _find_without_account(
    conn: Transaction, user_id: str, draft_ids: Sequence[str], platforms: Platforms
) -> tuple[str, ...]:
    connected = accounts.list_all(conn, user_id)
    targets = drafts.list_targets(conn, user_id, draft_ids)
    return tuple(
        draft.id for draft in targets if not platforms.select_targets(connected, draft.platforms, draft.format).accounts
    )


def count_missing_accounts(
    conn: Transaction, user_id: str, ctx: DeskContext, connected: tuple[ConnectedAccount, ...]
) -> int:
    """Return the number of questions that `list_missing_accounts` returns, without loading a draft."""
    # The kinds of drafts are enough, which the database finds faster than a thousand drafts are decoded.
    kinds = drafts.list_waiting_kinds(conn, user_id, ctx.clock(), MAX_APPROVED)
    return len(
        {
            _missing_account(connected, platforms, draft_format)
            for draft_format, platforms in kinds
            if not ctx.platforms.select_targets(connected, platforms, draft_format).accounts
        }
    )


async def list_missing_accounts(ctx: DeskContext) -> tuple[AccountQuestion, ...]:
    """Return a question for each account that is missing, with the draft that needs it first."""
    groups = _group(ctx, await ctx.read(_load_all_waiting, ctx.clock()))
    first_ids = [(group.due or group.approved)[0] for group in groups.values()]
    texts = {draft.id: draft.text for draft in await ctx.read(queue_window.by_ids, first_ids)}
    short_ids = await ctx.read(shorten_ids, IdKind.DRAFT, first_ids) if first_ids else {}
    return tuple(
        AccountQuestion(
            platforms=platforms,
            format=draft_format,
            due=len(group.due),
            approved=len(group.approved),
            draft_id=draft_id,
            text=texts[draft_id],
            known=_describe(platforms, draft_format, group),
            advice=_advice(platforms, short_ids[draft_id]),
        )
        for ((platforms, draft_format), group), draft_id in zip(groups.items(), first_ids, strict=True)
        # Deleted in the meantime.
        if draft_id in texts
    )


def _load_all_waiting(conn: Transaction, user_id: str, now: datetime) -> _Waiting:
    due = [DraftTargets(draft.id, draft.format, draft.platforms) for draft in schedule.list_due(conn, user_id, now)]
    return _Waiting(
        connected=accounts.list_all(conn, user_id),
        due=tuple(due),
        approved=drafts.list_approved_targets(conn, user_id, MAX_APPROVED),
    )


def _missing_account(
    connected: Sequence[ConnectedAccount], platforms: tuple[str, ...], draft_format: Format
) -> _MissingAccount:
    """Return what is missing for a draft that none of the accounts would post: the same one for all without any."""
    # The format matters only where any account will do, if it takes the format.
    return ((), None) if not connected else (platforms, None if platforms else draft_format)


def _group(ctx: DeskContext, waiting: _Waiting) -> dict[_MissingAccount, _Group]:
    """Return the drafts without an account by the account that is missing."""
    groups: dict[_MissingAccount, _Group] = {}
    has_account: dict[tuple[tuple[str, ...], Format], bool] = {}

    def find(draft: DraftTargets) -> _Group | None:
        kind = draft.platforms, draft.format
        if kind not in has_account:
            has_account[kind] = bool(ctx.platforms.select_targets(waiting.connected, *kind).accounts)
        if has_account[kind]:
            return None
        return groups.setdefault(_missing_account(waiting.connected, *kind), _Group([], []))

    for draft in waiting.due:
        if group := find(draft):
            group.due.append(draft.id)
    for draft in waiting.approved:
        if group := find(draft):
            group.approved.append(draft.id)
    return groups


def _describe(platforms: tuple[str, ...], format: Format | None, group: _Group) -> str:
    if platforms:
        missing = f"No account for {', '.join(map(platform_label, platforms))} is connected"
    else:
        missing = f"No connected account takes a {format}" if format else "No account is connected"
    due = plural(len(group.due), "due draft") if group.due else ""
    more = " or more" if len(group.approved) == MAX_APPROVED else ""
    approved = f"{plural(len(group.approved), 'approved draft')}{more}" if group.approved else ""
    return f"{missing}: {' and '.join(filter(None, (due, approved)))} cannot be posted."


def _advice(platforms: tuple[str, ...], short_id: str) -> str:
    if not platforms:
        return "Connect one: copydesk account connect bluesky"
    connect = f"Connect one: copydesk account connect {platforms[0].partition(':')[0]}"
    return f"{connect}. Post it elsewhere: copydesk draft post {short_id} --to NAME"
