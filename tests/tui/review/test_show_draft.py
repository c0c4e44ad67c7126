"""Tests for showing a draft by id on the review, whatever tab or search is active."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from console_driver import ConsoleDriver, wait_until_idle
from copydesk.tui.app import Console
from copydesk.tui.review.row_window import PAGE_SIZE
from copydesk.tui.review.screen import ReviewScreen
from desk_fixtures import NOW, hours_ago, open_desk_at
from schedule_fixtures import insert_drafts


@asynccontextmanager
async def open_review(home: Path) -> AsyncIterator[tuple[ConsoleDriver, ReviewScreen]]:
    """Open the review of the desk in `home`."""
    app = Console(lambda: open_desk_at(home), clock=lambda: NOW)
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await wait_until_idle(pilot)
        screen = app.screen
        assert isinstance(screen, ReviewScreen)
        yield ConsoleDriver(app, pilot), screen


async def show_draft(ui: ConsoleDriver, screen: ReviewScreen, draft_id: str) -> str | None:
    """Show a draft by id; return the id of the draft under the cursor then."""
    ui.app.show_draft(draft_id)
    await ui.wait()
    assert ui.app.screen is screen
    return screen.queue.current.id if screen.queue.current else None


async def test_draft_in_current_tab_gets_cursor(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        ids = await insert_drafts(desk, 8, status="pending_review")
    async with open_review(tmp_path) as (ui, screen):
        await ui.press("space", "2")
        assert await show_draft(ui, screen, ids[5]) == ids[5]
        assert screen.queue.marked_count == 1


@pytest.mark.parametrize(
    ("values", "tab"),
    [
        ({"status": "approved"}, "approved"),
        ({"status": "scheduled", "scheduled_at": hours_ago(-9)}, "scheduled"),
        ({"status": "rejected"}, "rejected"),
        ({"status": "approved", "archived_at": NOW}, "archived"),
    ],
)
async def test_draft_of_other_tab_switches_tab(tmp_path: Path, values: dict[str, object], tab: str) -> None:
    async with open_desk_at(tmp_path) as desk:
        await insert_drafts(desk, 5, status="pending_review")
        ids = await insert_drafts(desk, 3, **values)
    async with open_review(tmp_path) as (ui, screen):
        assert await show_draft(ui, screen, ids[1]) == ids[1]
        assert screen.queue_pane.tab == tab
        await ui.press("j", "k", "[", "]")
        assert screen.queue.current is not None
        assert screen.queue.current.id == ids[1]


async def test_draft_far_down_is_found_with_neighbours(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        ids = await insert_drafts(desk, 5 * PAGE_SIZE, status="approved")
    async with open_review(tmp_path) as (ui, screen):
        assert await show_draft(ui, screen, ids[PAGE_SIZE]) == ids[PAGE_SIZE]
        assert screen.queue.cursor == 4 * PAGE_SIZE - 1
        await ui.press("j")
        assert screen.queue.current is not None
        assert screen.queue.current.id == ids[PAGE_SIZE - 1]


async def test_search_without_the_draft_is_closed(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        (draft,) = await insert_drafts(desk, text="Lighthouses", status="pending_review")
        await insert_drafts(desk, 3, text="Harbours", status="pending_review")
    async with open_review(tmp_path) as (ui, screen):
        await ui.press("slash", *"harbours", "enter")
        assert await show_draft(ui, screen, draft) == draft
        assert "Queue · 4" in ui.text


async def test_deleted_draft_is_reported(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await insert_drafts(desk, 3, status="pending_review")
    async with open_review(tmp_path) as (ui, screen):
        await ui.press("j")
        draft_before = screen.queue.current
        assert draft_before is not None
        assert await show_draft(ui, screen, "nothing") == draft_before.id
        assert "This draft was deleted" in ui.toasts[-1]


async def test_headline_has_posting_time(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_zone("Europe/Oslo")
        await insert_drafts(desk, 8, status="pending_review")
        (due,) = await insert_drafts(desk, status="scheduled", scheduled_at=NOW + timedelta(hours=20))
        (posted,) = await insert_drafts(
            desk, status="posted", scheduled_at=NOW - timedelta(hours=3), posted_at=NOW - timedelta(hours=2)
        )
    async with open_review(tmp_path) as (ui, screen):
        await show_draft(ui, screen, due)
        assert "scheduled · Wed 11 Feb 09:00" in ui.text
        await show_draft(ui, screen, posted)
        assert "posted · 2 h ago" in ui.text


async def test_row_has_posting_time_on_users_clock(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_zone("Europe/Oslo")
        await insert_drafts(desk, status="scheduled", scheduled_at=NOW + timedelta(hours=20), text="Due")
        await insert_drafts(desk, status="missed", scheduled_at=NOW - timedelta(hours=50), text="Late")
        await insert_drafts(desk, status="posted", posted_at=NOW - timedelta(hours=2), text="Gone")
        await insert_drafts(desk, status="pending_review", text="New")
    async with open_review(tmp_path) as (ui, screen):
        for tab, row_text in (("scheduled", "· Wed 09:00 ·"), ("posted", "· 11:00 ·"), ("missed", "· Sun 11:00 ·")):
            screen.queue_pane.show_tab(tab)
            await ui.wait()
            assert row_text in ui.text
        screen.queue_pane.show_tab("to_review")
        await ui.wait()
        assert "Sun" not in ui.text
        assert ui.app.desk is not None
        await ui.app.desk.schedule.set_zone("Asia/Tokyo")
        screen.queue_pane.show_tab("scheduled")
        await ui.wait()
        await ui.press(".")
        assert "· Wed 17:00 ·" in ui.text
