"""Tests that a user's change is synced to disk when its call returns, and background work is not."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from copydesk.desk import Desk
from copydesk.model.draft import Action
from copydesk.model.requests import ChangeDraft
from copydesk.store import database
from copydesk.store.raw_sql import dbapi_connection
from desk_fixtures import NOW, URL_ONE, FakeWeb, create_source, entry, feed, list_drafts, open_desk_at

pytestmark = pytest.mark.sqlite("PostgreSQL syncs each commit")

FULL = 2
EVERY_HOUR = [{"dayOfWeek": day, "hour": hour, "minute": 0} for day in range(7) for hour in range(24)]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2)))
    async with open_desk_at(tmp_path, web) as desk:
        yield desk


@pytest.fixture
def sync_levels(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The value of `PRAGMA synchronous` at each commit that wrote something."""
    levels: list[int] = []
    run = database._in_transaction

    def record(connection: Connection, work: Callable[[Connection], Any]) -> Any:
        driver = dbapi_connection(connection)
        before = driver.total_changes
        result = run(connection, work)
        if driver.total_changes > before:
            levels.append(driver.execute("PRAGMA synchronous").fetchone()[0])
        return result

    monkeypatch.setattr(database, "_in_transaction", record)
    return levels


async def create_draft(desk: Desk, text: str = "The ferry sails again.") -> str:
    return (await desk.drafts.create({"text": text})).drafts[0].id


async def _undo(desk: Desk, draft_id: str) -> None:
    await desk.drafts.approve(draft_id)
    await desk.drafts.undo()


async def _redo(desk: Desk, draft_id: str) -> None:
    await _undo(desk, draft_id)
    await desk.drafts.redo()


async def _auto_schedule(desk: Desk, draft_id: str) -> None:
    await desk.drafts.approve(draft_id)
    await desk.schedule.set_slots(EVERY_HOUR)
    await desk.schedule.auto_schedule()


async def _schedule(desk: Desk, draft_id: str) -> None:
    await desk.drafts.approve(draft_id)
    await desk.drafts.schedule(draft_id, NOW + timedelta(days=1))


CHANGES: dict[str, Callable[[Desk, str], Awaitable[object]]] = {
    "approve": lambda desk, draft_id: desk.drafts.approve(draft_id),
    "reject": lambda desk, draft_id: desk.drafts.reject(draft_id, "No."),
    "edit": lambda desk, draft_id: desk.drafts.change(draft_id, {"text": "The ferry sails at noon."}),
    "bulk": lambda desk, draft_id: desk.drafts.bulk({"action": "approve", "ids": [draft_id]}),
    "bulk of all": lambda desk, draft_id: desk.drafts.bulk_all(Action.ARCHIVE, [draft_id], ChangeDraft()),
    "undo": _undo,
    "redo": _redo,
    "create": lambda desk, _: create_draft(desk, "Another text."),
    "generate": lambda desk, _: desk.drafts.create({"prompt": "Write about ferries."}),
    "schedule": _schedule,
    "auto-schedule": _auto_schedule,
    "slots": lambda desk, _: desk.schedule.set_slots(EVERY_HOUR),
    "source": lambda desk, _: create_source(desk, URL_ONE),
    "voice": lambda desk, _: desk.voice.update({"style": "dry"}),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_change_is_synced(desk: Desk, sync_levels: list[int], change: str) -> None:
    draft_id = await create_draft(desk)
    sync_levels.clear()

    await CHANGES[change](desk, draft_id)

    assert sync_levels
    assert set(sync_levels) == {FULL}


async def test_accepted_clock_is_synced(desk: Desk, sync_levels: list[int]) -> None:
    await desk.schedule.accept_clock()
    assert sync_levels[-1] == FULL


async def test_change_of_stories_is_synced(desk: Desk, sync_levels: list[int]) -> None:
    await create_source(desk, URL_ONE)
    await desk.pipeline.run()
    first, second = [draft.item_id for draft in await list_drafts(desk)]
    sync_levels.clear()

    await desk.stories.undo(await desk.stories.merge(first, second))
    await desk.stories.merge(first, second)
    await desk.stories.split([second])

    assert sync_levels == [FULL] * 4


async def test_run_is_not_synced(desk: Desk, sync_levels: list[int]) -> None:
    """A run commits once per source; what a power cut takes of it is fetched again."""
    await create_source(desk, URL_ONE)
    sync_levels.clear()

    await desk.pipeline.run()

    assert sync_levels
    assert FULL not in sync_levels
