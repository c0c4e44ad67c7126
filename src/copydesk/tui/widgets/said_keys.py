"""The keys of what lies over a screen, in its own words; a click on one of them does the same."""

from collections.abc import Mapping

from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from copydesk.tui.keys import KEYS
from copydesk.tui.naming import key


class Prose(Static):
    """Sentences, in which there may be keys that can be clicked."""

    auto_links = False


class SaidKeys(Prose):
    """`Ctrl+s saves · Esc leaves`: what some keys of a place do, whose actions are those of the screen."""

    def __init__(self, place: str, does: Mapping[str, str], *, id: str | None = None, classes: str = "") -> None:
        super().__init__(said(place, does), id=id, classes=classes)


def said(place: str, does: Mapping[str, str]) -> Content:
    """What some keys of a place do, in one line, each with its action behind it."""
    return Content(" · ").join(said_key(f"{place}.{name}", words) for name, words in does.items())


def said_key(name: str, does: str) -> Content:
    """What the key of one action does: `Esc leaves`, which does it when it is clicked."""
    action = next(each.action for each in KEYS if each.id == name)
    return clickable(f"{key(name)} {does}", f"screen.{action}")


def clickable(words: Content | str, action: str) -> Content:
    """Words that do this when they are clicked."""
    return (words if isinstance(words, Content) else Content(words)).stylize(Style.from_meta({"@click": action}))
