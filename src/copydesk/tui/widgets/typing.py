"""Text inputs. Pasted text is untrusted: control characters that a terminal would interpret are removed."""

from dataclasses import replace

from textual.containers import Horizontal
from textual.content import Content
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from copydesk.text import clean, clean_lines


class SafeTextArea(TextArea):
    """A multi-line text input."""

    def edit(self, edit: Edit) -> EditResult:
        """Insert the text, cleaned."""
        return super().edit(replace(edit, text=clean_lines(edit.text)))


class SafeInput(Input):
    """A one-line text input."""

    def replace(self, text: str, start: int, end: int) -> None:
        """Insert the text, cleaned."""
        super().replace(clean(text), start, end)


def with_label(label: str, field: Widget) -> Horizontal:
    """Return a field preceded by its label."""
    return Horizontal(Static(Content(label), classes="-label"), field, classes="-line", id=f"{field.id}-line")
