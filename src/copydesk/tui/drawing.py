"""Render an image as lines of text with textual-image, an optional extra. Slow: call it in a thread."""

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

from copydesk.tui.terminal_pictures import ImageProtocol

if TYPE_CHECKING:
    from PIL.Image import Image
    from rich.segment import Segment
    from textual_image.renderable import HalfcellImage, TGPImage

MAX_ROWS, MAX_COLUMNS = 12, 60
"""Cells of the largest drawing: the text next to it is what the user judges."""
CELL_PIXELS = (10, 20)
"""Approximate pixels of a cell. The terminal scales down a larger image; none is cut off."""
_CHUNK_SIZE = 4096
"""Maximum bytes of one chunk of an image in kitty's protocol."""
_import_lock = Lock()
_image_ids = count(int.from_bytes(os.urandom(3)) or 1)
"""Ids of the images in the terminal. They start at random, because other programs may use ids from 1."""


class Drawing(NamedTuple):
    """An image as lines, with the escape sequences to send before it is shown and after it is discarded."""

    lines: tuple[Content, ...]
    setup: str = ""
    cleanup: str = ""

    @property
    def width(self) -> int:
        """Cells of each line."""
        return self.lines[0].cell_length


def can_draw_images() -> bool:
    """Return True if the extra is installed."""
    return find_spec("textual_image") is not None


def draw_image(content: bytes, protocol: ImageProtocol, room: int) -> Drawing:
    """Render `content`, an encoded thumbnail made by Copydesk, in lines of at most `room` cells."""
    from PIL import Image  # noqa: PLC0415 - not for the first paint

    with Image.open(BytesIO(content)) as image:
        columns, rows = fit_size(image.size, room)
        if protocol is ImageProtocol.KITTY:
            return _render_kitty(image, columns, rows)
        return Drawing(_to_lines(_import_renderables()[0](image, columns, rows)))


def fit_size(size: tuple[int, int], room: int) -> tuple[int, int]:
    """Return (columns, rows) for an image of `size` pixels; no image is enlarged."""
    width, height = size
    columns = min(room, MAX_COLUMNS, ceil(width / CELL_PIXELS[0]))
    rows = columns * CELL_PIXELS[0] * height / (width * CELL_PIXELS[1])
    if rows > MAX_ROWS:
        columns, rows = round(columns * MAX_ROWS / rows), MAX_ROWS
    return max(columns, 1), max(round(rows), 1)


def _render_kitty(image: "Image", columns: int, rows: int) -> Drawing:
    """Return placeholder cells that stand for parts of the image, and the image itself as escape sequences.

    https://sw.kovidgoyal.net/kitty/graphics-protocol/#unicode-placeholders
    """
    renderable = _import_renderables()[1](image, columns, rows)
    # With an id set it assumes that the terminal has the image. It would transmit it itself otherwise, interleaved with
    # Textual's own output thread.
    renderable.terminal_image_id = image_id = next(_image_ids)
    png = BytesIO()
    image.resize((columns * CELL_PIXELS[0], rows * CELL_PIXELS[1])).save(png, "PNG", compress_level=6)
    transmission = "".join(_chunks(image_id, b64encode(png.getvalue()).decode()))
    placement = _command(f"a=p,U=1,i={image_id},c={columns},r={rows},q=2")
    return Drawing(_to_lines(renderable), setup=transmission + placement, cleanup=_command(f"a=d,d=I,i={image_id},q=2"))


def _chunks(image_id: int, encoded: str) -> Iterator[str]:
    for start in range(0, len(encoded), _CHUNK_SIZE):
        header = f"a=t,f=100,i={image_id}," if not start else ""
        has_more = int(start + _CHUNK_SIZE < len(encoded))
        yield _command(f"{header}q=2,m={has_more}", encoded[start : start + _CHUNK_SIZE])


def _command(keys: str, payload: str = "") -> str:
    return f"\x1b_G{keys};{payload}\x1b\\"


def _to_lines(renderable: "HalfcellImage | TGPImage") -> tuple[Content, ...]:
    """Convert textual-image's renderable to Textual lines."""
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.segment import Segment  # noqa: PLC0415

    console = Console(file=io.StringIO(), width=MAX_COLUMNS)
    segments = (
        segment for segment in renderable.__rich_console__(console, console.options) if isinstance(segment, Segment)
    )
    return tuple(_to_content(line) for line in Segment.split_lines(segments))


def _to_content(line: "Iterable[Segment]") -> Content:
    return Content.assemble(*((segment.text, _to_style(segment)) for segment in line))


def _to_style(segment: "Segment") -> Style:
    style = segment.style
    foreground, background = (style.color, style.bgcolor) if style else (None, None)
    return Style(
        background=Color.from_rich_color(background) if background else None,
        foreground=Color.from_rich_color(foreground) if foreground else None,
    )


def _import_renderables() -> "tuple[type[HalfcellImage], type[TGPImage]]":
    """Import textual-image's two renderables.

    If it sees a terminal, it queries its capabilities on import and the cell size when it first draws; the replies
    would be taken from the user's keys. So both happen here, while it sees none.
    """
    with _import_lock, _no_terminal():
        from textual_image._terminal import get_cell_size  # noqa: PLC0415 - has no public equivalent
        from textual_image.renderable import HalfcellImage, TGPImage  # noqa: PLC0415

        get_cell_size()  # cached by textual-image from now on
        return HalfcellImage, TGPImage


@contextmanager
def _no_terminal() -> Iterator[None]:
    """Hide the terminal from the process for the duration of an import. Textual writes elsewhere."""
    stdout = sys.__stdout__
    vars(sys)["__stdout__"] = io.StringIO()
    try:
        yield
    finally:
        vars(sys)["__stdout__"] = stdout
