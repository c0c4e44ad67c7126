"""The fields of the compose form; only those of the selected mode are shown."""

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static, TextArea

from copydesk.model.draft import Format
from copydesk.tui.compose_entry import FORMATS, LINES, REVIEW, TEXT, THEN, WAYS, Composed
from copydesk.tui.widgets.choice import Choice
from copydesk.tui.widgets.typing import Typing, TypingLine, labelled

LONGEST = 5000
"""Characters of an input line."""


class ComposeForm(VerticalScroll, can_focus=False):
    """The compose form; posts `Changed` whenever a value changes."""

    class Changed(Message):
        """Something was typed or selected."""

    def compose(self) -> ComposeResult:
        """Yield the fields."""
        yield labelled("", Choice(WAYS, TEXT, id="way"))
        yield Typing(id="text", soft_wrap=True, tab_behavior="focus")
        for name in ("url", "prompt"):
            yield labelled(name, _input(name))
        yield labelled(
            "format",
            Choice({draft_format.value: draft_format.value for draft_format in Format}, Format.SHORT, id="format"),
        )
        yield labelled("formats", Choice(FORMATS, "SHORT", id="formats"))
        for name in ("tags", "platforms"):
            yield labelled(name, _input(name))
        yield Static(Content("pictures, a line each: file or address | what it shows"), classes="-label")
        yield Typing(id="pictures", soft_wrap=True, tab_behavior="focus")
        yield labelled("then", Choice(THEN, REVIEW, id="then"))

    def fill(self, composed: Composed) -> None:
        """Set all fields."""
        for area in self.query(Typing):
            area.load_text(getattr(composed, str(area.id)))
            # Typing continues at the end of a restored text.
            area.move_cursor(area.document.end)
        for field in self.query(Input):
            field.value = getattr(composed, str(field.id))
        for choice in self.query(Choice):
            choice.value = getattr(composed, str(choice.id))
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
    def composed(self) -> Composed:
        """The current values of the fields."""
        values = {str(area.id): area.text for area in self.query(Typing)}
        values |= {str(field.id): field.value for field in self.query(Input)}
        values |= {str(choice.id): choice.value for choice in self.query(Choice)}
        return Composed(**values)

    @on(TextArea.Changed)
    @on(Input.Changed)
    def _on_typed(self) -> None:
        self.post_message(self.Changed())

    @on(Choice.Turned)
    def _on_selected(self) -> None:
        self._show_mode()
        self.post_message(self.Changed())


def _input(name: str) -> Input:
    # Focus must not select the text: the next key would replace it.
    return TypingLine(placeholder=LINES[name], id=name, max_length=LONGEST, select_on_focus=False)
