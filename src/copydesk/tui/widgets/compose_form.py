"""The fields of a draft that is composed: only those of the way that was chosen are shown."""

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static, TextArea

from copydesk.model.draft import Format
from copydesk.tui.compose_entry import FORMATS, LINES, REVIEW, TEXT, THEN, WAYS, Composed
from copydesk.tui.widgets.choice import Choice
from copydesk.tui.widgets.typing import Typing, TypingLine, labelled

LONGEST = 5000
"""Characters of a line."""


class ComposeForm(VerticalScroll, can_focus=False):
    """Says when something else stands in it."""

    class Changed(Message):
        """Something was typed or chosen."""

    def compose(self) -> ComposeResult:
        """A line or an area each."""
        yield labelled("", Choice(WAYS, TEXT, id="way"))
        yield Typing(id="text", soft_wrap=True, tab_behavior="focus")
        for name in ("url", "prompt"):
            yield labelled(name, _input(name))
        yield labelled("format", Choice({kind.value: kind.value for kind in Format}, Format.SHORT, id="format"))
        yield labelled("formats", Choice(FORMATS, "SHORT", id="formats"))
        for name in ("tags", "platforms"):
            yield labelled(name, _input(name))
        yield Static(Content("pictures, a line each: file or address | what it shows"), classes="-label")
        yield Typing(id="pictures", soft_wrap=True, tab_behavior="focus")
        yield labelled("then", Choice(THEN, REVIEW, id="then"))

    def fill(self, composed: Composed) -> None:
        """Put this into the fields."""
        for area in self.query(Typing):
            area.load_text(getattr(composed, str(area.id)))
            area.move_cursor(area.document.end)
        for field in self.query(Input):
            field.value = getattr(composed, str(field.id))
        for choice in self.query(Choice):
            choice.value = getattr(composed, str(choice.id))
        self._show_way()

    def _show_way(self) -> None:
        """Only the fields of the way that was chosen."""
        text = self.query_one("#way", Choice).value == TEXT
        self.query_one("#text").display = text
        for name, shown in (("url", not text), ("prompt", not text), ("format", text), ("formats", not text)):
            self.query_one(f"#{name}-line").display = shown
        self.query_one("#then-line").display = text

    @property
    def composed(self) -> Composed:
        """What stands in the fields."""
        values = {str(area.id): area.text for area in self.query(Typing)}
        values |= {str(field.id): field.value for field in self.query(Input)}
        values |= {str(choice.id): choice.value for choice in self.query(Choice)}
        return Composed(**values)

    @on(TextArea.Changed)
    @on(Input.Changed)
    def _typed(self) -> None:
        self.post_message(self.Changed())

    @on(Choice.Turned)
    def _turned(self) -> None:
        self._show_way()
        self.post_message(self.Changed())


def _input(name: str) -> Input:
    return TypingLine(placeholder=LINES[name], id=name, max_length=LONGEST, select_on_focus=False)
