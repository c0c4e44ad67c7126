"""How the screens look in 40 columns, with what goes wrong, and under what lies over them.

`pytest --snapshot-update` takes over what is meant to change.
"""

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
    """What is read a moment later is read at once."""
    monkeypatch.setattr(deciding, "READY_AFTER", 0.001)


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    """The console of a desk with something to show; files are named without a folder."""
    (tmp_path / "feeds.opml").write_text(OPML)
    monkeypatch.chdir(tmp_path)
    asyncio.run(furnish(tmp_path / "desk"))
    return furnished_console(tmp_path / "desk")


def after(*keys: str, typed: str = "", then: Keys = (), theme: str = "", words: str = "") -> Before:
    """What to do before the picture is taken: keys, text, more keys; and words that have to be there then."""

    async def do(pilot: Pilot[int]) -> None:
        if theme:
            pilot.app.theme = theme
        await settled(pilot)
        assert isinstance(pilot.app, Console)
        seen = Seen(pilot.app, pilot)
        await seen.press(*(_NAMES.get(key, key) for key in keys), *typed, *then)
        if words:
            await until(seen, words)

    return do


async def reject(pilot: Pilot[int]) -> None:
    """Ask why, once it is known what was said before."""
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
"""What lies over the screens and has no pictures elsewhere."""


@pytest.mark.parametrize("what", OVER)
def test_what_lies_over_a_small_screen(snap_compare: Compare, full: Console, what: str) -> None:
    assert snap_compare(full, terminal_size=SMALL, run_before=OVER[what])


@pytest.mark.parametrize("what", ["reject", "palette", "edit"])
def test_what_lies_over_a_light_one(snap_compare: Compare, full: Console, what: str) -> None:
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
def test_the_review_in_forty_columns(snap_compare: Compare, full: Console, what: str) -> None:
    assert snap_compare(full, terminal_size=(40, 24), run_before=after(*COLUMNS[what]))


@pytest.mark.parametrize("keys", [("4",), ("4", "tab")], ids=["list", "variants"])
def test_experiments_in_forty_columns(snap_compare: Compare, tmp_path: Path, keys: Keys) -> None:
    assert snap_compare(tried_console(tmp_path), terminal_size=(40, 24), run_before=after(*keys))


@pytest.mark.parametrize("keys", [("5",), ("5", "tab"), ("5", "G")], ids=["figures", "posts", "hours"])
def test_engagement_in_forty_columns(snap_compare: Compare, tmp_path: Path, keys: Keys) -> None:
    assert snap_compare(posted_console(tmp_path), terminal_size=(40, 24), run_before=after(*keys))


@pytest.mark.parametrize("size", [(20, 5), (39, 12)], ids=["20x5", "39x12"])
def test_a_terminal_that_is_too_small(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(console(FakeDesk(3)), terminal_size=size, run_before=after())


@asynccontextmanager
async def locked(home: Path) -> AsyncIterator[Desk]:
    """A desk that another process keeps from being read."""

    async def fail(*_: object, **__: object) -> object:
        raise StoreBusyError(hint="Is Copydesk open elsewhere?")

    async with furnished_desk(home) as desk:
        desk.ground.read = fail  # type: ignore[method-assign, assignment]
        yield desk


@pytest.mark.parametrize("screen", SCREEN_NAMES)
def test_a_desk_that_cannot_be_read(snap_compare: Compare, tmp_path: Path, screen: str) -> None:
    app = Console(lambda: locked(tmp_path), clock=lambda: NOW)
    keys = [str(SCREEN_NAMES.index(screen) + 1)]
    assert snap_compare(app, terminal_size=SMALL, run_before=after(*keys))
