"""The dialogs of publishing: a prompt for a time, interpreted as it is typed, and the confirmation of "post now"."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from copydesk.errors import CopydeskError
from copydesk.text import clean
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.dialogs.prompt import ConfirmDialog, PromptDialog, confirm_keys_line
from copydesk.tui.keys import key_label
from copydesk.tui.runtime.coalescer import Coalescer

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


class PostPlan(NamedTuple):
    """The question to confirm, and warnings. `possible` is False if the draft cannot be posted now."""

    question: str
    warnings: Sequence[str] = ()
    possible: bool = True


class PostDialog(ConfirmDialog):
    """A yes counts only once the target accounts are on the screen."""

    app = getters.app(DeskApp)

    def __init__(self, load_plan: Callable[[], Awaitable[PostPlan]]) -> None:
        super().__init__("Post now?")
        self._load_plan = load_plan
        self._ready = False

    def compose(self) -> ComposeResult:
        with Vertical(id="ask"):
            yield Static(Content("Post now? Looking where it goes …"), classes="-question")
            yield Static(Content(""), classes="-warning")
            yield Static(Content(""), classes="-hint")

    @property
    def is_waiting(self) -> bool:
        """Return True until the question can be answered with yes."""
        return not self._ready

    def on_mount(self) -> None:
        """Load the plan."""
        self.app.run_desk_task(lambda _: self._show())

    async def _show(self) -> None:
        try:
            plan = await self._load_plan()
        except CopydeskError as error:
            plan = PostPlan(self.app.qualify_commands(str(error)), possible=False)
        # The dialog may have been closed while the plan was loading.
        if not self.is_attached:
            return
        self.query_one(".-question", Static).update(Content(clean(plan.question)))
        self.query_one(".-warning", Static).update(Content("\n".join(clean(warning) for warning in plan.warnings)))
        self.query_one(".-hint", Static).update(
            confirm_keys_line() if plan.possible else Content(f"{key_label('yes.no')} closes")
        )
        self._ready = plan.possible

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001 - Textual passes it by position
        """Close with the answer; ignore a yes until the plan is shown."""
        if not yes or self._ready:
            self.close(yes)
