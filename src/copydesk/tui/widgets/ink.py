"""Drawing lines: Contents whose styles are the names of roles, onto the screen."""

from collections.abc import Hashable

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

ROLES = (
    "dim",
    "faint",
    "strong",
    "accent",
    "good",
    "warn",
    "bad",
    "key",
    "link",
    "mark-bad",
    "mark-warn",
    "mark-dim",
)
"""What a piece of text is. The style sheets give each its colour, as the component `ink--<role>` of the screen: once
for all its widgets, for each component of each widget is felt when the console starts."""
_KEPT = 2000
"""Drawn lines that are kept."""


INK = frozenset(f"ink--{role}" for role in ROLES)
"""The components that every screen has."""


class Ink(Widget, inherit_bindings=False):
    """A widget that draws its lines by itself, without child widgets and without markup."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._strips: dict[Hashable, Strip] = {}

    def notify_style_update(self) -> None:
        """Drawn lines carry colours: a new theme, or another focus, throws them away."""
        super().notify_style_update()
        self._strips.clear()

    def forget_lines(self) -> None:
        """What is to be drawn has changed."""
        self._strips.clear()
        self.refresh()

    @property
    def room(self) -> Size:
        """Cells for the lines: without borders, padding and scroll bar."""
        return self.scrollable_content_region.size

    def set_title(self, title: str) -> None:
        """The words in the line above; they may come from outside."""
        self.border_title = Content(f" {title} ")

    def strip(self, line: Content, *, key: Hashable = None, below: str = "") -> Strip:
        """`line` drawn over the whole width, on the background of the component `below`.

        Kept under `key`, if there is one.
        """
        if key is not None and (kept := self._strips.get(key)) is not None:
            return kept
        drawn = self._draw(line, self.get_visual_style(below) if below else self.visual_style)
        if key is not None:
            if len(self._strips) >= _KEPT:
                self._strips.clear()
            self._strips[key] = drawn
        return drawn

    def _draw(self, line: Content, base: Style) -> Strip:
        segments = [
            Segment(text, style.rich_style) for text, style in line.render(base, end="", parse_style=self._role)
        ]
        return Strip(segments).adjust_cell_length(self.room.width, base.rich_style)

    def _role(self, role: str | Style) -> Style:
        if isinstance(role, Style):
            return role
        return self.screen.get_visual_style(f"ink--{role}", partial=True) if role in ROLES else Style.null()
