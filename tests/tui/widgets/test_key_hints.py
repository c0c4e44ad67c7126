"""Tests for the line of keys at the bottom: it lists the keys of the top dialog, and clicks press them."""

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from textual.screen import ModalScreen, Screen

import copydesk.tui
from console_driver import NOW, ConsoleDriver, FakeDesk, make_draft, open_console
from copydesk.desk.accounts.service import ConnectMethod
from copydesk.model.activity import DraftActivity, ReviewedDraft
from copydesk.model.filters import DraftView
from copydesk.model.ranking_preview import Hits, RankingPreview
from copydesk.model.schedule import AutoSchedule
from copydesk.tui.compose.dialog import ComposeDialog
from copydesk.tui.dialogs.base import ExitDialog, PageDialog, WaitDialog
from copydesk.tui.dialogs.fields import Field, FieldsDialog
from copydesk.tui.dialogs.pick import PickDialog
from copydesk.tui.dialogs.prompt import ConfirmDialog, PromptDialog
from copydesk.tui.experiments.screen import ParameterDialog
from copydesk.tui.help.screen import HelpDialog
from copydesk.tui.jump import JumpDialog
from copydesk.tui.layout import paragraph
from copydesk.tui.palette import Palette
from copydesk.tui.review.comments import CommentsDialog
from copydesk.tui.review.dialogs import EditDialog, FilterDialog, ParsedTime, PostDialog, PostPlan, TimePrompt
from copydesk.tui.schedule.actions import PickDraftDialog, PlanDialog
from copydesk.tui.setup.connect_dialogs import NameDialog, SignInDialog
from copydesk.tui.setup.ranking_dialogs import RankingPreviewDialog
from copydesk.tui.setup.voice_dialog import ImportDialog, VoiceDialog
from copydesk.tui.sources.feed_transfer import FeedImportDialog
from copydesk.tui.sources.source_dialogs import SourceDialog, SourceTestDialog
from copydesk.tui.widgets.key_hints import KeyLine
from sources_driver import make_source

REVIEW = "j k move  Enter open  a approve  r reject  e edit  s schedule  u undo  : commands  ; jump  ? help  q quit"


async def _parse_time(_: str) -> ParsedTime:
    return ParsedTime("no time", is_valid=False)


async def _load_plan() -> PostPlan:
    return PostPlan("Post it?")


_LOGIN = ConnectMethod("x", "", (), uses_browser=True, redirect_port=None, manual_redirect_uri="")


async def _save(*_: object) -> str:
    return "Taken."


NO_HITS = Hits(0, 0, 0.0, 0.0)
NO_PREVIEW = RankingPreview(30, 0, 0, 0, (), 0, (), 0, 20, NO_HITS, NO_HITS, NO_HITS)
PICK_KEYS = "j k move  Enter choose  / search  Esc cancel"
NOT_REVIEWED = ReviewedDraft("anna", DraftActivity(viewers=(), editing=None, unsaved=()))
DIALOGS: dict[Callable[[], Screen[Any]], str] = {
    lambda: PromptDialog("Why?"): "Enter confirm  Esc cancel",
    lambda: TimePrompt("When?", _parse_time): "Enter confirm  Esc cancel",
    lambda: ConfirmDialog("Go?"): "",
    lambda: PostDialog(_load_plan): "",
    ComposeDialog: "Ctrl+S create  Tab next  Ctrl+N clear  Esc cancel",
    lambda: NameDialog(["bluesky"], "Connect"): PICK_KEYS,
    lambda: ParameterDialog({}): PICK_KEYS,
    lambda: SignInDialog(_LOGIN, {}, ""): "Esc cancel",
    EditDialog: "Ctrl+S save  Esc cancel",
    lambda: FeedImportDialog([]): "j k move  q close",
    lambda: FieldsDialog("It", [Field("a", "a")], _save): "Enter save  Tab next  Esc cancel",
    lambda: FilterDialog(DraftView(), [], []): (
        "j k move  Space toggle  Enter apply  / search  x clear  Ctrl+S save  Esc cancel"
    ),
    lambda: JumpDialog([]): "Esc cancel · type letters to go there",
    lambda: CommentsDialog(make_draft(), NOT_REVIEWED): "j k move  A add  Space resolve  D delete  Tab pane  q close",
    lambda: WaitDialog("…"): "Esc cancel",
    lambda: ExitDialog("…"): "",
    lambda: PageDialog("It", [paragraph("words")]): "j k scroll  q close",
    lambda: PlanDialog(AutoSchedule((), 0, ""), ZoneInfo("UTC"), NOW): "j k scroll  Enter confirm  Esc cancel",
    lambda: PickDraftDialog([make_draft()], "Which?", NOW): PICK_KEYS,
    SourceDialog: "Enter test, save  Ctrl+S save untested  Tab next  Esc cancel",
    lambda: SourceTestDialog(make_source()): "j k scroll  q close",
    VoiceDialog: "Ctrl+S save  Ctrl+T preview  Tab next  Esc cancel",
    lambda: ImportDialog(["A post."], "Add"): "j k scroll  Ctrl+S add  q cancel",
    lambda: RankingPreviewDialog(NO_PREVIEW): "j k scroll  Ctrl+S save  q back",
    HelpDialog: "j k move  q close  / search",
    Palette: "",
}


@pytest.fixture(autouse=True)
def no_fetching(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dialogs are only displayed, never started."""
    monkeypatch.setattr(SignInDialog, "_start_sign_in", lambda _: None)
    monkeypatch.setattr(FeedImportDialog, "_start_import", lambda *_, **__: None)


def key_line(ui: ConsoleDriver) -> str:
    """Return the text of the line of keys."""
    (line,) = ui.app.screen_stack[0].query_one(KeyLine).lines(200)
    return line.plain


async def click(ui: ConsoleDriver, x: int, y: int) -> None:
    """Click a cell; row -1 is the last line."""
    await ui.pilot.click(offset=(x, y % ui.app.size.height))
    await ui.wait()


def dialog_classes() -> Iterator[type]:
    """Yield every concrete dialog class."""
    for module in pkgutil.walk_packages(copydesk.tui.__path__, "copydesk.tui."):
        members = inspect.getmembers(import_module(module.name), inspect.isclass)
        own_classes = (cls for _, cls in members if issubclass(cls, ModalScreen) and cls.__module__ == module.name)
        # Base classes have no content of their own.
        yield from (cls for cls in own_classes if {"compose", "__init__"} & set(vars(cls)))


def test_all_dialogs_are_listed() -> None:
    # The base of the pickers has no rows of its own.
    assert set(dialog_classes()) - {PickDialog} <= {type(make()) for make in DIALOGS}


async def test_key_line_names_no_key_that_is_typed() -> None:
    async with open_console(FakeDesk(3)) as ui:
        await ui.press("slash", *"ferry")
        assert key_line(ui) == "Enter results  Esc clear  Ctrl+P commands  Ctrl+C quit"
        await ui.press("down")
        assert key_line(ui) == REVIEW
        ui.app.push_screen(NameDialog(["bluesky", "mastodon"], "Connect"))
        await ui.wait()
        await ui.press("slash", *"ma")
        assert key_line(ui) == "↓ ↑ move  Enter choose  Esc cancel"
        await ui.press("escape")
        assert key_line(ui) == PICK_KEYS


@pytest.mark.parametrize(("create", "keys"), DIALOGS.items(), ids=[type(make()).__name__ for make in DIALOGS])
async def test_key_line_follows_dialog(create: Callable[[], Screen[Any]], keys: str) -> None:
    async with open_console(FakeDesk(3)) as ui:
        assert key_line(ui) == REVIEW
        dialog = create()
        ui.app.push_screen(dialog)
        await ui.wait()
        assert key_line(ui) == keys
        dialog.dismiss()
        await ui.wait()
        assert key_line(ui) == REVIEW


async def test_key_line_shows_top_dialog() -> None:
    async with open_console(FakeDesk(3)) as ui:
        for over in (PageDialog("It", []), ConfirmDialog("Go?")):
            ui.app.push_screen(over)
            await ui.wait()
        assert key_line(ui) == ""
        await ui.press("n")
        assert key_line(ui) == "j k scroll  q close"
        await ui.press("q")
        assert key_line(ui) == REVIEW


async def test_click_on_key_acts_on_dialog() -> None:
    answers: list[Any] = []
    async with open_console(FakeDesk(3)) as ui:
        for dialog, keys in (
            (PromptDialog("When?", value="fri 9"), "Enter confirm"),
            (PromptDialog("Why?", value="Old news"), "Enter confirm"),
            (PickDraftDialog([make_draft(7)], "Which?", NOW), "Enter choose"),
            (FilterDialog(DraftView(), [], []), "Esc cancel"),
        ):
            ui.app.push_screen(dialog, answers.append)
            await ui.wait()
            assert keys in ui.lines[-1]
            await click(ui, ui.lines[-1].index(keys), -1)
            assert key_line(ui) == REVIEW
    *texts, picked, left = answers
    assert (texts, picked.id, left) == (["fri 9", "Old news"], "draft-7", None)


async def test_confirmation_states_its_keys_once() -> None:
    async with open_console(FakeDesk(3)) as ui:
        ui.app.push_screen(ConfirmDialog("Delete it?", yes="delete"))
        await ui.wait()
        assert ui.text.count("delete") == 1
        assert "y delete · n cancel" in ui.text
        assert ui.lines[-1].strip() == ""


async def test_click_outside_keys_does_nothing() -> None:
    async with open_console(FakeDesk(3)) as ui:
        ui.app.push_screen(ConfirmDialog("Go?"))
        await ui.wait()
        await click(ui, 60, -1)
        await click(ui, 1, 1)
        assert isinstance(ui.app.screen, ConfirmDialog)


async def test_enter_in_form_without_focus_saves() -> None:
    results: list[object] = []
    async with open_console(FakeDesk(3)) as ui:
        ui.app.push_screen(FieldsDialog("It", [Field("a", "a", value="words")], _save), results.append)
        await ui.wait()
        ui.app.screen.set_focus(None)
        await ui.press("enter")
    assert results == ["Taken."]
