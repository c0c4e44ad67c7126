"""A widget that draws lines: Contents whose styles are role names, rendered onto the screen."""

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
"""Roles of a piece of text.

The style sheets assign each a colour as the component `ink--<role>` of the screen, once for all its widgets: components
per widget would noticeably slow down the start of the console.
"""
_MAX_CACHED_STRIPS = 120
"""Cached lines: a few screens of them."""


ROLE_CLASSES = frozenset(f"ink--{role}" for role in ROLES)
"""The component classes that every screen declares."""


class Line(Strip):
    """A strip without a reference to itself.

    Textual caches a strip that is as wide as its widget in the strip's own cache: a reference cycle per line, which
    only a garbage collection frees.
    """

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Return the strip itself if nothing is cut off."""
        cuts = list(cuts)
        return [self] if cuts == [self.cell_length] else super().divide(cuts)


class CachedStrip(Strip):
    """A cached strip, with its framed versions as sent to the terminal."""

    def __init__(self, strip: Strip) -> None:
        super().__init__(strip, strip.cell_length)
        self.framed: dict[str, Line] = {}
        """By the text at its right edge."""


class Frame(NamedTuple):
    """The surroundings of a widget's lines, computed once for all lines painted together."""

    style: RichStyle
    bar: RichStyle
    background: Color
    filters: Sequence[LineFilter]
    width: int
    """Cells inside the gutter."""
    gutter: Spacing

    def around(self, strip: Strip, edge: str) -> Line:
        """Return the line in the width of the widget, with filters applied, as sent to the terminal."""
        line = Strip(
            [
                Segment(" " * self.gutter.left, self.style),
                *strip.adjust_cell_length(self.width - len(edge), self.style),
                Segment(edge + " " * self.gutter.right, self.bar),
            ],
            self.width + self.gutter.width,
        )
        for line_filter in self.filters:
            line = line.apply_filter(line_filter, self.background)
        return Line(line, line.cell_length)


class LineWidget(Widget, inherit_bindings=False):
    """A widget that draws its own lines, without child widgets and without markup."""

    def __init__(self, *, id: str | None = None) -> None:
        self._strip_cache: FIFOCache[Hashable, CachedStrip] = FIFOCache(_MAX_CACHED_STRIPS)
        self._painted: dict[int, Strip] = {}
        """The lines on screen by their number inside the borders."""
        self._painted_for = Size()
        super().__init__(id=id)

    def notify_style_update(self) -> None:
        """Discard drawn lines, whose colours depend on theme and focus."""
        super().notify_style_update()
        self._discard_lines()

    def _discard_lines(self) -> None:
        self._strip_cache.clear()
        self._painted.clear()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Redraw the lines in these regions, or all of them."""
        for region in regions:
            for y in region.line_range:
                self._painted.pop(y, None)
        if repaint and not regions:
            self._painted.clear()
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def redraw(self) -> None:
        """Discard all drawn lines and redraw, because the content has changed."""
        self._discard_lines()
        self.refresh()

    @property
    def drawable_size(self) -> Size:
        """Cells for the lines, without borders, padding and scroll bar."""
        return self.scrollable_content_region.size

    def set_title(self, title: str) -> None:
        """Set the title in the border, which may be untrusted text: as a Content it is not parsed as markup."""
        self.border_title = Content(f" {title} ")

    def render_strip(self, line: Content, *, key: Hashable = None, background: str = "") -> Strip:
        """Return `line` drawn over the whole width, on the background of the component `background`.

        It is cached under `key`, which must identify everything that the line depends on; by default under the line
        itself.
        """
        # Content compares by text only, so its spans must be part of the key.
        key = (line.plain, *line.spans, background) if key is None else key
        cached = self._strip_cache.get(key)
        if cached is None:
            rendered = self._draw_content(line, self.get_visual_style(background) if background else self.visual_style)
            self._strip_cache[key] = cached = CachedStrip(rendered)
        return cached

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines of the region, reusing painted ones.

        Textual's own implementation renders a line again whenever it moves: scrolling a list by one line would redraw
        all lines with borders, filters and escape sequences. It also asks every widget for all of its lines, whichever
        have changed.
        """
        # Textual blends the colours.
        if self.opacity < 1:
            return super().render_lines(crop)
        size = self.outer_size
        # Cached lines were framed for the old size.
        if size != self._painted_for:
            self._discard_lines()
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
            number = y - top
            if 0 <= number < height:
                self._painted[number] = self._add_frame(self.render_line(number), self.edge_text(number), frame)
            else:
                # Borders and padding are drawn by Textual.
                (self._painted[number],) = super().render_lines(Region(0, y, self.region.width, 1))

    def edge_text(self, y: int) -> str:
        """Return what follows a line of `render_line` at the right edge, such as a scroll bar."""
        return ""

    def _add_frame(self, strip: Strip, edge: str, frame: Frame) -> Line:
        """Return the strip with its surroundings, in the colours that the terminal supports."""
        if not isinstance(strip, CachedStrip):  # from a subclass that does not use `render_strip`
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

    def _draw_content(self, line: Content, base: Style) -> Strip:
        segments = [
            Segment(text, style.rich_style) for text, style in line.render(base, end="", parse_style=self._style_of)
        ]
        return Strip(segments).adjust_cell_length(self.drawable_size.width, base.rich_style)

    def _style_of(self, role: str | Style) -> Style:
        if isinstance(role, Style):
            return role
        return self.screen.get_visual_style(f"ink--{role}", partial=True) if role in ROLES else Style.null()
