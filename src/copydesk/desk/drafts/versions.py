"""Versions of a draft, and the differences between them."""

import asyncio
from typing import TYPE_CHECKING

from copydesk.desk.context import DeskContext
from copydesk.model.draft import Draft, Finding, ListedDraft
from copydesk.model.serialization import Struct
from copydesk.store import draft_queries, draft_updates
from copydesk.store.transaction import Transaction

if TYPE_CHECKING:
    from copydesk.drafting.diff import Piece


class Difference(Struct, frozen=True):
    """Differences between two drafts."""

    old: str
    new: str
    """Draft ids."""
    pieces: tuple["Piece", ...]
    """Word diff of both texts: equal, removed and added pieces in order."""
    better: tuple[Finding, ...]
    """Findings on the old draft that are absent or less severe on the new one; `worse` is the reverse."""
    worse: tuple[Finding, ...]


class Versions:
    """Version history of drafts."""

    _ctx: DeskContext

    async def list_versions(self, draft_id: str) -> tuple[ListedDraft, ...]:
        """Return all versions of a draft, oldest first, given the id of any of them. Raise NotFoundError."""
        rows = await self._ctx.read(draft_queries.list_versions, draft_id)
        if not rows:
            raise draft_updates.draft_not_found(draft_id)
        return rows

    async def compare(self, old_id: str, new_id: str) -> Difference:
        """Return the differences between two drafts, usually versions of the same one. Raise NotFoundError."""
        old, new = await self._ctx.read(_load_pair, old_id, new_id)
        return await asyncio.to_thread(_compare, old, new)


def _load_pair(conn: Transaction, user_id: str, old_id: str, new_id: str) -> tuple[Draft, Draft]:
    return _get_draft(conn, user_id, old_id), _get_draft(conn, user_id, new_id)


def _get_draft(conn: Transaction, user_id: str, draft_id: str) -> Draft:
    draft = draft_queries.get(conn, user_id, draft_id)
    if draft is None:
        raise draft_updates.draft_not_found(draft_id)
    return draft


def _compare(old: Draft, new: Draft) -> Difference:
    from copydesk.drafting.diff import diff_checks, diff_texts  # noqa: PLC0415 - only needed here

    better, worse = diff_checks(old.checks, new.checks)
    return Difference(old=old.id, new=new.id, pieces=diff_texts(old.text, new.text), better=better, worse=worse)
