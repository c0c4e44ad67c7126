"""Snapshots of the screens in 40 columns, with errors, and below dialogs.

`pytest --snapshot-update` accepts intended changes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from console_driver import ConsoleDriver, FakeDesk, make_console, wait_until_idle
from copydesk.desk import Desk
from copydesk.errors import StoreBusyError
from copydesk.tui.app import Console
from copydesk.tui.keys import SCREEN_NAMES
from copydesk.tui.review import screen as review_screen
from copydesk.tui.review.screen import ReviewScreen
from copydesk.tui.themes import LIGHT
from desk_fixtures import NOW
from experiments_desk import make_experiments_console
from populated_desk import OPML, make_populated_console, open_populated_desk, populate
from posted_desk import make_posted_console
from setup_driver import wait_for_text

Compare = Callable[..., bool]
Before = Callable[[Pilot[int]], Awaitable[None]]
Keys = Sequence[str]
SMALL, WIDE = (80, 24), (120, 32)
_NAMES = {":": "colon", "/": "slash", "?": "question_mark"}


@pytest.fixture(autouse=True)
def no_read_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load at once what the console loads after a delay."""
    monkeypatch.setattr(review_screen, "PRELOAD_DELAY", 0.001)


@pytest.fixture
def full_console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    """Return the console of a furnished desk; the working directory is `tmp_path`, so that paths have no folder."""
    (tmp_path / "feeds.opml").write_text(OPML)
    monkeypatch.chdir(tmp_path)
    asyncio.run(populate(tmp_path / "desk"))
    return make_populated_console(tmp_path / "desk")


def press_keys(*keys: str, typed: str = "", last_keys: Keys = (), theme: str = "", expected: str = "") -> Before:
    """Return a step to run before the snapshot: press keys, type, press more keys, wait for `expected`."""

    async def run(pilot: Pilot[int]) -> None:
        if theme:
            pilot.app.theme = theme
        await wait_until_idle(pilot)
        assert isinstance(pilot.app, Console)
        ui = ConsoleDriver(pilot.app, pilot)
        await ui.press(*(_NAMES.get(key, key) for key in keys), *typed, *last_keys)
        if expected:
            await wait_for_text(ui, expected)

    return run


async def reject(pilot: Pilot[int]) -> None:
    """Open the reject prompt once the earlier reasons are loaded."""
    await wait_until_idle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, ReviewScreen)
    async with asyncio.timeout(60):
        while not screen.review_actions.reasons:
            await wait_until_idle(pilot)
    await press_keys("r", expected="Too long.")(pilot)


DIALOGS: dict[str, Before] = {
    "filter": press_keys("f", "j", "space", expected="format"),
    "search": press_keys("/", typed="feeds", expected="feeds"),
    "marks": press_keys("j", "space", "space", "v", "j", expected="marked"),
    "reject": reject,
    "regenerate": press_keys("R"),
    "edit": press_keys("e", expected="Esc"),
    "moment": press_keys("S", typed="fri 14:30", expected="Fri 13 Feb 2026 14:30"),
    "post": press_keys("p", expected="harbour.example"),
    "history": press_keys("H", expected="edited"),
    "palette": press_keys(":", typed="sched", expected="Schedule"),
    "log": press_keys("s", "ctrl+l", expected="No weekly slots"),
    "new source": press_keys("3", "A", expected="Enter a URL"),
    "import": press_keys("3", "ctrl+o", typed="feeds.opml", last_keys=("enter",), expected="3/3"),
    "delete": press_keys("3", "D", expected="?"),
}
"""Dialogs and states without snapshots elsewhere."""


@pytest.mark.parametrize("dialog", DIALOGS)
def test_dialogs_on_small_screen(snap_compare: Compare, full_console: Console, dialog: str) -> None:
    assert snap_compare(full_console, terminal_size=SMALL, run_before=DIALOGS[dialog])


@pytest.mark.parametrize("dialog", ["reject", "palette", "edit"])
def test_dialogs_in_light_theme(snap_compare: Compare, full_console: Console, dialog: str) -> None:
    async def before(pilot: Pilot[int]) -> None:
        pilot.app.theme = LIGHT.name
        await DIALOGS[dialog](pilot)

    assert snap_compare(full_console, terminal_size=WIDE, run_before=before)


COLUMNS = {
    "queue": ("j",),
    "draft": ("j", "enter"),
    "edit": ("e",),
    "compose": ("c",),
    "help": ("?",),
}


@pytest.mark.parametrize("view", COLUMNS)
def test_review_in_40_columns(snap_compare: Compare, full_console: Console, view: str) -> None:
    assert snap_compare(full_console, terminal_size=(40, 24), run_before=press_keys(*COLUMNS[view]))


@pytest.mark.parametrize("keys", [("4",), ("4", "tab")], ids=["list", "variants"])
def test_experiments_in_40_columns(snap_compare: Compare, tmp_path: Path, keys: Keys) -> None:
    assert snap_compare(make_experiments_console(tmp_path), terminal_size=(40, 24), run_before=press_keys(*keys))


@pytest.mark.parametrize("keys", [("5",), ("5", "tab"), ("5", "G")], ids=["metrics", "posts", "hours"])
def test_engagement_in_40_columns(snap_compare: Compare, tmp_path: Path, keys: Keys) -> None:
    assert snap_compare(make_posted_console(tmp_path), terminal_size=(40, 24), run_before=press_keys(*keys))


@pytest.mark.parametrize("size", [(20, 5), (39, 12)], ids=["20x5", "39x12"])
def test_too_small_terminal(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(make_console(FakeDesk(3)), terminal_size=size, run_before=press_keys())


@asynccontextmanager
async def unreadable_desk(home: Path) -> AsyncIterator[Desk]:
    """Open a desk whose every read fails with StoreBusyError."""

    async def fail(*_: object, **__: object) -> object:
        raise StoreBusyError(hint="Is Copydesk open elsewhere?")

    async with open_populated_desk(home) as desk:
        desk._context.read = fail  # type: ignore[method-assign, assignment]
        yield desk


@pytest.mark.parametrize("screen", SCREEN_NAMES)
def test_desk_with_read_errors(snap_compare: Compare, tmp_path: Path, screen: str) -> None:
    app = Console(lambda: unreadable_desk(tmp_path), clock=lambda: NOW)
    keys = [str(SCREEN_NAMES.index(screen) + 1)]
    assert snap_compare(app, terminal_size=SMALL, run_before=press_keys(*keys))
