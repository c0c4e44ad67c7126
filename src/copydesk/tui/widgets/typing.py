"""Where text is typed. What is pasted comes from outside: no character goes in that a terminal takes for a command."""

from dataclasses import replace

from textual.containers import Horizontal
from textual.content import Content
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from copydesk.text import clean, clean_lines


class Typing(TextArea):
    """Lines."""

    def edit(self, edit: Edit) -> EditResult:
        """Type or paste."""
        return super().edit(replace(edit, text=clean_lines(edit.text)))


class TypingLine(Input):
    """One line."""

    def replace(self, text: str, start: int, end: int) -> None:
        """Type or paste."""
        super().replace(clean(text), start, end)


def labelled(label: str, field: Widget) -> Horizontal:
    """A field with its label before it."""
    return Horizontal(Static(Content(label), classes="-label"), field, classes="-line", id=f"{field.id}-line")
