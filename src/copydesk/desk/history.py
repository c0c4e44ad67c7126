"""What happened to a draft, from its beginning."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from copydesk.desk.ground import Ground
from copydesk.model.draft import Action
from copydesk.model.history import DraftEvent
from copydesk.store import changes, events


class History:
    """The story of each draft."""

    _ground: Ground

    async def history(self, draft_id: str) -> tuple[DraftEvent, ...]:
        """Every event of a draft, in order; NotFoundError where there is none of the user's with this id."""
        return await self._ground.read(_history, draft_id)

    async def reasons(self, limit: int = 9) -> tuple[str, ...]:
        """Why drafts were rejected lately, in the user's words, each once and the last first; at most `limit`."""
        return await self._ground.read(events.feedback, Action.REJECT.value, limit)


def _history(conn: Connection, user_id: str, draft_id: str) -> tuple[DraftEvent, ...]:
    changes.one_seen(conn, user_id, draft_id)
    every = events.of_draft(conn, user_id, draft_id)
    versions, gone = {event.rid: event.version for event in every}, events.taken_back(every)
    return tuple(
        DraftEvent(
            draft_id=draft_id,
            version=event.version,
            at=event.at,
            who=event.who,
            kind=event.kind,
            action=event.action,
            before=_values(event.before),
            after=_values(event.after),
            feedback=event.feedback,
            bulk_id=event.bulk_id,
            of_version=versions[event.of_rid] if event.of_rid is not None else None,
            undone=event.rid in gone,
        )
        for event in every
    )


def _values(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: changes.value_of(name, raw) for name, raw in columns.items()}
