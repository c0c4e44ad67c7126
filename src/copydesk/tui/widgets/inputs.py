"""Input fields: one for a choice of a few values, and text inputs for untrusted pastes.

Control characters that a terminal would interpret are removed from what is pasted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static, TextArea
from textual.widgets.text_area import Edit, EditResult

from copydesk.errors import CopydeskError, InvalidError
from copydesk.text import clean, clean_lines
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.widgets.line_input import LineInput
from copydesk.tui.widgets.line_list import CURSOR
from copydesk.tui.widgets.lines import StaticLines


# Not Textual's Select or RadioSet: those take an overlay or a line per value, and forms have to fit into 24 lines.
class Choice(StaticLines, can_focus=True, inherit_bindings=False):
    """A selection of values by label: all of them on a line if they fit, else the selected one."""

    BINDINGS = bindings(KeyContext.CHOICE)

    class Changed(Message):
        """The user selected another value."""

    def __init__(self, labels: Mapping[str, str], value: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._labels = dict(labels)
        self._value = value

    @property
    def value(self) -> str:
        """The selected value."""
        return self._value

    @value.setter
    def value(self, value: str) -> None:
        self._value = value
        self.refresh()

    def action_step(self, by: int) -> None:
        """Select the next value, or the previous one (-1)."""
        values = list(self._labels)
        self.value = values[(values.index(self._value) + by) % len(values)]
        self.post_message(self.Changed())

    def on_click(self) -> None:
        """Select the next value."""
        self.focus()
        self.action_step(1)

    def lines(self, width: int) -> list[Content]:
        """Return the line; the selected value is between arrows, which are visible in any theme."""
        mark = Content.styled(CURSOR, "accent") if self.has_focus else Content(" ")
        line = Content("  ").join(self._render_value(value) for value in self._labels)
        return [mark + (line if mark.cell_length + line.cell_length <= width else self._render_value(self._value))]

    def _render_value(self, value: str) -> Content:
        if value != self._value:
            return Content.styled(self._labels[value], "dim")
        return Content.styled(f"‹{self._labels[value]}›", "key" if self.has_focus else "strong")

    def on_focus(self) -> None:
        """Redraw: the style depends on the focus."""
        self.refresh()

    def on_blur(self) -> None:
        """Redraw: the style depends on the focus."""
        self.refresh()


class SafeTextArea(TextArea):
    """A multi-line text input."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+home", "move_to_start", "Go to the start of the text", show=False),
        Binding("ctrl+end", "move_to_end", "Go to the end of the text", show=False),
        Binding("ctrl+shift+home", "move_to_start(True)", "Select to the start of the text", show=False),
        Binding("ctrl+shift+end", "move_to_end(True)", "Select to the end of the text", show=False),
    ]
    """Those of other editors, which Textual's own lacks."""

    def action_move_to_start(self, select: bool = False) -> None:  # noqa: FBT001, FBT002 - as in Textual's own actions
        """Move the cursor before the first character."""
        self.move_cursor(self.document.start, select=select)

    def action_move_to_end(self, select: bool = False) -> None:  # noqa: FBT001, FBT002 - as above
        """Move the cursor behind the last character."""
        self.move_cursor(self.document.end, select=select)

    def edit(self, edit: Edit) -> EditResult:
        """Insert the text, cleaned."""
        return super().edit(replace(edit, text=clean_lines(edit.text)))


class SafeInput(LineInput):
    """A one-line text input."""

    def replace(self, text: str, start: int, end: int) -> None:
        """Insert the text, cleaned."""
        super().replace(clean(text), start, end)


def label_line(label: str) -> Static:
    """Return the label of a field. It starts with a capital, while errors use the same word inside a sentence."""
    return Static(Content(label[:1].upper() + label[1:]), classes="-label")


def with_label(label: str, field: Widget) -> Horizontal:
    """Return a field preceded by its label."""
    return Horizontal(label_line(label), field, classes="-line", id=f"{field.id}-line")


def describe_refusal(error: CopydeskError, label_of: Callable[[str], str]) -> str:
    """Return the error with its fields called as the form labels them: `handle is missing`."""
    if not isinstance(error, InvalidError):
        return str(error)
    problems = "; ".join(f"{label_of(field)} {message}".strip() for field, message in error.errors)
    return f"{problems}. {error.hint}" if error.hint else problems


def focus_refused(fields: Sequence[Widget]) -> None:
    """Focus the first of the fields that an error names, unless one of them has the focus."""
    # What is typed next is meant for the field that the error names.
    if fields and not any(field.has_focus for field in fields):
        fields[0].focus()
