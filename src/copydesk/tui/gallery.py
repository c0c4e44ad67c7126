"""The image cache of the console: each image is rendered once, in a thread, and finally removed from the terminal."""

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from copydesk.model.picture import Thumbnail
from copydesk.tui.terminal_pictures import ImageProtocol, choose_image_protocol

if TYPE_CHECKING:
    from textual.content import Content

    from copydesk.desk import Desk
    from copydesk.tui.desk_app import DeskApp
    from copydesk.tui.drawing import Drawing

MAX_DRAWINGS = 16
"""Maximum number of cached drawings; a page shows a few at most."""


class ImageCache:
    """Drawings by content and width. `send` writes to the terminal, in order with Textual's output."""

    def __init__(self, protocol: ImageProtocol, send: Callable[[str], object]) -> None:
        self._protocol = protocol
        self._send = send
        self._lock = asyncio.Lock()
        self._drawings: dict[tuple[bytes, int], Drawing] = {}

    async def draw(self, content: bytes, room: int) -> "tuple[Content, ...]":
        """Return the lines of an image, at most `room` cells wide; an empty tuple if there is no room."""
        if room < 1:
            return ()
        # One at a time: rendering is CPU-bound, and the same image is often requested twice in a row.
        async with self._lock:
            drawing = self._drawings.pop((content, room), None) or await self._render(content, room)
            # Least recently used order: the newest entry is at the end.
            self._drawings[content, room] = drawing
        while len(self._drawings) > MAX_DRAWINGS:
            self._send(self._drawings.pop(next(iter(self._drawings))).cleanup)
        return drawing.lines

    async def _render(self, content: bytes, room: int) -> "Drawing":
        from copydesk.tui.drawing import draw_image  # noqa: PLC0415 - not for the first paint

        drawing = await asyncio.to_thread(partial(draw_image, content, self._protocol, room))
        self._send(drawing.setup)
        return drawing

    def close(self) -> None:
        """Remove all images from the terminal."""
        while self._drawings:
            self._send(self._drawings.popitem()[1].cleanup)


async def render_thumbnail(app: "DeskApp", desk: "Desk", thumbnail: Thumbnail, room: int) -> "tuple[Content, ...]":
    """Return the image in lines of at most `room` cells.

    Return an empty tuple if images are not shown in this terminal, or the thumbnail has no content.
    """
    if not thumbnail.content:
        return ()
    if app.image_cache is None:
        from copydesk.tui.drawing import can_draw_images  # noqa: PLC0415 - not for the first paint

        protocol = choose_image_protocol(desk.settings.console.images, os.environ)
        if protocol is None or not can_draw_images():
            return ()
        app.image_cache = ImageCache(protocol, app.write_terminal)
    return await app.image_cache.draw(thumbnail.content, room)
