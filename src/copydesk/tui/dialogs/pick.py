"""A list over a screen to choose one of, which typing narrows."""

from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from textual import getters, on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input

from copydesk.tui import labels
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.layout import paragraph
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.lines import set_title
from copydesk.tui.widgets.narrowed_list import NarrowedList

T = TypeVar("T")


class PickDialog(Dialog[T | None], Generic[T], inherit_bindings=False):
    """Choose one of a list; return it, or None if the dialog is left."""

    CSS_PATH = stylesheet_path("over.tcss")
    WHERE = (KeyContext.LIST, KeyContext.DRAFT_PICKER)
    BINDINGS: ClassVar = bindings(KeyContext.DRAFT_PICKER)
    AUTO_FOCUS = "LineList"

    choices: getters.query_one[LineList[T]] = getters.query_one(LineList)
    narrowed = getters.query_one(NarrowedList)

    def __init__(self, choices: Sequence[T], title: str) -> None:
        super().__init__()
        self._choices = choices
        self._title = title

    def draw(self, choice: T, width: int) -> Content:
        """Return the row of a choice."""
        raise NotImplementedError

    def text_of(self, choice: T) -> str:
        """Return the text in which typed words are looked for."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield NarrowedList(LineList(self.draw), labels.NARROW_PLACEHOLDER, id="over")

    def on_mount(self) -> None:
        set_title(self.choices, self._title)
        self.choices.show(self._choices)

    @on(NarrowedList.Narrowed)
    def _show_matching(self) -> None:
        found = [choice for choice in self._choices if self.narrowed.matches(self.text_of(choice))]
        if found:
            self.choices.show(found)
        else:
            self.choices.show_note([paragraph(labels.NO_MATCH)])

    @on(LineList.Opened)
    @on(Input.Submitted)
    def action_take(self) -> None:
        """Choose what is under the cursor."""
        if self.choices.current is not None:
            self.close(self.choices.current)

    def action_narrow(self) -> None:
        """Type words that the choices must contain."""
        self.narrowed.open_line()

    def action_leave(self) -> None:
        """Show all choices again; if they are shown, close without a choice."""
        if not self.narrowed.clear():
            self.close(None)
