"""The line below every screen says the keys of what lies over the screen, and they act there."""

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from textual.command import CommandPalette
from textual.screen import ModalScreen, Screen

import copydesk.tui.modals
from copydesk.desk.accounts import WayIn
from copydesk.model.schedule import AutoSchedule
from copydesk.model.window import View
from copydesk.tui.layout import plain
from copydesk.tui.modals.ask import LineScreen, YesScreen
from copydesk.tui.modals.compose import ComposeScreen
from copydesk.tui.modals.connect import PlatformScreen, SignInScreen
from copydesk.tui.modals.edit import EditScreen
from copydesk.tui.modals.feed_import import FeedImport
from copydesk.tui.modals.fields import Field, FieldsScreen
from copydesk.tui.modals.filters import FilterScreen
from copydesk.tui.modals.hold import HoldScreen, LastScreen
from copydesk.tui.modals.moment import MomentScreen, Said
from copydesk.tui.modals.posting import Plan, PostScreen
from copydesk.tui.modals.reading import ReadingScreen
from copydesk.tui.modals.schedule import PickScreen, PlanScreen
from copydesk.tui.modals.source_form import SourceForm
from copydesk.tui.modals.source_trial import SourceTrial
from copydesk.tui.modals.voice import VoiceScreen
from copydesk.tui.screens.help import HelpScreen
from copydesk.tui.widgets.key_line import KeyLine
from sources_on_screen import source
from tui_fixtures import NOW, FakeDesk, Seen, draft, on_screen

REVIEW = "j k move  a approve  r reject  e edit  s schedule  u undo  ? help  q quit"


async def _moment(_: str) -> Said:
    return Said("no time", good=False)


async def _plan() -> Plan:
    return Plan("Post it?")


_WAY = WayIn("x", "", (), browser=True, port=None, by_hand="")


async def _taken(*_: object) -> str:
    return "Taken."


MODALS: dict[Callable[[], Screen[Any]], str] = {
    lambda: LineScreen("Why?"): "Enter take  Esc leave",
    lambda: MomentScreen("When?", _moment): "Enter take  Esc leave",
    lambda: YesScreen("Go?"): "y yes  n no",
    lambda: PostScreen(_plan): "y yes  n no",
    ComposeScreen: "Ctrl+s make it  Tab next  Ctrl+n empty it  Esc leave",
    lambda: PlatformScreen(["bluesky"]): "j k move  Enter take  Esc leave",
    lambda: SignInScreen(_WAY, {}, ""): "Esc leave",
    EditScreen: "Ctrl+s save  Esc leave",
    lambda: FeedImport([]): "j k move  Esc close",
    lambda: FieldsScreen("It", [Field("a", "a")], _taken): "Enter save  Tab next  Esc leave",
    lambda: FilterScreen(View(), [], []): "j k move  space take  Enter show  x none  Esc leave",
    lambda: HoldScreen("…"): "Esc leave",
    lambda: LastScreen("…"): "",
    lambda: ReadingScreen("It", [plain("words")]): "j k scroll  q close",
    lambda: PlanScreen(AutoSchedule((), 0, ""), ZoneInfo("UTC"), NOW): "j k scroll  Enter do it  Esc leave",
    lambda: PickScreen([draft()], "Which?", NOW): "j k move  Enter take  Esc leave",
    SourceForm: "Enter go on  Ctrl+s save untested  Tab next  Esc leave",
    lambda: SourceTrial(source()): "j k scroll  Esc close",
    VoiceScreen: "Ctrl+s save  Ctrl+t try  Tab next  Esc leave",
    HelpScreen: "j k scroll  q close",
    CommandPalette: "",
}


@pytest.fixture(autouse=True)
def nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are only looked at."""
    monkeypatch.setattr(SignInScreen, "_begin", lambda _: None)
    monkeypatch.setattr(FeedImport, "_begin", lambda *_, **__: None)


def key_line(seen: Seen) -> str:
    """What the line below says."""
    (line,) = seen.app.screen_stack[0].query_one(KeyLine).lines(200)
    return line.plain


async def click(seen: Seen, x: int, y: int) -> None:
    """Click a cell; -1 is the last line."""
    await seen._pilot.click(offset=(x, y % seen.app.size.height))
    await seen.wait()


def every_modal() -> Iterator[type]:
    """Each class of what lies over a screen."""
    for module in pkgutil.iter_modules(copydesk.tui.modals.__path__, "copydesk.tui.modals."):
        found = inspect.getmembers(import_module(module.name), inspect.isclass)
        own = (each for _, each in found if issubclass(each, ModalScreen) and each.__module__ == module.name)
        # What only gives others something in common shows nothing itself.
        yield from (each for each in own if {"compose", "__init__"} & set(vars(each)))


def test_no_modal_is_missing_here() -> None:
    assert set(every_modal()) <= {type(make()) for make in MODALS}


@pytest.mark.parametrize(("make", "words"), MODALS.items(), ids=[type(make()).__name__ for make in MODALS])
async def test_it_shows_the_keys_of_what_lies_over_the_screen_and_the_screens_again(
    make: Callable[[], Screen[Any]], words: str
) -> None:
    async with on_screen(FakeDesk(3)) as seen:
        assert key_line(seen) == REVIEW
        over = make()
        seen.app.push_screen(over)
        await seen.wait()
        assert key_line(seen) == words
        over.dismiss()
        await seen.wait()
        assert key_line(seen) == REVIEW


async def test_of_two_that_lie_over_the_screen_it_is_the_upper_one() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        for over in (ReadingScreen("It", []), YesScreen("Go?")):
            seen.app.push_screen(over)
            await seen.wait()
        assert key_line(seen) == "y yes  n no"
        await seen.press("n")
        assert key_line(seen) == "j k scroll  q close"
        await seen.press("q")
        assert key_line(seen) == REVIEW


async def test_a_click_on_its_keys_acts_on_what_lies_over_the_screen() -> None:
    answers: list[object] = []
    async with on_screen(FakeDesk(3)) as seen:
        for over, words in (
            (YesScreen("Go?"), "y yes"),
            (LineScreen("Why?", value="Old news"), "Enter take"),
            (PickScreen([draft(7)], "Which?", NOW), "Enter take"),
            (FilterScreen(View(), [], []), "Esc leave"),
        ):
            seen.app.push_screen(over, answers.append)
            await seen.wait()
            assert words in seen.lines[-1]
            await click(seen, seen.lines[-1].index(words), -1)
            assert key_line(seen) == REVIEW
    assert answers == [True, "Old news", "draft-7", None]


async def test_a_click_beside_its_keys_does_nothing() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        seen.app.push_screen(YesScreen("Go?"))
        await seen.wait()
        await click(seen, 60, -1)
        await click(seen, 1, 1)
        assert isinstance(seen.app.screen, YesScreen)


async def test_enter_elsewhere_in_a_form_saves_it_too() -> None:
    given: list[object] = []
    async with on_screen(FakeDesk(3)) as seen:
        seen.app.push_screen(FieldsScreen("It", [Field("a", "a", value="words")], _taken), given.append)
        await seen.wait()
        seen.app.screen.set_focus(None)
        await seen.press("enter")
    assert given == ["Taken."]
