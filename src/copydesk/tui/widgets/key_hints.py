"""Hints of keys: the line at the bottom of every screen, and `Ctrl+S saves · Esc leaves` in a form that covers it."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from textual import events, getters
from textual.content import Content
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from copydesk.tui import labels
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keymap import textual_key_name
from copydesk.tui.keys import KEYS, MOVE, Key, KeyContext, footer_entries, footer_key, key_label
from copydesk.tui.widgets.lines import StaticLines

_GAP = Content("  ")
_ALWAYS_VISIBLE = 2
"""Help and quit."""


# Not Textual's Footer: it mounts a widget per key, at each change of the focus, and cannot group keys by their word.
class KeyLine(StaticLines):
    """Keys with a word for each; those that do not fit are in the help."""

    app = getters.app(DeskApp)

    def __init__(self, contexts: Iterable[KeyContext]) -> None:
        super().__init__()
        self._contexts = tuple(contexts)
        self._dialog_contexts: tuple[KeyContext, ...] | None = None
        """The contexts of the open dialog, in which the screen's keys do nothing; None if there is no dialog."""
        self._dialog_words: Mapping[str, str] = {}
        """Words of the open dialog for what its keys do, by the words of the table of keys."""
        self._is_typing = False
        self._covered = 0
        """Cells at the right end that toasts cover."""

    def on_mount(self) -> None:
        """Follow dialogs that open and close, the focus, and toasts."""
        self.screen.screen_layout_refresh_signal.subscribe(self, self._on_layout)
        self.app.screen_change_signal.subscribe(self, self._on_screen_changed)
        self.watch(self.screen, "focused", self._on_focus_changed, init=False)

    def _on_screen_changed(self, top: Screen[object]) -> None:
        if self.screen in self.app.screen_stack:
            self._dialog_contexts = None if top is self.screen else tuple(getattr(top, "WHERE", ()))
            self._dialog_words = {} if top is self.screen else getattr(top, "key_words", {})
            if top is not self.screen:
                self.watch(top, "focused", self._on_focus_changed, init=False)
            self._is_typing = _takes_text(top.focused)
            self.refresh()

    def _on_layout(self, _: Screen[object]) -> None:
        """Show no keys below a toast, where they would be cut off."""
        toasts = [toast.region for toast in self.screen.query("Toast") if toast.region.overlaps(self.region)]
        covered = self.content_region.right - min((toast.x for toast in toasts), default=self.content_region.right)
        if covered != self._covered:
            self._covered = covered
            self.refresh()

    def _on_focus_changed(self, focused: Widget | None) -> None:
        """Show only the keys that type nothing while a line of text has the focus."""
        if _takes_text(focused) is not self._is_typing:
            self._is_typing = not self._is_typing
            self.refresh()

    @property
    def _active_contexts(self) -> tuple[KeyContext, ...]:
        return self._contexts if self._dialog_contexts is None else self._dialog_contexts

    def show(self, contexts: Iterable[KeyContext]) -> None:
        """Show the keys of these contexts."""
        self._contexts = tuple(contexts)
        self.refresh()
        # Whether there is something to go back to is known once the panes are laid out.
        self.call_after_refresh(self.refresh)

    def lines(self, width: int) -> list[Content]:
        """Return as many entries as fit, unabridged. Moving is dropped first, then from the end, help and quit last."""
        refused = self._refused_words()
        words = self._words()
        entries = [
            Content.styled(f"{keys} {word}", "faint")
            if word in refused
            else Content.assemble((keys, "key"), " ", (word, "dim"))
            for keys, word in words
        ]
        line = _GAP.join(entries)
        # The arrow keys move as well; what Enter does is less obvious.
        if line.cell_length > width and len(words) > _ALWAYS_VISIBLE + 1 and words[0][1] == MOVE:
            del entries[0]
            line = _GAP.join(entries)
        # What stands at the left stays in its place.
        if self._covered:
            width -= self._covered + _GAP.cell_length
        while entries and line.cell_length > width:
            del entries[-_ALWAYS_VISIBLE - 1 if len(entries) > _ALWAYS_VISIBLE else -1]
            line = _GAP.join(entries)
        return [line]

    def _words(self) -> list[tuple[str, str]]:
        """Return the keys with their words as they apply to what is shown."""
        entries = footer_entries(self._active_contexts, self._keys(), typing=self._is_typing)
        own_words = self._own_words
        words = [(keys, own_words.get(word, word)) for keys, word in entries]
        # A screen that is being closed has lost its panes already.
        with suppress(NoMatches):
            if self._dialog_contexts is None and getattr(self.screen, "can_go_back", False):
                return [(keys, labels.BACK if word == labels.QUIT else word) for keys, word in words]
        return words

    @property
    def _own_words(self) -> Mapping[str, str]:
        """Words of the dialog or the screen for what its keys do, by the words of the table of keys."""
        return getattr(self.screen, "key_words", {}) if self._dialog_contexts is None else self._dialog_words

    def _keys(self) -> list[Key]:
        """Return the keys that may be in the line."""
        keys = [key for key in self.app.keys if key.footer and key.context in self._active_contexts]
        shows_key = getattr(self.screen, "shows_key", None)
        if shows_key is None or self._dialog_contexts is not None:
            return keys
        return [key for key in keys if shows_key(key.id)]

    def _refused_words(self) -> set[str]:
        """Return the words whose keys all do nothing to what the screen shows."""
        refusal = getattr(self.screen, "refusal", None)
        if refusal is None or self._dialog_contexts is not None:
            return set()
        by_word: dict[str, list[str]] = {}
        for key in self._keys():
            by_word.setdefault(key.footer, []).append(key.id)
        own_words = self._own_words
        return {own_words.get(word, word) for word, key_ids in by_word.items() if all(map(refusal, key_ids))}

    def on_click(self, event: events.Click) -> None:
        """Press the clicked key; a click on the word presses its first key."""
        offset = event.get_content_offset(self)
        if offset is not None:
            self.press_at(offset.x)

    def press_at(self, x: int) -> None:
        """Press the key in this cell, if there is one."""
        if name := self._key_at(x):
            self.app.simulate_key(textual_key_name(name))

    def _key_at(self, x: int) -> str:
        """Return the name of the key in this cell; an empty string between entries."""
        (line,) = self.lines(self.drawable_size.width)
        for keys, word in self._words():
            start = line.plain.find(f"{keys} {word}")
            if start >= 0 and start <= x < start + len(keys) + 1 + len(word):
                index = keys[: x - start].count(" ") if x < start + len(keys) else 0
                return self._keys_of(labels.QUIT if word == labels.BACK else word)[index]
        return ""

    def _keys_of(self, word: str) -> list[str]:
        """Return the first key of each action with this word."""
        word = next((original for original, shown in self._own_words.items() if shown == word), word)
        return [
            name for key in self._keys() if key.footer == word and (name := footer_key(key, typing=self._is_typing))
        ]


def _takes_text(widget: Widget | None) -> bool:
    # By what it does: importing TextArea takes as long as a sixth of the console's own modules.
    return widget is not None and widget.check_consume_key("a", "a")


class KeyHintText(Static):
    """Text that may contain clickable keys."""

    auto_links = False


class KeyHints(KeyHintText):
    """`Ctrl+S saves · Esc leaves`: hints for keys of a context, whose actions belong to the screen."""

    def __init__(self, context: str, effects: Mapping[str, str], *, id: str | None = None) -> None:
        super().__init__(key_hints(context, effects), id=id)


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
