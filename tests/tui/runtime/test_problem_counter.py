"""Tests for the problem counter in the top line: errors since the log was last read."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from console_driver import NOW, ConsoleDriver, FakeDesk, open_console, partial_progress, wait_until_idle
from copydesk.errors import (
    ConflictError,
    CopydeskError,
    InvalidError,
    NotFoundError,
    StoreBusyError,
    StoreError,
    WriterError,
)
from copydesk.jobs import JobMessage
from copydesk.tui import desk_app
from copydesk.tui.app import Console
from copydesk.tui.runtime import notifications
from desk_fixtures import URL_THREE, URL_TWO, FakeWeb, Watch, create_source, open_desk_at
from setup_driver import wait_for_text
from sources_driver import make_sources_console, sample_web

LINES = {
    120: "Copydesk  1 Review  2 Schedule  3 Sources  4 Experiments  5 Engagement  6 Setup{}Ctrl+L 2 problems",
    80: "1 Review  2 Sched.  3 Sources  4 Exper.  5 Engag.  6 Setup{}Ctrl+L 2 problems",
    40: "Copydesk  1 Review  2  3  4  5  6{}!2",
}


class FailingDesk(FakeDesk):
    """A desk whose change counter is read once, while it opens, then raises these errors one after another."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__(3)
        self.errors = list(errors)
        self.was_read = False

    async def change_counter(self) -> int:
        if self.was_read and self.errors:
            raise self.errors.pop(0)
        self.was_read = True
        return 0


@pytest.fixture
def no_watch_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Poll for changes without delay."""
    monkeypatch.setattr(desk_app, "CHECK_INTERVAL", 0.001)


@asynccontextmanager
async def on_desk(home: Path, web: FakeWeb) -> AsyncIterator[ConsoleDriver]:
    """Open the console of the desk in `home`."""
    app = make_sources_console(home, web)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        yield ConsoleDriver(app, pilot)


async def click(ui: ConsoleDriver, text: str) -> None:
    """Click on `text` in the top line."""
    await ui.pilot.click(offset=(ui.lines[0].index(text), 0))
    await ui.wait()


@pytest.mark.parametrize("width", LINES)
async def test_problems_are_counted_at_any_width(width: int) -> None:
    async with open_console(FakeDesk(3), size=(width, 24)) as ui:
        assert "problem" not in ui.lines[0]
        ui.app.notify("All is well.")
        ui.app.notify("Look out.", severity="warning")
        ui.app.notify_error(WriterError("This failed."))
        ui.app.notify_error(WriterError("That failed."))
        await ui.wait()
        gap = width - 2 - len(LINES[width].format(""))
        assert ui.lines[0].strip() == LINES[width].format(" " * gap)


@pytest.mark.parametrize("error", [ConflictError("Not now."), InvalidError(), NotFoundError("It is gone.")], ids=repr)
async def test_refused_request_is_no_problem(error: CopydeskError) -> None:
    async with open_console(FakeDesk(3)) as ui:
        ui.app.notify_error(error)
        await ui.wait()
        assert "problem" not in ui.lines[0]
        assert [toast.severity for toast in ui.app._notifications] == ["warning"]


async def test_toasts_close_on_screen_change() -> None:
    async with open_console(FakeDesk(3)) as ui:
        for key in ("question_mark", "2"):
            ui.app.notify("All is well.")
            await ui.wait()
            assert ui.toasts == ["All is well."]
            await ui.press(key)
            assert "All is well." not in ui.toasts
            await ui.press("escape")


@pytest.mark.parametrize(("size", "seconds"), [((80, 24), 400), ((120, 40), 500)])
async def test_toast_timeout_depends_on_size(
    size: tuple[int, int], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "SHORT_TIMEOUT", 400)
    monkeypatch.setattr(Console, "NOTIFICATION_TIMEOUT", 500)
    async with open_console(FakeDesk(3), size=size) as ui:
        ui.app.notify("All is well.")
        ui.app.notify_latest("Approved.")
        await ui.wait()
        assert [toast.timeout for toast in ui.app._notifications] == [seconds, seconds]


async def test_reading_log_resets_counter() -> None:
    async with open_console(FakeDesk(3)) as ui:
        ui.app.notify_error(WriterError("This failed."))
        await ui.wait()
        assert "Ctrl+L 1 problem" in ui.lines[0]
        await ui.press("ctrl+l", "q")
        assert "problem" not in ui.lines[0]
        ui.app.notify_error(WriterError("That failed."))
        await ui.wait()
        assert "Ctrl+L 1 problem" in ui.lines[0]


async def test_repeated_error_is_one_problem() -> None:
    async with open_console(FakeDesk(3)) as ui:
        for _ in range(3):
            ui.app.notify_error(WriterError("This failed."))
        await ui.wait()
        assert "Ctrl+L 1 problem" in ui.lines[0]
        assert ui.toasts == ["This failed."]
        ui.app.clear_notifications()
        ui.app.notify_error(WriterError("This failed."))
        await ui.wait()
        assert ui.toasts == ["This failed."]
        assert "Ctrl+L 1 problem" in ui.lines[0]
        await ui.press("ctrl+l")
        assert ui.toasts == []
        assert ui.text.count("This failed.") == 1


async def test_counter_is_shared_by_screens(tmp_path: Path) -> None:
    async with on_desk(tmp_path, sample_web()) as ui:
        await ui.press("3", "1")
        ui.app.notify_error(WriterError("This failed."))
        await ui.press("3")
        assert "Ctrl+L 1 problem" in ui.lines[0]
        await ui.press("ctrl+l", "q", "1")
        assert "problem" not in ui.lines[0]


async def test_click_on_counter_opens_log(tmp_path: Path) -> None:
    """A click on a screen's name opens that screen."""
    async with on_desk(tmp_path, sample_web()) as ui:
        ui.app.notify_error(WriterError("This failed."))
        ui.app.clear_notifications()
        await ui.wait()
        await click(ui, "1 problem")
        assert "This failed." in ui.text
        await ui.press("q")
        await click(ui, "Sources")
        assert ui.app.current_mode == "sources"
        await click(ui, "1 Review")
        assert ui.app.current_mode == "review"
        await click(ui, "Copydesk")
        assert ui.app.current_mode == "review"


async def test_run_progress_precedes_counter() -> None:
    desk = FakeDesk(3)
    desk.pipeline.progress = partial_progress()
    async with open_console(desk, size=(80, 24)) as ui:
        await ui.press("P")
        assert ui.lines[0].endswith("  6 Setup          rank 14/41")
        ui.app.notify_error(WriterError("This failed."))
        await ui.wait()
        # The names of the screens stay.
        assert re.search(r"5 Engag\.  6 Setup +rank 14/41  !1$", ui.lines[0])
        await ui.resize(44, 24)
        assert ui.lines[0].endswith("rank 14/41  !1")
        await ui.resize(40, 24)
        assert "rank" not in ui.lines[0]
        assert ui.lines[0].endswith("!1")


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (JobMessage(at=NOW, job="posting", text="a draft to the harbour: it was refused", failed=True), True),
        (JobMessage(at=NOW, job="missed", text="1 draft missed: nothing was sent"), True),
        (JobMessage(at=NOW, job="posting", text="a draft to the harbour: Posted"), False),
    ],
    ids=["a delivery that failed", "a draft that was missed", "a delivery that went well"],
)
async def test_background_failures_are_counted(message: JobMessage, problem: bool) -> None:
    async with open_console(FakeDesk(3)) as ui:
        ui.app._handle_job_message(message)
        await ui.wait()
        assert ("1 problem" in ui.lines[0]) is problem
        assert bool(ui.toasts) is problem


async def test_failing_source_is_counted_once(tmp_path: Path, no_watch_delay: None) -> None:
    web = sample_web()
    async with open_desk_at(tmp_path, web, Watch()) as desk:
        await create_source(desk, URL_THREE, name="Gone before")
        await create_source(desk, URL_TWO, name="Second Site")
        await desk.pipeline.run()
    async with on_desk(tmp_path, web) as ui:
        assert "problem" not in ui.lines[0]
        web.disconnect(URL_TWO)
        await ui.press("P")
        await wait_for_text(ui, "Ctrl+L 1 problem")
        await ui.press("ctrl+l")
        assert "Could not fetch Second Site." in ui.text
        assert "Gone before" not in ui.text


async def test_database_error_is_reported_once_until_it_changes(no_watch_delay: None) -> None:
    desk = FailingDesk(StoreBusyError(), StoreBusyError(), StoreBusyError(), StoreError("The database is gone."))
    async with open_console(desk) as ui:
        await wait_for_text(ui, "2 problems")
        assert not desk.errors
        assert ui.toasts == []
        await ui.press("ctrl+l")
        assert ui.text.count("The database is gone.") == 1


async def test_change_watch_survives_unexpected_error(no_watch_delay: None) -> None:
    desk = FailingDesk(ValueError("a bad row"), StoreError("The database is gone."))
    async with open_console(desk) as ui:
        await wait_for_text(ui, "2 problems")
        await ui.press("ctrl+l")
        assert "Unexpected error: ValueError('a bad row')." in ui.text
        assert "The database is gone." in ui.text


async def test_open_error_is_problem() -> None:
    desk = FakeDesk(0)
    desk.open_error = StoreBusyError(hint="Is Copydesk open elsewhere?")
    async with open_console(desk) as ui:
        assert "Ctrl+L 1 problem" in ui.lines[0]
        await ui.press("ctrl+l")
        assert "E Wed 11 Feb 09:30" in ui.text
        assert "open elsewhere?" in ui.text
