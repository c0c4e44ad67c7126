"""The fields of a draft that is composed: only those of the way that was chosen are shown."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from copydesk.model.draft import Format
from copydesk.text import clean
from copydesk.tui.compose_entry import FORMATS, LINES, REVIEW, TEXT, THEN, WAYS, Composed
from copydesk.tui.modals.edit import Typing
from copydesk.tui.widgets.choice import Choice

LONGEST = 5000
"""Characters of a line."""


class ComposeForm(VerticalScroll, can_focus=False):
    """Says when something else stands in it."""

    class Changed(Message):
        """Something was typed or chosen."""

    def compose(self) -> ComposeResult:
        """A line or an area each."""
        yield _line("", Choice(WAYS, TEXT, id="way"))
        yield Typing(id="text", soft_wrap=True, tab_behavior="focus")
        for name in ("url", "prompt"):
            yield _line(name, _input(name))
        yield _line("format", Choice({kind.value: kind.value for kind in Format}, Format.SHORT, id="format"))
        yield _line("formats", Choice(FORMATS, "SHORT", id="formats"))
        for name in ("tags", "platforms"):
            yield _line(name, _input(name))
        yield Static(Content("pictures, a line each: file or address | what it shows"), classes="-label")
        yield Typing(id="pictures", soft_wrap=True, tab_behavior="focus")
        yield _line("then", Choice(THEN, REVIEW, id="then"))

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
    def _typed(self) -> None:
        self.post_message(self.Changed())

    @on(Input.Changed)
    def _entered(self, event: Input.Changed) -> None:
        safe = clean(event.value)
        if safe != event.value:
            # It was pasted; the field would hand it on to the terminal.
            event.input.value = safe
        else:
            self.post_message(self.Changed())

    @on(Choice.Turned)
    def _turned(self) -> None:
        self._show_way()
        self.post_message(self.Changed())


def _input(name: str) -> Input:
    return Input(placeholder=LINES[name], id=name, max_length=LONGEST, select_on_focus=False)


def _line(label: str, field: Widget) -> Horizontal:
    return Horizontal(Static(Content(label), classes="-label"), field, classes="-line", id=f"{field.id}-line")
