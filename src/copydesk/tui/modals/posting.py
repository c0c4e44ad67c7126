"""The confirmation of "post now", which first loads where the draft would go."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from textual import getters
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from copydesk.errors import CopydeskError
from copydesk.text import clean
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.modals.ask import ConfirmDialog, confirm_keys_line
from copydesk.tui.naming import key_label


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
