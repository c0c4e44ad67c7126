"""Tests for repainting: only changed lines are rendered."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.content import Content
from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip

from console_driver import FakeDesk, make_console
from copydesk.tui.layout import Paragraph, paragraph
from copydesk.tui.sources.screen import SourcesScreen
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.lines import THUMB
from copydesk.tui.widgets.page import Page


class RecordingPage(Page):
    """A page that records the numbers of the lines it rendered."""

    def __init__(self) -> None:
        super().__init__(id="page")
        self.rendered_lines: list[int] = []

    def render_line(self, y: int) -> Strip:
        self.rendered_lines.append(y)
        return super().render_line(y)


class PageScreen(Screen[None]):
    """A screen with nothing but a page."""

    def compose(self) -> ComposeResult:
        yield RecordingPage()


class PageApp(App[None]):
    """An app with that one screen."""

    CSS_PATH = [stylesheet_path("base.tcss")]

    def get_default_screen(self) -> Screen[None]:
        return PageScreen()


@asynccontextmanager
async def page_with_lines(
    lines: int, size: tuple[int, int] = (40, 12)
) -> AsyncIterator[tuple[RecordingPage, Pilot[None]]]:
    """Yield a painted page of `lines` lines, its record empty."""
    app = PageApp()
    async with app.run_test(size=size) as pilot:
        page = app.screen.query_one(RecordingPage)
        page.show(numbered_lines(lines))
        await pilot.pause()
        page.rendered_lines.clear()
        yield page, pilot


def numbered_lines(count: int, role: str = "") -> Sequence[Paragraph]:
    return [paragraph(f"line {number}", role) for number in range(count)]


def visible_lines(page: RecordingPage) -> list[str]:
    """Return the page's lines on the screen."""
    lines = [line.text.rstrip(f" {THUMB}") for line in page.render_lines(page.outer_size.region)]
    return [line.strip() for line in lines[page.gutter.top :]]


async def test_appended_line_renders_only_itself() -> None:
    async with page_with_lines(4) as (page, pilot):
        page.show([*numbered_lines(4), paragraph("more")])
        await pilot.pause()
        assert page.rendered_lines == [4]
        assert visible_lines(page)[:6] == ["line 0", "line 1", "line 2", "line 3", "more", ""]


async def test_removed_lines_are_cleared() -> None:
    async with page_with_lines(4) as (page, pilot):
        page.show(numbered_lines(2))
        await pilot.pause()
        assert page.rendered_lines == [2, 3]
        assert visible_lines(page)[:4] == ["line 0", "line 1", "", ""]


async def test_style_change_rerenders_line() -> None:
    async with page_with_lines(3) as (page, pilot):
        page.show([*numbered_lines(2), paragraph("line 2", "bad")])
        await pilot.pause()
        assert page.rendered_lines == [2]


async def test_unchanged_page_renders_nothing() -> None:
    async with page_with_lines(3) as (page, pilot):
        page.show(numbered_lines(3))
        page.show([Paragraph(Content("line 0")), *numbered_lines(3)[1:]])
        await pilot.pause()
        assert page.rendered_lines == []


async def test_scrolling_renders_visible_lines() -> None:
    async with page_with_lines(40) as (page, pilot):
        page.action_move(3)
        await pilot.pause()
        assert visible_lines(page)[0] == "line 3"
        assert sorted(set(page.rendered_lines)) == list(range(page.size.height))


async def test_resize_and_theme_rerender_everything() -> None:
    async with page_with_lines(4) as (page, pilot):
        await pilot.resize_terminal(30, 10)
        await pilot.pause()
        assert set(page.rendered_lines) >= set(range(page.size.height))
        page.rendered_lines.clear()
        page.app.theme = "textual-light"
        await pilot.pause()
        assert set(page.rendered_lines) >= set(range(page.size.height))


async def test_new_screen_fits_terminal_in_its_first_frame() -> None:
    app = make_console(FakeDesk())
    async with app.run_test(size=(160, 8)):
        screen = SourcesScreen()
        assert screen.classes == {"-wide", "-low"}
