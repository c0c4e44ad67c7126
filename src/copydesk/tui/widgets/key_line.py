"""The line at the bottom of every screen: the keys of the focused pane or of the open dialog."""

from collections.abc import Iterable

from textual import events, getters
from textual.content import Content
from textual.screen import Screen

from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keymap import textual_key_name
from copydesk.tui.keys import KeyContext, footer_entries
from copydesk.tui.widgets.line_views import StaticLines

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

    def on_mount(self) -> None:
        """Follow dialogs that open and close."""
        self.app.screen_change_signal.subscribe(self, self._on_screen_changed)

    def _on_screen_changed(self, top: Screen[object]) -> None:
        if self.screen in self.app.screen_stack:
            self._dialog_contexts = None if top is self.screen else tuple(getattr(top, "WHERE", ()))
            self.refresh()

    @property
    def _active_contexts(self) -> tuple[KeyContext, ...]:
        return self._contexts if self._dialog_contexts is None else self._dialog_contexts

    def show(self, contexts: Iterable[KeyContext]) -> None:
        """Show the keys of these contexts."""
        self._contexts = tuple(contexts)
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """Return as many entries as fit, unabridged; the last two, help and quit, are dropped last."""
        entries = [
            Content.assemble((keys, "key"), " ", (word, "dim"))
            for keys, word in footer_entries(self._active_contexts, self.app.keys)
        ]
        line = _GAP.join(entries)
        while entries and line.cell_length > width:
            del entries[-_ALWAYS_VISIBLE - 1 if len(entries) > _ALWAYS_VISIBLE else -1]
            line = _GAP.join(entries)
        return [line]

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
        for labels, word in footer_entries(self._active_contexts, self.app.keys):
            start = line.plain.find(f"{labels} {word}")
            if start >= 0 and start <= x < start + len(labels) + 1 + len(word):
                index = labels[: x - start].count(" ") if x < start + len(labels) else 0
                return self._keys_of(word)[index]
        return ""

    def _keys_of(self, word: str) -> list[str]:
        """Return the first key of each action with this word."""
        return [
            key.keys.split(",")[0]
            for key in self.app.keys
            if key.footer == word and key.context in self._active_contexts
        ]
