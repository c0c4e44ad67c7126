"""Tests for the top line: it names the desk and switches screens."""

import re

import pytest
from rich.cells import cell_len

from console_driver import NOW, ConsoleDriver, FakeDesk, wait_until_idle
from copydesk.tui.app import Console
from copydesk.tui.keys import SCREEN_NAMES
from copydesk.tui.widgets.top_line import TopLine


@pytest.mark.parametrize(
    ("width", "start"),
    [
        (120, "Copydesk · sample  1 Review  2 Schedule"),
        (80, "sample  1 Review  2 Schedule"),
        (40, "sample  1 Review  2  3  4"),
    ],
)
async def test_desk_name_is_in_top_line(width: int, start: str) -> None:
    app = Console(FakeDesk(1).open, clock=lambda: NOW, name="sample")  # type: ignore[arg-type]
    async with app.run_test(size=(width, 24)) as pilot:
        await wait_until_idle(pilot)
        assert ConsoleDriver(app, pilot).lines[0].strip().startswith(start)


@pytest.mark.parametrize("name", ["", "anna", "desk 3 of 6", "編集部", "x" * 100])
@pytest.mark.parametrize("width", [120, 80, 40])
async def test_tabs_are_found_beside_any_name(name: str, width: int) -> None:
    app = Console(FakeDesk(1).open, clock=lambda: NOW, name=name)  # type: ignore[arg-type]
    async with app.run_test(size=(width, 24)) as pilot:
        await wait_until_idle(pilot)
        line = app.screen.query_one(TopLine)
        text = line.lines(line.drawable_size.width)[0].plain
        end = len(text)
        for number, screen in reversed(list(enumerate(SCREEN_NAMES, 1))):
            end = text.rindex(str(number), 0, end)
            assert line._tab_at(cell_len(text[:end])) == screen
        if end:
            assert line._tab_at(0) == ""


@pytest.mark.parametrize(
    "news", [("has_account", "needs_user"), ("needs_user", "problems"), ("posting_paused", "problems")]
)
@pytest.mark.parametrize("name", ["", "sample"])
async def test_screens_keep_their_names_beside_two_notices(news: tuple[str, str], name: str) -> None:
    app = Console(FakeDesk(1).open, clock=lambda: NOW, name=name)  # type: ignore[arg-type]
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until_idle(pilot)
        for attribute in news:
            setattr(app, attribute, False if attribute == "has_account" else 2)
        await wait_until_idle(pilot)
        line = ConsoleDriver(app, pilot).lines[0]
        assert "1 Review  2 Sched.  3 Sources  4 Exper.  5 Engag.  6 Setup  " in line
        signs = {
            "has_account": "6 no account",
            "needs_user": r"0 Needs( you)? \(2\)",
            "posting_paused": "posting paused",
            "problems": "!2|2 problems",
        }
        # What needs the user includes the missing account.
        shown = [attribute for attribute in news if attribute != "has_account" or "needs_user" not in news]
        assert all(re.search(signs[attribute], line) for attribute in shown)


@pytest.mark.parametrize(
    ("width", "screens", "notices"),
    [
        (120, "2 Schedule  3 Sources", "0 Needs you (2)  Ctrl+L 2 problems"),
        (80, "2 Sched.  3 Sources", "0 Needs (2)  !2"),
    ],
)
async def test_notices_are_shortened_before_names_of_screens(width: int, screens: str, notices: str) -> None:
    app = Console(FakeDesk(1).open, clock=lambda: NOW)  # type: ignore[arg-type]
    async with app.run_test(size=(width, 24)) as pilot:
        await wait_until_idle(pilot)
        app.has_account, app.needs_user, app.problems = False, 2, 2
        await wait_until_idle(pilot)
        line = ConsoleDriver(app, pilot).lines[0]
        assert f"1 Review  {screens}" in line
        assert line.endswith(notices)


@pytest.mark.parametrize("screen", ["Experiments", "Engagement"])
@pytest.mark.parametrize(("problems", "notices"), [(0, "0 Needs you (2)"), (2, "0 Needs (2)  !2")])
async def test_key_of_needs_you_stays_beside_a_long_name(screen: str, problems: int, notices: str) -> None:
    app = Console(FakeDesk(1).open, clock=lambda: NOW)  # type: ignore[arg-type]
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until_idle(pilot)
        line = TopLine("sample", screen)
        await app.screen.mount(line)
        app.needs_user, app.problems = 2, problems
        text = line.lines(78)[0].plain
        assert text.endswith(f"  {notices}")
        assert "1 Review  2 Sched.  3 Sources  4 Exper.  5 Engag.  6 Setup" in text


@pytest.mark.parametrize(
    ("width", "screen", "count", "notices"),
    [
        (80, "review", 1, "6  ingest 3/10  0 Needs you (1)"),
        (40, "review", 2, "6  0 Needs (2)"),
        (40, "engagement", 12, "0 (12)"),
    ],
)
async def test_number_that_needs_the_user_is_told_apart_from_its_key(
    width: int, screen: str, count: int, notices: str
) -> None:
    app = Console(FakeDesk(1).open, clock=lambda: NOW)  # type: ignore[arg-type]
    async with app.run_test(size=(width, 24)) as pilot:
        await wait_until_idle(pilot)
        line = TopLine("", screen)
        await app.screen.mount(line)
        line.show_work("ingest 3/10")
        app.needs_user = count
        assert re.sub("  +", "  ", line.lines(width - 2)[0].plain).endswith(notices)
