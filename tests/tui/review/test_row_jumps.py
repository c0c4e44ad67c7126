"""Tests for jumps to rows not loaded yet: the screen changes once, unless loading takes too long."""

import pytest

from console_driver import FakeDesk, open_console, record_frames
from copydesk.tui.review import draft_queue, screen
from delayed_responses import DelayedResponse, assert_stays, wait_until

MANY = 1_000


async def test_screen_waits_for_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_queue, "MAX_JUMP_WAIT", 600)
    # The search field that is mounted then is painted, too.
    monkeypatch.setattr(screen, "PRELOAD_DELAY", 600)
    desk = FakeDesk(MANY)
    async with open_console(desk) as ui:
        rows, frames = DelayedResponse(desk.drafts.views, "window"), record_frames(ui)
        ui.app.simulate_key("G")
        await rows.wait_until_called()
        await assert_stays(ui, lambda: not frames)
        rows.released.set()
        await ui.wait()
        assert frames
        assert ui.app.screen.queue.cursor == MANY - 1
        assert not ui.lines[3].startswith("▌")
        assert "·····" not in ui.text
        assert any(line.startswith("▌ ") for line in ui.lines)


async def test_slow_rows_show_placeholders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_queue, "MAX_JUMP_WAIT", 0.001)
    desk = FakeDesk(MANY)
    async with open_console(desk) as ui:
        rows = DelayedResponse(desk.drafts.views, "window")
        ui.app.simulate_key("G")
        await rows.wait_until_called()
        await wait_until(lambda: "·····" in ui.text and not ui.app.screen.queue.is_jumping, ui.pilot.pause)
        ui.app.screen.queue.action_move(-1)
        assert not ui.app.screen.queue.is_jumping  # the screen shows placeholders: there is no content to keep
        rows.released.set()
        await ui.wait()
        assert "·····" not in ui.text
        assert any(line.startswith("▌ ") for line in ui.lines)


async def test_reversed_jump_shows_current_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_queue, "MAX_JUMP_WAIT", 600)
    desk = FakeDesk(MANY)
    async with open_console(desk) as ui:
        rows = DelayedResponse(desk.drafts.views, "window")
        ui.app.screen.queue.action_last()
        await rows.wait_until_called()
        ui.app.screen.queue.action_first()
        ui.app.screen.queue.action_move(1)
        await wait_until(lambda: ui.lines[5].startswith("▌"), ui.pilot.pause)
        rows.released.set()
        await ui.wait()
        assert ui.app.screen.queue.cursor == 1
        assert ui.lines[5].startswith("▌")
        assert "·····" not in ui.text
