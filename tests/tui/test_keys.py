"""Tests for the key table: bindings, the footer and the help are all derived from it."""

import pytest
from rich.cells import cell_len

from copydesk.tui.app import Console
from copydesk.tui.keymap import clashes
from copydesk.tui.keys import KEYS, Key, Where, bindings, footer, shown
from copydesk.tui.layout import lay_out
from copydesk.tui.modals.ask import LineScreen, YesScreen
from copydesk.tui.modals.compose import ComposeScreen
from copydesk.tui.modals.connect import SignInScreen
from copydesk.tui.modals.edit import EditScreen
from copydesk.tui.modals.feed_import import FeedImport
from copydesk.tui.modals.fields import FieldsScreen
from copydesk.tui.modals.filters import FilterScreen
from copydesk.tui.modals.hold import HoldScreen
from copydesk.tui.modals.schedule import PickScreen, PlanScreen
from copydesk.tui.modals.source_form import SourceForm
from copydesk.tui.modals.source_trial import SourceTrial
from copydesk.tui.modals.voice import VoiceScreen
from copydesk.tui.pages.help import help_page
from copydesk.tui.screens.engagement import EngagementScreen
from copydesk.tui.screens.experiments import ExperimentsScreen
from copydesk.tui.screens.help import HelpScreen
from copydesk.tui.screens.review import ReviewScreen
from copydesk.tui.screens.schedule import ScheduleScreen
from copydesk.tui.screens.setup import SetupScreen
from copydesk.tui.screens.sources import SourcesScreen
from copydesk.tui.widgets.choice import Choice
from copydesk.tui.widgets.page import Page
from copydesk.tui.widgets.queue import Queue
from copydesk.tui.widgets.search_line import SearchLine

OWNERS = {
    Where.LIST: Queue,
    Where.PAGE: Page,
    Where.REVIEW: ReviewScreen,
    Where.SEARCH: SearchLine,
    Where.FILTER: FilterScreen,
    Where.SOURCES: SourcesScreen,
    Where.SOURCE_FORM: SourceForm,
    Where.CHOICE: Choice,
    Where.TRIAL: SourceTrial,
    Where.FEEDS: FeedImport,
    Where.SCHEDULE: ScheduleScreen,
    Where.PLAN: PlanScreen,
    Where.PICK: PickScreen,
    Where.EXPERIMENTS: ExperimentsScreen,
    Where.ENGAGEMENT: EngagementScreen,
    Where.SETUP: SetupScreen,
    Where.VOICE: VoiceScreen,
    Where.SIGN_IN: SignInScreen,
    Where.COMPOSE: ComposeScreen,
    Where.FIELDS: FieldsScreen,
    Where.CONSOLE: Console,
    Where.HELP: HelpScreen,
    Where.LINE: LineScreen,
    Where.YES: YesScreen,
    Where.EDIT: EditScreen,
    Where.HOLD: HoldScreen,
}


def test_no_key_has_two_actions_per_scope() -> None:
    assert list(clashes(KEYS)) == []


def test_conflicting_keys_are_detected() -> None:
    conflicting = Key("other", Where.LIST, "x,j", "other", "something else")
    assert [(name, first.id, other.id) for name, first, other in clashes((*KEYS, conflicting))] == [
        ("j", "list.down", "other")
    ]


BROWSERS_OWN = {"ctrl+n", "ctrl+t", "ctrl+w", "ctrl+tab", "ctrl+shift+n", "ctrl+shift+t", "ctrl+shift+w"}
"""Keys that a browser keeps for itself: no page receives them."""


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.id)
def test_actions_have_browser_safe_keys(key: Key) -> None:
    assert set(key.keys.split(",")) - BROWSERS_OWN


def test_ids_are_unique() -> None:
    assert len({key.id for key in KEYS}) == len(KEYS)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.id)
def test_actions_exist_on_their_owner(key: Key) -> None:
    assert hasattr(OWNERS[key.where], f"action_{key.action.partition('(')[0]}")


@pytest.mark.parametrize("where", Where)
def test_bindings_use_table_ids(where: Where) -> None:
    assert [binding.id for binding in bindings(where)] == [key.id for key in KEYS if key.where is where]


def test_footer_joins_keys_of_one_label() -> None:
    assert footer([Where.LIST])[0] == ("j k", "move")


def test_schedule_footer_fits_80_columns() -> None:
    labels = footer([Where.SCHEDULE, Where.CONSOLE])
    assert cell_len("  ".join(f"{keys} {label}" for keys, label in labels)) <= 78


@pytest.mark.parametrize("where", [Where.LIST, Where.PAGE])
def test_review_footer_fits_80_columns(where: Where) -> None:
    labels = footer([where, Where.REVIEW, Where.CONSOLE])
    assert cell_len("  ".join(f"{keys} {label}" for keys, label in labels)) <= 78


def test_help_lists_all_keys() -> None:
    page = "\n".join(line.plain for line in lay_out(help_page(Where), 64))
    for key in KEYS:
        assert any(shown(key)[0] in line and key.description in line for line in page.split("\n")), key.id
