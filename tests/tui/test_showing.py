"""A draft that is asked for by its id is shown on the review, wherever it is and whatever is shown there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.tui.app import Console
from copydesk.tui.screens.review import ReviewScreen
from copydesk.tui.window import PAGE
from desk_fixtures import NOW, at, open_at
from schedule_fixtures import put
from tui_fixtures import Seen, settled


@asynccontextmanager
async def reviewing(home: Path) -> AsyncIterator[tuple[Seen, ReviewScreen]]:
    """The review of the desk in `home`."""
    app = Console(lambda: open_at(home), clock=lambda: NOW)
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await settled(pilot)
        screen = app.screen
        assert isinstance(screen, ReviewScreen)
        yield Seen(app, pilot), screen


async def show(seen: Seen, screen: ReviewScreen, draft_id: str) -> str | None:
    """Ask for a draft; the one that the cursor is on then."""
    seen.app.show_draft(draft_id)
    await seen.wait()
    assert seen.app.screen is screen
    return screen.queue.current.id if screen.queue.current else None


async def test_one_that_is_in_the_tab_gets_the_cursor_and_the_tab_stays(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        ids = await put(desk, 8, status="pending_review")
    async with reviewing(tmp_path) as (seen, screen):
        await seen.press("space", "2")
        assert await show(seen, screen, ids[5]) == ids[5]
        assert screen.queue.marked == 1


@pytest.mark.parametrize(
    ("values", "tab"),
    [
        ({"status": "approved"}, "approved"),
        ({"status": "scheduled", "scheduled_at": at(-9)}, "scheduled"),
        ({"status": "rejected"}, "rejected"),
        ({"status": "approved", "archived_at": NOW}, "all"),
    ],
)
async def test_one_of_another_tab_opens_that_tab(tmp_path: Path, values: dict[str, object], tab: str) -> None:
    async with open_at(tmp_path) as desk:
        await put(desk, 5, status="pending_review")
        ids = await put(desk, 3, **values)
    async with reviewing(tmp_path) as (seen, screen):
        assert await show(seen, screen, ids[1]) == ids[1]
        assert screen.tab == tab
        await seen.press("j", "k", "[", "]")
        assert screen.queue.current is not None
        assert screen.queue.current.id == ids[1]


async def test_one_far_down_a_long_tab_is_found_with_those_around_it(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        ids = await put(desk, 5 * PAGE, status="approved")
    async with reviewing(tmp_path) as (seen, screen):
        assert await show(seen, screen, ids[PAGE]) == ids[PAGE]
        assert screen.queue.cursor == 4 * PAGE - 1
        await seen.press("j")
        assert screen.queue.current is not None
        assert screen.queue.current.id == ids[PAGE - 1]


async def test_a_search_that_does_not_find_it_is_left(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        (draft,) = await put(desk, text="Lighthouses", status="pending_review")
        await put(desk, 3, text="Harbours", status="pending_review")
    async with reviewing(tmp_path) as (seen, screen):
        await seen.press("slash", *"harbours", "enter")
        assert await show(seen, screen, draft) == draft
        assert "Queue · 4" in seen.text


async def test_one_that_is_gone_is_said_to_be_gone_and_nothing_moves(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await put(desk, 3, status="pending_review")
    async with reviewing(tmp_path) as (seen, screen):
        await seen.press("j")
        before = screen.queue.current
        assert before is not None
        assert await show(seen, screen, "nothing") == before.id
        assert "This draft is gone" in seen.toasts[-1]


async def test_when_a_draft_goes_out_or_went_is_said_above_its_text(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_zone("Europe/Oslo")
        await put(desk, 8, status="pending_review")
        (due,) = await put(desk, status="scheduled", scheduled_at=NOW + timedelta(hours=20))
        (gone,) = await put(
            desk, status="posted", scheduled_at=NOW - timedelta(hours=3), posted_at=NOW - timedelta(hours=2)
        )
    async with reviewing(tmp_path) as (seen, screen):
        await show(seen, screen, due)
        assert "scheduled · Wed 11 Feb 09:00" in seen.text
        await show(seen, screen, gone)
        assert "posted · 2h ago" in seen.text


async def test_a_row_tells_when_a_draft_goes_out_or_went_on_the_users_clock(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_zone("Europe/Oslo")
        await put(desk, status="scheduled", scheduled_at=NOW + timedelta(hours=20), text="Due")
        await put(desk, status="missed", scheduled_at=NOW - timedelta(hours=50), text="Late")
        await put(desk, status="posted", posted_at=NOW - timedelta(hours=2), text="Gone")
        await put(desk, status="pending_review", text="New")
    async with reviewing(tmp_path) as (seen, screen):
        for tab, told in (("scheduled", "Wed 09:00 Due"), ("posted", "11:00 Gone"), ("missed", "Sun 11:00 Late")):
            screen.show_tab(tab)
            await seen.wait()
            assert told in seen.text
        screen.show_tab("to_review")
        await seen.wait()
        assert "Sun" not in seen.text
        assert seen.app.desk is not None
        await seen.app.desk.schedule.set_zone("Asia/Tokyo")
        screen.show_tab("scheduled")
        await seen.wait()
        await seen.press(".")
        assert "Wed 17:00 Due" in seen.text
