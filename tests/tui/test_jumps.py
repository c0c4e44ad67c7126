"""To rows that are still to be read: the screen changes once, when they are there, unless they take too long."""

import pytest
from textual.screen import Screen

from copydesk.tui.widgets import queue
from held_answers import HeldBack, so, stays
from tui_fixtures import FakeDesk, Seen, on_screen

MANY = 1_000


def drawing(seen: Seen) -> list[object]:
    """What is drawn on the screen from here on."""
    drawn: list[object] = []
    display = seen.app._display

    def noting(screen: Screen[object], what: object) -> None:
        drawn.append(what)
        display(screen, what)  # type: ignore[arg-type]

    seen.app._display = noting  # type: ignore[method-assign]
    return drawn


async def test_the_screen_stays_as_it_was_until_the_rows_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "AT_MOST", 600)
    desk = FakeDesk(MANY)
    async with on_screen(desk) as seen:
        rows, drawn = HeldBack(desk.drafts, "window"), drawing(seen)
        seen.app.simulate_key("G")
        await rows.asked()
        await stays(seen, lambda: not drawn)
        rows.go.set()
        await seen.wait()
        assert drawn
        assert seen.app.screen.queue.cursor == MANY - 1
        assert not seen.lines[3].startswith("▌")
        assert "·····" not in seen.text
        assert any(line.startswith("▌ N") for line in seen.lines)


async def test_rows_that_take_long_are_shown_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "AT_MOST", 0.001)
    desk = FakeDesk(MANY)
    async with on_screen(desk) as seen:
        rows = HeldBack(desk.drafts, "window")
        seen.app.simulate_key("G")
        await rows.asked()
        await so(lambda: "·····" in seen.text and not seen.app.screen.queue.is_jumping, seen._pilot.pause)
        seen.app.screen.queue.action_move(-1)
        assert not seen.app.screen.queue.is_jumping  # nothing is there that could be kept
        rows.go.set()
        await seen.wait()
        assert "·····" not in seen.text
        assert any(line.startswith("▌ N") for line in seen.lines)


async def test_who_turns_back_before_that_sees_where_he_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "AT_MOST", 600)
    desk = FakeDesk(MANY)
    async with on_screen(desk) as seen:
        rows = HeldBack(desk.drafts, "window")
        seen.app.screen.queue.action_last()
        await rows.asked()
        seen.app.screen.queue.action_first()
        seen.app.screen.queue.action_move(1)
        await so(lambda: seen.lines[4].startswith("▌"), seen._pilot.pause)
        rows.go.set()
        await seen.wait()
        assert seen.app.screen.queue.cursor == 1
        assert seen.lines[4].startswith("▌")
        assert "·····" not in seen.text
