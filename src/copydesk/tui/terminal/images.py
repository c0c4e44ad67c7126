"""Images in the terminal, drawn with textual-image, an optional extra.

The environment variables tell which protocol the terminal supports; it is not queried. Each image is rendered once, in
a thread because that is slow, and finally removed from the terminal.
"""

import asyncio
import io
import os
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import partial
from importlib.util import find_spec
from io import BytesIO
from itertools import count
from math import ceil
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, Protocol

from textual.color import Color
from textual.content import Content
from textual.style import Style

from copydesk.model.draft import Thumbnail
from copydesk.tui.terminal.cells import terminal_encoding

if TYPE_CHECKING:
    from PIL.Image import Image
    from rich.segment import Segment
    from textual_image.renderable import HalfcellImage, TGPImage

    from copydesk.desk import Desk

MAX_ROWS, MAX_COLUMNS = 12, 60
"""Cells of the largest drawing: the text next to it is what the user judges."""
CELL_PIXELS = (10, 20)
"""Approximate pixels of a cell. The terminal scales down a larger image; none is cut off."""
MAX_DRAWINGS = 16
"""Maximum number of cached drawings; a page shows a few at most."""
_CHUNK_SIZE = 4096
"""Maximum bytes of one chunk of an image in kitty's protocol."""
_KITTY_TERMS = ("xterm-kitty", "xterm-ghostty")
_MULTIPLEXED = ("screen", "tmux")
"""Prefixes of TERM inside a multiplexer, which does not pass images on."""
# Images are drawn in several threads, and the import replaces standard streams of the whole process for a moment.
_import_lock = Lock()
_image_ids = count(int.from_bytes(os.urandom(3)) or 1)
"""Ids of the images in the terminal. They start at random, because other programs may use ids from 1."""


class ImageProtocol(StrEnum):
    """The method by which an image is drawn."""

    KITTY = "kitty"
    """Kitty's graphics protocol, with text cells as placeholders for parts of the image."""
    CELLS = "cells"
    """Two coloured half blocks per cell."""


def choose_image_protocol(setting: str, environ: Mapping[str, str]) -> ImageProtocol | None:
    """Return the protocol for the setting `console.images`; None if images are described in text instead.

    Images consist of colours and non-ASCII characters, so there are none without these, and none in a browser.
    """
    in_browser = "web_driver" in environ.get("TEXTUAL_DRIVER", "")
    if setting == "never" or in_browser or environ.get("NO_COLOR") or terminal_encoding(environ) != "utf-8":
        return None
    if _is_kitty(environ):
        return ImageProtocol.KITTY
    return ImageProtocol.CELLS if setting == "always" else None


def _is_kitty(environ: Mapping[str, str]) -> bool:
    """Return True if the terminal supports the protocol's Unicode placeholders, which WezTerm and Konsole do not.

    The image id is encoded as a colour, so true colour is required.
    """
    term = environ.get("TERM", "")
    if environ.get("TMUX") or environ.get("STY") or term.startswith(_MULTIPLEXED):
        return False  # the variables below may be inherited from the outer terminal
    is_supported = term in _KITTY_TERMS or "KITTY_WINDOW_ID" in environ or environ.get("TERM_PROGRAM") == "ghostty"
    return is_supported and environ.get("COLORTERM") in ("truecolor", "24bit")


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
        # Only the first chunk describes the image; the others carry just data.
        header = f"a=t,f=100,i={image_id}," if not start else ""
        has_more = int(start + _CHUNK_SIZE < len(encoded))
        yield _command(f"{header}q=2,m={has_more}", encoded[start : start + _CHUNK_SIZE])


def _command(keys: str, payload: str = "") -> str:
    return f"\x1b_G{keys};{payload}\x1b\\"


def _to_lines(renderable: "HalfcellImage | TGPImage") -> tuple[Content, ...]:
    """Convert textual-image's renderable to Textual lines."""
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.segment import Segment  # noqa: PLC0415

    # A console without a terminal: only its segments are used.
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
        from textual_image.renderable import HalfcellImage, TGPImage  # noqa: PLC0415

        with suppress(ImportError):
            from textual_image._terminal import get_cell_size  # noqa: PLC0415 - has no public equivalent

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


class ImageCache:
    """Drawings by content and width. `send` writes to the terminal, in order with Textual's output."""

    def __init__(self, protocol: ImageProtocol, send: Callable[[str], object]) -> None:
        self._protocol = protocol
        self._send = send
        self._lock = asyncio.Lock()
        self._drawings: dict[tuple[bytes, int], Drawing] = {}

    async def draw(self, content: bytes, room: int) -> tuple[Content, ...]:
        """Return the lines of an image, at most `room` cells wide; an empty tuple if there is no room."""
        if room < 1:
            return ()
        # One at a time: rendering is CPU-bound, and the same image is often requested twice in a row.
        async with self._lock:
            drawing = self._drawings.pop((content, room), None) or await self._render(content, room)
            # Least recently used order: the newest entry is at the end.
            self._drawings[content, room] = drawing
        # Images that are not removed take up the terminal's memory.
        while len(self._drawings) > MAX_DRAWINGS:
            self._send(self._drawings.pop(next(iter(self._drawings))).cleanup)
        return drawing.lines

    async def _render(self, content: bytes, room: int) -> Drawing:
        drawing = await asyncio.to_thread(partial(draw_image, content, self._protocol, room))
        # Not in the thread: the sequence must not be mixed with Textual's output.
        self._send(drawing.setup)
        return drawing

    def close(self) -> None:
        """Remove all images from the terminal."""
        while self._drawings:
            self._send(self._drawings.popitem()[1].cleanup)


class ImageApp(Protocol):
    """The app that owns the rendered images and the terminal."""

    image_cache: ImageCache | None

    def write_terminal(self, sequence: str) -> None: ...


async def render_thumbnail(app: ImageApp, desk: "Desk", thumbnail: Thumbnail, room: int) -> tuple[Content, ...]:
    """Return the image in lines of at most `room` cells.

    Return an empty tuple if images are not shown in this terminal, or the thumbnail has no content.
    """
    if not thumbnail.content:
        return ()
    if app.image_cache is None:
        protocol = choose_image_protocol(desk.settings.console.images, os.environ)
        if protocol is None or not can_draw_images():
            return ()
        app.image_cache = ImageCache(protocol, app.write_terminal)
    return await app.image_cache.draw(thumbnail.content, room)
