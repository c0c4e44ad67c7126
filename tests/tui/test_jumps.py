"""Tests for jumps to rows not loaded yet: the screen changes once, unless loading takes too long."""

import pytest
from textual.screen import Screen

from copydesk.tui.widgets import queue
from held_answers import HeldBack, so, stays
from tui_fixtures import FakeDesk, Seen, on_screen

MANY = 1_000


def drawing(seen: Seen) -> list[object]:
    """Return a list that collects every frame drawn from now on."""
    frames: list[object] = []
    display = seen.app._display

    def record(screen: Screen[object], renderable: object) -> None:
        frames.append(renderable)
        display(screen, renderable)  # type: ignore[arg-type]

    seen.app._display = record  # type: ignore[method-assign]
    return frames


async def test_screen_waits_for_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "AT_MOST", 600)
    desk = FakeDesk(MANY)
    async with on_screen(desk) as ui:
        rows, frames = HeldBack(desk.drafts, "window"), drawing(ui)
        ui.app.simulate_key("G")
        await rows.asked()
        await stays(ui, lambda: not frames)
        rows.go.set()
        await ui.wait()
        assert frames
        assert ui.app.screen.queue.cursor == MANY - 1
        assert not ui.lines[3].startswith("▌")
        assert "·····" not in ui.text
        assert any(line.startswith("▌ N") for line in ui.lines)


async def test_slow_rows_show_placeholders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "AT_MOST", 0.001)
    desk = FakeDesk(MANY)
    async with on_screen(desk) as ui:
        rows = HeldBack(desk.drafts, "window")
        ui.app.simulate_key("G")
        await rows.asked()
        await so(lambda: "·····" in ui.text and not ui.app.screen.queue.is_jumping, ui._pilot.pause)
        ui.app.screen.queue.action_move(-1)
        assert not ui.app.screen.queue.is_jumping  # the screen shows placeholders: there is no content to keep
        rows.go.set()
        await ui.wait()
        assert "·····" not in ui.text
        assert any(line.startswith("▌ N") for line in ui.lines)


async def test_reversed_jump_shows_current_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "AT_MOST", 600)
    desk = FakeDesk(MANY)
    async with on_screen(desk) as ui:
        rows = HeldBack(desk.drafts, "window")
        ui.app.screen.queue.action_last()
        await rows.asked()
        ui.app.screen.queue.action_first()
        ui.app.screen.queue.action_move(1)
        await so(lambda: ui.lines[4].startswith("▌"), ui._pilot.pause)
        rows.go.set()
        await ui.wait()
        assert ui.app.screen.queue.cursor == 1
        assert ui.lines[4].startswith("▌")
        assert "·····" not in ui.text
