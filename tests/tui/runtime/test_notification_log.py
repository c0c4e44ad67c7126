"""Tests for toasts and the log of notifications."""

from msgspec.structs import replace
from textual.widgets._toast import ToastRack

from console_driver import FakeDesk, open_console
from copydesk.errors import WriterError
from copydesk.tui.runtime.notifications import MAX_LOG_ENTRIES

LONG = "The server said no, and it said it at length: " + "because of this and that, " * 20 + "the end"


async def test_log_keeps_whole_error_after_toast() -> None:
    async with open_console(FakeDesk(1)) as ui:
        ui.app.notify_error(WriterError(LONG, hint="Ask again later."))
        ui.app.clear_notifications()
        await ui.press("ctrl+l")
        assert "the end" in ui.text
        assert "Ask again later." in ui.text
        assert "E Wed 11 Feb 09:30" in ui.text
        await ui.press("q")
        assert ui.app.screen is ui.app.screen_stack[0]


async def test_times_are_in_the_zone_of_the_user() -> None:
    desk = FakeDesk(1)
    desk.user = replace(desk.user, time_zone="Asia/Tokyo")
    async with open_console(desk) as ui:
        ui.app.notify_error(WriterError(LONG))
        await ui.press("ctrl+l")
        assert "E Wed 11 Feb 18:30" in ui.text


async def test_log_is_newest_first_and_may_be_empty() -> None:
    async with open_console(FakeDesk(1)) as ui:
        await ui.press("ctrl+l")
        assert "No messages" in ui.text
        await ui.press("escape")
        for number in range(MAX_LOG_ENTRIES + 3):
            ui.app.notify(f"message {number}", severity="warning")
        await ui.press("ctrl+l")
        assert len(ui.app.notification_log) == MAX_LOG_ENTRIES
        assert ui.text.index(f"message {MAX_LOG_ENTRIES + 2}") < ui.text.index(f"message {MAX_LOG_ENTRIES + 1}")


async def test_log_neutralizes_outside_text() -> None:
    async with open_console(FakeDesk(1)) as ui:
        ui.app.notify_error(WriterError("[/foo] [@click=app.quit]x[/] \x1b]52;c;x\x07 \u202eabc"))
        ui.app.clear_notifications()
        await ui.press("ctrl+l")
        assert "[/foo]" in ui.text
        assert "\x1b" not in ui.text
        assert "\u202e" not in ui.text


async def test_toast_that_is_being_added_survives_return_to_screen() -> None:
    async with open_console(FakeDesk(1)) as ui:
        ui.app.notify("Edited")
        await ui.wait()
        rack = ui.app.screen.get_child_by_type(ToastRack)
        await rack.remove_children()
        rack.show(ui.app._notifications)
        ui.app.remove_stale_toasts()
        await ui.wait()
        assert "Edited" in ui.text


async def test_replaced_and_dismissed_toasts_leave_no_gap() -> None:
    async with open_console(FakeDesk(1)) as ui:
        for number in range(3):
            ui.app.notify_latest(f"{number} approved")
            await ui.wait()
        assert len(ui.app.screen.query("ToastHolder")) == 1
        ui.app.clear_notifications()
        ui.app.notify("Edited")
        await ui.wait()
        assert len(ui.app.screen.query("ToastHolder")) == 1
        assert "Edited" in ui.text
        assert "approved" not in ui.text
