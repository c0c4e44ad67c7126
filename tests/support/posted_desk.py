"""A real desk with published posts and a fixed clock, and its console."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert

from console_driver import NOW, TEXTS
from copydesk.desk import Desk, open_desk
from copydesk.model.delivery import Delivery, DeliveryState, StepResult
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.settings import load
from copydesk.store import tables
from copydesk.store.ids import new_id
from copydesk.tui.app import Console
from store_fixtures import add_draft, add_item, database_variables

ZONE = "Europe/Prague"
# Platform, days and hours ago, format, impressions, likes, replies, reposts, clicks.
POSTS: tuple[tuple[Any, ...], ...] = (
    ("x", 1, 2, "SHORT", 4120, 96, 11, 24, 61),
    ("x", 3, 26, "THREAD", 2210, 40, 9, 7, 18),
    ("x", 5, 1, "SHORT", 1875, 12, 0, 3, 4),
    ("linkedin", 2, 3, "SHORT", None, None, None, None, None),
    ("bluesky", 2, 2, "SHORT", None, 31, 4, 6, None),
    ("bluesky", 9, 5, "THREAD", None, 12, 1, 2, None),
    ("mastodon", 4, 1, "SHORT", None, 18, 2, 9, None),
    ("x", 12, 2, "SHORT", 3300, 55, 4, 9, 20),
    ("x", 16, 20, "SHORT", 940, 2, 0, 0, 1),
    ("threads", 11, 4, "SHORT", 720, 14, 3, 1, None),
    ("x", 22, 3, "BLOG", 1210, 33, 6, 5, 40),
    ("x", 40, 2, "SHORT", 2600, 44, 3, 5, 17),
    ("x", 76, 6, "THREAD", 5100, 160, 21, 33, 88),
    ("x", 200, 1, "SHORT", 800, 9, 1, 0, 2),
)
METRICS = ("impressions", "likes", "replies", "reposts", "clicks")


def insert_post(conn: Connection, user: str, post: tuple[Any, ...], text: str = TEXTS[0]) -> str:
    """Insert a published post; return the id of its record."""
    platform, days, hours, draft_format, *values = post
    at = NOW - timedelta(days=days, hours=hours)
    draft_id = add_draft(
        conn, user, add_item(conn, user, None), format=draft_format, status="posted", posted_at=at, text=text
    )
    record_id = new_id(at)
    metrics = dict(zip(METRICS, values, strict=True))
    record = {
        "id": record_id,
        "user_id": user,
        "draft_id": draft_id,
        "platform": platform,
        "account": "me",
        "format": draft_format,
    }
    measured = {"measured_at": NOW - timedelta(hours=2)} if any(value is not None for value in values) else {}
    conn.execute(
        insert(tables.engagement).values(**record, **metrics, **measured, status="posted", retry_count=0, created_at=at)
    )
    progress = Delivery(
        state=DeliveryState.SENT, results=(StepResult(ids=("1",), urls=(f"https://{platform}.example/{days}",)),)
    )
    delivery = {
        "state": DeliveryState.SENT,
        "due_at": at,
        "sent_at": at,
        "seed": record_id,
        "digest": record_id,
        "progress": progress,
    }
    conn.execute(insert(tables.delivery).values(id=record_id, user_id=user, draft_id=draft_id, **delivery))
    return record_id


def insert_posts(conn: Connection, user: str) -> None:
    """Insert all of POSTS."""
    for index, post in enumerate(POSTS):
        insert_post(conn, user, post, TEXTS[index % len(TEXTS)])


@asynccontextmanager
async def open_posted_desk(
    home: Path,
    fill: Callable[[Connection, str], object] | None = insert_posts,
    *,
    clock: Callable[[], datetime] = lambda: NOW,
    server: FakeServer | None = None,
) -> AsyncIterator[Desk]:
    """Open the desk in `home`; a new one is filled."""
    platforms = {"fake": FakePlatform(server or FakeServer())}
    async with open_desk(load(database_variables(home), home), clock=clock, platforms=platforms) as desk:
        if not await desk.engagement.top_posts():
            await desk.schedule.set_zone(ZONE)
            if fill is not None:
                await desk._context.write(lambda conn, user: (fill(conn, user), 0)[1])
        yield desk


def make_posted_console(home: Path, **options: Any) -> Console:
    """Return the console of that desk."""
    return Console(lambda: open_posted_desk(home, **options), clock=lambda: NOW)
