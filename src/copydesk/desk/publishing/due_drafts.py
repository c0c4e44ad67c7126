"""Process drafts whose time has come: dispatch them, mark them as missed, or move them after a time zone change."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from copydesk.desk.clock_guard import ClockGuard
from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.approvals import keep_lacking
from copydesk.desk.operation import operation
from copydesk.desk.platforms import Platforms
from copydesk.desk.publishing.draft_deliveries import create_deliveries, settle_draft
from copydesk.desk.publishing.grace import grace_periods
from copydesk.desk.publishing.send_marks import Rollback, SendMarks
from copydesk.errors import StoreError
from copydesk.model.delivery import ConnectedAccount
from copydesk.model.draft import Format, Status
from copydesk.model.job import DueDraftsCheck
from copydesk.model.transitions import SYSTEM, EventKind, SystemEvent
from copydesk.scheduling.due import MIN_POST_INTERVAL, DueDraft, is_missed, select_due
from copydesk.scheduling.wall_time import WallTime, moved_instant
from copydesk.store import accounts, deliveries, draft_updates, drafts, schedule
from copydesk.store.database import Transaction
from copydesk.store.draft_updates import DraftSnapshot, DraftUpdate
from copydesk.store.schedule import ScheduledDraft
from copydesk.text.formatting import format_duration

T = TypeVar("T")
NOT_APPROVED_MESSAGE = "Too few reviewers had approved it when it was due; nothing was sent."
NO_ACCOUNT_MESSAGE = "No suitable account was connected when it was due; nothing was sent."
MAY_BE_POSTED_MESSAGE = (
    "The database was restored or copied, so it may already be posted; posting it checks the account first."
)
ZONE_CHANGE_ACTION = "moved"
"""Action name in the history of a draft whose time moved with the rules of its time zone."""
WRITE_BATCH_SIZE = 100
READ_BATCH_SIZE = 1000


class DueDrafts:
    """Due drafts of one desk. Nothing is dispatched or marked as missed while the wall clock is in doubt."""

    def __init__(self, ctx: DeskContext, clock_guard: ClockGuard) -> None:
        self._ctx = ctx
        self._clock = clock_guard
        self._marks = SendMarks(ctx)

    @operation
    async def dispatch_due(self) -> tuple[DueDraft, ...]:
        """Move due drafts to POSTING and create their deliveries; return them, oldest first. The caller sends them.

        At most one draft per account every five minutes (`MIN_POST_INTERVAL`), so that not everything goes out at once
        after the machine was off. Skips drafts that are late by more than their grace period or have no connected
        account.
        """
        if await self._clock.check():
            return ()
        now = self._ctx.clock()
        sendable = await self._select_sendable(await self._load_due_drafts(now), now)
        dispatched = await self._apply_in_batches(
            sendable, lambda conn, user_id, draft: _dispatch(conn, user_id, draft, self._ctx.platforms, now)
        )
        return tuple(dispatched)

    @operation
    async def mark_missed(self) -> tuple[str, ...]:
        """Mark drafts that are late by more than their grace period as missed; return their ids, oldest first.

        `Posting.give_up_late` does the same for deliveries.
        """
        if await self._clock.check():
            return ()
        now = self._ctx.clock()
        late = [
            draft
            for draft in await self._load_due_drafts(now)
            if is_missed(draft.at, draft.format, now, self._grace_periods)
        ]
        # Reads the keyring, which may be slow or locked: only where the message depends on it.
        rollback = await self._marks.find_rollback() if late else None
        missed = await self._apply_in_batches(
            late, lambda conn, user_id, draft: self._mark_missed(conn, user_id, draft, now, rollback)
        )
        return tuple(draft.draft_id for draft in missed)

    @operation
    async def check(self) -> DueDraftsCheck:
        """Return which due drafts wait for an account, and if there are others that `dispatch_due` would start now."""
        now = self._ctx.clock()
        due = await self._load_due_drafts(now)
        waiting = tuple(
            draft.draft_id
            for draft in due
            if not draft.accounts
            and not draft.lacks_approvals
            and not is_missed(draft.at, draft.format, now, self._grace_periods)
        )
        can_dispatch = bool(await self._select_sendable(due, now))
        return DueDraftsCheck(can_dispatch=can_dispatch, waiting_for_account=waiting)

    @operation
    async def apply_zone_changes(self) -> tuple[str, ...]:
        """Move scheduled drafts whose UTC time changed with the time zone database; return their ids.

        The wall time that the user chose stays the same.
        """
        now = self._ctx.clock()
        moved_ids: list[str] = []
        after = now, ""
        while page := await self._ctx.read(schedule.list_by_wall_clock, after, READ_BATCH_SIZE):
            # Continue from a position, not an offset: moved drafts change their index.
            after = page[-1].at, page[-1].id
            # Only a few drafts move when the rules of a zone change, so the others cost one comparison and no write.
            shifted = [(draft, at) for draft in page if (at := _new_time(draft)) is not None]
            saved = await self._apply_in_batches(
                shifted, lambda conn, user_id, draft: _move(conn, user_id, *draft, now)
            )
            moved_ids += [draft.id for draft, _ in saved]
        return tuple(moved_ids)

    @property
    def _grace_periods(self) -> Mapping[Format, timedelta]:
        return grace_periods(self._ctx.settings.schedule)

    async def _select_sendable(self, due: Sequence[DueDraft], now: datetime) -> tuple[DueDraft, ...]:
        """Return those of the due drafts that may be dispatched now, oldest first."""
        # A draft without an account is not marked as missed before its grace period ends: the user may connect one.
        with_account = [draft for draft in due if draft.accounts]
        if not with_account:
            return ()
        # Read after the due drafts: a draft that another process dispatches in between is then in both results and
        # blocks its account, instead of being in neither.
        last_sent = await self._ctx.read(
            deliveries.last_sent_by_account, now - MIN_POST_INTERVAL, now + MIN_POST_INTERVAL
        )
        return select_due(with_account, last_sent, now, self._grace_periods)

    async def _load_due_drafts(self, now: datetime) -> list[DueDraft]:
        """Return the drafts whose time has come, each with the ids of its accounts; none if it lacks approvals."""
        connected, scheduled = await self._ctx.read(_load_due, now)
        targets = [self._ctx.platforms.select_targets(connected, draft.platforms, draft.format) for draft in scheduled]
        # Only of drafts for accounts that ask for more than one: usually none does.
        demanding = {
            draft.id: selected.approvals
            for draft, selected in zip(scheduled, targets, strict=True)
            if selected.approvals > 1
        }
        lacking = await self._ctx.read(keep_lacking, demanding) if demanding else {}
        return [
            DueDraft(
                draft_id=draft.id,
                format=draft.format,
                at=draft.at,
                accounts=() if draft.id in lacking else tuple(account.id for account in selected.accounts),
                lacks_approvals=draft.id in lacking,
            )
            for draft, selected in zip(scheduled, targets, strict=True)
        ]

    def _mark_missed(
        self, conn: Transaction, user_id: str, draft: DueDraft, now: datetime, rollback: Rollback | None
    ) -> None:
        consequence = MAY_BE_POSTED_MESSAGE if rollback and draft.at <= rollback.until else "Nothing was sent."
        message = f"Missed: more than {format_duration(self._grace_periods[draft.format])} late. {consequence}"
        if draft.lacks_approvals:
            message = NOT_APPROVED_MESSAGE
        elif not draft.accounts:
            message = NO_ACCOUNT_MESSAGE
        snapshot = _check_still_scheduled(conn, user_id, draft.draft_id, draft.at)
        draft_updates.apply_system_event(conn, user_id, snapshot, SystemEvent.MISSED, {"last_error": message}, now)

    async def _apply_in_batches(self, values: Sequence[T], work: Callable[[Transaction, str, T], None]) -> list[T]:
        """Run `work` for each value in its own transaction; return the values that succeeded.

        Values that fail were changed by someone else since they were read. Raise StoreError if the database fails.
        """
        succeeded: list[T] = []
        for start in range(0, len(values), WRITE_BATCH_SIZE):
            batch = values[start : start + WRITE_BATCH_SIZE]
            results = await self._ctx.write_batch(work, batch)
            succeeded += [value for value, error in zip(batch, results, strict=True) if error is None]
            # The database itself failed, so the remaining batches would fail too.
            if isinstance(results[-1], StoreError):
                raise results[-1]
        return succeeded


def _load_due(
    conn: Transaction, user_id: str, now: datetime
) -> tuple[tuple[ConnectedAccount, ...], tuple[ScheduledDraft, ...]]:
    return accounts.list_all(conn, user_id), schedule.list_due(conn, user_id, now)


def _dispatch(conn: Transaction, user_id: str, due: DueDraft, platforms: Platforms, now: datetime) -> None:
    snapshot = _check_still_scheduled(conn, user_id, due.draft_id, due.at)
    (draft,) = drafts.list_targets(conn, user_id, [due.draft_id])
    targets = platforms.select_targets(accounts.list_all(conn, user_id), draft.platforms, draft.format)
    is_changed = tuple(account.id for account in targets.accounts) != due.accounts
    # Accounts were connected or removed since, or the draft edited after it was approved: the next tick decides anew.
    if is_changed or keep_lacking(conn, user_id, {due.draft_id: targets.approvals}):
        raise draft_updates.version_conflict(snapshot)
    draft_updates.apply_system_event(conn, user_id, snapshot, SystemEvent.POSTING_STARTED, {"last_error": None}, now)
    if not create_deliveries(conn, user_id, due.draft_id, targets.accounts, due.at, now):
        settle_draft(conn, user_id, due.draft_id, now)


def _new_time(draft: ScheduledDraft) -> datetime | None:
    if draft.wall is None or draft.zone is None:
        return None
    return moved_instant(WallTime(wall=draft.wall, zone=draft.zone), draft.at)


def _move(conn: Transaction, user_id: str, draft: ScheduledDraft, at: datetime, now: datetime) -> None:
    snapshot = _check_still_scheduled(conn, user_id, draft.id, draft.at)
    after = draft_updates.to_column_values({"scheduled_at": at})
    moved = DraftUpdate(kind=EventKind.PERMANENT, action=ZONE_CHANGE_ACTION, after=after, at=now, actor=SYSTEM)
    draft_updates.apply_update(conn, user_id, snapshot, moved)


def _check_still_scheduled(conn: Transaction, user_id: str, draft_id: str, at: datetime) -> DraftSnapshot:
    """Return the draft, still scheduled for `at`. Raise ConflictError if the user changed it first."""
    snapshot = draft_updates.load_snapshot(conn, user_id, draft_id)
    # The time counts as well: a draft that was rescheduled is due at another time.
    if snapshot.status is not Status.SCHEDULED or snapshot.value("scheduled_at") != at:
        raise draft_updates.version_conflict(snapshot)
    return snapshot
