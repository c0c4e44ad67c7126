"""Hints such as `Ctrl+s saves · Esc leaves` in a dialog; clicking a key runs its action."""

from collections.abc import Mapping

from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from copydesk.tui.keys import KEYS
from copydesk.tui.naming import key


class Prose(Static):
    """Text that may contain clickable keys."""

    auto_links = False


class SaidKeys(Prose):
    """`Ctrl+s saves · Esc leaves`: hints for keys of a context, whose actions belong to the screen."""

    def __init__(self, place: str, does: Mapping[str, str], *, id: str | None = None, classes: str = "") -> None:
        super().__init__(said(place, does), id=id, classes=classes)


def said(place: str, does: Mapping[str, str]) -> Content:
    """Return hints for some keys of a context in one line, each linked to its action."""
    return Content(" · ").join(said_key(f"{place}.{action_name}", effect) for action_name, effect in does.items())


def said_key(name: str, does: str) -> Content:
    """Return the hint for one action's key, such as `Esc leaves`, linked to the action."""
    action = next(entry.action for entry in KEYS if entry.id == name)
    return clickable(f"{key(name)} {does}", f"screen.{action}")


def clickable(words: Content | str, action: str) -> Content:
    """Return the text with a click action."""
    return (words if isinstance(words, Content) else Content(words)).stylize(Style.from_meta({"@click": action}))
