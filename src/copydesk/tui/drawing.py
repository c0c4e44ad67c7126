"""Draws a picture as lines of a page, by textual-image, which is an extra. Slow: called in a thread."""

import io
import os
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from itertools import count
from math import ceil
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from textual.color import Color
from textual.content import Content
from textual.style import Style

from copydesk.tui.terminal_pictures import Way

if TYPE_CHECKING:
    from PIL.Image import Image
    from rich.segment import Segment
    from textual_image.renderable import HalfcellImage, TGPImage

MOST_ROWS, MOST_COLUMNS = 12, 60
"""Cells of the largest drawing: the text beside it is what is judged."""
CELL = (10, 20)
"""Pixels of a cell, about; what is larger is scaled down by the terminal, or cut by nobody."""
_PAYLOAD = 4096
"""Bytes of a piece of a picture, at most, as kitty's protocol has it."""
_importing = Lock()
_numbers = count(int.from_bytes(os.urandom(3)) or 1)
"""Of the pictures in the terminal; others may draw there, too, so they do not begin at 1."""


class Drawing(NamedTuple):
    """A picture as lines, with what the terminal is sent before they stand there and when they are not wanted."""

    lines: tuple[Content, ...]
    before: str = ""
    after: str = ""

    @property
    def width(self) -> int:
        """Cells of each line."""
        return self.lines[0].cell_length


def can_draw() -> bool:
    """Whether the extra is installed."""
    return find_spec("textual_image") is not None


def draw(content: bytes, way: Way, room: int) -> Drawing:
    """The picture `content`, which was made here, in lines of at most `room` cells."""
    from PIL import Image  # noqa: PLC0415 - not for the first paint

    with Image.open(BytesIO(content)) as picture:
        columns, rows = fitted(picture.size, room)
        if way is Way.KITTY:
            return _by_kitty(picture, columns, rows)
        return Drawing(_lines(_loaded()[0](picture, columns, rows)))


def fitted(size: tuple[int, int], room: int) -> tuple[int, int]:
    """Columns and rows for a picture of `size` pixels; none is made larger than it is."""
    width, height = size
    columns = min(room, MOST_COLUMNS, ceil(width / CELL[0]))
    rows = columns * CELL[0] * height / (width * CELL[1])
    if rows > MOST_ROWS:
        columns, rows = round(columns * MOST_ROWS / rows), MOST_ROWS
    return max(columns, 1), max(round(rows), 1)


def _by_kitty(picture: "Image", columns: int, rows: int) -> Drawing:
    """Cells of text that stand for the picture's parts, and the picture itself.

    https://sw.kovidgoyal.net/kitty/graphics-protocol/#unicode-placeholders
    """
    drawn = _loaded()[1](picture, columns, rows)
    # With a number it takes the picture to be in the terminal. It would write there beside Textual's own thread.
    drawn.terminal_image_id = number = next(_numbers)
    packed = BytesIO()
    picture.resize((columns * CELL[0], rows * CELL[1])).save(packed, "PNG", compress_level=6)
    sent = "".join(_pieces(number, b64encode(packed.getvalue()).decode()))
    placed = _command(f"a=p,U=1,i={number},c={columns},r={rows},q=2")
    return Drawing(_lines(drawn), before=sent + placed, after=_command(f"a=d,d=I,i={number},q=2"))


def _pieces(number: int, encoded: str) -> Iterator[str]:
    for start in range(0, len(encoded), _PAYLOAD):
        head = f"a=t,f=100,i={number}," if not start else ""
        more = int(start + _PAYLOAD < len(encoded))
        yield _command(f"{head}q=2,m={more}", encoded[start : start + _PAYLOAD])


def _command(keys: str, payload: str = "") -> str:
    return f"\x1b_G{keys};{payload}\x1b\\"


def _lines(drawn: "HalfcellImage | TGPImage") -> tuple[Content, ...]:
    """What textual-image makes of it, for Textual."""
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.segment import Segment  # noqa: PLC0415

    console = Console(file=io.StringIO(), width=MOST_COLUMNS)
    segments = (each for each in drawn.__rich_console__(console, console.options) if isinstance(each, Segment))
    return tuple(_content(line) for line in Segment.split_lines(segments))


def _content(line: "Iterable[Segment]") -> Content:
    return Content.assemble(*((each.text, _style(each)) for each in line))


def _style(segment: "Segment") -> Style:
    style = segment.style
    front, back = (style.color, style.bgcolor) if style else (None, None)
    return Style(
        background=Color.from_rich_color(back) if back else None,
        foreground=Color.from_rich_color(front) if front else None,
    )


def _loaded() -> "tuple[type[HalfcellImage], type[TGPImage]]":
    """Its two ways to draw. Where it sees a terminal, it asks it what it can as soon as it is imported, and how large a
    cell is when it draws; the answers would be taken from the user's keys, so it sees none.
    """
    with _importing, _no_terminal():
        from textual_image._terminal import get_cell_size  # noqa: PLC0415 - there is no other way
        from textual_image.renderable import HalfcellImage, TGPImage  # noqa: PLC0415

        get_cell_size()  # it remembers what it is told the first time
        return HalfcellImage, TGPImage


@contextmanager
def _no_terminal() -> Iterator[None]:
    """The process without the terminal as its output, for as long as an import takes; Textual writes elsewhere."""
    real = sys.__stdout__
    vars(sys)["__stdout__"] = io.StringIO()
    try:
        yield
    finally:
        vars(sys)["__stdout__"] = real
