"""A small form that lies over a screen: a few lines to fill in, kept until the desk has taken them."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static

from copydesk.errors import CopydeskError
from copydesk.text import clean
from copydesk.tui.asking import Asked, known
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import Where, bindings
from copydesk.tui.modals.over import Over
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.said_keys import SaidKeys

if TYPE_CHECKING:
    from copydesk.desk import Desk

Submit = Callable[["Desk", Mapping[str, str]], Awaitable[str]]
"""Hands what was filled in to the desk, by the fields' names, and says what came of it. A CopydeskError is shown, and
the form stays."""


class Field(NamedTuple):
    """One line to fill in."""

    name: str
    label: str
    shown: str = ""
    """What stands there while it is empty."""
    digits: bool = False
    """Whether only digits can be typed."""
    longest: int = 200
    offered: Sequence[str] = ()
    """What is completed while it is typed; the right arrow takes it."""
    value: str = ""
    secret: bool = False
    """Whether nobody is to read it over the shoulder."""


class FieldsScreen(Over[str | None], inherit_bindings=False):
    """Asks for a few lines. Answers what `submit` said of them, None where the form was left."""

    CSS_PATH = sheet("fields.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.FIELDS,)
    BINDINGS = bindings(Where.FIELDS)

    app = getters.app(DeskApp)

    class Taken(Message, bubble=False):
        """The desk has taken it."""

        def __init__(self, said: str) -> None:
            super().__init__()
            self.said = said

    class Refused(Message, bubble=False):
        """The desk has not."""

        def __init__(self, error: CopydeskError) -> None:
            super().__init__()
            self.error = error

    def __init__(self, title: str, fields: Sequence[Field], submit: Submit, *, hint: str = "") -> None:
        super().__init__()
        self._title = clean(title)
        self._fields = fields
        self._submit = submit
        self._hint = clean(hint)
        self._asking = False
        self._submitting: Asked | None = None

    @property
    def idle(self) -> bool:
        """While the desk is asked, which may need more."""
        return self._asking

    def compose(self) -> ComposeResult:
        """A line a field."""
        with Vertical(id="fields"):
            yield Static(Content(self._title), classes="-title")
            with VerticalScroll(can_focus=False):
                for field in self._fields:
                    with Horizontal():
                        yield Static(Content(clean(field.label)), classes="-label")
                        yield _line(field)
            yield Static(Content(""), id="wrong")
            if self._hint:
                yield Static(Content(self._hint), classes="-hint")
            yield SaidKeys("fields", {"save": "saves", "next": "next", "leave": "leaves it"}, classes="-hint")

    @property
    def inputs(self) -> Iterator[Input]:
        """The lines, in order."""
        return iter(self.query(Input))

    @on(Input.Submitted)
    def action_save(self) -> None:
        """Hand it to the desk."""
        if self._asking:
            return
        self._asking = self.app.desk is not None
        values = {field.name: line.value.strip() for field, line in zip(self._fields, self.inputs, strict=True)}
        self._submitting = self.app.ask(partial(self._save, values), keys_wait=True)

    async def _save(self, values: Mapping[str, str], desk: "Desk") -> None:
        try:
            said = await self._submit(desk, values)
        except Exception as error:
            self.post_message(self.Refused(known(error)))
        else:
            self.post_message(self.Taken(said))

    @on(Taken)
    def _close(self, message: Taken) -> None:
        self.close(message.said)

    @on(Refused)
    def _say_wrong(self, message: Refused) -> None:
        self._asking = False
        self.query_one("#wrong", Static).update(Content(clean(str(message.error))))

    def action_next_field(self, by: int) -> None:
        """The next line, or the one before."""
        lines = list(self.inputs)
        at = next((at for at, line in enumerate(lines) if line.has_focus), 0)
        lines[(at + by) % len(lines)].focus()

    def action_leave(self) -> None:
        """Leave it; nothing is kept but what the desk has written by now."""
        if self._submitting is not None and self._asking:
            self._submitting.cancel()
            self.app.notify("It was left before it was done; what is done all the same is on the screen.")
        self.close(None)


def _line(field: Field) -> Input:
    return Input(
        clean(field.value),
        password=field.secret,
        placeholder=clean(field.shown),
        restrict="[0-9]*" if field.digits else None,
        max_length=field.longest,
        suggester=SuggestFromList(field.offered, case_sensitive=False) if field.offered else None,
        select_on_focus=False,
    )
