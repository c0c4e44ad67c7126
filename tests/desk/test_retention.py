"""Tests for the deletion of old data: what goes, what stays, and that nothing comes back."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from copydesk.desk import Desk, open_desk
from copydesk.desk import retention as retention_module
from copydesk.drafting.fake_writer import FakeWriter
from copydesk.errors import ConflictError, StoreFullError
from copydesk.images.storage import save
from copydesk.model.draft import Status
from copydesk.model.job import Pruned
from desk_fixtures import (
    URL_ONE,
    FakeWeb,
    Watch,
    create_source,
    entry,
    execute_sql,
    feed,
    integrity_errors,
    open_desk_at,
    query_db,
    settings_at,
)
from draft_consistency import insert_drafts
from image_samples import drawing, photo, store_image

DAYS_91 = timedelta(days=91)
ENTRIES = (entry(1), entry(2, hours=60), entry(3, hours=500))
"""One that becomes a draft, and two that are too old for that."""


async def run_once(desk: Desk, web: FakeWeb) -> None:
    web.put(URL_ONE, feed(*ENTRIES))
    await create_source(desk, URL_ONE)
    await desk.pipeline.run()


def texts(home: Path) -> list[tuple[object, ...]]:
    """Return the number of drafts of each item, and 1 if it still has its text."""
    query = (
        "SELECT (SELECT count(*) FROM draft WHERE item_id = item.id), (text || summary) <> '' FROM item ORDER BY rid"
    )
    return query_db(home, query)


async def test_old_items_without_draft_lose_their_content(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch) as desk:
        await run_once(desk, web)
        before = sorted(texts(tmp_path))
        assert before == [(0, 1), (0, 1), (1, 1)]
        assert (await desk.retention.prune()).items == 0
        watch.now += DAYS_91

        assert (await desk.retention.prune()).items == 2

        assert sorted(texts(tmp_path)) == [(0, 0), (0, 0), (1, 1)]
        assert query_db(tmp_path, "SELECT count(*) FROM item WHERE title = '' OR ident = ''") == [(0,)]
        assert (await desk.retention.prune()).items == 0


async def test_cleared_item_does_not_come_back(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch) as desk:
        await run_once(desk, web)
        watch.now += DAYS_91
        await desk.retention.prune()
        web.put(URL_ONE, feed(*ENTRIES), etag=False)

        run = await desk.pipeline.run()

        assert (run.stats.items_new, run.stats.drafts_created) == (0, 0)
        assert query_db(tmp_path, "SELECT count(*) FROM item") == [(3,)]


async def test_zero_keeps_everything(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch, RETENTION__ITEMS_DAYS="0") as desk:
        await run_once(desk, web)
        watch.now += DAYS_91
        assert (await desk.retention.prune()).items == 0


async def test_pruning_goes_in_small_transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    web, watch = FakeWeb(), Watch()
    monkeypatch.setattr(retention_module, "SCAN_SIZE", 2)
    monkeypatch.setattr(retention_module, "BATCH_SIZE", 1)
    async with open_desk_at(tmp_path, web, watch) as desk:
        await run_once(desk, web)
        execute_sql(tmp_path, "DELETE FROM draft")
        watch.now += DAYS_91
        assert (await desk.retention.prune()).items == 3


async def test_items_that_rules_may_reopen_keep_their_content(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    limits = {"RETENTION__ITEMS_DAYS": "1", "PIPELINE__MAX_AGE_HOURS": "2400"}
    async with open_desk_at(tmp_path, web, watch, **limits) as desk:
        await run_once(desk, web)
        execute_sql(tmp_path, "DELETE FROM draft")
        watch.now += timedelta(days=10)
        assert (await desk.retention.prune()).items == 0
        watch.now += DAYS_91
        execute_sql(tmp_path, "UPDATE item SET state = 'new' WHERE rid = 1")  # it waits for a run
        assert (await desk.retention.prune()).items == 2


def stop_after_one(write: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
    """Return `write` that is cancelled at its second call."""
    calls: list[object] = []

    async def write_once(*args: object) -> object:
        calls.append(args)
        if len(calls) > 1:
            raise asyncio.CancelledError
        return await write(*args)

    return write_once


async def test_killed_in_the_middle_the_next_call_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    web, watch = FakeWeb(), Watch()
    monkeypatch.setattr(retention_module, "BATCH_SIZE", 1)
    async with open_desk_at(tmp_path, web, watch) as desk:
        await run_once(desk, web)
        execute_sql(tmp_path, "DELETE FROM draft")
        watch.now += DAYS_91
        writing = desk._context.write
        monkeypatch.setattr(desk._context, "write", stop_after_one(writing))
        with pytest.raises(asyncio.CancelledError):
            await desk.retention.prune()
        monkeypatch.setattr(desk._context, "write", writing)
        assert sum(has_text for _, has_text in texts(tmp_path)) == 2  # type: ignore[misc]
        assert (await desk.retention.prune()).items == 2


async def test_old_runs_leave_the_list_and_the_totals(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch, RETENTION__RUNS_DAYS="1") as desk:
        await run_once(desk, web)
        await desk.pipeline.run()
        watch.now += timedelta(days=20)
        web.disconnect(URL_ONE)
        await desk.pipeline.run()
        # Never below the 31 days that the statistics report.
        assert (await desk.retention.prune()).runs == 0
        watch.now += timedelta(days=20)
        assert (await desk.retention.prune()).runs == 2

        (run,) = (await desk.pipeline.list()).items
        statistics = await desk.pipeline.statistics()
        assert (statistics.total_runs, statistics.success_rate) == (1, 0)
        assert (statistics.average_items_per_run, statistics.average_duration) == (0, run.duration)
        assert [error.count for error in statistics.top_errors] == [1]
        # A draft outlives its run, and the last run is kept.
        assert query_db(tmp_path, "SELECT count(*) FROM draft") == [(1,)]
        watch.now += timedelta(days=900)
        assert (await desk.retention.prune()).runs == 0
    assert integrity_errors(tmp_path) == []


async def test_last_reading_of_each_post_is_kept(tmp_path: Path) -> None:
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        first, second = await insert_drafts(desk, ["approved", "approved"])
        for likes in (1, 2, 3):
            await desk.engagement.record({"draftId": first, "platform": "x", "likes": likes})
            watch.now += timedelta(days=1)
        await desk.engagement.record({"draftId": second, "platform": "x", "likes": 7})
        before = await desk.engagement.summary()
        watch.now += timedelta(days=370)

        assert (await desk.retention.prune()).readings == 2

        assert query_db(tmp_path, "SELECT likes FROM engagement_reading ORDER BY rid") == [(3,), (7,)]
        assert await desk.engagement.summary() == before


async def test_undone_changes_leave_the_history(tmp_path: Path) -> None:
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        edited, rejected = await insert_drafts(desk, ["pending_review", "pending_review"])
        await desk.drafts.change(edited, {"text": "One."})
        await desk.drafts.change(edited, {"text": "Two."})
        await desk.drafts.undo(edited)
        await desk.drafts.change(rejected, {"action": "reject"})
        await desk.drafts.undo(rejected)
        watch.now += DAYS_91
        await desk.drafts.change(edited, {"action": "approve"})

        assert (await desk.retention.prune()).undone == 4

        assert [event.action for event in await desk.drafts.history(edited)] == ["create", "edit", "approve"]
        with pytest.raises(ConflictError, match="Nothing to redo"):
            await desk.drafts.redo(rejected)
        await desk.drafts.undo(edited)
        await desk.drafts.undo(edited)
        assert (await desk.drafts.get(edited)).text.startswith("The ferry")
        await desk.drafts.redo(edited)


async def test_old_failed_regeneration_can_be_redone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, writer = Watch(), FakeWriter()
    writer.fail("Offline.")
    monkeypatch.setattr("copydesk.drafting.writer.get_writer", lambda: writer)
    async with open_desk_at(tmp_path, clock=watch) as desk:
        (draft_id,) = await insert_drafts(desk, ["pending_review"])
        await desk.drafts.change(draft_id, {"text": "One."})
        await desk.drafts.undo(draft_id)
        await desk.drafts.regenerate(draft_id)
        await desk.generation.drain()
        await desk.drafts.undo(draft_id)
        watch.now += DAYS_91

        assert (await desk.retention.prune()).undone == 2

        await desk.drafts.redo(draft_id)
        assert (await desk.drafts.get(draft_id)).status is Status.GENERATION_FAILED


async def test_redo_planned_before_the_deletion_conflicts(tmp_path: Path) -> None:
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        (draft_id,) = await insert_drafts(desk, ["pending_review"])
        await desk.drafts.change(draft_id, {"text": "One."})
        await desk.drafts.undo(draft_id)
        watch.now += DAYS_91
        writing = desk._context.write_groups

        async def prune_first(*args: object) -> object:
            await desk.retention.prune()
            return await writing(*args)  # type: ignore[arg-type]

        desk._context.write_groups = prune_first  # type: ignore[method-assign,assignment]
        with pytest.raises(ConflictError, match="changed in the meantime"):
            await desk.drafts.redo(draft_id)


def age(file: Path, days: float, now: datetime) -> None:
    """Set the time at which a file was last used."""
    seconds = (now - timedelta(days=days)).timestamp()
    os.utime(file, (seconds, seconds))


async def test_images_of_no_draft_are_deleted(tmp_path: Path) -> None:
    watch, folder = Watch(), settings_at(tmp_path).images_folder
    unused, young = (save(folder, content) for content in (photo(9, 9), drawing()))
    async with open_desk(settings_at(tmp_path), user="anna", clock=watch) as desk:
        used = await store_image(desk, photo(8, 8))
        await desk.drafts.create({"text": "With an image.", "images": [{"url": used, "source": "UPLOAD"}]})
    for file in folder.iterdir():
        age(file, 31, watch.now)
    age(folder / young.rpartition("/")[2], 29, watch.now)
    (folder / f".{'0' * 64}.01234567").write_bytes(b"left behind")
    age(folder / f".{'0' * 64}.01234567", 31, watch.now)
    (folder / "notes.txt").write_text("The user's own.")
    age(folder / "notes.txt", 99, watch.now)

    async with open_desk_at(tmp_path, clock=watch) as desk:
        assert (await desk.retention.prune()).images == 1

    assert {file.name for file in folder.iterdir()} == {used.rpartition("/")[2], young.rpartition("/")[2], "notes.txt"}
    assert unused not in {used, young}


async def test_image_attached_again_is_young(tmp_path: Path) -> None:
    watch, folder = Watch(), settings_at(tmp_path).images_folder
    async with open_desk_at(tmp_path, clock=watch) as desk:
        attached, given, kept = [await store_image(desk, content) for content in (photo(8, 8), photo(9, 9), drawing())]
        draft = await desk.drafts.create({"text": "One.", "images": [{"url": kept, "source": "UPLOAD"}]})
        for file in folder.iterdir():
            age(file, 31, watch.now)
        assert (await desk.retention.prune(), len(list(folder.iterdir()))) == (
            Pruned(items=0, runs=0, readings=0, undone=0, images=2, idempotency_keys=0, events=0),
            1,
        )
        save(folder, photo(8, 8)), save(folder, photo(9, 9))
        for file in folder.iterdir():
            age(file, 31, watch.now)
        # Stored again, named by a new draft, and named by a draft until now.
        assert save(folder, photo(8, 8)) == attached
        await desk.drafts.create({"text": "Two.", "images": [{"url": given, "source": "UPLOAD"}]})
        await desk.retention.prune()
        execute_sql(tmp_path, "DELETE FROM draft_image")
        assert (await desk.retention.prune()).images == 0
        assert len(list(folder.iterdir())) == 3
        assert draft.drafts


@pytest.mark.sqlite("space of the file")
async def test_free_space_returns_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention_module, "FREE_PAGES", 10)
    monkeypatch.setattr(retention_module, "PAGES_PER_STEP", 50)
    file = tmp_path / "copydesk.db"
    async with open_desk_at(tmp_path) as desk:
        fill_and_empty(tmp_path)
        await desk.retention.prune()
    assert query_db(tmp_path, "PRAGMA freelist_count") <= [(10,)]
    assert file.stat().st_size < 1_000_000
    assert integrity_errors(tmp_path) == []


@pytest.mark.sqlite("space of the file")
async def test_older_database_is_compacted_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention_module, "FREE_PAGES", 10)
    async with open_desk_at(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / "copydesk.db")) as connection:
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("VACUUM")
    async with open_desk_at(tmp_path) as desk:
        fill_and_empty(tmp_path)
        await desk.retention.prune()
        assert query_db(tmp_path, "PRAGMA freelist_count") > [(500,)]
        await insert_drafts(desk, ["approved"])
        await desk.retention.compact()
        assert query_db(tmp_path, "PRAGMA freelist_count") == [(0,)]
        assert len((await desk.drafts.list()).items) == 1
        fill_and_empty(tmp_path)
        await desk.retention.prune()
        assert query_db(tmp_path, "PRAGMA freelist_count") <= [(10,)]
    assert integrity_errors(tmp_path) == []


@pytest.mark.sqlite("space of the file")
async def test_compacting_needs_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_desk_at(tmp_path) as desk:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2**30, 2**30, 2**12))
        with pytest.raises(
            StoreFullError, match=r"Compacting needs [0-9.]+ MiB of free disk space; there are 0.0 MiB."
        ):
            await desk.retention.compact()


@pytest.mark.sqlite("space of the file")
async def test_room_for_compacting_includes_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_desk_at(tmp_path) as desk:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2**30, 2**30, 0))
        execute_sql(tmp_path, "CREATE TABLE filling (content BLOB)")
        execute_sql(tmp_path, "INSERT INTO filling VALUES (zeroblob(3000000))")
        with pytest.raises(StoreFullError) as caught:
            await desk.retention.compact()
        needed = float(str(caught.value).split()[2])
        assert needed >= 2 * 3_000_000 / 2**20


def fill_and_empty(home: Path) -> None:
    """Store three megabytes and delete them again."""
    execute_sql(home, "CREATE TABLE filling (content BLOB)")
    execute_sql(home, "INSERT INTO filling VALUES (zeroblob(3000000))")
    execute_sql(home, "DROP TABLE filling")
