"""Tests for the help: it lists the keys and letters of the current screen."""

import pytest

from copydesk.tui.keys import KEYS, Where
from copydesk.tui.layout import lay_out
from copydesk.tui.pages.help import help_page
from copydesk.tui.pages.row import draft_row
from copydesk.tui.screens.help import HelpScreen, places_of
from copydesk.tui.words import FORMAT
from tui_fixtures import NOW, FakeDesk, draft, on_screen


def lines(*places: Where) -> list[str]:
    """Return the help's lines for these scopes."""
    return [line.plain for line in lay_out(help_page(places), 64)]


async def test_help_orders_screen_list_and_global_keys() -> None:
    async with on_screen(FakeDesk(3)) as ui:
        assert places_of(ui.app.screen) == [Where.REVIEW, Where.LIST, Where.PAGE, Where.CONSOLE]
        await ui.press("question_mark")
        assert isinstance(ui.app.screen, HelpScreen)
        assert any("Review" in line and "strong" not in line for line in ui.lines[:6])
        assert "have it written anew" in ui.text


def test_help_omits_keys_of_other_screens() -> None:
    page = lines(Where.REVIEW, Where.LIST, Where.CONSOLE)
    assert not any(key.description in page for key in KEYS if key.where is Where.SOURCES)
    assert page.index("Review") < page.index("In the queue") < page.index("Everywhere") < page.index("Letters")


@pytest.mark.parametrize(
    ("where", "composes"), [(Where.EXPERIMENTS, "Ctrl+n"), (Where.SCHEDULE, "c Ctrl+n"), (Where.SOURCES, "c Ctrl+n")]
)
def test_help_omits_overridden_global_keys(where: Where, composes: str) -> None:
    (line,) = (line for line in lines(where, Where.CONSOLE) if "compose a draft" in line)
    assert " ".join(line.split()) == f"{composes} compose a draft of your own"


@pytest.mark.parametrize(
    ("where", "there", "not_there"),
    [
        (Where.REVIEW, "approved", "nothing new for long"),
        (Where.SOURCES, "nothing new for long", "approved"),
        (Where.SCHEDULE, "scheduled", "a short post"),
    ],
)
def test_help_explains_letters_of_screen(where: Where, there: str, not_there: str) -> None:
    letters = " ".join(lines(where)).partition("Letters")[2]
    assert there in letters
    assert not_there not in letters


def test_screen_without_letters_explains_none() -> None:
    assert "Letters" not in lines(Where.EXPERIMENTS, Where.CONSOLE)


def test_help_explains_confidence_bar() -> None:
    row = draft_row(draft(confidence=0.7), NOW, 80).plain
    (explanation,) = (line for line in lines(Where.REVIEW) if "how likely you approve it" in line)
    assert "70 ━━━━╌" in row
    assert explanation.strip().startswith("70 ━━━━╌ ")
    assert not any("how likely" in line for line in lines(Where.SOURCES))


@pytest.mark.parametrize("where", [Where.REVIEW, Where.ENGAGEMENT])
def test_help_explains_format_letters(where: Where) -> None:
    letters = lines(where)[lines(where).index("Letters") :]
    for sign in FORMAT.values():
        assert f"{sign.letter} {sign.words}" in [" ".join(line.split()) for line in letters]
