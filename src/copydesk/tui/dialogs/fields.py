"""A small form over a screen: a few lines to fill in, kept open until the desk has accepted them."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from textual import events, getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Input, Static

from copydesk.errors import CopydeskError, InvalidError
from copydesk.text import clean
from copydesk.tui import labels
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.dialogs.prompt import discard_with_consent
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.runtime.desk_tasks import DeskTask, to_copydesk_error
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.inputs import Choice, describe_refusal, focus_refused, label_line
from copydesk.tui.widgets.line_input import LineInput

if TYPE_CHECKING:
    from copydesk.desk import Desk

Submit = Callable[["Desk", Mapping[str, str]], Awaitable[str]]
"""Pass the values, by field name, to the desk and return a message for the user. A CopydeskError is shown in the form,
which stays open."""


class Field(NamedTuple):
    """One input line of the form."""

    name: str
    label: str
    placeholder: str = ""
    """The placeholder. One that does not fit is shown below the fields while this one has the focus."""
    short_placeholder: str = ""
    """Takes its place where it does not fit."""
    digits_only: bool = False
    """Accept digits only."""
    max_length: int = 200
    suggestions: Sequence[str] = ()
    """Completions while typing; the right arrow accepts one."""
    value: str = ""
    secret: bool = False
    """Mask the typed characters."""
    choices: Mapping[str, str] = {}
    """Labels by value, to choose one of them instead of typing; by default the first, or `value`."""
    required: bool = False
    """While it is empty, Enter in a field above goes to it instead of saving."""

    @property
    def initial(self) -> str:
        """The value that the form opens with."""
        return self.value or next(iter(self.choices), "")


class FieldsDialog(Dialog[str | None], inherit_bindings=False):
    """Ask for a few lines. Returns the message from `submit`, or None if the form is left."""

    CSS_PATH = stylesheet_path("fields.tcss")
    WHERE = (KeyContext.FIELDS,)
    BINDINGS = bindings(KeyContext.FIELDS)
    # From 24 lines most forms are shown whole.
    VERTICAL_BREAKPOINTS = [(0, "-low"), (24, "-tall")]

    app = getters.app(DeskApp)

    class Accepted(Message, bubble=False):
        """The desk has accepted the values."""

        def __init__(self, message: str) -> None:
            super().__init__()
            self.message = message

    class Refused(Message, bubble=False):
        """The desk has rejected the values."""

        def __init__(self, error: CopydeskError) -> None:
            super().__init__()
            self.error = error

    def __init__(
        self, title: str, fields: Iterable[Field], submit: Submit, *, hint: str = "", effect: str = labels.SAVE
    ) -> None:
        """Create a form whose Enter has this effect, in one word."""
        super().__init__()
        self.key_words = {labels.SAVE: effect}
        self._title = clean(title)
        self._fields = tuple(fields)
        self._submit = submit
        self._hint = clean(hint)
        self._is_submitting = False
        self._error = ""
        self._submit_task: DeskTask | None = None

    @property
    def is_waiting(self) -> bool:
        """Return True while the desk works on the values: it may have to prompt for something, such as a passphrase."""
        return self._is_submitting

    def compose(self) -> ComposeResult:
        with Vertical(id="fields"):
            yield Static(Content(self._title), classes="-title")
            with VerticalScroll(can_focus=False):
                for field in self._fields:
                    with Horizontal():
                        yield label_line(clean(field.label))
                        yield _line(field)
            yield Static(Content(""), id="wrong")
            if self._hint:
                yield Static(Content(self._hint), classes="-hint")

    def on_resize(self) -> None:
        """Fit the placeholders into the new width, once it is known."""
        self.call_after_refresh(self._fit_placeholders)

    def _fit_placeholders(self) -> None:
        for field, line in zip(self._fields, self.inputs, strict=True):
            if isinstance(line, Input):
                full = clean(field.placeholder)
                line.placeholder = full if _fits(full, line) else clean(field.short_placeholder) or full
        self._show_note()

    @on(events.DescendantFocus)
    def _show_note(self) -> None:
        """Show the error below the fields or, while there is none, the placeholder of a field that is too narrow."""
        fields = zip(self._fields, self.inputs, strict=True)
        texts = (clean(field.placeholder) for field, line in fields if line.has_focus and isinstance(line, Input))
        note = next((text for text in texts if not _fits(text, self.focused)), "")
        wrong = self.query_one("#wrong", Static)
        wrong.set_class(not self._error, "-note")
        wrong.update(Content(self._error or note))

    @property
    def inputs(self) -> Iterator[Input | Choice]:
        """Return the inputs in the order of the fields."""
        return iter(self.query("Input, Choice"))  # type: ignore[arg-type] # of these two types

    @on(Input.Submitted)
    def _save_or_go_on(self, event: Input.Submitted) -> None:
        """Go to the next required field that is empty; if there is none, save."""
        inputs = list(self.inputs)
        below = inputs.index(event.input) + 1
        rest = zip(self._fields[below:], inputs[below:], strict=True)
        empty = next((line for field, line in rest if field.required and not line.value), None)
        if empty is not None:
            empty.focus()
        else:
            self.action_save()

    def action_save(self) -> None:
        """Submit the values, unless they are being submitted already."""
        if self._is_submitting:
            return
        # Without a desk the task reports that and ends: neither message would arrive to reset the flag.
        self._is_submitting = self.app.desk is not None
        values = {field.name: line.value.strip() for field, line in zip(self._fields, self.inputs, strict=True)}
        self._submit_task = self.app.run_desk_task(partial(self._save, values), hold_keys=Hold.FORM)

    async def _save(self, values: Mapping[str, str], desk: "Desk") -> None:
        try:
            message = await self._submit(desk, values)
        except Exception as error:
            # Whatever it is: the form must become usable again.
            self.post_message(self.Refused(to_copydesk_error(error)))
        else:
            self.post_message(self.Accepted(message))

    @on(Accepted)
    def _close_with_message(self, message: Accepted) -> None:
        self.close(message.message)

    @on(Refused)
    def _show_error(self, message: Refused) -> None:
        self._is_submitting = False
        names = {field.name: field.label for field in self._fields}
        self._error = clean(describe_refusal(message.error, lambda name: names.get(name, name)))
        self._show_note()
        wrong = {name for name, _ in message.error.errors} if isinstance(message.error, InvalidError) else set()
        focus_refused([line for field, line in zip(self._fields, self.inputs, strict=True) if field.name in wrong])

    def action_next_field(self, by: int) -> None:
        """Focus the next input (`by` 1) or the previous one (-1), wrapping around."""
        lines = list(self.inputs)
        index = next((index for index, line in enumerate(lines) if line.has_focus), 0)
        lines[(index + by) % len(lines)].focus()

    @property
    def has_changes(self) -> bool:
        """Return True if a line differs from what the form was opened with."""
        lines = zip(self._fields, self.inputs, strict=True)
        return any(line.value.strip() != clean(field.initial).strip() for field, line in lines)

    def action_leave(self) -> None:
        """Close, and cancel a submission in progress; what the desk has written by then stays."""
        if self._submit_task is not None and self._is_submitting:
            # Nothing is asked: the user waits for the desk, and wants to stop.
            self._submit_task.cancel()
            self.app.notify(labels.CANCELLED_WHILE_SAVING)
            self.close(None)
        else:
            discard_with_consent(self, self.close)


def _fits(placeholder: str, line: Widget | None) -> bool:
    return line is None or cell_len(placeholder) <= line.content_size.width


def _line(field: Field) -> Input | Choice:
    if field.choices:
        return Choice({value: clean(label) for value, label in field.choices.items()}, field.initial)
    return LineInput(
        clean(field.value),
        password=field.secret,
        placeholder=clean(field.placeholder),
        restrict="[0-9]*" if field.digits_only else None,
        max_length=field.max_length,
        suggester=SuggestFromList(field.suggestions, case_sensitive=False) if field.suggestions else None,
        select_on_focus=False,
    )
