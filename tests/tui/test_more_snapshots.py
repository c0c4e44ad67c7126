"""Snapshots of the screens in 40 columns, with errors, and below dialogs.

`pytest --snapshot-update` accepts intended changes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from copydesk.desk import Desk
from copydesk.errors import StoreBusyError
from copydesk.tui.app import Console
from copydesk.tui.keys import SCREEN_NAMES
from copydesk.tui.screens import deciding
from copydesk.tui.screens.deciding import Decides
from copydesk.tui.themes import LIGHT
from desk_fixtures import NOW
from furnished_desk import OPML, furnish, furnished_console, furnished_desk
from posted_desk import posted_console
from setup_screen import until
from tried_desk import tried_console
from tui_fixtures import FakeDesk, Seen, console, settled

Compare = Callable[..., bool]
Before = Callable[[Pilot[int]], Awaitable[None]]
Keys = Sequence[str]
SMALL, WIDE = (80, 24), (120, 32)
_NAMES = {":": "colon", "/": "slash", "?": "question_mark"}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load at once what the console loads after a delay."""
    monkeypatch.setattr(deciding, "READY_AFTER", 0.001)


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    """Return the console of a furnished desk; the working directory is `tmp_path`, so that paths have no folder."""
    (tmp_path / "feeds.opml").write_text(OPML)
    monkeypatch.chdir(tmp_path)
    asyncio.run(furnish(tmp_path / "desk"))
    return furnished_console(tmp_path / "desk")


def after(*keys: str, typed: str = "", then: Keys = (), theme: str = "", words: str = "") -> Before:
    """Return a step to run before the snapshot: press keys, type, press more keys, wait for `expected`."""

    async def run(pilot: Pilot[int]) -> None:
        if theme:
            pilot.app.theme = theme
        await settled(pilot)
        assert isinstance(pilot.app, Console)
        ui = Seen(pilot.app, pilot)
        await ui.press(*(_NAMES.get(key, key) for key in keys), *typed, *then)
        if words:
            await until(ui, words)

    return run


async def reject(pilot: Pilot[int]) -> None:
    """Open the reject prompt once the earlier reasons are loaded."""
    await settled(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, Decides)
    async with asyncio.timeout(60):
        while not screen.deciding.reasons:
            await settled(pilot)
    await after("r", words="Too long.")(pilot)


OVER: dict[str, Before] = {
    "filter": after("f", "j", "space", words="format"),
    "search": after("/", typed="feeds", words="feeds"),
    "marks": after("j", "space", "space", "v", "j", words="marked"),
    "reject": reject,
    "regenerate": after("R"),
    "edit": after("e", words="Esc"),
    "moment": after("S", typed="fri 14:30", words="Fri 13 Feb 2026 14:30"),
    "post": after("p", words="harbour.example"),
    "history": after("H", words="edited"),
    "palette": after(":", typed="sched", words="Schedule"),
    "log": after("s", "ctrl+l", words="There are no slots"),
    "new source": after("3", "n", words="Type its address"),
    "import": after("3", "i", typed="feeds.opml", then=("enter",), words="3/3"),
    "delete": after("3", "D", words="?"),
}
"""Dialogs and states without snapshots elsewhere."""


@pytest.mark.parametrize("what", OVER)
def test_dialogs_on_small_screen(snap_compare: Compare, full: Console, what: str) -> None:
    assert snap_compare(full, terminal_size=SMALL, run_before=OVER[what])


@pytest.mark.parametrize("what", ["reject", "palette", "edit"])
def test_dialogs_in_light_theme(snap_compare: Compare, full: Console, what: str) -> None:
    async def before(pilot: Pilot[int]) -> None:
        pilot.app.theme = LIGHT.name
        await OVER[what](pilot)

    assert snap_compare(full, terminal_size=WIDE, run_before=before)


COLUMNS = {
    "queue": ("j",),
    "draft": ("j", "enter"),
    "edit": ("e",),
    "compose": ("c",),
    "help": ("?",),
}


@pytest.mark.parametrize("what", COLUMNS)
def test_review_in_40_columns(snap_compare: Compare, full: Console, what: str) -> None:
    assert snap_compare(full, terminal_size=(40, 24), run_before=after(*COLUMNS[what]))


@pytest.mark.parametrize("keys", [("4",), ("4", "tab")], ids=["list", "variants"])
def test_experiments_in_40_columns(snap_compare: Compare, tmp_path: Path, keys: Keys) -> None:
    assert snap_compare(tried_console(tmp_path), terminal_size=(40, 24), run_before=after(*keys))


@pytest.mark.parametrize("keys", [("5",), ("5", "tab"), ("5", "G")], ids=["figures", "posts", "hours"])
def test_engagement_in_40_columns(snap_compare: Compare, tmp_path: Path, keys: Keys) -> None:
    assert snap_compare(posted_console(tmp_path), terminal_size=(40, 24), run_before=after(*keys))


@pytest.mark.parametrize("size", [(20, 5), (39, 12)], ids=["20x5", "39x12"])
def test_too_small_terminal(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(console(FakeDesk(3)), terminal_size=size, run_before=after())


@asynccontextmanager
async def locked(home: Path) -> AsyncIterator[Desk]:
    """Open a desk whose every read fails with StoreBusyError."""

    async def fail(*_: object, **__: object) -> object:
        raise StoreBusyError(hint="Is Copydesk open elsewhere?")

    async with furnished_desk(home) as desk:
        desk.ground.read = fail  # type: ignore[method-assign, assignment]
        yield desk


@pytest.mark.parametrize("screen", SCREEN_NAMES)
def test_desk_with_read_errors(snap_compare: Compare, tmp_path: Path, screen: str) -> None:
    app = Console(lambda: locked(tmp_path), clock=lambda: NOW)
    keys = [str(SCREEN_NAMES.index(screen) + 1)]
    assert snap_compare(app, terminal_size=SMALL, run_before=after(*keys))
