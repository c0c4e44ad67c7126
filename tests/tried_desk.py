"""A real desk with experiments in every state, drafts that took part in them, and the console before it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, update

from copydesk.desk import Desk, open_desk
from copydesk.settings import load
from copydesk.store import tables
from copydesk.store.ids import new_id
from copydesk.tui.app import Console
from store_fixtures import add_draft, add_item
from tui_fixtures import NOW

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


def part(conn: Connection, user: str, experiment_id: str, variant: str, figures: Any, **values: Any) -> str:
    """A draft that took part; with figures it is live."""
    status = "posted" if figures is not None else values.pop("status", "rejected")
    item = add_item(conn, user, None)
    draft_id = add_draft(conn, user, item, experiment_id=experiment_id, variant_id=variant, status=status, **values)
    if figures is not None:
        record = {"id": new_id(NOW), "user_id": user, "draft_id": draft_id, "platform": "x", "format": "SHORT"}
        known = dict(zip(("impressions", "likes"), figures, strict=True))
        conn.execute(
            insert(tables.engagement).values(**record, **known, status="posted", retry_count=0, created_at=NOW)
        )
    return draft_id


def take_part(conn: Connection, user: str, experiment_id: str) -> None:
    """Twelve drafts of three ways, some of them live, of one of which nothing is reported."""
    stratum = {"user_id": user, "experiment_id": experiment_id, "stratum": "SHORT:"}
    conn.execute(insert(tables.experiment_turn).values(**stratum, next=12))
    live: tuple[tuple[str, Any], ...] = (
        *(("a", (1000, 21)), ("a", (840, 12)), ("a", (2210, 30))),
        *(("b", (1400, 52)), ("b", (910, 33)), ("c", (None, None))),
    )
    for variant, figures in live:
        part(conn, user, experiment_id, variant, figures)
    for variant in "abbc":
        part(conn, user, experiment_id, variant, None)


@asynccontextmanager
async def tried_desk(home: Path, *, full: bool = True) -> AsyncIterator[Desk]:
    """The desk in `home`; filled where it is new and `full`."""
    moments = {"now": NOW - timedelta(days=40)}
    filling = full and not (home / "copydesk.db").exists()

    def clock() -> datetime:
        return moments["now"] if filling else NOW

    async with open_desk(load({}, home), clock=clock) as desk:
        if filling:
            await _fill(desk, moments)
        filling = False
        yield desk


async def _fill(desk: Desk, moments: dict[str, datetime]) -> None:
    old = await desk.experiments.create(OLD)
    await desk.experiments.conclude(old.id)
    await desk.experiments.archive(old.id)
    done = await desk.experiments.create({**HOOK, "name": "Did asking help?"})
    moments["now"] = NOW - timedelta(days=20)
    await desk.experiments.conclude(done.id, "b")
    hashtags = await desk.experiments.create(HASHTAGS)
    moments["now"] = NOW - timedelta(days=2)
    await desk.experiments.create(HOOK)

    def took(conn: Connection, user: str) -> int:
        take_part(conn, user, hashtags.id)
        return conn.execute(update(tables.user).values(time_zone="Europe/Prague")).rowcount

    await desk.ground.write(took)


def tried_console(home: Path, **options: Any) -> Console:
    """The console before that desk."""
    return Console(lambda: tried_desk(home, **options), clock=lambda: NOW)
