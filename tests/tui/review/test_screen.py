"""Tests for the review screen and its keys."""

import pytest

from console_driver import FakeDesk, make_draft, make_item, open_console
from copydesk.errors import StoreBusyError
from copydesk.tui import browser


async def test_first_draft_and_source_are_displayed() -> None:
    async with open_console(FakeDesk(12)) as ui:
        assert "Queue · 12" in ui.text
        assert "12 of 12 passed" in ui.text
        assert "Source     The Lighthouse · feed" in ui.text


async def test_j_and_k_move_and_panes_follow() -> None:
    async with open_console(FakeDesk(12)) as ui:
        await ui.press("j", "j", "k")
        assert ui.lines[5].startswith("▌  ~ Quarrystone")
        assert ui.lines[6].startswith("▌    length · @quarrystonedb")
        assert "@quarrystonedb · X" in ui.text


async def test_arrow_keys_move() -> None:
    async with open_console(FakeDesk(12)) as ui:
        await ui.press("down", "down", "up")
        assert ui.lines[5].startswith("▌")


async def test_cursor_stays_within_rows() -> None:
    async with open_console(FakeDesk(3)) as ui:
        await ui.press("k", "ctrl+u")
        assert ui.app.screen.queue.cursor == 0
        await ui.press("j", "j", "j", "j", "ctrl+d")
        assert ui.app.screen.queue.cursor == 2


async def test_first_and_last_keys_jump() -> None:
    async with open_console(FakeDesk(100)) as ui:
        await ui.press("G")
        assert ui.app.screen.queue.cursor == 99
        assert any(line.startswith("▌") for line in ui.lines)
        await ui.press("g")
        assert ui.lines[3].startswith("▌    A missing index")


async def test_full_screen_shows_one_pane_until_escape() -> None:
    async with open_console(FakeDesk(12), size=(160, 32)) as ui:
        panes = ("queue-pane", "draft-pane", "item-pane")
        await ui.press("plus")
        assert [bool(ui.app.screen.query_one(f"#{pane}").region) for pane in panes] == [True, False, False]
        await ui.press("tab")
        assert [bool(ui.app.screen.query_one(f"#{pane}").region) for pane in panes] == [False, True, False]
        await ui.press("escape")
        assert all(ui.app.screen.query_one(f"#{pane}").region for pane in panes)


async def test_toast_does_not_cover_the_row_under_the_cursor() -> None:
    async with open_console(FakeDesk(40), size=(80, 24)) as ui:
        for key in ("g", "G"):
            await ui.press(key)
            ui.app.notify("Something happened somewhere, and this is about it")
            await ui.wait()
            assert "this is about it" in ui.text
            row = next(line for line in ui.lines if line.startswith("▌"))
            assert "Something" not in row
            assert "about it" not in row


async def test_toasts_that_expired_below_a_dialog_leave_no_gap() -> None:
    async with open_console(FakeDesk(40), size=(80, 24)) as ui:
        await ui.press("G")
        for number in range(6):
            ui.app.notify(f"Something {number}")
        await ui.press("r")
        ui.app.clear_notifications()
        await ui.press("escape")
        ui.app.notify("Something else")
        await ui.wait()
        # As if it were the first: the rows go down to the line of keys.
        assert "Something else" in ui.lines[-1]
        assert ui.app.screen.queue.region.bottom == len(ui.lines) - 1


async def test_half_page_keys() -> None:
    async with open_console(FakeDesk(100)) as ui:
        await ui.press("ctrl+d", "pagedown")
        assert ui.app.screen.queue.cursor == 14
        await ui.press("ctrl+u")
        assert ui.app.screen.queue.cursor == 7


async def test_fast_moves_load_few_items() -> None:
    desk = FakeDesk(100)
    async with open_console(desk) as ui:
        for _ in range(60):
            ui.app.screen.queue.action_move(1)
        await ui.wait()
        assert desk.drafts.requested_items[-2:] == ["item-60", "item-61"]  # the current item and the preloaded next one
        assert "60" in ui.text
        assert len(desk.drafts.requested_items) < 10


async def test_item_is_loaded_once() -> None:
    desk = FakeDesk(5)
    async with open_console(desk) as ui:
        await ui.press("j", "k", "j", "k")
        assert sorted(desk.drafts.requested_items) == ["item-0", "item-1", "item-2"]  # item-2 was preloaded


async def test_tab_cycles_panes_and_footer_follows() -> None:
    async with open_console(FakeDesk(5)) as ui:
        assert "j k move" in ui.lines[-1]
        await ui.press("tab")
        assert ui.app.screen.focused.id == "draft"
        assert "j k scroll" in ui.lines[-1]
        await ui.press("tab", "tab")
        assert ui.app.screen.focused.id == "queue"
        await ui.press("shift+tab")
        assert ui.app.screen.focused.id == "item"


async def test_enter_opens_draft_and_escape_returns() -> None:
    async with open_console(FakeDesk(5)) as ui:
        await ui.press("enter")
        assert ui.app.screen.focused.id == "draft"
        await ui.press("escape")
        assert ui.app.screen.focused.id == "queue"


async def test_next_draft_key_works_in_any_pane() -> None:
    async with open_console(FakeDesk(5)) as ui:
        await ui.press("tab", "tab", "J", "J", "K")
        assert ui.app.screen.queue.cursor == 1
        assert ui.app.screen.focused.id == "item"


async def test_long_text_scrolls_by_line() -> None:
    desk = FakeDesk(drafts=[make_draft(0, text="\n".join(f"line {number}" for number in range(80)))])
    async with open_console(desk) as ui:
        await ui.press("tab", "j", "j", "ctrl+d", "k")
        assert "line 3 " not in ui.text
        await ui.press("G")
        assert "Tags  open-source" in ui.text
        await ui.press("g")
        assert "line 1\n" in ui.text


async def test_next_draft_starts_at_top() -> None:
    long = "\n".join(f"line {number}" for number in range(80))
    desk = FakeDesk(drafts=[make_draft(0, text=long), make_draft(1, text=long)])
    async with open_console(desk) as ui:
        await ui.press("tab", "G", "J")
        assert ui.app.screen.preview_pane.page.scroll_offset.y == 0


async def test_q_leaves_full_screen_pane_before_console() -> None:
    async with open_console(FakeDesk(5), size=(80, 24)) as ui:
        await ui.press("enter", "q")
        assert ui.app.screen.focused.id == "queue"
        assert ui.app.is_running
        await ui.press("q")
        assert ui.app.return_code == 0


async def test_narrow_terminal_shows_one_pane() -> None:
    async with open_console(FakeDesk(5), size=(80, 24)) as ui:
        assert "Queue · 5" in ui.text
        assert "Draft" not in ui.text
        await ui.press("tab")
        assert "12 of 12 passed" in ui.text
        assert "Queue" not in ui.text
        await ui.press("tab")
        assert "The Lighthouse · feed" in ui.text
        await ui.press("tab")
        assert "Queue · 5" in ui.text


async def test_growing_terminal_shows_all_panes() -> None:
    async with open_console(FakeDesk(5), size=(80, 24)) as ui:
        await ui.press("tab")
        assert "J next draft" in ui.text
        await ui.resize(160, 40)
        assert all(title in ui.text for title in ("─ Queue", "─ Draft", "─ Source"))
        assert "J next draft" not in ui.text


@pytest.mark.parametrize(
    ("size", "text"), [((39, 24), "Copydesk needs"), ((80, 9), "Copydesk needs"), ((12, 3), "Copydesk"), ((1, 1), "")]
)
async def test_too_small_terminal_shows_message(size: tuple[int, int], text: str) -> None:
    async with open_console(FakeDesk(5), size=size) as ui:
        assert "Queue" not in ui.text
        assert text in ui.text
        await ui.press("j", "tab", "P")
        await ui.resize(120, 32)
        assert "Queue · 5" in ui.text


async def test_empty_queue_names_next_key() -> None:
    async with open_console(FakeDesk(0)) as ui:
        assert "P run the pipeline" in ui.text
        await ui.press("j", "k", "G", "enter", "o", "tab", "J")


async def test_desk_without_sources_names_next_keys() -> None:
    async with open_console(FakeDesk(0, sources=0)) as ui:
        first_columns = [line.strip("│ ").split("  ")[0] for line in ui.lines]
        assert [key for key in ("3", "A", "7", "P") if key in first_columns] == ["3", "A", "7", "P"]


async def test_full_queue_shows_total() -> None:
    async with open_console(FakeDesk(230)) as ui:
        assert "Queue · 230" in ui.text
        assert "To review 230" in ui.text


async def test_refresh_adds_rows_and_keeps_cursor() -> None:
    desk = FakeDesk(5)
    async with open_console(desk) as ui:
        await ui.press("j", "j")
        desk.drafts.all = (make_draft(20), *desk.drafts.all)
        desk.drafts.items["item-20"] = make_item(20)
        await ui.press("full_stop")
        assert "Queue · 6" in ui.text
        assert ui.app.screen.queue.current.id == "draft-2"
        assert ui.app.screen.queue.cursor == 3


async def test_refresh_without_current_draft_keeps_line() -> None:
    desk = FakeDesk(5)
    async with open_console(desk) as ui:
        await ui.press("G")
        desk.drafts.all = desk.drafts.all[:3]
        await ui.press("full_stop")
        assert ui.app.screen.queue.cursor == 2


async def test_o_opens_source_link(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    async def browse(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(browser, "open_in_browser", browse)
    async with open_console(FakeDesk(5)) as ui:
        await ui.press("j", "o")
        assert opened == ["https://lighthouse.example/1"]


async def test_unsafe_link_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = FakeDesk(1)
    desk.drafts.items["item-0"] = make_item(0, url="file:///etc/passwd")

    async def browse(url: str) -> bool:
        raise AssertionError(url)

    monkeypatch.setattr(browser, "open_in_browser", browse)
    async with open_console(desk) as ui:
        await ui.press("o")
        assert ui.toasts == ["The source item has no link."]


async def test_missing_browser_shows_link(monkeypatch: pytest.MonkeyPatch) -> None:
    async def browse(url: str) -> bool:
        return False

    monkeypatch.setattr(browser, "open_in_browser", browse)
    async with open_console(FakeDesk(1)) as ui:
        await ui.press("o")
        assert ui.toasts == ["No browser found. Open https://lighthouse.example/0"]


async def test_missing_item_shows_toast() -> None:
    desk = FakeDesk(1)
    desk.drafts.items.clear()
    async with open_console(desk) as ui:
        assert ui.toasts == ["No item 'item-0'."]
        assert "Queue · 1" in ui.text


async def test_failed_refresh_shows_toast() -> None:
    desk = FakeDesk(3)
    async with open_console(desk) as ui:

        async def window(*_: object, **__: object) -> None:
            raise StoreBusyError

        desk.drafts.views.window = window
        await ui.press("full_stop")
        assert ui.toasts == ["Another process has locked the database; nothing changed. Try again in a moment."]
        assert "Queue · 3" in ui.text


async def test_unexpected_error_does_not_end_console() -> None:
    desk = FakeDesk(3)
    async with open_console(desk) as ui:

        async def window(*_: object, **__: object) -> None:
            raise ValueError("[/odd]\x1b[2J")

        desk.drafts.views.window = window
        await ui.press("full_stop")
        assert "Unexpected error" in ui.toasts[0]
        assert "\x1b" not in ui.text
        assert "[/odd]" in ui.text


async def test_help_opens_and_closes() -> None:
    async with open_console(FakeDesk(3)) as ui:
        await ui.press("question_mark")
        assert "Keys · q close" in ui.text
        await ui.press("q")
        assert "Keys · q close" not in ui.text
        await ui.press("question_mark", "escape")
        assert "Keys · q close" not in ui.text


async def test_palette_runs_action() -> None:
    async with open_console(FakeDesk(3)) as ui:
        await ui.press("colon")
        await ui.pilot.press(*"show the keys", "enter")
        await ui.wait()
        assert "Keys · q close" in ui.text


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_quit_keys_close_desk(key: str) -> None:
    desk = FakeDesk(3)
    async with open_console(desk) as ui:
        await ui.press(key)
    assert (desk.open_count, desk.close_count) == (1, 1)
    assert ui.app.return_value == 0


async def test_click_moves_cursor() -> None:
    app_desk = FakeDesk(9)
    async with open_console(app_desk) as ui:
        await ui.pilot.click("#queue", offset=(10, 5))
        await ui.wait()
        assert ui.app.screen.queue.cursor == 2
