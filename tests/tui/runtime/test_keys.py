"""Tests for the key table: bindings, the footer and the help are all derived from it."""

import re

import pytest
from rich.cells import cell_len

from copydesk.tui.app import Console
from copydesk.tui.compose.dialog import ComposeDialog
from copydesk.tui.dialogs.base import WaitDialog
from copydesk.tui.dialogs.fields import FieldsDialog
from copydesk.tui.dialogs.prompt import ConfirmDialog, PromptDialog
from copydesk.tui.engagement.screen import EngagementScreen
from copydesk.tui.experiments.screen import ExperimentsScreen
from copydesk.tui.help.screen import HelpDialog, help_rows
from copydesk.tui.jump import JumpDialog
from copydesk.tui.keymap import SCREEN_CONTEXTS, find_conflicts
from copydesk.tui.keys import KEYS, MOVE, Key, KeyContext, bindings, footer_entries, format_keys
from copydesk.tui.review.comments import CommentsDialog
from copydesk.tui.review.dialogs import EditDialog, FilterDialog
from copydesk.tui.review.draft_queue import DraftQueue
from copydesk.tui.review.needs_you import NeedsYouScreen
from copydesk.tui.review.queue_header import SearchLine
from copydesk.tui.review.screen import ReviewScreen
from copydesk.tui.schedule.actions import PickDraftDialog, PlanDialog
from copydesk.tui.schedule.screen import ScheduleScreen
from copydesk.tui.setup.connect_dialogs import SignInDialog
from copydesk.tui.setup.ranking_dialogs import RankingPreviewDialog
from copydesk.tui.setup.screen import SetupScreen
from copydesk.tui.setup.voice_dialog import ImportDialog, VoiceDialog
from copydesk.tui.sources.feed_transfer import FeedImportDialog
from copydesk.tui.sources.screen import SourcesScreen
from copydesk.tui.sources.source_dialogs import SourceDialog, SourceTestDialog
from copydesk.tui.widgets.inputs import Choice
from copydesk.tui.widgets.page import Page

OPTIONAL = {MOVE, "commands", "jump"}
"""Words that the line of keys leaves out first; the help has them."""
OWNERS = {
    KeyContext.LIST: DraftQueue,
    KeyContext.PAGE: Page,
    KeyContext.REVIEW: ReviewScreen,
    KeyContext.NEEDS_YOU: NeedsYouScreen,
    KeyContext.COMMENTS: CommentsDialog,
    KeyContext.SEARCH: SearchLine,
    KeyContext.FILTER: FilterDialog,
    KeyContext.SOURCES: SourcesScreen,
    KeyContext.SOURCE_FORM: SourceDialog,
    KeyContext.CHOICE: Choice,
    KeyContext.SOURCE_TEST: SourceTestDialog,
    KeyContext.FEED_IMPORT: FeedImportDialog,
    KeyContext.SCHEDULE: ScheduleScreen,
    KeyContext.PLAN: PlanDialog,
    KeyContext.DRAFT_PICKER: PickDraftDialog,
    KeyContext.EXPERIMENTS: ExperimentsScreen,
    KeyContext.ENGAGEMENT: EngagementScreen,
    KeyContext.SETUP: SetupScreen,
    KeyContext.VOICE: VoiceDialog,
    KeyContext.RANKING_PREVIEW: RankingPreviewDialog,
    KeyContext.POST_IMPORT: ImportDialog,
    KeyContext.SIGN_IN: SignInDialog,
    KeyContext.COMPOSE: ComposeDialog,
    KeyContext.FIELDS: FieldsDialog,
    KeyContext.CONSOLE: Console,
    KeyContext.HELP: HelpDialog,
    KeyContext.HELP_SEARCH: HelpDialog,
    KeyContext.PROMPT: PromptDialog,
    KeyContext.CONFIRM: ConfirmDialog,
    KeyContext.JUMP: JumpDialog,
    KeyContext.EDIT: EditDialog,
    KeyContext.WAIT: WaitDialog,
}


def test_no_key_has_two_actions_per_scope() -> None:
    assert list(find_conflicts(KEYS)) == []


def test_no_key_needs_alt() -> None:
    # Terminals and window managers take Alt with a digit or letter for themselves.
    assert not [key.id for key in KEYS if "alt+" in key.keys]


def test_conflicting_keys_are_detected() -> None:
    conflicting = Key("other", KeyContext.LIST, "x,j", "other", "something else")
    assert [(name, first.id, other.id) for name, first, other in find_conflicts((*KEYS, conflicting))] == [
        ("j", "list.down", "other")
    ]


SAME_IDEA = {
    "tab": "next pane or entry",
    "shift+tab": "previous pane",
    "[": "previous tab, week or period",
    "]": "next tab, week or period",
    "space": "mark, enable or choose the row",
    "g": "first",
    "home": "first",
    "G": "last",
    "end": "last",
    "A": "add a source, slot, experiment or account; sign in",
    "D": "delete, disconnect, forget or drop; asks",
    "s": "schedule",
    "T": "unschedule",
    "t": "test",
    "p": "post or send again; asks",
    "m": "record by hand what Copydesk cannot know",
    "o": "open in the browser",
}
"""Keys with actions of several names, and the one idea that these share."""


def test_key_has_one_meaning_on_all_screens() -> None:
    contexts = {*SCREEN_CONTEXTS, KeyContext.LIST, KeyContext.PAGE, KeyContext.CONSOLE}
    actions: dict[str, set[str]] = {}
    for key in KEYS:
        for name in key.keys.split(",") if key.context in contexts else ():
            actions.setdefault(name, set()).add(re.sub(r"_(up|down)$|^half_", "", key.id.partition(".")[2]))
    several = {name for name, ids in actions.items() if len(ids) > 1}
    half_pages = {"ctrl+d", "ctrl+u", "pagedown", "pageup"}
    assert several - half_pages == SAME_IDEA.keys()


FOOTER_WORDS = {"/": {"search"}, "s": {"schedule"}, "tab": {"pane", "next"}}
"""The words that the lines of keys have for a key; Tab goes to the next pane, or to the next field of a form."""


@pytest.mark.parametrize("name", FOOTER_WORDS)
def test_key_has_same_word_in_all_footers(name: str) -> None:
    words = {key.footer for key in KEYS if key.footer and key.keys.split(",")[0] == name}
    assert words == FOOTER_WORDS[name]


@pytest.mark.parametrize("action", ["undo", "redo"])
def test_action_has_same_description_on_all_screens(action: str) -> None:
    assert len({key.description for key in KEYS if key.action == action}) == 1


BROWSER_KEYS = {"ctrl+n", "ctrl+t", "ctrl+w", "ctrl+tab", "ctrl+shift+n", "ctrl+shift+t", "ctrl+shift+w"}
"""Keys that a browser keeps for itself: no page receives them."""


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.id)
def test_actions_have_browser_safe_keys(key: Key) -> None:
    assert set(key.keys.split(",")) - BROWSER_KEYS


def test_ids_are_unique() -> None:
    assert len({key.id for key in KEYS}) == len(KEYS)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.id)
def test_actions_exist_on_their_owner(key: Key) -> None:
    assert hasattr(OWNERS[key.context], f"action_{key.action.partition('(')[0]}")


@pytest.mark.parametrize("where", KeyContext)
def test_bindings_use_table_ids(where: KeyContext) -> None:
    assert [binding.id for binding in bindings(where)] == [key.id for key in KEYS if key.context is where]


def test_footer_joins_keys_of_one_label() -> None:
    assert footer_entries([KeyContext.LIST])[0] == ("j k", "move")


def test_schedule_footer_fits_80_columns() -> None:
    entries = footer_entries([KeyContext.SCHEDULE, KeyContext.CONSOLE])
    labels = [(keys, label) for keys, label in entries if label not in OPTIONAL]
    assert cell_len("  ".join(f"{keys} {label}" for keys, label in labels)) <= 78


@pytest.mark.parametrize("where", [KeyContext.LIST, KeyContext.PAGE])
def test_review_footer_fits_80_columns(where: KeyContext) -> None:
    entries = footer_entries([where, KeyContext.REVIEW, KeyContext.CONSOLE])
    labels = [(keys, label) for keys, label in entries if label not in OPTIONAL]
    assert cell_len("  ".join(f"{keys} {label}" for keys, label in labels)) <= 78


def test_help_lists_all_keys() -> None:
    for key in KEYS:
        lines = [row.line.plain for row in help_rows([key.context], KEYS, (), 64)]
        assert any(format_keys(key)[0] in line and key.description in line for line in lines), key.id


@pytest.mark.parametrize("key", KEYS, ids=[key.id for key in KEYS])
def test_key_is_described_in_one_style(key: Key) -> None:
    assert key.description[0].isupper()
    assert not key.description.endswith(".")
    assert key.footer == key.footer.lower()
    for label in format_keys(key):
        *modifiers, name = label.rsplit("+", 1) if len(label) > 1 else [label]
        assert all(modifier in {"Ctrl", "Alt", "Shift"} for modifier in modifiers)
        # A letter is a key of its own; a name, and the letter after Ctrl, are capitalized.
        assert name[0].isupper() or len(name) == 1, label
        assert "Ctrl" not in modifiers or name.isupper() or len(name) > 1, label


@pytest.mark.parametrize(
    ("keys", "labels"),
    [
        ("l,right", ["l", "→"]),
        ("space", ["Space"]),
        ("H,shift+left", ["H", "Shift+←"]),
        ("ctrl+s,f9,alt+x", ["Ctrl+S", "F9", "Alt+x"]),
        ("+,=", ["+", "="]),
        ("ctrl+pagedown,backspace", ["Ctrl+PgDn", "Backspace"]),
    ],
)
def test_key_labels(keys: str, labels: list[str]) -> None:
    assert format_keys(KEYS[0]._replace(keys=keys)) == labels
