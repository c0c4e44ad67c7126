"""The one-line text input of prompts and forms."""

from textual import events
from textual.widgets import Input


class LineInput(Input):
    """An input that keeps all lines of a pasted text; Textual's own drops all but the first."""

    def on_paste(self, event: events.Paste) -> None:
        """Join the lines before Textual's handler, which is called next, inserts the first."""
        event.text = " ".join(filter(None, event.text.splitlines()))
