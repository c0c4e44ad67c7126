"""The review screen, by its keys."""

import pytest

from copydesk.errors import StoreBusyError
from copydesk.tui import browser
from tui_fixtures import FakeDesk, draft, item, on_screen


async def test_the_first_draft_and_its_source_are_shown_at_once() -> None:
    async with on_screen(FakeDesk(12)) as seen:
        assert "Queue · 12" in seen.text
        assert "12 of 12 pass" in seen.text
        assert "from   The Lighthouse · feed" in seen.text


async def test_j_and_k_move_and_the_panes_follow() -> None:
    async with on_screen(FakeDesk(12)) as seen:
        await seen.press("j", "j", "k")
        assert seen.lines[4].startswith("▌ N~ 89")
        assert "@quarrystonedb · X" in seen.text


async def test_arrows_do_the_same() -> None:
    async with on_screen(FakeDesk(12)) as seen:
        await seen.press("down", "down", "up")
        assert seen.lines[4].startswith("▌")


async def test_the_cursor_stays_on_the_rows() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        await seen.press("k", "ctrl+u")
        assert seen.app.screen.queue.cursor == 0
        await seen.press("j", "j", "j", "j", "ctrl+d")
        assert seen.app.screen.queue.cursor == 2


async def test_the_last_and_the_first_draft_are_one_key_away() -> None:
    async with on_screen(FakeDesk(100)) as seen:
        await seen.press("G")
        assert seen.app.screen.queue.cursor == 99
        assert any(line.startswith("▌") for line in seen.lines)
        await seen.press("g")
        assert seen.lines[3].startswith("▌ N  93")


async def test_half_a_page_at_a_time() -> None:
    async with on_screen(FakeDesk(100)) as seen:
        await seen.press("ctrl+d", "pagedown")
        assert seen.app.screen.queue.cursor == 28
        await seen.press("ctrl+u")
        assert seen.app.screen.queue.cursor == 14


async def test_a_held_key_asks_for_no_more_items_than_are_looked_at() -> None:
    desk = FakeDesk(100)
    async with on_screen(desk) as seen:
        for _ in range(60):
            seen.app.screen.queue.action_move(1)
        await seen.wait()
        assert desk.drafts.asked[-2:] == ["item-60", "item-61"]  # and the one that comes next
        assert "60" in seen.text
        assert len(desk.drafts.asked) < 10


async def test_an_item_is_read_once() -> None:
    desk = FakeDesk(5)
    async with on_screen(desk) as seen:
        await seen.press("j", "k", "j", "k")
        assert sorted(desk.drafts.asked) == ["item-0", "item-1", "item-2"]  # and the one that was next


async def test_tab_goes_round_the_panes_and_the_footer_follows() -> None:
    async with on_screen(FakeDesk(5)) as seen:
        assert "j k move" in seen.lines[-1]
        await seen.press("tab")
        assert seen.app.screen.focused.id == "draft"
        assert "j k scroll" in seen.lines[-1]
        await seen.press("tab", "tab")
        assert seen.app.screen.focused.id == "queue"
        await seen.press("shift+tab")
        assert seen.app.screen.focused.id == "item"


async def test_enter_goes_into_the_draft_and_escape_back() -> None:
    async with on_screen(FakeDesk(5)) as seen:
        await seen.press("enter")
        assert seen.app.screen.focused.id == "draft"
        await seen.press("escape")
        assert seen.app.screen.focused.id == "queue"


async def test_the_next_draft_can_be_reached_from_any_pane() -> None:
    async with on_screen(FakeDesk(5)) as seen:
        await seen.press("tab", "tab", "J", "J", "K")
        assert seen.app.screen.queue.cursor == 1
        assert seen.app.screen.focused.id == "item"


async def test_a_long_text_scrolls_by_lines() -> None:
    desk = FakeDesk(drafts=[draft(0, text="\n".join(f"line {number}" for number in range(80)))])
    async with on_screen(desk) as seen:
        await seen.press("tab", "j", "j", "ctrl+d", "k")
        assert "line 3 " not in seen.text
        await seen.press("G")
        assert "Tags  open-source" in seen.text
        await seen.press("g")
        assert "line 1\n" in seen.text


async def test_another_draft_is_shown_from_its_beginning() -> None:
    long = "\n".join(f"line {number}" for number in range(80))
    desk = FakeDesk(drafts=[draft(0, text=long), draft(1, text=long)])
    async with on_screen(desk) as seen:
        await seen.press("tab", "G", "J")
        assert seen.app.screen.draft_pane.scroll_offset.y == 0


async def test_q_leaves_a_text_that_takes_the_whole_screen_before_it_leaves_the_console() -> None:
    async with on_screen(FakeDesk(5), size=(80, 24)) as seen:
        await seen.press("enter", "q")
        assert seen.app.screen.focused.id == "queue"
        assert seen.app.is_running
        await seen.press("q")
        assert seen.app.return_code == 0


async def test_a_narrow_terminal_shows_one_pane_at_a_time() -> None:
    async with on_screen(FakeDesk(5), size=(80, 24)) as seen:
        assert "Queue · 5" in seen.text
        assert "Draft" not in seen.text
        await seen.press("tab")
        assert "12 of 12 pass" in seen.text
        assert "Queue" not in seen.text
        await seen.press("tab")
        assert "The Lighthouse · feed" in seen.text
        await seen.press("tab")
        assert "Queue · 5" in seen.text


async def test_a_terminal_that_grows_shows_all_panes_again() -> None:
    async with on_screen(FakeDesk(5), size=(80, 24)) as seen:
        await seen.press("tab")
        await seen.resize(160, 40)
        assert all(title in seen.text for title in ("─ Queue", "─ Draft", "─ Source"))


@pytest.mark.parametrize("size", [(39, 24), (80, 9), (1, 1), (12, 3)])
async def test_a_terminal_that_is_too_small_says_so(size: tuple[int, int]) -> None:
    async with on_screen(FakeDesk(5), size=size) as seen:
        assert "Queue" not in seen.text
        assert size[0] < 10 or "Copydesk" in seen.text
        await seen.press("j", "tab", "P")
        await seen.resize(120, 32)
        assert "Queue · 5" in seen.text


async def test_an_empty_queue_says_what_to_press() -> None:
    async with on_screen(FakeDesk(0)) as seen:
        assert "P runs the pipeline" in seen.text
        await seen.press("j", "k", "G", "enter", "o", "tab", "J")


async def test_a_desk_without_sources_says_by_which_keys_there_is_one() -> None:
    async with on_screen(FakeDesk(0, sources=0)) as seen:
        shown = [line.strip("│ ").split("  ")[0] for line in seen.lines]
        assert [key for key in ("3", "n", "a", "P") if key in shown] == ["3", "n", "a", "P"]


async def test_a_full_queue_says_how_many_there_are_in_all() -> None:
    async with on_screen(FakeDesk(230)) as seen:
        assert "Queue · 230" in seen.text
        assert "To review 230" in seen.text


async def test_refresh_shows_what_is_new_and_keeps_the_cursor_on_its_draft() -> None:
    desk = FakeDesk(5)
    async with on_screen(desk) as seen:
        await seen.press("j", "j")
        desk.drafts.all = (draft(20), *desk.drafts.all)
        desk.drafts.items["item-20"] = item(20)
        await seen.press("full_stop")
        assert "Queue · 6" in seen.text
        assert seen.app.screen.queue.current.id == "draft-2"
        assert seen.app.screen.queue.cursor == 3


async def test_after_a_refresh_without_its_draft_the_cursor_stays_on_its_line() -> None:
    desk = FakeDesk(5)
    async with on_screen(desk) as seen:
        await seen.press("G")
        desk.drafts.all = desk.drafts.all[:3]
        await seen.press("full_stop")
        assert seen.app.screen.queue.cursor == 2


async def test_o_opens_the_link_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    async def browse(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(browser, "browse", browse)
    async with on_screen(FakeDesk(5)) as seen:
        await seen.press("j", "o")
        assert opened == ["https://lighthouse.example/1"]


async def test_a_link_that_is_none_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = FakeDesk(1)
    desk.drafts.items["item-0"] = item(0, url="file:///etc/passwd")

    async def browse(url: str) -> bool:
        raise AssertionError(url)

    monkeypatch.setattr(browser, "browse", browse)
    async with on_screen(desk) as seen:
        await seen.press("o")
        assert seen.toasts == ["This item has no link to open."]


async def test_without_a_browser_the_link_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    async def browse(url: str) -> bool:
        return False

    monkeypatch.setattr(browser, "browse", browse)
    async with on_screen(FakeDesk(1)) as seen:
        await seen.press("o")
        assert seen.toasts == ["There is no browser to open https://lighthouse.example/0"]


async def test_an_item_that_is_gone_is_one_line_in_a_toast() -> None:
    desk = FakeDesk(1)
    desk.drafts.items.clear()
    async with on_screen(desk) as seen:
        assert seen.toasts == ["There is no item 'item-0'."]
        assert "Queue · 1" in seen.text


async def test_a_failing_refresh_is_one_line_in_a_toast() -> None:
    desk = FakeDesk(3)
    async with on_screen(desk) as seen:

        async def window(*_: object, **__: object) -> None:
            raise StoreBusyError

        desk.drafts.window = window
        await seen.press("full_stop")
        assert seen.toasts == ["Another process holds the database; nothing was changed. Try again in a moment."]
        assert "Queue · 3" in seen.text


async def test_an_error_that_nobody_expected_does_not_end_the_console() -> None:
    desk = FakeDesk(3)
    async with on_screen(desk) as seen:

        async def window(*_: object, **__: object) -> None:
            raise ValueError("[/odd]\x1b[2J")

        desk.drafts.window = window
        await seen.press("full_stop")
        assert "Copydesk did not expect this" in seen.toasts[0]
        assert "\x1b" not in seen.text
        assert "[/odd]" in seen.text


async def test_the_help_opens_over_the_screen_and_closes_again() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        await seen.press("question_mark")
        assert "Keys · q closes" in seen.text
        await seen.press("q")
        assert "Keys · q closes" not in seen.text
        await seen.press("question_mark", "escape")
        assert "Keys · q closes" not in seen.text


async def test_the_palette_offers_the_actions_of_the_key_table() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        await seen.press("colon")
        await seen._pilot.press(*"these keys", "enter")
        await seen.wait()
        assert "Keys · q closes" in seen.text


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_q_ends_the_console_and_closes_the_desk(key: str) -> None:
    desk = FakeDesk(3)
    async with on_screen(desk) as seen:
        await seen.press(key)
    assert (desk.opened, desk.closed) == (1, 1)
    assert seen.app.return_value == 0


async def test_a_click_puts_the_cursor_on_the_row() -> None:
    app_desk = FakeDesk(9)
    async with on_screen(app_desk) as seen:
        await seen._pilot.click("#queue", offset=(10, 5))
        await seen.wait()
        assert seen.app.screen.queue.cursor == 4
