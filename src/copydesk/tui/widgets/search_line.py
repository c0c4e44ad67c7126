"""The line in which words are looked for."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from copydesk.text import clean
from copydesk.tui.keys import Where, bindings

HOW = 'words, "a phrase", begin*, -without'


class SearchLine(Horizontal, inherit_bindings=False):
    """Tells what is typed, as it is typed."""

    BINDINGS = bindings(Where.SEARCH)

    class Changed(Message):
        """What is looked for is another."""

        def __init__(self, query: str) -> None:
            super().__init__()
            self.query = query

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, SearchLine.Changed)

    class Entered(Message):
        """Enter was pressed."""

    class Left(Message):
        """It was left."""

    def compose(self) -> ComposeResult:
        """A slash, the words, and what is wrong with them."""
        yield Static("/", classes="-slash")
        yield Input(placeholder=HOW, select_on_focus=False)
        yield Static(classes="-wrong")

    @property
    def line(self) -> Input:
        """Where the words are written."""
        return self.query_one(Input)

    def end(self) -> None:
        """Forget what was written."""
        with self.prevent(Input.Changed):
            self.line.value = ""
        self.say("")

    def say(self, wrong: str) -> None:
        """Say what is wrong with the words."""
        self.query_one(".-wrong", Static).update(Content(clean(wrong)))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Entered())

    def action_leave(self) -> None:
        """Leave it."""
        self.post_message(self.Left())
