"""The keys of what lies over a screen, in its own words; a click on one of them does the same."""

from collections.abc import Iterator, Mapping

from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from copydesk.tui.keys import KEYS
from copydesk.tui.naming import key


class SaidKeys(Static):
    """`Ctrl+s saves · Esc leaves`: what some keys of a place do, whose actions are those of the screen."""

    auto_links = False

    def __init__(self, place: str, does: Mapping[str, str], *, id: str | None = None, classes: str = "") -> None:
        super().__init__(said(place, does), id=id, classes=classes)


def said(place: str, does: Mapping[str, str]) -> Content:
    """What some keys of a place do, in one line, each with its action behind it."""
    return Content(" · ").join(_each(place, does))


def _each(place: str, does: Mapping[str, str]) -> Iterator[Content]:
    actions = {each.id: each.action for each in KEYS}
    for name, words in does.items():
        each = f"{place}.{name}"
        yield clickable(f"{key(each)} {words}", f"screen.{actions[each]}")


def clickable(words: Content | str, action: str) -> Content:
    """Words that do this when they are clicked."""
    return (words if isinstance(words, Content) else Content(words)).stylize(Style.from_meta({"@click": action}))
