"""Tests for the mouse: rows, tabs, clickable keys, prompts, scroll bars and the wheel on every screen."""

from pathlib import Path

import pytest
from textual.events import MouseScrollDown
from textual.widget import Widget

from console_driver import ConsoleDriver, FakeDesk, make_draft, open_console, type_text, wait_until_idle
from copydesk.sample.desk import open_sample, sample_settings
from copydesk.settings import load
from copydesk.tui.app import Console
from copydesk.tui.keys import SCREEN_NAMES
from copydesk.tui.sources.screen import SourcesScreen
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.lines import THUMB
from desk_fixtures import URL_ONE
from populated_desk import make_populated_console, populate
from setup_driver import wait_for_text
from sources_driver import open_sources


def wheel_down(widget: Widget) -> MouseScrollDown:
    """Return the event of one notch of the wheel over the widget."""
    return MouseScrollDown(widget, 4, 4, 0, 1, 0, shift=False, meta=False, ctrl=False)


async def click(ui: ConsoleDriver, text: str, *, times: int = 1, nth: int = 0) -> None:
    """Click the first cell of the nth line that contains `text`."""
    found = [(line.index(text), y) for y, line in enumerate(ui.lines) if text in line]
    assert found, f"{text} is not on the screen:\n{ui.text}"
    await ui.pilot.click(offset=found[nth], times=times)
    await ui.wait()


async def test_click_on_name_switches_screen(sample_home: Path) -> None:
    app = Console(lambda: open_sample(sample_settings(load({}, sample_home))))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        for number, name in reversed(list(enumerate(SCREEN_NAMES, 1))):
            await click(ui, f"{number} {name.capitalize()}")
            assert app.current_mode == name


async def test_wheel_scrolls_queue_and_cursor_follows() -> None:
    async with open_console(FakeDesk(90)) as ui:
        queue = ui.app.screen.queue
        for _ in range(5):
            queue.post_message(wheel_down(queue))
            await ui.wait()
        assert queue.scroll_offset.y > 0
        assert queue.cursor >= queue.scroll_offset.y // queue.row_height


async def test_wheel_scrolls_text() -> None:
    desk = FakeDesk(drafts=[make_draft(0, text="A line.\n\n" * 90)])
    async with open_console(desk) as ui:
        page = ui.app.screen.preview_pane.page
        page.post_message(wheel_down(page))
        await ui.wait()
        assert page.scroll_offset.y > 0
        assert ui.app.screen.queue.cursor == 0


async def test_scroll_bar_can_be_dragged() -> None:
    desk = FakeDesk(drafts=[make_draft(0, text="A line.\n\n" * 90)])
    async with open_console(desk) as ui:
        page = ui.app.screen.preview_pane.page
        bar, height = page.gutter.left + page.drawable_size.width, page.drawable_size.height
        await ui.pilot.mouse_down(page, offset=(bar, page.gutter.top))
        for y in (height // 2, height):
            await ui.pilot.hover(page, offset=(bar, y))
        await ui.wait()
        assert page.scroll_offset.y == page.max_scroll_y > 0
        await ui.pilot.hover(page, offset=(4, page.gutter.top))
        await ui.pilot.mouse_up(page, offset=(4, page.gutter.top))
        await ui.wait()
        assert page.scroll_offset.y == 0
        await ui.pilot.hover(page, offset=(bar, height))
        assert page.scroll_offset.y == 0, "the bar was let go of"


async def test_click_on_list_scroll_bar_only_scrolls() -> None:
    async with open_console(FakeDesk(90)) as ui:
        queue = ui.app.screen.queue
        bar = queue.gutter.left + queue.drawable_size.width
        await ui.pilot.click(queue, offset=(bar, queue.gutter.top + queue.drawable_size.height - 1))
        await ui.wait()
        assert queue.scroll_offset.y == queue.max_scroll_y
        assert queue.cursor == -(-queue.scroll_offset.y // queue.row_height)


async def test_scroll_bar_thumb_shows_position() -> None:
    async with open_console(FakeDesk(90), size=(80, 24)) as ui:
        assert THUMB in ui.lines[3]
        assert THUMB not in ui.lines[-2]
        await ui.press("G")
        assert THUMB not in ui.lines[3]
        assert THUMB in ui.lines[-2]
    async with open_console(FakeDesk(2), size=(80, 24)) as ui:
        assert THUMB not in ui.text


@pytest.mark.parametrize("screen", ["sources", "setup"])
async def test_lists_accept_clicks(sample_home: Path, screen: str) -> None:
    app = Console(lambda: open_sample(sample_settings(load({}, sample_home))))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        app.action_show_screen(screen)
        await ui.wait()
        lists = [line_list for line_list in app.screen.query(LineList) if line_list.region and len(line_list.rows) > 1]
        assert lists
        for rows in lists:
            await pilot.click(rows, offset=(4, 1 + rows.gutter.top))
            await ui.wait()
            assert rows.cursor == 1
            assert app.focused is rows


async def test_double_click_opens_draft() -> None:
    async with open_console(FakeDesk(9)) as ui:
        await ui.pilot.click("#queue", offset=(10, 7), times=2)
        await ui.wait()
        assert ui.app.screen.queue.cursor == 3
        assert ui.app.focused is not None
        assert ui.app.focused.id == "draft"


async def test_click_below_rows_does_nothing() -> None:
    async with open_console(FakeDesk(3)) as ui:
        await ui.pilot.click("#queue", offset=(10, 12))
        await ui.wait()
        assert ui.app.screen.queue.cursor == 0


async def test_click_in_key_line_presses_key() -> None:
    async with open_console(FakeDesk(9)) as ui:
        await click(ui, "j k move")
        assert ui.app.screen.queue.cursor == 1
        await click(ui, "k move")
        assert ui.app.screen.queue.cursor == 0
        await click(ui, "help", nth=-1)
        assert "Keys ·" in ui.text


async def test_prompts_are_answered_by_click() -> None:
    async with open_console(FakeDesk(3)) as ui:
        from copydesk.tui.dialogs.prompt import ConfirmDialog, PromptDialog

        answers: list[object] = []
        for label in ("y go", "n cancel"):
            ui.app.push_screen(ConfirmDialog("Go?", yes="go"), answers.append)
            await ui.wait()
            await click(ui, label)
        ui.app.push_screen(PromptDialog("Why?", suggestions=("Old news", "Too long")), answers.append)
        await ui.wait()
        await click(ui, "Too long")
        assert answers == [True, False, "Too long"]


@pytest.mark.parametrize(
    ("key", "hint", "widget_id"),
    [("e", "Esc cancel", "edit"), ("c", "Esc cancel", "compose"), ("c", "Tab next", "way")],
)
async def test_keys_named_in_forms_are_clickable(tmp_path: Path, key: str, hint: str, widget_id: str) -> None:
    await populate(tmp_path)
    app = make_populated_console(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        await ui.press(key)
        form, focused = app.screen, app.screen.focused
        assert form is not app.screen_stack[0]
        assert form.query(f"#{widget_id}")
        await click(ui, hint)
        # A key that leaves closes the form; one that moves on stays in it.
        assert (app.screen is form) == (hint == "Tab next")
        assert app.screen.focused is not focused


async def test_source_form_hints_are_clickable(tmp_path: Path) -> None:
    async with open_sources(tmp_path) as ui:
        await ui.press("A")
        await type_text(ui, URL_ONE)
        await click(ui, "Enter tests the feed")
        await wait_for_text(ui, "Enter save · Esc cancel")
        await click(ui, "Enter save ·")
        await wait_for_text(ui, "Sources · 1")
        await ui.press("A", "x")
        await click(ui, "Esc cancel")
        await click(ui, "y discard")
        assert isinstance(ui.app.screen, SourcesScreen)
