"""Tests for the line cache of widgets: cached lines equal freshly drawn ones after any scrolling."""

from pathlib import Path

import pytest

from copydesk.tui.widgets.drawn import Drawn
from copydesk.tui.widgets.week_grid import WeekGrid
from schedule_screen import on_schedule
from tui_fixtures import FakeDesk, Seen, on_screen


def stale(seen: Seen) -> list[str]:
    """Return a message for each cached line of the screen that differs from a fresh one."""
    stale_lines = []
    for widget in seen.app.screen.query(Drawn):
        if not widget.region or widget in seen.app.screen._dirty_widgets:
            continue
        frame, top = widget._frame(), widget.gutter.top
        for y in range(widget.content_region.height):
            cached = widget._painted.get(y)
            fresh = widget._framed(widget.render_line(y), widget.edge(y), frame)
            if cached is not None and cached != fresh:
                stale_lines.append(f"{widget!r}, line {y} from {top}: {cached.text!r} for {fresh.text!r}")
    return stale_lines


@pytest.mark.parametrize("pane", ["queue", "draft"])
async def test_list_and_page_lines_stay_current(pane: str) -> None:
    async with on_screen(FakeDesk(300), size=(100, 18)) as ui:
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
            assert stale(ui) == []


async def test_marks_at_screen_end_stay_current() -> None:
    async with on_screen(FakeDesk(60), size=(100, 18)) as ui:
        for keys in ("ctrl+d", "space", "space", "ctrl+d", "space", "k", "k", "ctrl+u", "j"):
            await ui.press(keys)
            assert stale(ui) == []


async def test_week_header_stays_above_hours(tmp_path: Path) -> None:
    async with on_schedule(tmp_path, size=(120, 18)) as ui:
        grid = ui.app.screen.query_one(WeekGrid)
        head = grid.render_line(0).text
        for top in (8, 3, 4, 0):
            grid.scroll_to(y=top, animate=False)  # as the wheel does
            await ui.wait()
            assert stale(ui) == []
            assert head.strip() in ui.text
        for keys in ("jjjjjjjjjjjjjjjjjjjjjjjj", "kkkkkkkkkkkkkkkkkkkkkkkkkkkk", "jjjjj"):
            await ui.press(*keys)
            assert stale(ui) == []
