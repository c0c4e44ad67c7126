"""The log: what was said in toasts, whole."""

from copydesk.errors import WriterError
from copydesk.tui.saying import LOGGED
from tui_fixtures import FakeDesk, on_screen

LONG = "The server said no, and it said it at length: " + "because of this and that, " * 20 + "the end"


async def test_an_error_stands_in_the_log_whole_after_its_toast_is_gone() -> None:
    async with on_screen(FakeDesk(1)) as seen:
        seen.app.complain(WriterError(LONG, hint="Ask again later."))
        seen.app.clear_notifications()
        await seen.press("ctrl+l")
        assert "the end" in seen.text
        assert "Ask again later." in seen.text
        assert "E 2026-02-11 09:30 UTC" in seen.text
        await seen.press("q")
        assert seen.app.screen is seen.app.screen_stack[0]


async def test_the_newest_stands_first_and_an_empty_log_says_so() -> None:
    async with on_screen(FakeDesk(1)) as seen:
        await seen.press("ctrl+l")
        assert "Nothing went wrong" in seen.text
        await seen.press("escape")
        for number in range(LOGGED + 3):
            seen.app.notify(f"message {number}", severity="warning")
        await seen.press("ctrl+l")
        assert len(seen.app.log_of_toasts) == LOGGED
        assert seen.text.index(f"message {LOGGED + 2}") < seen.text.index(f"message {LOGGED + 1}")


async def test_what_comes_from_outside_is_shown_and_not_obeyed() -> None:
    async with on_screen(FakeDesk(1)) as seen:
        seen.app.complain(WriterError("[/foo] [@click=app.quit]x[/] \x1b]52;c;x\x07 \u202eabc"))
        seen.app.clear_notifications()
        await seen.press("ctrl+l")
        assert "[/foo]" in seen.text
        assert "\x1b" not in seen.text
        assert "\u202e" not in seen.text
