"""A list that typing narrows: a key opens a line above it, and only rows with all of the typed words are shown."""

from collections.abc import Sequence
from typing import Any

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from copydesk.tui.widgets.inputs import SafeInput
from copydesk.tui.widgets.line_list import LineList


class NarrowedList(Vertical):
    """A list with the line above it; the screen finds the rows and shows them in the list."""

    class Narrowed(Message):
        """Other words are typed, or none any more."""

    def __init__(self, rows: LineList[Any], placeholder: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows = rows
        self._line = SafeInput(placeholder=placeholder)
        self._line.display = False

    def compose(self) -> ComposeResult:
        yield self._line
        yield self._rows

    @property
    def terms(self) -> Sequence[str]:
        """The typed words, in lower case."""
        return self._line.value.lower().split()

    @property
    def is_typing(self) -> bool:
        """True while the line has the focus."""
        return self._line.has_focus

    def matches(self, text: str) -> bool:
        """Return True if a row with this text is to be shown."""
        lowered = text.lower()
        return all(term in lowered for term in self.terms)

    def open_line(self) -> None:
        """Show the line and let the user type."""
        self._line.display = True
        self._line.focus()

    def clear(self) -> bool:
        """Clear and hide the line. Return False if it is not shown."""
        if not self._line.display:
            return False
        self._line.value = ""
        self._line.display = False
        self._rows.focus()
        return True

    @on(Input.Changed)
    def _report(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Narrowed())

    def on_key(self, event: events.Key) -> None:
        """Let the arrows leave the line for the list."""
        if self.is_typing and event.key in {"down", "up", "tab"}:
            event.stop()
            # Tab would move the focus once more.
            event.prevent_default()
            self._rows.focus()
