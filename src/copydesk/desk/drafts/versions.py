"""Versions and events of a draft, and the differences between versions."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.history_text import DraftHistory, describe_event, lineage
from copydesk.errors import ConflictError
from copydesk.model.draft import Draft, Finding, ListedDraft
from copydesk.model.serialization import Struct
from copydesk.model.transitions import DraftEvent, EventKind
from copydesk.scheduling.time_text import format_time
from copydesk.store import draft_events, draft_queries, draft_updates, schedule
from copydesk.store.database import Transaction

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
    """The history of drafts."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    async def list_events(self, draft_id: str) -> tuple[DraftEvent, ...]:
        """Return every event of a draft in order. Raise NotFoundError."""
        return await self._ctx.read(_load_events, draft_id)

    async def describe(self, draft_id: str) -> DraftHistory:
        """Return the history of a draft in words. Raise NotFoundError."""
        versions = await self.list(draft_id)
        events = [event for version_id in lineage(versions, draft_id) for event in await self.list_events(version_id)]
        zone, now = await self._ctx.read(schedule.get_time_zone), self._ctx.clock()
        lines = [describe_event(event, lambda at: format_time(at, zone, now)) for event in events]
        return DraftHistory(versions=versions, events=tuple(events), lines=tuple(lines))

    async def list(self, draft_id: str) -> tuple[ListedDraft, ...]:
        """Return all versions of a draft, oldest first, given the id of any of them. Raise NotFoundError."""
        rows = await self._ctx.read(draft_queries.list_versions, draft_id)
        if not rows:
            raise draft_updates.draft_not_found(draft_id)
        return rows

    async def compare(self, old_id: str, new_id: str) -> Difference:
        """Implement `Drafts.compare`, which documents it."""
        old, new = await self._ctx.read(_load_pair, old_id, new_id)
        return await asyncio.to_thread(_compare, old, new)

    async def compare_edit(self, draft_id: str) -> Difference:
        """Implement `Drafts.compare_edit`, which documents it."""
        draft = await self._ctx.read(draft_queries.load, draft_id)
        events = await self.list_events(draft_id)
        # Undo and redo are events, too; the first text that a person changed is the one that was written.
        edits = [
            event.before
            for event in events
            if event.kind is EventKind.CHANGE and "text" in event.before and not event.undone
        ]
        if not edits or edits[0]["text"] == draft.text:
            raise ConflictError("The text was not edited.")
        # The first edit may have left the checks as they were, and a later one changed them.
        checks = next((before["checks"] for before in edits if "checks" in before), draft.checks)
        written = msgspec.structs.replace(draft, text=edits[0]["text"], checks=checks)
        return await asyncio.to_thread(_compare, written, draft)


def _load_events(conn: Transaction, user_id: str, draft_id: str) -> tuple[DraftEvent, ...]:
    # Raises NotFoundError; a draft without events would look the same as none.
    draft_updates.load_snapshot(conn, user_id, draft_id)
    rows = draft_events.list_by_draft(conn, user_id, draft_id)
    versions, undone_rids = {event.rid: event.version for event in rows}, draft_events.reverted_rids(rows)
    return tuple(
        DraftEvent(
            draft_id=draft_id,
            version=event.version,
            at=event.at,
            who=event.who,
            kind=event.kind,
            action=event.action,
            before=_decode_columns(event.before),
            after=_decode_columns(event.after),
            feedback=event.feedback,
            bulk_id=event.bulk_id,
            of_version=versions[event.of_rid] if event.of_rid is not None else None,
            undone=event.rid in undone_rids,
        )
        for event in rows
    )


def _decode_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: draft_updates.from_column_value(name, raw) for name, raw in columns.items()}


def _load_pair(conn: Transaction, user_id: str, old_id: str, new_id: str) -> tuple[Draft, Draft]:
    return draft_queries.load(conn, user_id, old_id), draft_queries.load(conn, user_id, new_id)


def _compare(old: Draft, new: Draft) -> Difference:
    from copydesk.drafting.diff import diff_checks, diff_texts  # noqa: PLC0415 - only needed here

    better, worse = diff_checks(old.checks, new.checks)
    return Difference(old=old.id, new=new.id, pieces=diff_texts(old.text, new.text), better=better, worse=worse)


def compare_texts(draft_id: str, old: str, new: str) -> Difference:
    """Return the differences between two texts of one draft, without those of the checks."""
    from copydesk.drafting.diff import diff_texts  # noqa: PLC0415 - as above

    return Difference(old=draft_id, new=draft_id, pieces=diff_texts(old, new), better=(), worse=())
