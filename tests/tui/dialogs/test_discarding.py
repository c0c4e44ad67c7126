"""Tests for the question before anything typed is discarded: the same one, with the same keys, in every form."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from copydesk.tui.compose.dialog import ComposeDialog
from copydesk.tui.dialogs import prompt
from copydesk.tui.dialogs.autosaved_form import AutosavedForm
from copydesk.tui.dialogs.base import Dialog, ExitDialog, PageDialog, WaitDialog
from copydesk.tui.dialogs.fields import FieldsDialog
from copydesk.tui.dialogs.pick import PickDialog
from copydesk.tui.experiments.screen import ParameterDialog
from copydesk.tui.help.screen import HelpDialog
from copydesk.tui.jump import JumpDialog
from copydesk.tui.review.comments import CommentsDialog
from copydesk.tui.review.dialogs import EditDialog, FilterDialog, PostDialog, TimePrompt
from copydesk.tui.schedule.actions import PickDraftDialog, PlanDialog
from copydesk.tui.setup.connect_dialogs import NameDialog, SignInDialog
from copydesk.tui.setup.ranking_dialogs import RankingPreviewDialog
from copydesk.tui.setup.voice_dialog import ImportDialog, VoiceDialog
from copydesk.tui.sources.feed_transfer import FeedImportDialog
from copydesk.tui.sources.source_dialogs import SourceDialog, SourceTestDialog
from review_driver import open_review
from setup_driver import add_sample_setup, open_setup, wait_for_text

FORMS = {AutosavedForm, ComposeDialog, EditDialog, VoiceDialog, FieldsDialog, SourceDialog, prompt.PromptDialog}
"""Dialogs with text that may be lost."""
WITHOUT_TEXT = {
    *(prompt.ConfirmDialog, ExitDialog, PageDialog, WaitDialog, PostDialog, PlanDialog, RankingPreviewDialog),
    *(FeedImportDialog, SourceTestDialog, ImportDialog, JumpDialog, CommentsDialog),
    # Words that narrow a list, a time, and an address that the browser still has.
    *(FilterDialog, HelpDialog, PickDialog, PickDraftDialog, NameDialog, ParameterDialog, TimePrompt, SignInDialog),
}
QUESTION, KEYS = "Discard your changes?", "y discard · n keep editing"


def subclasses(owner: type) -> Iterator[type]:
    """Yield all classes of the console that derive from `owner`."""
    for found in owner.__subclasses__():
        if found.__module__.startswith("copydesk."):
            yield found
        yield from subclasses(found)


def test_every_dialog_is_decided() -> None:
    """A new dialog is either a form, which has to ask, or has nothing to lose."""
    assert set(subclasses(Dialog)) == FORMS | WITHOUT_TEXT
    assert {form for form in FORMS if "has_changes" not in form.__dict__} == set()


@pytest.mark.parametrize(
    ("keys", "title"),
    [
        (("e", "z"), "Ctrl+S save"),
        (("c", "z"), "New draft"),
        (("r", "z"), "Reject: reason"),
        (("R", "z"), "what should change?"),
        (("3", "A", "z"), "New source"),
        (("4", "A", "enter", "z"), "New experiment"),
    ],
)
async def test_forms_of_the_screens_ask(tmp_path: Path, keys: tuple[str, ...], title: str) -> None:
    async with open_review(tmp_path) as ui:
        await ui.press(*keys)
        await wait_for_text(ui, title)
        await ui.press("escape")
        assert QUESTION in ui.text
        assert KEYS in ui.text
        await ui.press("n")
        assert QUESTION not in ui.text
        assert title in ui.text
        await ui.press("escape", "y")
        assert title not in ui.text


@pytest.mark.parametrize("keys", [("A", "enter", "z"), ("j", "e", "z")])
async def test_forms_of_the_setup_ask(tmp_path: Path, keys: tuple[str, ...]) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press(*keys)
        await ui.press("escape")
        await wait_for_text(ui, QUESTION)
        assert KEYS in ui.text


@pytest.mark.parametrize("keys", [("e",), ("r",), ("3", "A"), ("4", "A", "enter")])
async def test_an_unchanged_form_closes_at_once(tmp_path: Path, keys: tuple[str, ...]) -> None:
    async with open_review(tmp_path) as ui:
        await ui.press(*keys)
        assert len(ui.app.screen_stack) == 2
        await ui.press("escape")
        assert len(ui.app.screen_stack) == 1
