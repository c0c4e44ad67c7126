"""The pictures that the console shows: each is drawn once, in a thread, and taken from the terminal in the end."""

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
"""Drawings that are kept; a page has at most a few."""


class Gallery:
    """Drawings by what they show and how wide they are; `send` writes to the terminal, in its turn."""

    def __init__(self, way: Way, send: Callable[[str], object]) -> None:
        self._way = way
        self._send = send
        self._one_by_one = asyncio.Lock()
        self._drawings: dict[tuple[bytes, int], Drawing] = {}

    async def draw(self, content: bytes, room: int) -> "tuple[Content, ...]":
        """The lines of a picture, none wider than `room` cells; none where there is no room."""
        if room < 1:
            return ()
        async with self._one_by_one:
            drawing = self._drawings.pop((content, room), None) or await self._drawn(content, room)
            # The last that was asked for is the last to go.
            self._drawings[content, room] = drawing
        while len(self._drawings) > KEPT:
            self._send(self._drawings.pop(next(iter(self._drawings))).after)
        return drawing.lines

    async def _drawn(self, content: bytes, room: int) -> "Drawing":
        from copydesk.tui.drawing import draw  # noqa: PLC0415 - not for the first paint

        drawing = await asyncio.to_thread(partial(draw, content, self._way, room))
        self._send(drawing.before)
        return drawing

    def close(self) -> None:
        """Let the terminal forget them all."""
        while self._drawings:
            self._send(self._drawings.popitem()[1].after)


async def lines_of(app: "DeskApp", desk: "Desk", look: Look, room: int) -> "tuple[Content, ...]":
    """The picture in lines of at most `room` cells; none where pictures are not drawn, or there is none to see."""
    if not look.content:
        return ()
    if app.gallery is None:
        from copydesk.tui.drawing import can_draw  # noqa: PLC0415 - not for the first paint

        way = way_to_draw(desk.settings.console.images, os.environ)
        if way is None or not can_draw():
            return ()
        app.gallery = Gallery(way, app.send)
    return await app.gallery.draw(look.content, room)
