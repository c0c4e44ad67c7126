"""Tests for repainting: only changed lines are rendered."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.content import Content
from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip

from copydesk.tui.layout import Paragraph, plain
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.drawn import THUMB
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.page import Page


class Watched(Page):
    """A page that records the numbers of the lines it rendered."""

    def __init__(self) -> None:
        super().__init__(id="page")
        self.asked: list[int] = []

    def render_line(self, y: int) -> Strip:
        self.asked.append(y)
        return super().render_line(y)


class Alone(Screen[None]):
    """A screen with nothing but a page."""

    COMPONENT_CLASSES = INK

    def compose(self) -> ComposeResult:
        yield Watched()


class Bare(App[None]):
    """An app with that one screen."""

    CSS_PATH = [sheet("base.tcss")]

    def get_default_screen(self) -> Screen[None]:
        return Alone()


@asynccontextmanager
async def a_page(lines: int, size: tuple[int, int] = (40, 12)) -> AsyncIterator[tuple[Watched, Pilot[None]]]:
    """Yield a painted page of `lines` lines, its record empty."""
    app = Bare()
    async with app.run_test(size=size) as pilot:
        page = app.screen.query_one(Watched)
        page.show(numbered(lines))
        await pilot.pause()
        page.asked.clear()
        yield page, pilot


def numbered(count: int, role: str = "") -> Sequence[Paragraph]:
    return [plain(f"line {number}", role) for number in range(count)]


def shown(page: Watched) -> list[str]:
    """Return the page's lines on the screen."""
    lines = [line.text.rstrip(f" {THUMB}") for line in page.render_lines(page.outer_size.region)]
    return [line.strip() for line in lines[page.gutter.top :]]


async def test_appended_line_renders_only_itself() -> None:
    async with a_page(4) as (page, pilot):
        page.show([*numbered(4), plain("more")])
        await pilot.pause()
        assert page.asked == [4]
        assert shown(page)[:6] == ["line 0", "line 1", "line 2", "line 3", "more", ""]


async def test_removed_lines_are_cleared() -> None:
    async with a_page(4) as (page, pilot):
        page.show(numbered(2))
        await pilot.pause()
        assert page.asked == [2, 3]
        assert shown(page)[:4] == ["line 0", "line 1", "", ""]


async def test_style_change_rerenders_line() -> None:
    async with a_page(3) as (page, pilot):
        page.show([*numbered(2), plain("line 2", "bad")])
        await pilot.pause()
        assert page.asked == [2]


async def test_unchanged_page_renders_nothing() -> None:
    async with a_page(3) as (page, pilot):
        page.show(numbered(3))
        page.show([Paragraph(Content("line 0")), *numbered(3)[1:]])
        await pilot.pause()
        assert page.asked == []


async def test_scrolling_renders_visible_lines() -> None:
    async with a_page(40) as (page, pilot):
        page.action_move(3)
        await pilot.pause()
        assert shown(page)[0] == "line 3"
        assert sorted(set(page.asked)) == list(range(page.size.height))


async def test_resize_and_theme_rerender_everything() -> None:
    async with a_page(4) as (page, pilot):
        await pilot.resize_terminal(30, 10)
        await pilot.pause()
        assert set(page.asked) >= set(range(page.size.height))
        page.asked.clear()
        page.app.theme = "textual-light"
        await pilot.pause()
        assert set(page.asked) >= set(range(page.size.height))
