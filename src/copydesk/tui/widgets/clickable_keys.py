"""Hints such as `Ctrl+s saves · Esc leaves` in a dialog; clicking a key runs its action."""

from collections.abc import Mapping

from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from copydesk.tui.keys import KEYS, key_label


class KeyHintText(Static):
    """Text that may contain clickable keys."""

    auto_links = False


class KeyHints(KeyHintText):
    """`Ctrl+s saves · Esc leaves`: hints for keys of a context, whose actions belong to the screen."""

    def __init__(self, context: str, effects: Mapping[str, str], *, id: str | None = None, classes: str = "") -> None:
        super().__init__(key_hints(context, effects), id=id, classes=classes)


def key_hints(context: str, effects: Mapping[str, str]) -> Content:
    """Return hints for some keys of a context in one line, each linked to its action."""
    return Content(" · ").join(key_hint(f"{context}.{action_name}", effect) for action_name, effect in effects.items())


def key_hint(action_id: str, effect: str) -> Content:
    """Return the hint for one action's key, such as `Esc leaves`, linked to the action."""
    action = next(entry.action for entry in KEYS if entry.id == action_id)
    return clickable(f"{key_label(action_id)} {effect}", f"screen.{action}")


def clickable(text: Content | str, action: str) -> Content:
    """Return the text with a click action."""
    return (text if isinstance(text, Content) else Content(text)).stylize(Style.from_meta({"@click": action}))
