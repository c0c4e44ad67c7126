"""A prompt for a time, with its interpretation shown while typing."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from textual import getters, on
from textual.content import Content
from textual.widgets import Input, Static

from copydesk.text import clean
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.latest import Coalescer
from copydesk.tui.modals.ask import PromptDialog

EXAMPLES = "tomorrow 9 · fri 14:30 · in 2 hours"


class ParsedTime(NamedTuple):
    """The interpretation of a typed time, or why it cannot be parsed."""

    message: str
    is_valid: bool


class TimePrompt(PromptDialog):
    """A line with its interpretation below it; Enter accepts it once it can be parsed. `parse` parses it."""

    app = getters.app(DeskApp)

    def __init__(self, question: str, parse: Callable[[str], Awaitable[ParsedTime]]) -> None:
        super().__init__(question, hint=EXAMPLES)
        self._parse = parse
        self._parser = Coalescer(self._update_meaning)

    @on(Input.Changed)
    def _parse_typed(self, event: Input.Changed) -> None:
        self.app.run_desk_task(lambda _: self._parser.submit(event.value))

    async def _update_meaning(self, text: str) -> None:
        self._show_meaning(await self._parse(text) if text.strip() else ParsedTime(EXAMPLES, is_valid=True))

    def _show_meaning(self, meaning: ParsedTime) -> None:
        if not self.is_attached:  # closed while the time was parsed
            return
        style = "$success" if meaning.is_valid else "$warning"
        hint = self.query_one(".-hint", Static)
        hint.update(Content.styled(clean(meaning.message), style) if meaning.message != EXAMPLES else Content(EXAMPLES))

    @on(Input.Submitted)
    def _submit_parsed(self, event: Input.Submitted) -> None:
        # Parse once more before answering: the interpretation on the screen may belong to an earlier keystroke.
        event.prevent_default()
        self.app.run_desk_task(lambda _: self._answer_if_valid(event.value), hold_keys=True)

    async def _answer_if_valid(self, text: str) -> None:
        meaning = await self._parse(text)
        if meaning.is_valid:
            self.close(text)
        else:
            self._show_meaning(meaning)
