"""The help is that of the screen one is on."""

import pytest

from copydesk.tui.keys import KEYS, Where
from copydesk.tui.layout import lay_out
from copydesk.tui.pages.help import help_page
from copydesk.tui.screens.help import HelpScreen, places_of
from tui_fixtures import FakeDesk, on_screen


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
