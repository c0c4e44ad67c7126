"""Widgets that draw their own lines, without child widgets and without markup: static ones, and a scroll view.

A line is a Content whose styles are role names. A `LinePainter` paints it, and again only if it has changed.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple, Self

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.cache import FIFOCache
from textual.color import Color
from textual.content import Content
from textual.filter import LineFilter
from textual.geometry import Region, Size, Spacing
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from copydesk.tui import labels
from copydesk.tui.layout import lay_out_blocks, paragraph

_PLAIN, _BOLD, _UNDERLINED = Style(), Style(bold=True), Style(underline=True)
_ROLES = {
    "dim": ("foreground-muted", _PLAIN),
    "faint": ("foreground-disabled", _PLAIN),
    "strong": (None, _BOLD),
    "current": (None, Style(bold=True, underline=True)),
    "accent": ("accent", _PLAIN),
    "good": ("success", _PLAIN),
    "warn": ("warning", _PLAIN),
    "bad": ("error", _PLAIN),
    "key": ("accent", _BOLD),
    "link": ("accent", _UNDERLINED),
    "mark-bad": ("error", _UNDERLINED),
    "mark-warn": ("warning", _UNDERLINED),
    "mark-dim": (None, _UNDERLINED),
    "mark-good": ("success", _UNDERLINED),
    "mark-accent": ("accent", _UNDERLINED),
}
"""Roles of a piece of text, each with the theme's variable of its colour and its text style.

No components of style sheets: Textual would compute the styles of each of them for every screen and dialog that opens.
"""
THUMB = "▐"
"""The part of the scroll bar that can be dragged."""
MIN_CONTRAST = 3.0
"""Contrast ratio below which text takes the colour of its background's own text instead of that of its role."""
_MAX_CACHED_STRIPS = 120
"""Cached lines: a few screens of them."""


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
        # Filters come last, as in Textual: with NO_COLOR they also remove the colours of the frame.
        for line_filter in self.filters:
            line = line.apply_filter(line_filter, self.background)
        return Line(line, line.cell_length)


class LinePainter:
    """Draws the lines of a widget and keeps them, as drawn and as painted on the screen.

    Textual's own `render_lines` renders a line again whenever it moves: scrolling a list by one line would redraw all
    lines with borders, filters and escape sequences. It also asks every widget for all of its lines, whichever have
    changed.
    """

    def __init__(self, widget: "StaticLines | LineScrollView", render_plainly: Callable[[Region], list[Strip]]) -> None:
        self._widget = widget
        self._render_plainly = render_plainly
        """Textual's own `render_lines` of the widget."""
        self._strips: FIFOCache[Hashable, CachedStrip] = FIFOCache(_MAX_CACHED_STRIPS)
        self._painted: dict[int, Strip] = {}
        """The lines on screen by their number inside the borders."""
        self._painted_for = Size()

    def clear(self) -> None:
        """Discard all lines, because the content, or the size or style of the widget has changed."""
        self._strips.clear()
        self._painted.clear()

    def redraw(self) -> None:
        """Discard all lines and refresh the widget, because its content has changed."""
        self.clear()
        self._widget.refresh()

    def discard(self, regions: Sequence[Region], *, repaint: bool) -> None:
        """Discard the lines that a refresh of these regions, or of the whole widget, has to paint again."""
        for region in regions:
            for y in region.line_range:
                self._painted.pop(y, None)
        # Without `repaint` only the layout is refreshed, and what was painted stays valid.
        if repaint and not regions:
            self._painted.clear()

    def cached(self, key: Hashable) -> Strip | None:
        """Return the line that was drawn under this key; None if there is none."""
        return self._strips.get(key)

    def draw(self, line: Content, *, key: Hashable = None, background: str = "") -> Strip:
        """Return `line` drawn over the whole width, on the background of the component `background`.

        It is cached under `key`, which must identify everything that the line depends on; by default under the line
        itself.
        """
        # Content compares by text only, so its spans must be part of the key.
        key = (line.plain, *line.spans, background) if key is None else key
        cached = self._strips.get(key)
        if cached is None:
            style = self._widget.get_visual_style(background) if background else self._widget.visual_style
            self._strips[key] = cached = CachedStrip(self._draw_content(line, style))
        return cached

    def paint(self, crop: Region) -> list[Strip]:
        """Return the lines of the region, reusing painted ones."""
        # Textual blends the colours.
        if self._widget.opacity < 1:
            return self._render_plainly(crop)
        size = self._widget.outer_size
        # Cached lines were framed for the old size.
        if size != self._painted_for:
            self.clear()
            self._painted_for = size
        top = self._widget.gutter.top
        missing = [y for y in crop.line_range if y - top not in self._painted]
        if missing:
            self._paint_lines(missing, top)
        lines = [self._painted[y - top] for y in crop.line_range]
        first, last = crop.column_span
        return lines if (first, last) == (0, size.width) else [line.crop(first, last) for line in lines]

    def lines_after_scroll(self, by: int, scrolling: range) -> dict[int, Strip]:
        """Return the painted lines that are current after scrolling by so many lines, each at its new place.

        Those outside of `scrolling` stay in place. A line whose cell of the scroll bar differs there is left out.
        """
        edge = self._widget.edge_text
        # Lines are keyed by screen row.
        fixed = {y: line for y, line in self._painted.items() if y not in scrolling}
        moved = {
            y - by: line
            for y, line in self._painted.items()
            if y in scrolling and y - by in scrolling and edge(y) == edge(y - by)
        }
        return fixed | moved

    def restore(self, lines: dict[int, Strip]) -> None:
        """Reuse these lines, which were discarded, instead of painting them again."""
        self._painted = lines

    def _paint_lines(self, ys: Iterable[int], top: int) -> None:
        widget, height, frame = self._widget, self._widget.content_region.height, self._frame()
        for y in ys:
            number = y - top
            if 0 <= number < height:
                strip, edge = widget.render_line(number), widget.edge_text(number)
                self._painted[number] = self._add_frame(strip, edge, frame)
            else:
                # Borders and padding are drawn by Textual.
                (self._painted[number],) = self._render_plainly(Region(0, y, widget.region.width, 1))

    def _add_frame(self, strip: Strip, edge: str, frame: Frame) -> Line:
        """Return the strip with its surroundings, in the colours that the terminal supports."""
        if not isinstance(strip, CachedStrip):  # from a widget that does not use `draw`
            return frame.around(strip, edge)
        line = strip.framed.get(edge)
        if line is None:
            line = strip.framed[edge] = frame.around(strip, edge)
        return line

    def _frame(self) -> Frame:
        widget, style = self._widget, self._widget.visual_style.rich_style
        return Frame(
            style=style,
            bar=style + RichStyle(color=widget.styles.scrollbar_color.rich_color),
            background=widget.background_colors[1],
            filters=widget.get_line_filters(),
            width=widget.content_region.width,
            gutter=widget.gutter,
        )

    def _draw_content(self, line: Content, base: Style) -> Strip:
        parse_style = partial(self._style_of, base)
        segments = [
            Segment(text, style.rich_style) for text, style in line.render(base, end="", parse_style=parse_style)
        ]
        return Strip(segments).adjust_cell_length(self._widget.drawable_size.width, base.rich_style)

    def _style_of(self, base: Style, role: str | Style) -> Style:
        if isinstance(role, Style):
            return role
        # An unknown role is no error: a Content may come from Textual, with styles of its own.
        variable, text_style = _ROLES.get(role, (None, _PLAIN))
        if variable is None:
            return text_style
        variables = self._widget.app.theme_variables
        # The themes of ANSI colours have a single muted one.
        colour = _parse_colour(variables.get(variable) or variables["foreground-muted"])
        # Faint is what may be overlooked.
        if role != "faint" and base.background is not None and not _is_readable(colour, base.background):
            return text_style
        return text_style + Style(foreground=colour)


@lru_cache(256)
def _is_readable(colour: Color, background: Color) -> bool:
    """Return False if the colour is too close to the background: in many themes the cursor's row has the accent's."""
    # How a terminal shows its own colours is not known.
    if colour.ansi is not None or background.ansi is not None:
        return True
    darker, lighter = sorted(map(_luminance, (background + colour, background)))
    return (lighter + 0.05) / (darker + 0.05) >= MIN_CONTRAST


def _luminance(colour: Color) -> float:
    """Return the relative luminance of WCAG 2, approximately."""
    red, green, blue = (math.pow(part, 2.2) for part in colour.normalized)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _parse_colour(text: str) -> Color:
    """Return the colour of a theme's variable: `#6fb3c8`, or `ansi_default 50%` in the themes of ANSI colours."""
    name, _, opacity = text.partition(" ")
    colour = Color.parse(name)
    return colour.multiply_alpha(float(opacity.rstrip("%")) / 100) if opacity else colour


def set_title(widget: Widget, title: str) -> None:
    """Set the title in a widget's border, which may be untrusted text: as a Content it is not parsed as markup."""
    widget.border_title = _title_line(widget, title)


def _title_line(widget: Widget, title: str) -> Content:
    """Return the title: the name as the style sheet has it, and without emphasis what follows its first dot."""
    name, dot, rest = title.partition(" · ")
    return Content.assemble(f" {name} ", (f"· {rest} ", _title_style(widget)) if dot else "")


def _title_style(widget: Widget) -> str:
    # The name of the focused pane is a block; a dialog has one pane only.
    background = "" if widget.screen.is_modal else " on $background"
    return f"not bold not reverse $foreground-muted{background}"


class LegendTitle:
    """The title of a list: followed by the letters of its rows with their meaning, as many as fit.

    Those that do not fit are in the help.
    """

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._title = ""
        self._legend: Sequence[tuple[str, str]] = ()
        self._markup: str | None = None
        """The border title as last set."""

    def set(self, title: str, legend: Iterable[tuple[str, str]]) -> None:
        """Set the title and the legend."""
        self._title, self._legend = title, tuple(dict.fromkeys(legend))
        self._show()

    def fit(self) -> None:
        """Fit the legend into the new width of the widget."""
        # Unless `set_title` has replaced it.
        if self._markup is not None and self._widget.border_title == self._markup:
            self._show()

    def _show(self) -> None:
        line, style = _title_line(self._widget, self._title), _title_style(self._widget)
        # A widget that is not laid out yet has no width.
        width = self._widget.size.width or self._widget.app.size.width
        for letter, meaning in self._legend:
            entry = Content.styled(f"· {letter} {meaning} ", style)
            # The border has a cell on either side of the title.
            if line.cell_length + entry.cell_length > width - 2:
                break
            line += entry
        self._widget.border_title = line
        self._markup = self._widget.border_title


class JumpTarget(NamedTuple):
    """A place on the screen that jump mode goes to."""

    x: int
    y: int
    """The cell of the screen where its letters are shown."""
    go: Callable[[], object]


class StaticLines(Widget, can_focus=False, inherit_bindings=False):
    """A few lines that do not scroll."""

    def __init__(self, *, id: str | None = None) -> None:
        self.painter = LinePainter(self, super().render_lines)
        super().__init__(id=id)

    @abstractmethod
    def lines(self, width: int) -> list[Content]:
        """Return the content in lines of `width` cells."""

    def jump_targets(self) -> list[JumpTarget]:
        """Return the places to jump to."""
        return []

    def render_line(self, y: int) -> Strip:
        """Render one line on screen."""
        lines = self.lines(self.drawable_size.width)
        return self.painter.draw(lines[y] if y < len(lines) else Content(""))

    def edge_text(self, y: int) -> str:
        """Return no text for the right edge of a line: there is no scroll bar."""
        return ""

    @property
    def drawable_size(self) -> Size:
        """Cells for the lines, without borders and padding."""
        return self.scrollable_content_region.size

    def notify_style_update(self) -> None:
        """Discard drawn lines, whose colours depend on theme and focus."""
        super().notify_style_update()
        self.painter.clear()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Redraw the lines in these regions, or all of them."""
        self.painter.discard(regions, repaint=repaint)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines of the region, reusing painted ones."""
        return self.painter.paint(crop)


class MessageLines(StaticLines):
    """Shows the lines that were set last."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: list[Content] = []

    def set_lines(self, lines: Iterable[Content]) -> None:
        """Show these lines; those that do not fit are cut off."""
        self._lines = list(lines)
        self.painter.redraw()

    def lines(self, width: int) -> list[Content]:
        return [line.truncate(width, ellipsis=True) for line in self._lines]


class TooSmall(StaticLines):
    """Replaces everything else."""

    def lines(self, width: int) -> list[Content]:
        return lay_out_blocks([paragraph(labels.APP_TOO_SMALL, "warn")], max(width, 1))


class LineScrollView(ScrollView, can_focus=True, inherit_bindings=False):
    """A scroll view of lines, of which only those on screen are drawn. The last cell of each line is the scroll bar.

    The bar is part of the lines: as a separate widget it would be half of what a key press redraws. Textual's own bars
    are switched off in the style sheet.
    """

    FIXED_LINES: ClassVar[int] = 0
    """Lines at the top that do not scroll."""
    # As in Textual, but without a new layout and a full redraw on each change: the size changes with every draft that
    # is shown, and moves nothing. Subclasses know which lines have changed and refresh these.
    virtual_size = reactive(Size(0, 0), repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        self.painter = LinePainter(self, super().render_lines)
        super().__init__(id=id)
        self._thumb = range(0)
        """The lines on screen that the scroll bar's thumb covers, as last drawn."""
        self._dragging = False
        self.legend_title = LegendTitle(self)

    def jump_targets(self) -> list[JumpTarget]:
        """Return the places to jump to: the pane itself, by its title."""
        return [JumpTarget(self.region.x, self.region.y, self.focus)] if self.focusable else []

    def row_targets(self, first: int, go: Sequence[Callable[[], object]], height: int = 1) -> list[JumpTarget]:
        """Return the places of rows of `height` lines, of which the first is the line `first` of the whole content."""
        region, scrolled = self.content_region, self.scroll_offset.y
        ys = [region.y + first + index * height - scrolled for index in range(len(go))]
        return [
            JumpTarget(region.x, y, step)
            for y, step in zip(ys, go, strict=True)
            if region.y + self.FIXED_LINES <= y < region.bottom
        ]

    @property
    def drawable_size(self) -> Size:
        """Cells for the lines, without borders, padding and scroll bar."""
        width, height = self.scrollable_content_region.size
        return Size(max(width - 1, 0), height)

    def notify_style_update(self) -> None:
        """Discard drawn lines, whose colours depend on theme and focus."""
        super().notify_style_update()
        self.painter.clear()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Redraw the lines in these regions, or all of them."""
        self.painter.discard(regions, repaint=repaint)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines of the region, reusing painted ones."""
        return self.painter.paint(crop)

    @property
    def allow_vertical_scroll(self) -> bool:
        """True if there is something to scroll to, also with the mouse wheel."""
        return self.max_scroll_y > 0

    def watch_virtual_size(self, size: Size) -> None:
        """Update the scroll bar."""
        self._scroll_update(size)
        self._update_thumb()

    def watch_scroll_y(self, before: float, now: float) -> None:
        """Reuse painted lines at their new place, and update the scroll bar."""
        scrolling = range(self.FIXED_LINES, self.content_region.height)
        lines = self.painter.lines_after_scroll(round(now) - round(before), scrolling)
        # Textual discards all lines.
        super().watch_scroll_y(before, now)
        self.painter.restore(lines)
        self._update_thumb()

    def on_resize(self) -> None:
        """Update the scroll bar and the title. Textual calls the handlers of the base classes, too."""
        self._update_thumb()
        self.legend_title.fit()

    def _update_thumb(self) -> None:
        """If the thumb changes, redraw all lines, of which it is a part."""
        thumb = self._thumb_range()
        if thumb != self._thumb:
            self._thumb = thumb
            # A region instead of everything: a refresh without one would discard lines that `restore` has just put
            # back.
            self.refresh(self.size.region)

    def _thumb_range(self) -> range:
        """Return the lines on screen that the thumb covers; an empty range if everything is visible."""
        height, all_lines = self.drawable_size.height, self.virtual_size.height
        if not 0 < height < all_lines:
            return range(0)
        size = max(1, height * height // all_lines)
        # Rounding by position keeps the thumb off either end until that end is reached.
        top = round(self.scroll_offset.y / (all_lines - height) * (height - size))
        return range(top, top + size)

    def edge_text(self, y: int) -> str:
        """Return the last cell of a line on screen: the scroll bar."""
        return THUMB if y in self._thumb else " "

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Start dragging the scroll bar."""
        if self._thumb and event.x == self.gutter.left + self.drawable_size.width:
            self._dragging = True
            # The pointer leaves the single column of the bar as soon as it moves.
            self.capture_mouse()
            self._drag_to(event.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag the scroll bar."""
        if self._dragging:
            self._drag_to(event.y)

    def on_mouse_up(self) -> None:
        """Stop dragging."""
        if self._dragging:
            self._dragging = False
            self.release_mouse()

    def _drag_to(self, y: int) -> None:
        # The last line counts as the end, or dragging could never reach the last row.
        fraction = (y - self.gutter.top) / max(self.drawable_size.height - 1, 1)
        self.scroll_to(y=round(min(max(fraction, 0), 1) * self.max_scroll_y), animate=False, immediate=True)
