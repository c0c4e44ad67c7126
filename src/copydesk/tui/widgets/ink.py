"""Drawing lines: Contents whose styles are the names of roles, onto the screen."""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple, Self

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.cache import FIFOCache
from textual.color import Color
from textual.content import Content
from textual.filter import LineFilter
from textual.geometry import Region, Size, Spacing
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
_KEPT = 120
"""Drawn lines that are kept: some screens of them."""


INK = frozenset(f"ink--{role}" for role in ROLES)
"""The components that every screen has."""


class Line(Strip):
    """A strip that does not refer to itself.

    Textual keeps a strip that is as wide as its place in the strip's own cache: a cycle for each line, that only a
    look for garbage ends.
    """

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Itself, where nothing is cut off."""
        cuts = list(cuts)
        return [self] if cuts == [self.cell_length] else super().divide(cuts)


class Kept(Strip):
    """A strip that is shown more than once, with what it becomes between the edges of its widget."""

    def __init__(self, strip: Strip) -> None:
        super().__init__(strip, strip.cell_length)
        self.framed: dict[str, Line] = {}
        """By what stands beside it."""


class Frame(NamedTuple):
    """What stands around the lines of a widget, asked once for all that are drawn together."""

    style: RichStyle
    bar: RichStyle
    background: Color
    filters: Sequence[LineFilter]
    width: int
    """Of what is inside the gutter."""
    gutter: Spacing

    def around(self, strip: Strip, edge: str) -> Line:
        """A line as wide as the widget, as the terminal gets it."""
        line = Strip(
            [
                Segment(" " * self.gutter.left, self.style),
                *strip.adjust_cell_length(self.width - len(edge), self.style),
                Segment(edge + " " * self.gutter.right, self.bar),
            ],
            self.width + self.gutter.width,
        )
        for each in self.filters:
            line = line.apply_filter(each, self.background)
        return Line(line, line.cell_length)


class Ink(Widget, inherit_bindings=False):
    """A widget that draws its lines by itself, without child widgets and without markup."""

    def __init__(self, *, id: str | None = None) -> None:
        self._strips: FIFOCache[Hashable, Kept] = FIFOCache(_KEPT)
        self._painted: dict[int, Strip] = {}
        """The lines that are on the screen, by their number among those inside the borders."""
        self._painted_for = Size()
        super().__init__(id=id)

    def notify_style_update(self) -> None:
        """Drawn lines carry colours: a new theme, or another focus, throws them away."""
        super().notify_style_update()
        self._throw_away()

    def _throw_away(self) -> None:
        self._strips.clear()
        self._painted.clear()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Draw these lines anew, or all of them."""
        for region in regions:
            for y in region.line_range:
                self._painted.pop(y, None)
        if repaint and not regions:
            self._painted.clear()
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def forget_lines(self) -> None:
        """What is to be drawn has changed."""
        self._throw_away()
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

        Kept under `key`, which stands for all that it is made of; without one under the line itself.
        """
        key = (line.plain, *line.spans, below) if key is None else key
        kept = self._strips.get(key)
        if kept is None:
            drawn = self._draw(line, self.get_visual_style(below) if below else self.visual_style)
            self._strips[key] = kept = Kept(drawn)
        return kept

    def render_lines(self, crop: Region) -> list[Strip]:
        """Some lines of the widget, those that are kept as they are.

        Textual's own way makes each line anew when it stands in another place: a list that scrolls by one line is drawn
        with all its borders, filters and escape sequences once more. And it asks every widget for all of its lines,
        whichever have changed.
        """
        if self.opacity < 1:
            return super().render_lines(crop)
        size = self.outer_size
        if size != self._painted_for:
            self._throw_away()
            self._painted_for = size
        top = self.gutter.top
        missing = [y for y in crop.line_range if y - top not in self._painted]
        if missing:
            self._paint(missing, top)
        lines = [self._painted[y - top] for y in crop.line_range]
        first, last = crop.column_span
        return lines if (first, last) == (0, size.width) else [line.crop(first, last) for line in lines]

    def _paint(self, ys: Iterable[int], top: int) -> None:
        height, frame = self.content_region.height, self._frame()
        for y in ys:
            at = y - top
            if 0 <= at < height:
                self._painted[at] = self._framed(self.render_line(at), self.edge(at), frame)
            else:
                (self._painted[at],) = super().render_lines(Region(0, y, self.region.width, 1))

    def edge(self, y: int) -> str:
        """What stands at the end of a line of the screen, beside what `render_line` gives."""
        return ""

    def _framed(self, strip: Strip, edge: str, frame: Frame) -> Line:
        """A strip with what stands left and right of it, in the colours that this terminal has."""
        if not isinstance(strip, Kept):  # of a class that draws otherwise
            return frame.around(strip, edge)
        line = strip.framed.get(edge)
        if line is None:
            line = strip.framed[edge] = frame.around(strip, edge)
        return line

    def _frame(self) -> Frame:
        style = self.visual_style.rich_style
        return Frame(
            style=style,
            bar=style + RichStyle(color=self.styles.scrollbar_color.rich_color),
            background=self.background_colors[1],
            filters=self.get_line_filters(),
            width=self.content_region.width,
            gutter=self.gutter,
        )

    def _draw(self, line: Content, base: Style) -> Strip:
        segments = [
            Segment(text, style.rich_style) for text, style in line.render(base, end="", parse_style=self._role)
        ]
        return Strip(segments).adjust_cell_length(self.room.width, base.rich_style)

    def _role(self, role: str | Style) -> Style:
        if isinstance(role, Style):
            return role
        return self.screen.get_visual_style(f"ink--{role}", partial=True) if role in ROLES else Style.null()
