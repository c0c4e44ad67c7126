"""Asks for a time, and shows while one types how it is read."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from textual import getters, on
from textual.content import Content
from textual.widgets import Input, Static

from copydesk.text import clean
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.latest import Latest
from copydesk.tui.modals.ask import LineScreen

EXAMPLES = "tomorrow 9 · fri 14:30 · in 2 hours"


class Said(NamedTuple):
    """How a time is read, or why it cannot be."""

    words: str
    good: bool


class MomentScreen(LineScreen):
    """A line whose meaning stands below it; Enter takes it when it has one. `read` gives the meaning."""

    app = getters.app(DeskApp)

    def __init__(self, question: str, read: Callable[[str], Awaitable[Said]]) -> None:
        super().__init__(question, hint=EXAMPLES)
        self._read = read
        self._reading = Latest(self._show)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self.app.ask(lambda _: self._reading.wish(event.value))

    async def _show(self, text: str) -> None:
        self._say(await self._read(text) if text.strip() else Said(EXAMPLES, good=True))

    def _say(self, said: Said) -> None:
        if not self.is_attached:  # it was left meanwhile
            return
        style = "$success" if said.good else "$warning"
        hint = self.query_one(".-hint", Static)
        hint.update(Content.styled(clean(said.words), style) if said.words != EXAMPLES else Content(EXAMPLES))

    @on(Input.Submitted)
    def _take(self, event: Input.Submitted) -> None:
        # Before it is answered it is read once more: it may have been typed just now.
        event.prevent_default()
        self.app.ask(lambda _: self._answer_read(event.value), keys_wait=True)

    async def _answer_read(self, text: str) -> None:
        said = await self._read(text)
        if said.good:
            self.close(text)
        else:
            self._say(said)
