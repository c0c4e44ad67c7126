"""The help is that of the screen one is on."""

import pytest

from copydesk.tui.keys import KEYS, Where
from copydesk.tui.layout import lay_out
from copydesk.tui.pages.help import help_page
from copydesk.tui.pages.row import draft_row
from copydesk.tui.screens.help import HelpScreen, places_of
from copydesk.tui.words import FORMAT
from tui_fixtures import NOW, FakeDesk, draft, on_screen


def lines(*places: Where) -> list[str]:
    """The help of these places."""
    return [line.plain for line in lay_out(help_page(places), 64)]


async def test_the_screens_own_keys_come_first_then_those_of_its_lists_then_everywhere() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        assert places_of(seen.app.screen) == [Where.REVIEW, Where.LIST, Where.PAGE, Where.CONSOLE]
        await seen.press("question_mark")
        assert isinstance(seen.app.screen, HelpScreen)
        assert any("Review" in line and "strong" not in line for line in seen.lines[:6])
        assert "have it written anew" in seen.text


def test_what_the_keys_of_other_screens_do_is_not_in_it() -> None:
    page = lines(Where.REVIEW, Where.LIST, Where.CONSOLE)
    assert not any(key.description in page for key in KEYS if key.where is Where.SOURCES)
    assert page.index("Review") < page.index("In the queue") < page.index("Everywhere") < page.index("Letters")


@pytest.mark.parametrize(
    ("where", "composes"), [(Where.EXPERIMENTS, "Ctrl+n"), (Where.SCHEDULE, "c Ctrl+n"), (Where.SOURCES, "c Ctrl+n")]
)
def test_a_key_that_does_something_else_on_the_screen_is_not_said_to_work_everywhere(
    where: Where, composes: str
) -> None:
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
def test_only_the_letters_that_are_to_be_seen_there_are_explained(where: Where, there: str, not_there: str) -> None:
    letters = " ".join(lines(where)).partition("Letters")[2]
    assert there in letters
    assert not_there not in letters


def test_a_screen_without_letters_has_none_to_explain() -> None:
    assert "Letters" not in lines(Where.EXPERIMENTS, Where.CONSOLE)


def test_the_figure_and_the_bar_of_a_row_are_explained_as_they_are_drawn() -> None:
    row = draft_row(draft(confidence=0.7), NOW, 80).plain
    (explained,) = (line for line in lines(Where.REVIEW) if "how likely you approve it" in line)
    assert "70 ━━━━╌" in row
    assert explained.strip().startswith("70 ━━━━╌ ")
    assert not any("how likely" in line for line in lines(Where.SOURCES))


@pytest.mark.parametrize("where", [Where.REVIEW, Where.ENGAGEMENT])
def test_the_letters_of_the_formats_are_explained_wherever_rows_have_them(where: Where) -> None:
    letters = lines(where)[lines(where).index("Letters") :]
    for sign in FORMAT.values():
        assert f"{sign.letter} {sign.words}" in [" ".join(line.split()) for line in letters]
