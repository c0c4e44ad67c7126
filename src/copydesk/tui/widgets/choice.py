"""One of a few, chosen with the arrows."""

from collections.abc import Mapping

from textual.content import Content
from textual.message import Message
from textual.strip import Strip

from copydesk.tui.keys import Where, bindings
from copydesk.tui.widgets.ink import Ink


class Choice(Ink, can_focus=True, inherit_bindings=False):
    """The values by their words; all of them in a line where there is room, else the chosen one."""

    BINDINGS = bindings(Where.CHOICE)

    class Turned(Message):
        """Another one was chosen by the user."""

    def __init__(self, words: Mapping[str, str], value: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._words = dict(words)
        self._value = value

    @property
    def value(self) -> str:
        """The chosen one."""
        return self._value

    @value.setter
    def value(self, value: str) -> None:
        self._value = value
        self.refresh()

    def action_turn(self, by: int) -> None:
        """The next one, or the one before."""
        values = list(self._words)
        self.value = values[(values.index(self._value) + by) % len(values)]
        self.post_message(self.Turned())

    def on_click(self) -> None:
        """A click takes the next one."""
        self.focus()
        self.action_turn(1)

    def render_line(self, y: int) -> Strip:
        """The line; the chosen one stands between arrows, which no theme takes away."""
        if y:
            return self.strip(Content(""))
        line = Content("  ").join(self._word(value) for value in self._words)
        return self.strip(line if line.cell_length <= self.room.width else self._word(self._value))

    def _word(self, value: str) -> Content:
        if value != self._value:
            return Content.styled(self._words[value], "dim")
        return Content.styled(f"‹{self._words[value]}›", "key" if self.has_focus else "strong")

    def on_focus(self) -> None:
        """It is drawn otherwise."""
        self.refresh()

    def on_blur(self) -> None:
        """As before."""
        self.refresh()
