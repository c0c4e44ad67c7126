"""Lines that are kept as they were drawn are those that would be drawn anew, wherever one scrolls."""

from pathlib import Path

import pytest

from copydesk.tui.widgets.drawn import Drawn
from copydesk.tui.widgets.week_grid import WeekGrid
from schedule_screen import on_schedule
from tui_fixtures import FakeDesk, Seen, on_screen


def stale(seen: Seen) -> list[str]:
    """The lines on the screen that stand there otherwise than they are, after what is to be drawn was drawn."""
    wrong = []
    for widget in seen.app.screen.query(Drawn):
        if not widget.region or widget in seen.app.screen._dirty_widgets:
            continue
        frame, top = widget._frame(), widget.gutter.top
        for y in range(widget.content_region.height):
            kept = widget._painted.get(y)
            now = widget._framed(widget.render_line(y), widget.edge(y), frame)
            if kept is not None and kept != now:
                wrong.append(f"{widget!r}, line {y} from {top}: {kept.text!r} for {now.text!r}")
    return wrong


@pytest.mark.parametrize("pane", ["queue", "draft"])
async def test_a_list_and_a_page_that_are_scrolled_both_ways(pane: str) -> None:
    async with on_screen(FakeDesk(300), size=(100, 18)) as seen:
        seen.app.screen.query_one(f"#{pane}").focus()
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
            await seen.press(*keys)
            assert stale(seen) == []


async def test_decisions_at_the_end_of_the_screen() -> None:
    async with on_screen(FakeDesk(60), size=(100, 18)) as seen:
        for keys in ("ctrl+d", "space", "space", "ctrl+d", "space", "k", "k", "ctrl+u", "j"):
            await seen.press(keys)
            assert stale(seen) == []


async def test_the_days_stay_above_the_hours(tmp_path: Path) -> None:
    async with on_schedule(tmp_path, size=(120, 18)) as seen:
        grid = seen.app.screen.query_one(WeekGrid)
        head = grid.render_line(0).text
        for top in (8, 3, 4, 0):
            grid.scroll_to(y=top, animate=False)  # as the wheel does
            await seen.wait()
            assert stale(seen) == []
            assert head.strip() in seen.text
        for keys in ("jjjjjjjjjjjjjjjjjjjjjjjj", "kkkkkkkkkkkkkkkkkkkkkkkkkkkk", "jjjjj"):
            await seen.press(*keys)
            assert stale(seen) == []
