"""Tests for the command palette with a real desk: all actions, drafts by text, sources by name."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.command import CommandInput
from textual.events import Key, Paste
from textual.message import Message
from textual.pilot import Pilot

from console_driver import ConsoleDriver, FakeDesk, open_console, pass_round, wait_until_idle
from copydesk.cli.commands import COMMANDS
from copydesk.cli.context import Context
from copydesk.model.draft import ListedDraft
from copydesk.model.page import Page
from copydesk.tui import labels
from copydesk.tui.app import Console
from copydesk.tui.compose.dialog import ComposeDialog
from copydesk.tui.keys import KEYS, KeyContext
from copydesk.tui.palette import (
    OFFERED_ELSEWHERE,
    SYNONYMS,
    Palette,
    list_commands,
    list_shell_commands,
    match_words,
)
from copydesk.tui.review.screen import ReviewScreen
from copydesk.tui.runtime import key_buffer
from copydesk.tui.setup.connect_dialogs import NameDialog
from copydesk.tui.setup.pages import Section
from copydesk.tui.setup.screen import SetupScreen
from copydesk.tui.sources.screen import SourcesScreen
from copydesk.tui.sources.source_dialogs import SourceDialog
from delayed_responses import WAIT_TIMEOUT
from desk_fixtures import NOW, URL_ONE, URL_TWO, create_source, open_desk_at
from schedule_fixtures import insert_drafts

HOSTILE = "[/foo] [@click=app.quit]press me[/]"


async def choose(ui: ConsoleDriver, pilot: Pilot[int], text: str) -> None:
    """Type into the palette and run the first hit."""
    await ui.press("colon")
    palette = ui.app.screen
    assert isinstance(palette, Palette)
    await pilot.press(*("space" if letter == " " else letter for letter in text), "enter")
    await _until(pilot, lambda: ui.app.screen is not palette)
    await wait_until_idle(pilot)


async def _until(pilot: Pilot[int], is_ready: Callable[[], object]) -> None:
    async with asyncio.timeout(WAIT_TIMEOUT):
        while not is_ready():
            await pilot.pause(0.01)


@asynccontextmanager
async def open_palette_console(home: Path) -> AsyncIterator[tuple[ConsoleDriver, Pilot[int], dict[str, str]]]:
    """Yield the console with two sources and six drafts, its pilot, and two draft ids by name."""
    async with open_desk_at(home) as desk:
        await create_source(desk, URL_ONE, name="The Ferry Gazette")
        await create_source(desk, URL_TWO, name=HOSTILE)
        ids = {
            "waits": (await insert_drafts(desk, text="Lighthouses wait", status="pending_review"))[0],
            "approved": (await insert_drafts(desk, text="Harbours are approved", status="approved"))[0],
        }
        await insert_drafts(desk, 4, text="Others", status="pending_review")
    app = Console(lambda: open_desk_at(home), clock=lambda: NOW)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await wait_until_idle(pilot)
        yield ConsoleDriver(app, pilot), pilot, ids


async def test_palette_lists_actions_once(tmp_path: Path) -> None:
    async with open_palette_console(tmp_path) as (ui, _, _):
        titles = [command.title for command in list_commands(ui.app)]
    assert len(titles) == len(set(titles))
    for key in KEYS:
        is_here = key.context in {KeyContext.REVIEW, KeyContext.CONSOLE}
        if is_here or key.id in OFFERED_ELSEWHERE:
            assert {key.description, f"{key.context.value}: {key.description}"} & set(titles), key.id


async def test_example_sources_are_offered_on_a_new_desk_until_added(tmp_path: Path) -> None:
    app = Console(lambda: open_desk_at(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        await ui.press("3")
        for key in "789":
            offered = [command.keys for command in list_commands(app) if "example source" in command.title]
            assert offered == [key]
            await ui.press(key)
        assert not any("example source" in command.title for command in list_commands(app))


async def test_example_sources_are_not_offered_on_a_desk_with_sources(tmp_path: Path) -> None:
    async with open_palette_console(tmp_path) as (ui, _, _):
        await ui.press("3")
        assert not any("example source" in command.title for command in list_commands(ui.app))


async def test_action_on_a_row_is_offered_on_its_screen_only(tmp_path: Path) -> None:
    async with open_palette_console(tmp_path) as (ui, _, _):
        await ui.press("6")
        titles = [command.title for command in list_commands(ui.app)]
    assert not any("Approve" in title for title in titles)
    assert "Review: Run the pipeline" in titles


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("iran", "Tehran and Iran agree", "Mark a range"),
        ("post", "Post now", "Repost it"),
        ("post", "Show posts", "Repost it"),
        ("next draft", "Next draft, from any pane", "Next drafty thing"),
        ("approve", "Approve", "Schedule, or approve"),
        ("apr", "April is near", "A pair of runs"),
    ],
)
def test_words_rank_above_parts_and_initials(query: str, better: str, worse: str) -> None:
    first, second = match_words(query, better), match_words(query, worse)
    assert first is not None
    assert second is None or first.score > second.score


@pytest.mark.parametrize(
    ("query", "text"),
    [("iran", "Mark a range"), ("iran", "Sources: Import feeds from an OPML file"), ("zzz", "Z z")],
)
def test_scattered_letters_do_not_match(query: str, text: str) -> None:
    assert match_words(query, text) is None


def test_letters_match_beginnings_of_words() -> None:
    assert match_words("nxp", "Next draft, from any pane") is None
    assert match_words("ndp", "Next draft, from any pane") == (1.0, (0, 5, 21))
    assert match_words("impofe", "Import feeds") == (1.0, (0, 1, 2, 3, 7, 8))


@given(st.text(max_size=12), st.text(max_size=30))
def test_match_highlights_characters_of_the_text(query: str, text: str) -> None:
    match = match_words(query, text)
    assert match is None or all(0 <= offset < len(text) for offset in match.offsets)


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("webhook", "copydesk webhook"),
        ("token", "copydesk token"),
        ("backup", "copydesk backup"),
        ("restore", "Restore from the archive"),
        ("sched", "Schedule in the next free slot"),
        ("restore backup", "copydesk restore"),
        ("reviewer", "copydesk reviewer"),
        ("proxy", "Setup: Files"),
        ("settings", "Go to Setup"),
        ("colour", "Change theme"),
        ("dark theme", "Change theme"),
        ("exit", "Quit"),
        ("login", "Setup: Connect an account, or add a language model"),
        ("mastodon", "Setup: Connect an account, or add a language model"),
        ("account", "Setup: Connect an account, or add a language model"),
        ("voice", "Setup: Voice"),
        ("cost", "Setup: Writers"),
        ("api key", "Setup: Writers"),
        ("timezone", "Schedule: Change the time zone"),
        ("delete", "Archive"),
        ("help", "Show the keys of this screen"),
        ("rss", "Go to Sources"),
        ("engag", "Go to Engagement"),
        ("setup", "Go to Setup"),
        ("publish", "Post now; asks for confirmation"),
    ],
)
async def test_other_words_find_an_action_a_page_or_a_command(query: str, title: str) -> None:
    async with open_console(FakeDesk(1)) as ui:
        commands = (*list_commands(ui.app), *list_shell_commands(ui.app))
        scores = {command.title: match.score for command in commands if (match := command.match(query))}
    # Of those with the same score the palette shows the first one at the top.
    assert max(scores, key=lambda found: scores[found]) == title


async def test_commands_of_the_shell_rank_below_actions() -> None:
    async with open_console(FakeDesk(1)) as ui:
        actions = {command.title: command.match("sched") for command in list_commands(ui.app)}
        commands = {command.title: command.match("sched") for command in list_shell_commands(ui.app)}
    part, purpose = actions["Unschedule: return to Approved"], commands["copydesk daemon"]
    assert part is not None
    assert purpose is not None
    assert part.score > purpose.score


@pytest.mark.parametrize("query", ["post", "tag", "sch"])
async def test_titles_rank_above_other_words(query: str) -> None:
    async with open_console(FakeDesk(1)) as ui:
        commands = [command for command in list_commands(ui.app) if command.match(query)]
    titles = [match.score for command in commands if (match := match_words(query, command.title))]
    others = [match.score for command in commands if (match := command.match(query)) and not match.offsets]
    assert max(titles) > max(others, default=0)


def test_other_words_belong_to_keys_and_commands() -> None:
    assert set(SYNONYMS) <= {key.id for key in KEYS}
    assert set(labels.SHELL_COMMANDS) <= set(COMMANDS)


async def test_setup_section_is_opened(tmp_path: Path) -> None:
    async with open_palette_console(tmp_path) as (ui, pilot, _):
        await choose(ui, pilot, "proxy")
        screen = ui.app.screen
        assert isinstance(screen, SetupScreen)
        assert screen.section is Section.LOCATIONS
        assert screen.focused is screen.detail_pane


async def test_shell_command_is_shown_as_it_is_called_for_this_desk(tmp_path: Path) -> None:
    context = Context(home=None, sample=True, debug=False)
    app = Console(lambda: open_desk_at(tmp_path), clock=lambda: NOW, qualify_commands=context.with_desk_options)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        await choose(ui, pilot, "webhook")
        assert "Send events to other servers." in ui.text
        assert "`copydesk --sample webhook --help` shows how." in ui.text


async def test_cut_text_of_a_draft_ends_with_an_ellipsis(tmp_path: Path) -> None:
    text = "The harbour master counts every ferry that leaves the harbour, and the ones that return"
    async with open_desk_at(tmp_path) as desk:
        await insert_drafts(desk, text=text)
        await insert_drafts(desk, text="The harbour master sleeps")
    app = Console(lambda: open_desk_at(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(200, 40)) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        await ui.press("colon")
        await pilot.press(*"harbour")
        await _until(pilot, lambda: f"{text[:59].rstrip()}…  " in ui.text)
        assert "The harbour master sleeps  " in ui.text


async def test_theme_command_is_found_by_synonym(tmp_path: Path) -> None:
    async with open_palette_console(tmp_path) as (ui, pilot, _):
        await choose(ui, pilot, "theme")
        assert "nord" in ui.text


async def test_action_of_other_screen_switches_first(tmp_path: Path) -> None:
    async with open_palette_console(tmp_path) as (ui, pilot, _):
        await choose(ui, pilot, "sources: add a source")
        assert ui.app.current_mode == "sources"
        assert isinstance(ui.app.screen, SourceDialog)


async def test_action_of_current_screen_runs(tmp_path: Path) -> None:
    async with open_palette_console(tmp_path) as (ui, pilot, ids):
        screen = ui.app.screen
        assert isinstance(screen, ReviewScreen)
        await choose(ui, pilot, "next tab")
        assert screen.queue_pane.tab == "approved"
        assert screen.queue.current is not None
        assert screen.queue.current.id == ids["approved"]


@contextmanager
def slow_search(ui: ConsoleDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[asyncio.Event]:
    """Let the search for drafts wait, as in a large desk, until the event is set."""
    assert ui.app.desk is not None
    drafts, may_answer = ui.app.desk.drafts, asyncio.Event()
    search = drafts.search

    async def wait_and_search(*arguments: Any, **options: Any) -> Page[ListedDraft]:
        await may_answer.wait()
        return await search(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(drafts, "search", wait_and_search)
        yield may_answer


def type_at_once(ui: ConsoleDriver, text: str) -> None:
    """Type a text, without waiting for what each key does."""
    for letter in text:
        ui.app.simulate_key("space" if letter == " " else letter)


def paste(ui: ConsoleDriver, text: str) -> None:
    """Paste a text."""
    ui.app.post_message(Paste(text))


@pytest.mark.parametrize("enter_text", [type_at_once, paste])
@pytest.mark.parametrize(
    ("keys", "tab", "pane"),
    [((), "approved", "queue"), (("down",), "to_review", "draft"), (("down", "up"), "approved", "queue")],
    ids=["first", "second", "up"],
)
async def test_enter_right_after_the_text_runs_what_the_whole_text_finds(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    enter_text: Callable[[ConsoleDriver, str], None],
    keys: tuple[str, ...],
    tab: str,
    pane: str,
) -> None:
    async with open_palette_console(tmp_path) as (ui, pilot, _):
        screen = ui.app.screen
        assert isinstance(screen, ReviewScreen)
        with slow_search(ui, monkeypatch) as may_answer:
            ui.app.simulate_key("colon")
            # The first two are "Next tab" and "Next pane".
            enter_text(ui, "next")
            for key in (*keys, "enter"):
                ui.app.simulate_key(key)
            # Letters do not wait for the search of those before.
            await _until(pilot, lambda: [line.value for line in ui.app.screen.query(CommandInput)] == ["next"])
            palette = ui.app.screen
            for _ in range(50):
                await pass_round(ui.app)
            assert ui.app.screen is palette
            may_answer.set()
            await _until(pilot, lambda: ui.app.screen is not palette)
            await wait_until_idle(pilot)
        assert (screen.queue_pane.tab, screen.focused and screen.focused.id) == (tab, pane)


async def test_search_that_never_began_holds_no_key(tmp_path: Path) -> None:
    async with open_palette_console(tmp_path) as (ui, pilot, ids):
        review = ui.app.screen
        assert isinstance(review, ReviewScreen)
        await ui.press("colon")
        line = ui.app.screen.query_one(CommandInput)
        # Both changes reach the palette at once: the search for the first is cancelled before its task runs.
        line.value = "next"
        line.value = "next tab"
        await _until(pilot, lambda: ui.app.type_ahead.is_waiting)
        ui.app.simulate_key("enter")
        await _until(pilot, lambda: ui.app.screen is review)
        await wait_until_idle(pilot)
        assert review.queue.current is not None
        assert review.queue.current.id == ids["approved"]


async def test_palette_is_closed_while_it_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_buffer, "MAX_HOLD", 0.1)
    async with open_palette_console(tmp_path) as (ui, pilot, ids):
        review = ui.app.screen
        assert isinstance(review, ReviewScreen)
        with slow_search(ui, monkeypatch):
            ui.app.simulate_key("colon")
            type_at_once(ui, "tab")
            ui.app.simulate_key("escape")
            await _until(pilot, lambda: ui.app.screen is review)
            await wait_until_idle(pilot)
            # Nothing holds the next key.
            await ui.press("right_square_bracket")
        assert review.queue.current is not None
        assert review.queue.current.id == ids["approved"]


async def test_key_is_typed_although_the_search_becomes_slow_before_it_arrives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_palette_console(tmp_path) as (ui, pilot, _):
        review, keys = ui.app.screen, ui.app.type_ahead
        post = ui.app.post_message

        def post_late(message: Message) -> bool:
            is_posted = post(message)
            if isinstance(message, Key) and message.key == "b" and message in keys._released:
                for search in [*keys._active_holds]:
                    keys._mark_slow(search)
            return is_posted

        with slow_search(ui, monkeypatch):
            await ui.press("colon")
            line = ui.app.screen.query_one(CommandInput)
            monkeypatch.setattr(ui.app, "post_message", post_late)
            type_at_once(ui, "tab")
            # Cancels the search; `b` was typed before, and is no command of the screen below.
            ui.app.simulate_key("escape")
            await _until(pilot, lambda: ui.app.screen is review)
            await wait_until_idle(pilot)
        assert line.value == "tab"


async def test_source_is_found_by_name(tmp_path: Path) -> None:
    async with open_palette_console(tmp_path) as (ui, pilot, _):
        await choose(ui, pilot, "ferry gazette")
        screen = ui.app.screen
        assert isinstance(screen, SourcesScreen)
        assert screen.current_overview is not None
        assert screen.current_overview.source.name == "The Ferry Gazette"


async def test_source_name_is_not_markup(tmp_path: Path) -> None:
    async with open_palette_console(tmp_path) as (ui, pilot, _):
        await choose(ui, pilot, "press me")
        screen = ui.app.screen
        assert isinstance(screen, SourcesScreen)
        assert screen.current_overview is not None
        assert screen.current_overview.source.name == HOSTILE


@pytest.mark.parametrize(
    ("query", "name", "tab"),
    [("lighthouses", "waits", "to_review"), ("lighthou", "waits", "to_review"), ("harbours", "approved", "approved")],
)
async def test_draft_is_found_by_text_in_its_tab(tmp_path: Path, query: str, name: str, tab: str) -> None:
    async with open_palette_console(tmp_path) as (ui, pilot, ids):
        await ui.press("3")
        await choose(ui, pilot, query)
        screen = ui.app.screen
        assert isinstance(screen, ReviewScreen)
        assert screen.queue_pane.tab == tab
        assert screen.queue.current is not None
        assert screen.queue.current.id == ids[name]


async def test_form_of_current_screen_opens_after_palette(tmp_path: Path) -> None:
    async with open_palette_console(tmp_path) as (ui, pilot, _):
        await choose(ui, pilot, "write a new draft")
        assert isinstance(ui.app.screen, ComposeDialog)


async def test_form_of_other_screen_opens_on_it(tmp_path: Path) -> None:
    async with open_palette_console(tmp_path) as (ui, pilot, _):
        await choose(ui, pilot, "connect an account")
        assert ui.app.current_mode == "setup"
        assert isinstance(ui.app.screen, NameDialog)
