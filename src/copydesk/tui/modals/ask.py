"""Two questions that lie over a screen: one for a line of text, one for a yes."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import cast

from textual import on
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from copydesk.text import clean
from copydesk.tui.keys import Where, bindings
from copydesk.tui.modals.over import Over
from copydesk.tui.naming import key
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.said_keys import clickable, said

MOST_OFFERED = 9
KEEP_AFTER = 0.3
"""Seconds after which what was typed is in its file, where it is kept."""
# Textual takes Alt with a digit for what a Mac types with it, `¡` for Alt+1; a Mac's terminal sends that by itself.
for _digit in range(1, MOST_OFFERED + 1):
    cast("dict[str, object]", ANSI_SEQUENCES_KEYS).pop(f"\x1b{_digit}", None)


class LineScreen(Over[str | None], inherit_bindings=False):
    """Asks for a line of text. What was answered before is offered by its number; None where it was left."""

    CSS_PATH = sheet("ask.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.LINE,)
    # Before the line sees them: to it Alt+1 is a 1 that is typed.
    BINDINGS = [replace(each, priority=True) for each in bindings(Where.LINE) if isinstance(each, Binding)]

    def __init__(
        self,
        question: str,
        *,
        value: str = "",
        hint: str = "",
        offered: Sequence[str] = (),
        keep: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__()
        self._keep = keep
        self._keeping: Timer | None = None
        self._question = clean(question)
        self._value = value
        self._hint = clean(hint)
        self._offered = tuple(offered[:MOST_OFFERED])

    def compose(self) -> ComposeResult:
        """The question, the line, what is offered."""
        with Vertical(id="ask"):
            yield Static(Content(self._question), classes="-question")
            yield Input(self._value, select_on_focus=False)
            for number, offer in enumerate(self._offered, 1):
                words = Content.assemble((f"{key(f'line.offer_{number}')} ", "$accent"), clean(offer))
                yield Static(clickable(words, f"screen.offer({number})"), classes="-offer")
            if self._hint:
                yield Static(Content(self._hint), classes="-hint")

    @on(Input.Changed)
    def _typed(self) -> None:
        if self._keep is not None and self._keeping is None:
            self._keeping = self.set_timer(KEEP_AFTER, self.keep_typed)

    async def keep_typed(self) -> None:
        """Keep now what was typed, where it is to be kept."""
        self._keeping = None
        if self._keep is not None:
            with suppress(OSError):  # no more than a line is lost, and it stands there still
                await self._keep(self.query_one(Input).value)

    def close(self, result: str | None = None) -> None:
        """Close it; what was typed is kept no more, though it was about to be."""
        self._keep = None
        super().close(result)

    @on(Input.Submitted)
    def _answer(self, event: Input.Submitted) -> None:
        self.close(event.value)

    async def action_take(self) -> None:
        """Answer with what stands in the line."""
        await self.query_one(Input).action_submit()

    def action_offer(self, number: int) -> None:
        """Answer with one of those that are offered."""
        if number <= len(self._offered):
            self.close(self._offered[number - 1])

    def action_leave(self) -> None:
        """Answer nothing."""
        self.close(None)


def yes_or_no() -> Content:
    """How a yes is given, or not."""
    return said("yes", {"yes": "yes", "no": "no"})


class YesScreen(Over[bool], inherit_bindings=False):
    """Asks for a yes, for what cannot be undone. Enter is no."""

    CSS_PATH = sheet("ask.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.YES,)
    BINDINGS = bindings(Where.YES)

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = clean(question)

    def compose(self) -> ComposeResult:
        """The question, and how it is answered."""
        with Vertical(id="ask"):
            yield Static(Content(self._question), classes="-question")
            yield Static(yes_or_no(), classes="-hint")

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001 - Textual hands it over so
        """Yes or no."""
        self.close(yes)
