"""Tests for the command palette with a real desk: all actions, drafts by text, sources by name."""

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
    """Type into the palette and run the first hit."""
    await seen.press("colon")
    assert isinstance(seen.app.screen, CommandPalette)
    await pilot.press(*("space" if letter == " " else letter for letter in text))
    palette = seen.app.screen
    # While the search runs, the list may still hold the hits of the earlier letters.
    await _until(pilot, lambda: palette.query_one("CommandList").option_count and not _is_searching(seen, palette))
    await pilot.press("enter")
    await _until(pilot, lambda: seen.app.screen is not palette)
    await settled(pilot)


def _is_searching(ui: Seen, palette: CommandPalette) -> bool:
    return any(worker.node is palette and not worker.is_finished for worker in ui.app.workers)


async def _until(pilot: Pilot[int], is_ready: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not is_ready():
            await pilot.pause(0.01)


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[tuple[Seen, Pilot[int], dict[str, str]]]:
    """Yield the console with two sources and six drafts, its pilot, and two draft ids by name."""
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


async def test_palette_lists_actions_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ui, _, _):
        titles = [command.title for command in commands(ui.app)]
    assert len(titles) == len(set(titles))
    screens = {name.upper() for name in SCREEN_NAMES}
    for key in KEYS:
        if key.where.name in screens | {Where.CONSOLE.name}:
            title_text = key.description[:1].upper() + key.description[1:]
            assert any(title in (title_text, f"{key.where.value}: {title_text}") for title in titles), key.id


async def test_theme_command_is_found_by_synonym(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ui, pilot, _):
        await choose(ui, pilot, "theme")
        assert "nord" in ui.text


async def test_action_of_other_screen_switches_first(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ui, pilot, _):
        await choose(ui, pilot, "sources: switch the source off")
        assert ui.app.current_mode == "sources"
        assert ui.app.desk is not None
        assert [source.enabled for source in await ui.app.desk.sources.list()].count(False) == 1


async def test_action_of_current_screen_runs(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ui, pilot, ids):
        screen = ui.app.screen
        assert isinstance(screen, ReviewScreen)
        await choose(ui, pilot, "the next tab")
        assert screen.tab == "approved"
        assert screen.queue.current is not None
        assert screen.queue.current.id == ids["approved"]


async def test_source_is_found_by_name(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ui, pilot, _):
        await choose(ui, pilot, "ferry gazette")
        screen = ui.app.screen
        assert isinstance(screen, SourcesScreen)
        assert screen.chosen is not None
        assert screen.chosen.source.name == "The Ferry Gazette"


async def test_source_name_is_not_markup(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ui, pilot, _):
        await choose(ui, pilot, "press me")
        screen = ui.app.screen
        assert isinstance(screen, SourcesScreen)
        assert screen.chosen is not None
        assert screen.chosen.source.name == HOSTILE


@pytest.mark.parametrize(
    ("words", "which", "tab"),
    [("lighthouses", "waits", "to_review"), ("lighthou", "waits", "to_review"), ("harbours", "approved", "approved")],
)
async def test_draft_is_found_by_text_in_its_tab(tmp_path: Path, words: str, which: str, tab: str) -> None:
    async with opened(tmp_path) as (ui, pilot, ids):
        await ui.press("3")
        await choose(ui, pilot, words)
        screen = ui.app.screen
        assert isinstance(screen, ReviewScreen)
        assert screen.tab == tab
        assert screen.queue.current is not None
        assert screen.queue.current.id == ids[which]


async def test_form_of_current_screen_opens_after_palette(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ui, pilot, _):
        await choose(ui, pilot, "compose a draft")
        assert isinstance(ui.app.screen, ComposeScreen)


async def test_form_of_other_screen_opens_on_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ui, pilot, _):
        await choose(ui, pilot, "connect an account")
        assert ui.app.current_mode == "setup"
        assert isinstance(ui.app.screen, PlatformScreen)
