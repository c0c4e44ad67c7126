"""The fields of the compose form; only those of the selected mode are shown."""

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static, TextArea

from copydesk.model.draft import Format
from copydesk.tui.compose.form_state import REVIEW, TEXT, ComposeState
from copydesk.tui.labels import (
    COMPOSE_FORMATS,
    COMPOSE_LABELS,
    COMPOSE_MODES,
    COMPOSE_NEXT_STEPS,
    COMPOSE_PLACEHOLDERS,
)
from copydesk.tui.widgets.inputs import Choice, SafeInput, SafeTextArea, with_label

MAX_LINE_LENGTH = 5000
"""Characters of an input line."""


class ComposeForm(VerticalScroll, can_focus=False):
    """The compose form; posts `Changed` whenever a value changes."""

    class Changed(Message):
        """Something was typed or selected."""

    def compose(self) -> ComposeResult:
        """Yield the fields."""
        yield with_label("", Choice(COMPOSE_MODES, TEXT, id="way"))
        yield SafeTextArea(id="text", soft_wrap=True, tab_behavior="focus")
        for name in ("url", "prompt"):
            yield with_label(COMPOSE_LABELS[name], _input(name))
        yield with_label(
            COMPOSE_LABELS["format"],
            Choice({draft_format.value: draft_format.value for draft_format in Format}, Format.SHORT, id="format"),
        )
        yield with_label(COMPOSE_LABELS["formats"], Choice(COMPOSE_FORMATS, "SHORT", id="formats"))
        for name in ("tags", "platforms"):
            yield with_label(COMPOSE_LABELS[name], _input(name))
        yield Static(Content(COMPOSE_LABELS["pictures"]), classes="-label")
        yield SafeTextArea(id="pictures", soft_wrap=True, tab_behavior="focus")
        yield with_label(COMPOSE_LABELS["then"], Choice(COMPOSE_NEXT_STEPS, REVIEW, id="then"))

    def fill(self, state: ComposeState) -> None:
        """Set all fields."""
        for area in self.query(SafeTextArea):
            area.load_text(getattr(state, str(area.id)))
            # Typing continues at the end of a restored text.
            area.move_cursor(area.document.end)
        for field in self.query(Input):
            field.value = getattr(state, str(field.id))
        for choice in self.query(Choice):
            choice.value = getattr(state, str(choice.id))
        self._show_mode()

    def _show_mode(self) -> None:
        """Show only the fields of the selected mode."""
        is_text = self.query_one("#way", Choice).value == TEXT
        self.query_one("#text").display = is_text
        for name, visible in (
            ("url", not is_text),
            ("prompt", not is_text),
            ("format", is_text),
            ("formats", not is_text),
        ):
            self.query_one(f"#{name}-line").display = visible
        self.query_one("#then-line").display = is_text

    @property
    def state(self) -> ComposeState:
        """The current values of the fields."""
        values = {str(area.id): area.text for area in self.query(SafeTextArea)}
        values |= {str(field.id): field.value for field in self.query(Input)}
        values |= {str(choice.id): choice.value for choice in self.query(Choice)}
        return ComposeState(**values)

    @on(TextArea.Changed)
    @on(Input.Changed)
    def _on_typed(self) -> None:
        self.post_message(self.Changed())

    @on(Choice.Changed)
    def _on_selected(self) -> None:
        self._show_mode()
        self.post_message(self.Changed())


def _input(name: str) -> Input:
    # Focus must not select the text: the next key would replace it.
    return SafeInput(placeholder=COMPOSE_PLACEHOLDERS[name], id=name, max_length=MAX_LINE_LENGTH, select_on_focus=False)
