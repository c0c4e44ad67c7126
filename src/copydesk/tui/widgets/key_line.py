"""The line below every screen: the keys of what has the focus, or of what lies over the screen."""

from collections.abc import Iterable

from textual import events, getters
from textual.content import Content
from textual.screen import Screen

from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keymap import textual_name
from copydesk.tui.keys import Where, footer
from copydesk.tui.widgets.drawn import Standing

_GAP = Content("  ")
_LAST = 2
"""Help and quit."""


class KeyLine(Standing):
    """Keys and a word for each; what does not fit is in the help."""

    app = getters.app(DeskApp)

    def __init__(self, where: Iterable[Where]) -> None:
        super().__init__()
        self._where = tuple(where)
        self._over: tuple[Where, ...] | None = None
        """The places of what lies over the screen; none of the screen's keys act there."""

    def on_mount(self) -> None:
        """Hear what comes over the screen, and goes."""
        self.app.screen_change_signal.subscribe(self, self._follow)

    def _follow(self, top: Screen[object]) -> None:
        if self.screen in self.app.screen_stack:
            self._over = None if top is self.screen else tuple(getattr(top, "WHERE", ()))
            self.refresh()

    @property
    def _places(self) -> tuple[Where, ...]:
        return self._where if self._over is None else self._over

    def show(self, where: Iterable[Where]) -> None:
        """Show the keys of these places."""
        self._where = tuple(where)
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """As many as there is room for, whole ones only; the last, which lead to help and out, stay the longest."""
        words = [
            Content.assemble((keys, "key"), " ", (word, "dim")) for keys, word in footer(self._places, self.app.keys)
        ]
        line = _GAP.join(words)
        while words and line.cell_length > width:
            del words[-_LAST - 1 if len(words) > _LAST else -1]
            line = _GAP.join(words)
        return [line]

    def on_click(self, event: events.Click) -> None:
        """Press the key that was clicked; on a word its first one."""
        at = event.get_content_offset(self)
        if at is not None:
            self.press_at(at.x)

    def press_at(self, x: int) -> None:
        """Press the key that stands in this cell, if there is one."""
        if name := self._key_at(x):
            self.app.simulate_key(textual_name(name))

    def _key_at(self, x: int) -> str:
        """The name of the key that stands there; none between the words."""
        (line,) = self.lines(self.room.width)
        for glyphs, word in footer(self._places, self.app.keys):
            begin = line.plain.find(f"{glyphs} {word}")
            if begin >= 0 and begin <= x < begin + len(glyphs) + 1 + len(word):
                before = glyphs[: x - begin].count(" ") if x < begin + len(glyphs) else 0
                return self._names(word)[before]
        return ""

    def _names(self, word: str) -> list[str]:
        """The first key of each action that has this word."""
        return [key.keys.split(",")[0] for key in self.app.keys if key.footer == word and key.where in self._places]
