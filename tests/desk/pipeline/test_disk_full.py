"""Tests for a full disk: clear errors, nothing lost, and recovery once there is space."""

import json
import resource
from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection

from cli_runner import run_command, run_in_process
from copydesk.drafting.writer import WriterResult
from copydesk.errors import StoreFullError
from copydesk.model.run import RunRequest, RunStatus
from desk_fixtures import (
    URL_ONE,
    URL_TWO,
    FailingWriter,
    FakeWeb,
    Watch,
    create_source,
    draft_titles,
    entry,
    feed,
    integrity_errors,
    item_states,
    open_desk_at,
    query_db,
    story_title,
)
from feed_server import FeedServer

pytestmark = pytest.mark.sqlite("pages of the file")

LONG = "Ferries of the new line carry many passengers each day. " * 4000


async def fill_disk(desk, *, spare: int = 0) -> None:
    """Leave the database room for `spare` more pages."""

    def limit(connection: Connection) -> None:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + spare}")

    await desk._context.database.write(limit)


async def make_room(desk) -> None:
    def lift(connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")

    await desk._context.database.write(lift)


async def test_disk_full_while_storing_items_fails_run(tmp_path):
    """The error of one source's transaction used to surface as an unexpected exception group."""
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1)))
    web.put(URL_TWO, feed(entry(2)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        web.put(URL_TWO, feed(entry(2), entry(3, text=LONG)))
        clock.advance(60)
        await fill_disk(desk)
        run = await desk.pipeline.run()

        assert run.status is RunStatus.FAILED
        assert run.error == "The disk is full. Free some space and try again."
        assert query_db(tmp_path, "SELECT error_category FROM run WHERE id = ?", run.id) == [("store-full",)]
        assert set(item_states(tmp_path)) == {story_title(1), story_title(2)}

        await make_room(desk)
        clock.advance(60)
        await desk.pipeline.run()
        assert sorted(await draft_titles(desk)) == sorted([story_title(1), story_title(2), story_title(3)])
    assert integrity_errors(tmp_path) == []


async def test_disk_full_while_writing_keeps_earlier_drafts(tmp_path, monkeypatch):
    long = {story_title(number): f"{story_title(number)}\n\n{LONG}" for number in range(3)}

    class Verbose(FailingWriter):
        async def write(self, brief):
            return WriterResult(text=long[brief.title])

    monkeypatch.setattr("copydesk.drafting.writer.get_writer", Verbose)
    web = FakeWeb()
    web.put(URL_ONE, feed(*(entry(number, hours=number) for number in range(3))))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await desk.pipeline.run(RunRequest(max_drafts=0))
        await fill_disk(desk, spare=90)
        run = await desk.pipeline.run()
        assert (run.status, run.stats.drafts_created) == (RunStatus.FAILED, 1)
        assert await draft_titles(desk) == [story_title(0)]
        assert item_states(tmp_path) == {story_title(0): "drafted", story_title(1): "new", story_title(2): "new"}

        await make_room(desk)
        await desk.pipeline.run()
        assert await draft_titles(desk) == [story_title(0), story_title(1), story_title(2)]
    assert integrity_errors(tmp_path) == []


async def test_unfinished_run_ends_once_space_is_free(tmp_path, monkeypatch):
    """It remained in state running while its process lived on, and no other run could start."""
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        with monkeypatch.context() as patch:

            def refuse(*_: object) -> bool:
                raise StoreFullError

            patch.setattr("copydesk.store.runs.finish", refuse)
            with pytest.raises(StoreFullError, match="Free some space"):
                await desk.pipeline.run()
            (stuck,) = (await desk.pipeline.list()).items
            assert stuck.status is RunStatus.RUNNING
        run = await desk.pipeline.run()
        assert run.status is RunStatus.SUCCEEDED
        assert (await desk.pipeline.get(stuck.id)).status is RunStatus.SUCCEEDED


def limit_file_size() -> None:
    """Limit the files of this process to 300 kB; the system refuses larger writes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))


def test_full_disk_is_reported_in_one_line(tmp_path):
    now = datetime.now(UTC)
    with FeedServer() as server:
        server.serve("/feed", feed(*(entry(number, text=LONG, now=now) for number in range(9))))
        source = json.loads(run_in_process(tmp_path, "source", "add", "rss", server.url("/feed"), "--json").out)
        result = run_command(tmp_path, "--run-pipeline", limit=limit_file_size)
        assert (result.code, result.out) == (1, "")
        assert "The disk may be full" in result.err
        assert "Traceback" not in result.err

        second = run_in_process(tmp_path, "--run-pipeline", "--source", source["id"], "--json")
        runs = json.loads(run_in_process(tmp_path, "run", "list", "--json").out)["runs"]
    assert (second.code, json.loads(second.out)["stats"]["draftsCreated"]) == (0, 9)
    assert [run["status"] for run in runs] in (["succeeded", "failed"], ["succeeded", "interrupted"])
    assert integrity_errors(tmp_path) == []
