"""Tests for the line of keys at the bottom: it lists the keys of the top dialog, and clicks press them."""

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


async def _parse_time(_: str) -> Said:
    return Said("no time", good=False)


async def _load_plan() -> Plan:
    return Plan("Post it?")


_LOGIN = WayIn("x", "", (), browser=True, port=None, by_hand="")


async def _save(*_: object) -> str:
    return "Taken."


MODALS: dict[Callable[[], Screen[Any]], str] = {
    lambda: LineScreen("Why?"): "Enter take  Esc leave",
    lambda: MomentScreen("When?", _parse_time): "Enter take  Esc leave",
    lambda: YesScreen("Go?"): "y yes  n no",
    lambda: PostScreen(_load_plan): "y yes  n no",
    ComposeScreen: "Ctrl+s make it  Tab next  Ctrl+n empty it  Esc leave",
    lambda: PlatformScreen(["bluesky"]): "j k move  Enter take  Esc leave",
    lambda: SignInScreen(_LOGIN, {}, ""): "Esc leave",
    EditScreen: "Ctrl+s save  Esc leave",
    lambda: FeedImport([]): "j k move  Esc close",
    lambda: FieldsScreen("It", [Field("a", "a")], _save): "Enter save  Tab next  Esc leave",
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
    """Dialogs are only displayed, never started."""
    monkeypatch.setattr(SignInScreen, "_begin", lambda _: None)
    monkeypatch.setattr(FeedImport, "_begin", lambda *_, **__: None)


def key_line(seen: Seen) -> str:
    """Return the text of the line of keys."""
    (line,) = seen.app.screen_stack[0].query_one(KeyLine).lines(200)
    return line.plain


async def click(seen: Seen, x: int, y: int) -> None:
    """Click a cell; row -1 is the last line."""
    await seen._pilot.click(offset=(x, y % seen.app.size.height))
    await seen.wait()


def every_modal() -> Iterator[type]:
    """Yield every concrete dialog class."""
    for module in pkgutil.iter_modules(copydesk.tui.modals.__path__, "copydesk.tui.modals."):
        members = inspect.getmembers(import_module(module.name), inspect.isclass)
        own_classes = (cls for _, cls in members if issubclass(cls, ModalScreen) and cls.__module__ == module.name)
        # Base classes have no content of their own.
        yield from (cls for cls in own_classes if {"compose", "__init__"} & set(vars(cls)))


def test_all_dialogs_are_listed() -> None:
    assert set(every_modal()) <= {type(make()) for make in MODALS}


@pytest.mark.parametrize(("make", "words"), MODALS.items(), ids=[type(make()).__name__ for make in MODALS])
async def test_key_line_follows_dialog(make: Callable[[], Screen[Any]], words: str) -> None:
    async with on_screen(FakeDesk(3)) as ui:
        assert key_line(ui) == REVIEW
        dialog = make()
        ui.app.push_screen(dialog)
        await ui.wait()
        assert key_line(ui) == words
        dialog.dismiss()
        await ui.wait()
        assert key_line(ui) == REVIEW


async def test_key_line_shows_top_dialog() -> None:
    async with on_screen(FakeDesk(3)) as ui:
        for over in (ReadingScreen("It", []), YesScreen("Go?")):
            ui.app.push_screen(over)
            await ui.wait()
        assert key_line(ui) == "y yes  n no"
        await ui.press("n")
        assert key_line(ui) == "j k scroll  q close"
        await ui.press("q")
        assert key_line(ui) == REVIEW


async def test_click_on_key_acts_on_dialog() -> None:
    answers: list[object] = []
    async with on_screen(FakeDesk(3)) as ui:
        for dialog, keys in (
            (YesScreen("Go?"), "y yes"),
            (LineScreen("Why?", value="Old news"), "Enter take"),
            (PickScreen([draft(7)], "Which?", NOW), "Enter take"),
            (FilterScreen(View(), [], []), "Esc leave"),
        ):
            ui.app.push_screen(dialog, answers.append)
            await ui.wait()
            assert keys in ui.lines[-1]
            await click(ui, ui.lines[-1].index(keys), -1)
            assert key_line(ui) == REVIEW
    assert answers == [True, "Old news", "draft-7", None]


async def test_click_outside_keys_does_nothing() -> None:
    async with on_screen(FakeDesk(3)) as ui:
        ui.app.push_screen(YesScreen("Go?"))
        await ui.wait()
        await click(ui, 60, -1)
        await click(ui, 1, 1)
        assert isinstance(ui.app.screen, YesScreen)


async def test_enter_in_form_without_focus_saves() -> None:
    results: list[object] = []
    async with on_screen(FakeDesk(3)) as ui:
        ui.app.push_screen(FieldsScreen("It", [Field("a", "a", value="words")], _save), results.append)
        await ui.wait()
        ui.app.screen.set_focus(None)
        await ui.press("enter")
    assert results == ["Taken."]
