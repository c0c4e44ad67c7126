"""The event history of a draft."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from copydesk.desk.ground import DeskContext
from copydesk.model.draft import Action
from copydesk.model.history import DraftEvent
from copydesk.store import changes, events


class DraftHistory:
    """Event queries of `Drafts`."""

    _ctx: DeskContext

    async def history(self, draft_id: str) -> tuple[DraftEvent, ...]:
        """Return every event of a draft in order. Raise NotFoundError if the user has none with this id."""
        return await self._ctx.read(_load_history, draft_id)

    async def rejection_reasons(self, limit: int = 9) -> tuple[str, ...]:
        """Return the distinct feedback texts of the latest rejections, newest first, at most `limit`."""
        return await self._ctx.read(events.list_feedback, Action.REJECT.value, limit)


def _load_history(conn: Connection, user_id: str, draft_id: str) -> tuple[DraftEvent, ...]:
    # Raises NotFoundError; a draft without events would look the same as none.
    changes.load_snapshot(conn, user_id, draft_id)
    rows = events.list_by_draft(conn, user_id, draft_id)
    versions, undone_rids = {event.rid: event.version for event in rows}, events.reverted_rids(rows)
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
    return {name: changes.from_column_value(name, raw) for name, raw in columns.items()}
