"""What went wrong since the log was looked at stands in the line above every screen."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from copydesk.errors import (
    ConflictError,
    CopydeskError,
    InvalidError,
    NotFoundError,
    StoreBusyError,
    StoreError,
    WriterError,
)
from copydesk.jobs import Said
from copydesk.tui import desk_app, saying
from copydesk.tui.app import Console
from desk_fixtures import THREE, TWO, Watch, Web, add, open_at
from setup_screen import until
from sources_on_screen import console_at, small_web
from tui_fixtures import NOW, FakeDesk, Seen, on_screen, settled, under_way

LINES = {
    120: "Copydesk  1 Review  2 Schedule  3 Sources  4 Experiments  5 Engagement  6 Setup{}2 problems Ctrl+l",
    80: "Copydesk  1 Review  2  3  4  5  6{}2 problems Ctrl+l",
    40: "Copydesk  1 Review  2  3  4  5  6{}!2",
}


class Troubled(FakeDesk):
    """A desk that cannot say for a while whether something was written."""

    def __init__(self, *troubles: Exception) -> None:
        super().__init__(3)
        self.troubles = list(troubles)

    async def changes(self) -> int:
        if self.troubles:
            raise self.troubles.pop(0)
        return 0


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written is noticed without delay."""
    monkeypatch.setattr(desk_app, "LOOK", 0.001)


@asynccontextmanager
async def on_desk(home: Path, web: Web) -> AsyncIterator[Seen]:
    """The console of the desk in `home`."""
    app = console_at(home, web)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await settled(pilot)
        yield Seen(app, pilot)


async def click(seen: Seen, words: str) -> None:
    """Click on what the line above says."""
    await seen._pilot.click(offset=(seen.lines[0].index(words), 0))
    await seen.wait()


@pytest.mark.parametrize("width", LINES)
async def test_problems_are_counted_at_every_width(width: int) -> None:
    async with on_screen(FakeDesk(3), size=(width, 24)) as seen:
        assert "problem" not in seen.lines[0]
        seen.app.notify("All is well.")
        seen.app.notify("Look out.", severity="warning")
        seen.app.complain(WriterError("This failed."))
        seen.app.complain(WriterError("That failed."))
        await seen.wait()
        gap = width - 2 - len(LINES[width].format(""))
        assert seen.lines[0].strip() == LINES[width].format(" " * gap)


@pytest.mark.parametrize("error", [ConflictError("Not now."), InvalidError(), NotFoundError("It is gone.")], ids=repr)
async def test_what_a_user_asked_for_and_was_refused_is_no_problem(error: CopydeskError) -> None:
    async with on_screen(FakeDesk(3)) as seen:
        seen.app.complain(error)
        await seen.wait()
        assert "problem" not in seen.lines[0]
        assert [toast.severity for toast in seen.app._notifications] == ["warning"]


async def test_toasts_make_way_for_another_screen_and_for_what_lies_over_one() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        for key in ("question_mark", "2"):
            seen.app.notify("All is well.")
            await seen.wait()
            assert seen.toasts == ["All is well."]
            await seen.press(key)
            assert "All is well." not in seen.toasts
            await seen.press("escape")


@pytest.mark.parametrize(("size", "seconds"), [((80, 24), 400), ((120, 40), 500)])
async def test_what_is_said_goes_sooner_where_there_is_little_room(
    size: tuple[int, int], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saying, "BRIEFLY", 400)
    monkeypatch.setattr(Console, "NOTIFICATION_TIMEOUT", 500)
    async with on_screen(FakeDesk(3), size=size) as seen:
        seen.app.notify("All is well.")
        seen.app.say("Approved.")
        await seen.wait()
        assert [toast.timeout for toast in seen.app._notifications] == [seconds, seconds]


async def test_reading_the_log_is_enough_and_what_comes_later_counts_anew() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        seen.app.complain(WriterError("This failed."))
        await seen.wait()
        assert "1 problem Ctrl+l" in seen.lines[0]
        await seen.press("ctrl+l", "q")
        assert "problem" not in seen.lines[0]
        seen.app.complain(WriterError("That failed."))
        await seen.wait()
        assert "1 problem Ctrl+l" in seen.lines[0]


async def test_what_is_said_over_and_over_is_one_problem_and_one_toast() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        for _ in range(3):
            seen.app.complain(WriterError("This failed."))
        await seen.wait()
        assert "1 problem Ctrl+l" in seen.lines[0]
        assert seen.toasts == ["This failed."]
        seen.app.clear_notifications()
        seen.app.complain(WriterError("This failed."))
        await seen.wait()
        assert seen.toasts == ["This failed."]
        assert "1 problem Ctrl+l" in seen.lines[0]
        await seen.press("ctrl+l")
        assert seen.toasts == []
        assert seen.text.count("This failed.") == 1


async def test_other_screens_count_the_same(tmp_path: Path) -> None:
    async with on_desk(tmp_path, small_web()) as seen:
        await seen.press("3", "1")
        seen.app.complain(WriterError("This failed."))
        await seen.press("3")
        assert "1 problem Ctrl+l" in seen.lines[0]
        await seen.press("ctrl+l", "q", "1")
        assert "problem" not in seen.lines[0]


async def test_a_click_on_them_opens_the_log_and_one_on_a_tab_its_screen(tmp_path: Path) -> None:
    async with on_desk(tmp_path, small_web()) as seen:
        seen.app.complain(WriterError("This failed."))
        seen.app.clear_notifications()
        await seen.wait()
        await click(seen, "1 problem")
        assert "This failed." in seen.text
        await seen.press("q")
        await click(seen, "Sources")
        assert seen.app.current_mode == "sources"
        await click(seen, "1 Review")
        assert seen.app.current_mode == "review"
        await click(seen, "Copydesk")
        assert seen.app.current_mode == "review"


async def test_a_run_stands_beside_them_where_there_is_room() -> None:
    desk = FakeDesk(3)
    desk.pipeline.steps = under_way()
    async with on_screen(desk, size=(80, 24)) as seen:
        await seen.press("P")
        assert seen.lines[0].endswith("  2  3  4  5  6" + "rank 14/41".rjust(45))
        seen.app.complain(WriterError("This failed."))
        await seen.wait()
        assert seen.lines[0].endswith("rank 14/41  1 problem Ctrl+l")
        await seen.resize(44, 24)
        assert seen.lines[0].endswith("rank 14/41  !1")
        await seen.resize(40, 24)
        assert "rank" not in seen.lines[0]
        assert seen.lines[0].endswith("!1")


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (Said(at=NOW, job="posting", text="a draft to the harbour: it was refused", failed=True), True),
        (Said(at=NOW, job="missed", text="1 draft missed: nothing was sent"), True),
        (Said(at=NOW, job="posting", text="a draft to the harbour: Posted"), False),
    ],
    ids=["a delivery that failed", "a draft that was missed", "a delivery that went well"],
)
async def test_what_goes_wrong_by_itself_counts(said: Said, problem: bool) -> None:
    async with on_screen(FakeDesk(3)) as seen:
        seen.app._hear(said)
        await seen.wait()
        assert ("1 problem" in seen.lines[0]) is problem
        assert bool(seen.toasts) is problem


async def test_a_source_counts_when_it_begins_to_fail_and_not_again(tmp_path: Path, at_once: None) -> None:
    web = small_web()
    async with open_at(tmp_path, web, Watch()) as desk:
        await add(desk, THREE, name="Gone before")
        await add(desk, TWO, name="Second Site")
        await desk.pipeline.run()
    async with on_desk(tmp_path, web) as seen:
        assert "problem" not in seen.lines[0]
        web.cut(TWO)
        await seen.press("P")
        await until(seen, "1 problem Ctrl+l")
        await seen.press("ctrl+l")
        assert "Second Site could not be read." in seen.text
        assert "Gone before" not in seen.text


async def test_a_database_in_trouble_is_told_once_until_something_else_is_the_matter(at_once: None) -> None:
    desk = Troubled(StoreBusyError(), StoreBusyError(), StoreBusyError(), StoreError("The database is gone."))
    async with on_screen(desk) as seen:
        await until(seen, "2 problems")
        assert not desk.troubles
        assert seen.toasts == []
        await seen.press("ctrl+l")
        assert seen.text.count("The database is gone.") == 1


async def test_after_an_error_that_nobody_expected_it_is_still_noticed_what_is_written(at_once: None) -> None:
    desk = Troubled(ValueError("a bad row"), StoreError("The database is gone."))
    async with on_screen(desk) as seen:
        await until(seen, "2 problems")
        await seen.press("ctrl+l")
        assert "Copydesk did not expect this: ValueError('a bad row')." in seen.text
        assert "The database is gone." in seen.text


async def test_a_desk_that_cannot_be_opened_is_a_problem() -> None:
    desk = FakeDesk(0)
    desk.trouble = StoreBusyError(hint="Is Copydesk open elsewhere?")
    async with on_screen(desk) as seen:
        assert "1 problem Ctrl+l" in seen.lines[0]
        await seen.press("ctrl+l")
        assert "E 2026-02-11 09:30 UTC" in seen.text
        assert "open elsewhere?" in seen.text
