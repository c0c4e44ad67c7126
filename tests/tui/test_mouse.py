"""The mouse: rows, tabs, the keys in the line below, questions, and the wheel, on every screen."""

from pathlib import Path

import pytest
from textual.events import MouseScrollDown
from textual.widget import Widget

from copydesk.sample.desk import open_sample, sample_settings
from copydesk.settings import load
from copydesk.tui.app import Console
from copydesk.tui.keys import SCREEN_NAMES
from copydesk.tui.screens.sources import SourcesScreen
from copydesk.tui.widgets.drawn import THUMB
from copydesk.tui.widgets.line_list import LineList
from desk_fixtures import ONE
from furnished_desk import furnish, furnished_console
from sources_on_screen import on_sources, until, write
from tui_fixtures import FakeDesk, Seen, draft, on_screen, settled


def wheel(widget: Widget) -> MouseScrollDown:
    """One notch of the wheel over it."""
    return MouseScrollDown(widget, 4, 4, 0, 1, 0, shift=False, meta=False, ctrl=False)


async def click(seen: Seen, words: str, *, times: int = 1, nth: int = 0) -> None:
    """Click the first cell of these words, wherever they stand."""
    found = [(line.index(words), y) for y, line in enumerate(seen.lines) if words in line]
    assert found, f"{words} is not on the screen:\n{seen.text}"
    await seen._pilot.click(offset=found[nth], times=times)
    await seen.wait()


async def test_a_click_on_its_name_leads_to_every_screen(sample_home: Path) -> None:
    app = Console(lambda: open_sample(sample_settings(load({}, sample_home))))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        seen = Seen(app, pilot)
        for number, name in reversed(list(enumerate(SCREEN_NAMES, 1))):
            await click(seen, f"{number} {name.capitalize()}")
            assert app.current_mode == name


async def test_the_wheel_scrolls_the_queue_and_its_cursor_stays_on_the_screen() -> None:
    async with on_screen(FakeDesk(90)) as seen:
        queue = seen.app.screen.queue
        for _ in range(5):
            queue.post_message(wheel(queue))
            await seen.wait()
        assert queue.scroll_offset.y > 0
        assert queue.cursor >= queue.scroll_offset.y


async def test_the_wheel_scrolls_the_text() -> None:
    desk = FakeDesk(drafts=[draft(0, text="A line.\n\n" * 90)])
    async with on_screen(desk) as seen:
        page = seen.app.screen.draft_pane
        page.post_message(wheel(page))
        await seen.wait()
        assert page.scroll_offset.y > 0
        assert seen.app.screen.queue.cursor == 0


async def test_the_bar_of_a_text_is_dragged_to_its_end_and_back() -> None:
    desk = FakeDesk(drafts=[draft(0, text="A line.\n\n" * 90)])
    async with on_screen(desk) as seen:
        page = seen.app.screen.draft_pane
        bar, height = page.gutter.left + page.room.width, page.room.height
        await seen._pilot.mouse_down(page, offset=(bar, page.gutter.top))
        for y in (height // 2, height):
            await seen._pilot.hover(page, offset=(bar, y))
        await seen.wait()
        assert page.scroll_offset.y == page.max_scroll_y > 0
        await seen._pilot.hover(page, offset=(4, page.gutter.top))
        await seen._pilot.mouse_up(page, offset=(4, page.gutter.top))
        await seen.wait()
        assert page.scroll_offset.y == 0
        await seen._pilot.hover(page, offset=(bar, height))
        assert page.scroll_offset.y == 0, "the bar was let go of"


async def test_a_click_on_the_bar_of_a_list_scrolls_and_chooses_no_row() -> None:
    async with on_screen(FakeDesk(90)) as seen:
        queue = seen.app.screen.queue
        bar = queue.gutter.left + queue.room.width
        await seen._pilot.click(queue, offset=(bar, queue.gutter.top + queue.room.height - 1))
        await seen.wait()
        assert queue.scroll_offset.y == queue.max_scroll_y
        assert queue.cursor == queue.scroll_offset.y


async def test_the_bar_says_which_part_is_shown() -> None:
    async with on_screen(FakeDesk(90), size=(80, 24)) as seen:
        assert THUMB in seen.lines[3]
        assert THUMB not in seen.lines[-2]
        await seen.press("G")
        assert THUMB not in seen.lines[3]
        assert THUMB in seen.lines[-2]
    async with on_screen(FakeDesk(2), size=(80, 24)) as seen:
        assert THUMB not in seen.text


@pytest.mark.parametrize("screen", ["sources", "setup"])
async def test_every_list_takes_a_click(sample_home: Path, screen: str) -> None:
    app = Console(lambda: open_sample(sample_settings(load({}, sample_home))))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        seen = Seen(app, pilot)
        app.action_show_screen(screen)
        await seen.wait()
        lists = [each for each in app.screen.query(LineList) if each.region and len(each.rows) > 1]
        assert lists
        for rows in lists:
            await pilot.click(rows, offset=(4, 1 + rows.gutter.top))
            await seen.wait()
            assert rows.cursor == 1
            assert app.focused is rows


async def test_a_second_click_opens_the_draft() -> None:
    async with on_screen(FakeDesk(9)) as seen:
        await seen._pilot.click("#queue", offset=(10, 4), times=2)
        await seen.wait()
        assert seen.app.screen.queue.cursor == 3
        assert seen.app.focused is not None
        assert seen.app.focused.id == "draft"


async def test_a_click_below_the_rows_moves_nothing() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        await seen._pilot.click("#queue", offset=(10, 12))
        await seen.wait()
        assert seen.app.screen.queue.cursor == 0


async def test_a_click_on_a_key_in_the_line_below_presses_it() -> None:
    async with on_screen(FakeDesk(9)) as seen:
        await click(seen, "j k move")
        assert seen.app.screen.queue.cursor == 1
        await click(seen, "k move")
        assert seen.app.screen.queue.cursor == 0
        await click(seen, "help", nth=-1)
        assert "Keys ·" in seen.text


async def test_a_question_is_answered_by_a_click() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        from copydesk.tui.modals.ask import LineScreen, YesScreen

        answers: list[object] = []
        for words in ("y yes", "n no"):
            seen.app.push_screen(YesScreen("Go?"), answers.append)
            await seen.wait()
            await click(seen, words)
        seen.app.push_screen(LineScreen("Why?", offered=("Old news", "Too long")), answers.append)
        await seen.wait()
        await click(seen, "Too long")
        assert answers == [True, False, "Too long"]


@pytest.mark.parametrize(
    ("opens", "words", "there"), [("e", "Esc leaves", "edit"), ("c", "Esc leaves", "compose"), ("c", "Tab next", "way")]
)
async def test_the_keys_that_are_named_in_a_form_are_clicked_too(
    tmp_path: Path, opens: str, words: str, there: str
) -> None:
    await furnish(tmp_path)
    app = furnished_console(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        seen = Seen(app, pilot)
        await seen.press(opens)
        form, focused = app.screen, app.screen.focused
        assert form is not app.screen_stack[0]
        assert form.query(f"#{there}")
        await click(seen, words)
        assert app.screen is not form or app.screen.focused is not focused


async def test_what_the_form_of_a_source_says_is_next_is_clicked_too(tmp_path: Path) -> None:
    async with on_sources(tmp_path) as seen:
        await seen.press("n")
        await write(seen, ONE)
        await click(seen, "Enter reads it once")
        await until(seen, "Enter saves it. Esc leaves.")
        await click(seen, "Enter saves it")
        await until(seen, "Sources · 1")
        await seen.press("n", "x")
        await click(seen, "Esc leaves.")
        await click(seen, "Esc again throws away")
        assert isinstance(seen.app.screen, SourcesScreen)
