"""Tests for merging and splitting stories on the review screen, and their undo."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from console_driver import wait_until_idle
from copydesk.desk.stories import Stories
from copydesk.errors import StoreBusyError
from copydesk.model.draft import Status
from copydesk.tui.app import Console
from desk_fixtures import (
    NOW,
    URL_ONE,
    URL_TWO,
    FakeWeb,
    Watch,
    create_source,
    entry,
    execute_sql,
    feed,
    open_desk_at,
    query_db,
)
from review_driver import ReviewDriver


@asynccontextmanager
async def open_two_stories(home: Path) -> AsyncIterator[ReviewDriver]:
    """Open the review of two drafts of different stories."""
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    web.put(URL_TWO, feed(entry(2)))
    async with open_desk_at(home, web, Watch()) as desk:
        for url in (URL_ONE, URL_TWO):
            await create_source(desk, url)
        await desk.pipeline.run()
    app = Console(lambda: open_desk_at(home, web, Watch()), clock=lambda: NOW)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        yield ReviewDriver(app, pilot)


def count_stories(home: Path) -> object:
    return query_db(home, "SELECT count(DISTINCT story_id) FROM item")[0][0]


async def test_merge_of_marked_drafts_is_undone_and_redone(tmp_path: Path) -> None:
    async with open_two_stories(tmp_path) as review:
        assert count_stories(tmp_path) == 2
        await review.press("space", "space", "M")
        assert count_stories(tmp_path) == 1
        assert any(toast == "Merged 2 stories · u undo" for toast in review.toasts)
        await review.press("u")
        assert count_stories(tmp_path) == 2
        assert "Undid story merge" in review.toasts
        await review.press("ctrl+r")
        assert count_stories(tmp_path) == 1


async def test_split_and_decision_are_undone_in_order(tmp_path: Path) -> None:
    async with open_two_stories(tmp_path) as review:
        await review.press("space", "space", "M", "escape", "g")
        draft_id = review.current.id
        await review.press("B", "a")
        assert count_stories(tmp_path) == 2
        await review.press("u")
        assert await review.get_status(draft_id) is Status.PENDING_REVIEW
        assert count_stories(tmp_path) == 2
        await review.press("u")
        assert count_stories(tmp_path) == 1
        await review.press("ctrl+r", "ctrl+r")
        assert await review.get_status(draft_id) is Status.APPROVED
        assert count_stories(tmp_path) == 2


async def test_change_made_elsewhere_is_undone_before_an_older_merge(tmp_path: Path) -> None:
    async with open_two_stories(tmp_path) as review:
        await review.press("space", "space", "M", "escape", "g")
        draft_id = review.current.id
        await review.desk.drafts.reject(draft_id)
        await review.press("u")
        assert (await review.get_status(draft_id), count_stories(tmp_path)) == (Status.PENDING_REVIEW, 1)
        await review.press("u")
        assert count_stories(tmp_path) == 2


async def test_change_made_elsewhere_ends_the_redo_of_a_merge(tmp_path: Path) -> None:
    async with open_two_stories(tmp_path) as review:
        await review.press("space", "space", "M", "u", "escape", "g")
        await review.desk.drafts.reject(review.current.id)
        await review.press("ctrl+r")
        assert count_stories(tmp_path) == 2


async def test_refused_redo_is_not_repeated(tmp_path: Path) -> None:
    async with open_two_stories(tmp_path) as review:
        await review.press("space", "space", "M", "u")
        execute_sql(tmp_path, "UPDATE item SET story_id = 'other'")
        await review.press("ctrl+r", "ctrl+r")
        assert [toast for toast in review.toasts if "redo" in toast or "since" in toast] == [
            "The story has changed since.",
            "Nothing to redo.",
        ]


async def test_undo_that_meets_a_locked_database_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise StoreBusyError

    async with open_two_stories(tmp_path) as review:
        await review.press("space", "space", "M")
        with monkeypatch.context() as patch:
            patch.setattr(Stories, "undo", fail)
            await review.press("u")
        assert count_stories(tmp_path) == 1
        await review.press("u")
        assert count_stories(tmp_path) == 2


async def test_merge_of_deleted_drafts_changes_nothing(tmp_path: Path) -> None:
    async with open_two_stories(tmp_path) as review:
        await review.press("space", "space")
        execute_sql(tmp_path, "DELETE FROM draft")
        await review.press("M")
        assert count_stories(tmp_path) == 2
        assert not any("Unexpected error" in toast for toast in review.toasts)


async def test_one_draft_cannot_be_merged(tmp_path: Path) -> None:
    async with open_two_stories(tmp_path) as review:
        await review.press("M")
        assert "Mark at least two drafts with Space to merge their stories" in review.toasts


async def test_single_item_is_not_split(tmp_path: Path) -> None:
    async with open_two_stories(tmp_path) as review:
        await review.press("B")
        assert "The story has no other items; nothing to split." in review.toasts
        assert count_stories(tmp_path) == 2
