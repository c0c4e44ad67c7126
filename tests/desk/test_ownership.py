"""Tests that rows of another user are answered exactly like rows that do not exist."""

import re

import pytest

from copydesk.errors import CopydeskError
from copydesk.model.run import RunRequest, RunStatus
from copydesk.store.ids import new_id
from desk_fixtures import (
    NOW,
    URL_ONE,
    FakeWeb,
    create_source,
    draft_titles,
    entry,
    execute_sql,
    feed,
    list_drafts,
    open_desk_at,
    query_db,
    story_title,
)

OPERATIONS = {
    "get a source": lambda desk, ids: desk.sources.get(ids["source"]),
    "change a source": lambda desk, ids: desk.sources.update(ids["source"], {"name": "Mine"}),
    "move a source": lambda desk, ids: desk.sources.update(ids["source"], {"url": "https://evil.example/"}),
    "delete a source": lambda desk, ids: desk.sources.delete(ids["source"]),
    "test a source": lambda desk, ids: desk.sources.test(ids["source"]),
    "run a source": lambda desk, ids: desk.pipeline.run(RunRequest(source_ids=(ids["source"],))),
    "get a draft": lambda desk, ids: desk.drafts.get(ids["draft"]),
    "get an item": lambda desk, ids: desk.drafts.item(ids["item"]),
    "edit a draft": lambda desk, ids: desk.drafts.edit(ids["draft"], "Mine."),
    "approve a draft": lambda desk, ids: desk.drafts.approve(ids["draft"]),
    "regenerate a draft": lambda desk, ids: desk.drafts.regenerate(ids["draft"]),
    "schedule a draft": lambda desk, ids: desk.schedule.schedule_next(ids["draft"]),
    "undo a change": lambda desk, ids: desk.drafts.undo(ids["draft"]),
    "redo a change": lambda desk, ids: desk.drafts.redo(ids["draft"]),
    "read a history": lambda desk, ids: desk.drafts.history(ids["draft"]),
    "read the versions": lambda desk, ids: desk.drafts.list_versions(ids["draft"]),
    "compare versions": lambda desk, ids: desk.drafts.compare(ids["draft"], ids["draft"]),
    "record engagement": lambda desk, ids: desk.engagement.record({"draftId": ids["draft"], "platform": "x"}),
    "get an experiment": lambda desk, ids: desk.experiments.get(ids["experiment"]),
    "conclude an experiment": lambda desk, ids: desk.experiments.conclude(ids["experiment"]),
    "archive an experiment": lambda desk, ids: desk.experiments.archive(ids["experiment"]),
    "get a run": lambda desk, ids: desk.pipeline.get(ids["run"]),
    "cancel a run": lambda desk, ids: desk.pipeline.cancel(ids["run"]),
    "carry out a run": lambda desk, ids: desk.pipeline.execute(ids["run"]),
}
EXPERIMENT = {
    "name": "Theirs",
    "parameter": "hook",
    "variants": [{"id": name, "label": name, "config": {"hook": name}} for name in ("a", "b")],
}
TABLES = ("source", "item", "draft", "run", "draft_event", "engagement", "experiment", "generation")


@pytest.fixture
async def foreign_ids(tmp_path):
    """The ids of another user's rows, in a desk whose current user owns nothing."""
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk, name="Theirs")
        await desk.pipeline.run()
        (draft,) = await list_drafts(desk)
        run = await desk.pipeline.queue()
        experiment = await desk.experiments.create(EXPERIMENT)
    # The desk belongs to the first user; insert one that sorts before the user who owns the rows.
    execute_sql(
        tmp_path,
        "INSERT INTO user (id, name, time_zone, created_at) VALUES (?, 'new', 'UTC', 0)",
        "0" * 8 + new_id(NOW)[8:],
    )
    return {"source": source.id, "draft": draft.id, "item": draft.item_id, "run": run.id, "experiment": experiment.id}


async def outcome_of(work) -> tuple[object, ...]:
    try:
        return ("ok", await work)
    except CopydeskError as error:
        return (type(error), error.category, re.sub("'[^']+'", "ID", str(error)))


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_foreign_rows_are_not_found(tmp_path, foreign_ids, operation):
    web, operate = FakeWeb(), OPERATIONS[operation]
    before = [query_db(tmp_path, f"SELECT * FROM {table}") for table in TABLES]
    async with open_desk_at(tmp_path, web) as desk:
        expected = await outcome_of(operate(desk, dict.fromkeys(foreign_ids, "nobody")))
        assert await outcome_of(operate(desk, foreign_ids)) == expected
        assert expected[1] == "not-found"
    after = [query_db(tmp_path, f"SELECT * FROM {table}") for table in TABLES]

    assert after == before
    assert web.requested_urls == []


async def test_lists_and_runs_hold_only_own_rows(tmp_path, foreign_ids):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        assert await desk.sources.list() == ()
        assert (await desk.drafts.list()).items == ()
        assert await desk.drafts.queue() == ()
        assert (await desk.pipeline.list()).items == ()
        assert await desk.sources.export_opml() == (await desk.sources.export_opml()).replace(URL_ONE, "")
        # The other user's queued run must not block this one, nor their drafted story exclude this one's.
        await create_source(desk)
        run = await desk.pipeline.run()
        assert run.status is RunStatus.SUCCEEDED
        assert await draft_titles(desk) == [story_title(1)]

    assert query_db(tmp_path, "SELECT status FROM run WHERE id = ?", foreign_ids["run"]) == [("queued",)]
    assert query_db(tmp_path, "SELECT count(*), count(DISTINCT user_id) FROM draft") == [(2, 2)]
