"""Insert drafts with and without a scheduled time into a desk's database."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from copydesk.desk import Desk
from copydesk.model.schedule import Slot
from copydesk.store import tables
from store_fixtures import add_draft, add_item

MON, TUE, WED, THU, FRI, SAT, SUN = 1, 2, 3, 4, 5, 6, 0


def make_slot(day: int, hour: int, minute: int = 0) -> Slot:
    """Return a weekly slot."""
    return Slot(day_of_week=day, hour=hour, minute=minute)


async def insert_drafts(desk: Desk, count: int = 1, **values: Any) -> list[str]:
    """Insert drafts, approved unless `values` say otherwise; return their ids."""

    def add(conn: Connection, user_id: str) -> list[str]:
        item = add_item(conn, user_id, None)
        row = {
            "status": "approved",
            "origin": "direct",
            "source_type": "rss",
            "created_at": desk._context.clock(),
            **values,
        }
        return [add_draft(conn, user_id, item, **row) for _ in range(count)]

    return await desk._context.write(add)


async def insert_draft(desk: Desk, **values: Any) -> str:
    """Insert a draft; return its id."""
    (draft_id,) = await insert_drafts(desk, **values)
    return draft_id


async def insert_scheduled(desk: Desk, at: datetime, **values: Any) -> str:
    """Insert a draft scheduled for `at`; return its id."""
    return await insert_draft(desk, status="scheduled", scheduled_at=at, **values)


async def scheduled_times(desk: Desk) -> dict[str, datetime]:
    """Return the scheduled time of each draft that has one, by draft id."""
    draft = tables.draft.c

    def read(conn: Connection, user_id: str) -> dict[str, datetime]:
        rows = conn.execute(select(draft.id, draft.scheduled_at).where(draft.scheduled_at.is_not(None)))
        return {row.id: row.scheduled_at for row in rows}

    return await desk._context.read(read)


async def draft_status(desk: Desk, draft_id: str) -> str:
    """Return the draft's status."""
    return (await desk.drafts.get(draft_id)).status
