"""Prompts that open over a screen: for a line of text, for a yes or no, and for a time zone."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from copydesk.errors import CopydeskError, InvalidError, UnknownTimeZoneError
from copydesk.text import clean
from copydesk.tui import labels
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.keys import KeyContext, bindings, key_label
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.key_hints import clickable, key_hints
from copydesk.tui.widgets.line_input import LineInput

if TYPE_CHECKING:
    from copydesk.tui.desk_screen import DeskScreen


MAX_SUGGESTIONS = 9
AUTOSAVE_DELAY = 0.3
"""Seconds between a keystroke and the autosave of the line, where it is saved at all."""


class _PromptInput(LineInput):
    """The line of a prompt, which leaves the number of a suggestion to the prompt."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Return True if the key is typed. Textual drops the bindings of the others otherwise."""
        if key.isdecimal() and isinstance(self.screen, PromptDialog) and self.screen.is_offered(int(key)):
            return False
        return super().check_consume_key(key, character)


class PromptDialog(Dialog[str | None], inherit_bindings=False):
    """Ask for a line of text and return it, or None if the prompt is left.

    Earlier answers are offered as suggestions: a number alone, followed by Enter, takes one. A text may begin with one.
    """

    CSS_PATH = stylesheet_path("ask.tcss")
    WHERE = (KeyContext.PROMPT,)
    # Priority bindings: otherwise the input would take the number of a suggestion as text.
    BINDINGS = [
        replace(binding, priority=True) for binding in bindings(KeyContext.PROMPT) if isinstance(binding, Binding)
    ]

    def __init__(
        self,
        question: str,
        *,
        value: str = "",
        hint: str = "",
        suggestions: Sequence[str] = (),
        autosave: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__()
        self._autosave = autosave
        self._autosave_timer: Timer | None = None
        self._question = clean(question)
        self._value = value
        self._hint = clean(hint)
        self._suggestions = tuple(suggestions[:MAX_SUGGESTIONS])
        self._selected = 0
        """Number of the suggestion that Enter takes, as long as nothing but its number is typed; 0 for none."""

    def compose(self) -> ComposeResult:
        with Vertical(id="ask"):
            yield Static(Content(self._question), classes="-question")
            yield _PromptInput(self._value, select_on_focus=False)
            for number, suggestion in enumerate(self._suggestions, 1):
                line = Content.assemble((f"{key_label(f'line.offer_{number}')} ", "$accent"), clean(suggestion))
                yield Static(clickable(line, f"screen.use({number})"), classes="-offer", id=f"offer-{number}")
            if self._hint:
                yield Static(Content(self._hint), classes="-hint")

    @on(Input.Changed)
    def _follow_typing(self, event: Input.Changed) -> None:
        if self._selected and event.value != f"{self._selected}":
            self._select(0)

    def _select(self, number: int) -> None:
        """Mark the suggestion that Enter takes; 0 for none."""
        self._selected = number
        for index in range(1, len(self._suggestions) + 1):
            self.query_one(f"#offer-{index}").set_class(index == number, "-selected")

    @on(Input.Changed)
    def _schedule_autosave(self) -> None:
        # A running timer is not restarted: a user who types without a pause is saved, too.
        if self._autosave is not None and self._autosave_timer is None:
            self._autosave_timer = self.set_timer(AUTOSAVE_DELAY, self.flush_autosave)

    async def flush_autosave(self) -> None:
        """Save the typed text now. Do nothing where no `autosave` callback was given."""
        self._autosave_timer = None
        if self._autosave is not None:
            with suppress(OSError):  # at most one line is lost, and it is still in the input
                await self._autosave(self.query_one(Input).value)

    def close(self, result: str | None = None) -> None:
        """Close with `result` and drop a pending autosave: the answer is given, nothing is left to restore."""
        # A timer that is still running finds no callback and does nothing.
        self._autosave = None
        super().close(result)

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        self.close(self._suggestions[self._selected - 1] if self._selected else event.value)

    async def action_take(self) -> None:
        """Answer with the text in the line."""
        await self.query_one(Input).action_submit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave a digit to the line if no suggestion has this number, or something is typed already."""
        if action == "offer":
            (number,) = parameters
            return isinstance(number, int) and self.is_offered(number)
        return super().check_action(action, parameters)

    def is_offered(self, number: int) -> bool:
        """Return True if the key of suggestion `number`, counted from 1, selects it: nothing is typed yet."""
        return 0 < number <= len(self._suggestions) and not self.query_one(Input).value

    def action_offer(self, number: int) -> None:
        """Type the number and select the suggestion; more text after it makes it the beginning of an answer."""
        self._select(number)
        line = self.query_one(Input)
        line.value = f"{number}"
        line.cursor_position = 1

    def action_use(self, number: int) -> None:
        """Answer with suggestion `number`, counted from 1."""
        self.close(self._suggestions[number - 1])

    @property
    def has_changes(self) -> bool:
        """Return True for text worth an autosave, which is more than a time or a name that is typed again at once."""
        typed = self.query_one(Input).value.strip()
        is_own = bool(typed) and typed != self._value.strip() and not self._selected
        return self._autosave is not None and is_own

    def action_leave(self) -> None:
        """Close without an answer."""
        discard_with_consent(self, self.close)


class ConfirmDialog(Dialog[bool], inherit_bindings=False):
    """Ask for confirmation of what cannot be undone; return True for yes. Enter means no.

    The dialog states its keys with what they do, such as `y delete · n cancel`, so the key line stays empty.
    """

    CSS_PATH = stylesheet_path("ask.tcss")
    WHERE = (KeyContext.CONFIRM,)
    BINDINGS = bindings(KeyContext.CONFIRM)

    def __init__(self, question: str, *, yes: str = labels.CONFIRM, no: str = labels.CANCEL) -> None:
        super().__init__()
        self._question = clean(question)
        self._keys = key_hints("yes", {"yes": yes, "no": no})

    def compose(self) -> ComposeResult:
        with Vertical(id="ask"):
            yield Static(Content(self._question), classes="-question")
            yield Static(self._keys, classes="-hint")

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001 - Textual passes it by position
        """Close with the answer."""
        self.close(yes)


def discard_with_consent(dialog: Dialog[Any], discard: Callable[[], object]) -> None:
    """Call `discard`, which leaves or clears the dialog; if something entered would be lost, once the user agrees.

    The question is the same everywhere, so that its keys need no reading.
    """

    def on_answer(yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
        if yes:
            dialog.call_next(discard)

    if dialog.has_changes:
        question = ConfirmDialog(labels.DISCARD_QUESTION, yes=labels.DISCARD_YES, no=labels.DISCARD_NO)
        dialog.app.push_screen(question, on_answer)
    else:
        dialog.call_next(discard)


def prompt_time_zone(
    base: "DeskScreen",
    zone: str,
    callback: Callable[[str | None], None],
    value: str = "",
    error: CopydeskError | None = None,
) -> None:
    """Prompt for a zone to replace `zone`, prefilled with `value` if that was refused with `error`.

    If the user is on another screen by now, only show the error.
    """
    if not base.app.push_if_current(base, _zone_prompt(zone, value, error), callback) and error is not None:
        base.app.notify_error(error)


def _zone_prompt(zone: str, value: str, error: CopydeskError | None) -> PromptDialog:
    """Build the prompt; if the invalid name resembles exactly one zone, that is prefilled."""
    reason = str(error) if error is not None else ""
    if isinstance(error, InvalidError):
        reason = f"{'; '.join(field_error.message for field_error in error.errors)}. {error.hint}".strip()
    has_suggestion = isinstance(error, UnknownTimeZoneError) and len(error.suggestions) == 1
    if isinstance(error, UnknownTimeZoneError) and has_suggestion:
        value = error.suggestions[0]
    hint = labels.zone_hint(zone, reason, is_prefilled=has_suggestion)
    return PromptDialog(labels.ZONE_PROMPT, value=value, hint=hint)
