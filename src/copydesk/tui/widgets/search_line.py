"""The search field of the review."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from copydesk.text import clean
from copydesk.tui.keys import KeyContext, bindings

SYNTAX_HINT = 'words, "a phrase", begin*, -without'


class SearchLine(Horizontal, inherit_bindings=False):
    """Posts the query as it is typed."""

    BINDINGS = bindings(KeyContext.SEARCH)

    class Changed(Message):
        """The query changed; only the last one matters."""

        def __init__(self, query: str) -> None:
            super().__init__()
            self.query = query

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, SearchLine.Changed)

    class Entered(Message):
        pass

    class Left(Message):
        """The search was left with Escape."""

    def compose(self) -> ComposeResult:
        """Yield a slash, the input, and the error message."""
        yield Static("/", classes="-slash")
        yield Input(placeholder=SYNTAX_HINT, select_on_focus=False)
        yield Static(classes="-wrong")

    @property
    def input(self) -> Input:
        """The input field."""
        return self.query_one(Input)

    def clear(self) -> None:
        """Clear the query."""
        with self.prevent(Input.Changed):
            self.input.value = ""
        self.show_error("")

    def show_error(self, message: str) -> None:
        """Show an error in the query; an empty text clears it."""
        self.query_one(".-wrong", Static).update(Content(clean(message)))

    @on(Input.Changed)
    def _on_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _on_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Entered())

    def action_leave(self) -> None:
        self.post_message(self.Left())
