"""The palette before a real desk: every action of every screen, drafts and sources by name."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot

from copydesk.tui.app import Console
from copydesk.tui.keys import KEYS, SCREEN_NAMES, Where
from copydesk.tui.modals.compose import ComposeScreen
from copydesk.tui.modals.connect import PlatformScreen
from copydesk.tui.palette import commands
from copydesk.tui.screens.review import ReviewScreen
from copydesk.tui.screens.sources import SourcesScreen
from desk_fixtures import NOW, ONE, TWO, add, open_at
from held_answers import DEADLINE
from schedule_fixtures import put
from tui_fixtures import Seen, settled

HOSTILE = "[/foo] [@click=app.quit]press me[/]"


async def choose(seen: Seen, pilot: Pilot[int], text: str) -> None:
    """Type into the palette, and take the first that it finds."""
    await seen.press("colon")
    assert isinstance(seen.app.screen, CommandPalette)
    await pilot.press(*("space" if letter == " " else letter for letter in text))
    palette = seen.app.screen
    # What is listed while it is still being looked for may be of the letters before.
    await _until(pilot, lambda: palette.query_one("CommandList").option_count and not _is_looking(seen, palette))
    await pilot.press("enter")
    await _until(pilot, lambda: seen.app.screen is not palette)
    await settled(pilot)


def _is_looking(seen: Seen, palette: CommandPalette) -> bool:
    return any(worker.node is palette and not worker.is_finished for worker in seen.app.workers)


async def _until(pilot: Pilot[int], there: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not there():
            await pilot.pause(0.01)


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[tuple[Seen, Pilot[int], dict[str, str]]]:
    """The console, with two sources and some drafts; the ids of those by their texts."""
    async with open_at(home) as desk:
        await add(desk, ONE, name="The Ferry Gazette")
        await add(desk, TWO, name=HOSTILE)
        ids = {
            "waits": (await put(desk, text="Lighthouses wait", status="pending_review"))[0],
            "approved": (await put(desk, text="Harbours are approved", status="approved"))[0],
        }
        await put(desk, 4, text="Others", status="pending_review")
    app = Console(lambda: open_at(home), clock=lambda: NOW)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await settled(pilot)
        yield Seen(app, pilot), pilot, ids


async def test_every_action_of_every_screen_is_offered_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as (seen, _, _):
        titles = [command.title for command in commands(seen.app)]
    assert len(titles) == len(set(titles))
    screens = {name.upper() for name in SCREEN_NAMES}
    for key in KEYS:
        if key.where.name in screens | {Where.CONSOLE.name}:
            words = key.description[:1].upper() + key.description[1:]
            assert any(title in (words, f"{key.where.value}: {words}") for title in titles), key.id


async def test_the_colours_are_found_as_the_theme_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as (seen, pilot, _):
        await choose(seen, pilot, "theme")
        assert "nord" in seen.text


async def test_an_action_of_another_screen_switches_to_it_and_is_done(tmp_path: Path) -> None:
    async with opened(tmp_path) as (seen, pilot, _):
        await choose(seen, pilot, "sources: switch the source off")
        assert seen.app.current_mode == "sources"
        assert seen.app.desk is not None
        assert [source.enabled for source in await seen.app.desk.sources.list()].count(False) == 1


async def test_an_action_of_this_screen_is_done_here(tmp_path: Path) -> None:
    async with opened(tmp_path) as (seen, pilot, ids):
        screen = seen.app.screen
        assert isinstance(screen, ReviewScreen)
        await choose(seen, pilot, "the next tab")
        assert screen.tab == "approved"
        assert screen.queue.current is not None
        assert screen.queue.current.id == ids["approved"]


async def test_a_source_is_found_by_its_name_and_shown_on_its_screen(tmp_path: Path) -> None:
    async with opened(tmp_path) as (seen, pilot, _):
        await choose(seen, pilot, "ferry gazette")
        screen = seen.app.screen
        assert isinstance(screen, SourcesScreen)
        assert screen.chosen is not None
        assert screen.chosen.source.name == "The Ferry Gazette"


async def test_a_source_whose_name_is_markup_is_only_a_name(tmp_path: Path) -> None:
    async with opened(tmp_path) as (seen, pilot, _):
        await choose(seen, pilot, "press me")
        screen = seen.app.screen
        assert isinstance(screen, SourcesScreen)
        assert screen.chosen is not None
        assert screen.chosen.source.name == HOSTILE


@pytest.mark.parametrize(
    ("words", "which", "tab"),
    [("lighthouses", "waits", "to_review"), ("lighthou", "waits", "to_review"), ("harbours", "approved", "approved")],
)
async def test_a_draft_is_found_by_its_words_and_shown_in_its_tab(
    tmp_path: Path, words: str, which: str, tab: str
) -> None:
    async with opened(tmp_path) as (seen, pilot, ids):
        await seen.press("3")
        await choose(seen, pilot, words)
        screen = seen.app.screen
        assert isinstance(screen, ReviewScreen)
        assert screen.tab == tab
        assert screen.queue.current is not None
        assert screen.queue.current.id == ids[which]


async def test_a_form_that_is_asked_for_here_opens_when_the_palette_has_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as (seen, pilot, _):
        await choose(seen, pilot, "compose a draft")
        assert isinstance(seen.app.screen, ComposeScreen)


async def test_a_form_of_another_screen_opens_there(tmp_path: Path) -> None:
    async with opened(tmp_path) as (seen, pilot, _):
        await choose(seen, pilot, "connect an account")
        assert seen.app.current_mode == "setup"
        assert isinstance(seen.app.screen, PlatformScreen)
