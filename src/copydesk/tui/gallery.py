"""The image cache of the console: each image is rendered once, in a thread, and finally removed from the terminal."""

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from copydesk.model.picture import Look
from copydesk.tui.terminal_pictures import Way, way_to_draw

if TYPE_CHECKING:
    from textual.content import Content

    from copydesk.desk import Desk
    from copydesk.tui.desk_app import DeskApp
    from copydesk.tui.drawing import Drawing

KEPT = 16
"""Maximum number of cached drawings; a page shows a few at most."""


class Gallery:
    """Drawings by content and width. `send` writes to the terminal, in order with Textual's output."""

    def __init__(self, protocol: Way, send: Callable[[str], object]) -> None:
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
        while len(self._drawings) > KEPT:
            self._send(self._drawings.pop(next(iter(self._drawings))).after)
        return drawing.lines

    async def _render(self, content: bytes, room: int) -> "Drawing":
        from copydesk.tui.drawing import draw  # noqa: PLC0415 - not for the first paint

        drawing = await asyncio.to_thread(partial(draw, content, self._protocol, room))
        self._send(drawing.before)
        return drawing

    def close(self) -> None:
        """Remove all images from the terminal."""
        while self._drawings:
            self._send(self._drawings.popitem()[1].after)


async def lines_of(app: "DeskApp", desk: "Desk", look: Look, room: int) -> "tuple[Content, ...]":
    """Return the image in lines of at most `room` cells.

    Return an empty tuple if images are not shown in this terminal, or the thumbnail has no content.
    """
    if not look.content:
        return ()
    if app.gallery is None:
        from copydesk.tui.drawing import can_draw  # noqa: PLC0415 - not for the first paint

        protocol = way_to_draw(desk.settings.console.images, os.environ)
        if protocol is None or not can_draw():
            return ()
        app.gallery = Gallery(protocol, app.send)
    return await app.gallery.draw(look.content, room)
