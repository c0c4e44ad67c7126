"""A real desk with experiments in every state and drafts that took part in them, and its console."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, update

from console_driver import NOW
from copydesk.desk import Desk, open_desk
from copydesk.settings import load
from copydesk.store import tables
from copydesk.store.ids import new_id
from copydesk.tui.app import Console
from store_fixtures import add_draft, add_item, database_variables

HASHTAGS = {
    "name": "How many hashtags",
    "parameter": "hashtags",
    "variants": [
        {"id": "a", "label": "none", "config": {"hashtags": 0}},
        {"id": "b", "label": "two", "config": {"hashtags": 2}},
        {"id": "c", "label": "five", "config": {"hashtags": 5}},
    ],
}
HOOK = {
    "name": "A question first",
    "parameter": "hook",
    "variants": [
        {"id": "a", "label": "plain", "config": {"hook": None}},
        {"id": "b", "label": "asks", "config": {"hook": "question"}},
    ],
}
LENGTHS = {
    "name": "Five lengths",
    "parameter": "length",
    "variants": [
        {"id": letter, "label": f"{length} characters", "config": {"length": length}}
        for letter, length in zip("abcde", (100, 150, 200, 250, 300), strict=True)
    ],
}
OLD = {**HOOK, "name": "Links in the first post", "parameter": "link"}
OLD["variants"] = [
    {"id": "a", "label": "with", "config": {"link": "always"}},
    {"id": "b", "label": "without", "config": {"link": "never"}},
]


def insert_participant(
    conn: Connection, user: str, experiment_id: str, variant: str, figures: Any, **values: Any
) -> str:
    """Insert a draft that took part, published if there are metrics; return its id."""
    status = "posted" if figures is not None else values.pop("status", "rejected")
    item_id = add_item(conn, user, None)
    draft_id = add_draft(conn, user, item_id, experiment_id=experiment_id, variant_id=variant, status=status, **values)
    if figures is not None:
        published, read = NOW - timedelta(days=9), NOW - timedelta(days=7)
        record = {"id": new_id(published), "user_id": user, "draft_id": draft_id, "platform": "x", "format": "SHORT"}
        metrics = dict(zip(("impressions", "likes"), figures, strict=True))
        conn.execute(
            insert(tables.engagement).values(**record, **metrics, status="posted", retry_count=0, created_at=published)
        )
        reading = {"user_id": user, "engagement_id": record["id"], "at": read, "by_hand": False, **metrics}
        conn.execute(insert(tables.engagement_reading).values(reading))
    return draft_id


def insert_participants(conn: Connection, user: str, experiment_id: str) -> None:
    """Insert twelve drafts of three variants, half of them published, one of these without metrics."""
    stratum = {"user_id": user, "experiment_id": experiment_id, "stratum": "SHORT:"}
    conn.execute(insert(tables.experiment_turn).values(**stratum, next=12))
    published: tuple[tuple[str, Any], ...] = (
        *(("a", (1000, 21)), ("a", (840, 12)), ("a", (2210, 30))),
        *(("b", (1400, 52)), ("b", (910, 33)), ("c", (None, None))),
    )
    for variant, figures in published:
        insert_participant(conn, user, experiment_id, variant, figures)
    for variant in "abbc":
        insert_participant(conn, user, experiment_id, variant, None)


@asynccontextmanager
async def open_experiments_desk(home: Path, *, full: bool = True) -> AsyncIterator[Desk]:
    """Open the desk in `home`; a new one is filled if `full`."""
    time = {"now": NOW - timedelta(days=40)}
    is_new = full and not (home / "copydesk.db").exists()

    def clock() -> datetime:
        return time["now"] if is_new else NOW

    async with open_desk(load(database_variables(home), home), clock=clock) as desk:
        if is_new:
            await _fill(desk, time)
        is_new = False
        yield desk


async def _fill(desk: Desk, time: dict[str, datetime]) -> None:
    archived = await desk.experiments.create(OLD)
    await desk.experiments.conclude(archived.id, reason="The platform changed.")
    await desk.experiments.archive(archived.id)
    concluded = await desk.experiments.create({**HOOK, "name": "Did asking help?"})
    time["now"] = NOW - timedelta(days=20)
    await desk.experiments.conclude(concluded.id, "b", "Asked often enough.")
    await desk.experiments.create(HOOK)
    hashtags = await desk.experiments.create(HASHTAGS)

    def add_participants(conn: Connection, user: str) -> int:
        insert_participants(conn, user, hashtags.id)
        return conn.execute(update(tables.user).values(time_zone="Europe/Prague")).rowcount

    await desk._context.write(add_participants)


def make_experiments_console(home: Path, **options: Any) -> Console:
    """Return the console of that desk."""
    return Console(lambda: open_experiments_desk(home, **options), clock=lambda: NOW)
