"""Tests for the line cache of widgets: cached lines equal freshly drawn ones after any scrolling."""

from pathlib import Path

import pytest

from console_driver import ConsoleDriver, FakeDesk, open_console
from copydesk.tui.schedule.week_grid import WeekGrid
from copydesk.tui.widgets.lines import LineScrollView
from schedule_driver import open_schedule


def find_stale_lines(ui: ConsoleDriver) -> list[str]:
    """Return a message for each cached line of the screen that differs from a fresh one."""
    stale_lines = []
    for widget in ui.app.screen.query(LineScrollView):
        if not widget.region or widget in ui.app.screen._dirty_widgets:
            continue
        painter, top = widget.painter, widget.gutter.top
        frame = painter._frame()
        for y in range(widget.content_region.height):
            cached = painter._painted.get(y)
            fresh = painter._add_frame(widget.render_line(y), widget.edge_text(y), frame)
            if cached is not None and cached != fresh:
                stale_lines.append(f"{widget!r}, line {y} from {top}: {cached.text!r} for {fresh.text!r}")
    return stale_lines


@pytest.mark.parametrize("pane", ["queue", "draft"])
async def test_list_and_page_lines_stay_current(pane: str) -> None:
    async with open_console(FakeDesk(300), size=(100, 18)) as ui:
        ui.app.screen.query_one(f"#{pane}").focus()
        for keys in (
            "jjjjjjjj",
            "jjjjjjjjjjj",
            "kkk",
            "kkkkkkkkkkkkkkkkkk",
            "G",
            "kkkkkkkkkkkkkkkkkkkk",
            "jjj",
            "g",
            "j",
        ):
            await ui.press(*keys)
            assert find_stale_lines(ui) == []


async def test_marks_at_screen_end_stay_current() -> None:
    async with open_console(FakeDesk(60), size=(100, 18)) as ui:
        for keys in ("ctrl+d", "space", "space", "ctrl+d", "space", "k", "k", "ctrl+u", "j"):
            await ui.press(keys)
            assert find_stale_lines(ui) == []


async def test_week_header_stays_above_hours(tmp_path: Path) -> None:
    async with open_schedule(tmp_path, size=(120, 18)) as ui:
        grid = ui.app.screen.query_one(WeekGrid)
        head = grid.render_line(0).text
        for top in (8, 3, 4, 0):
            grid.scroll_to(y=top, animate=False)  # as the wheel does
            await ui.wait()
            assert find_stale_lines(ui) == []
            assert head.strip() in ui.text
        for keys in ("jjjjjjjjjjjjjjjjjjjjjjjj", "kkkkkkkkkkkkkkkkkkkkkkkkkkkk", "jjjjj"):
            await ui.press(*keys)
            assert find_stale_lines(ui) == []
