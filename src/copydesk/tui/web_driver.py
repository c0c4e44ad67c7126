"""Textual's driver for a browser, which ends the console in order when nobody shows it any more."""

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual import events
from textual.drivers.web_driver import WebDriver

from copydesk.tui.terminal_driver import ENDS

if TYPE_CHECKING:
    from copydesk.tui.app import Console


class ConsoleDriver(WebDriver):
    """The page may be closed, the server killed: what is typed is kept, and no console waits for ever."""

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self._write = partial(self._write_if_read)

    def start_application_mode(self) -> None:
        """Start, and take it that the user looks. Textual says the contrary, maybe after the page said so."""
        self._loop = asyncio.get_running_loop()
        super().start_application_mode()
        for number in ENDS:
            self._loop.add_signal_handler(number, self._console.end, 128 + number)
        self._app.call_later(self._app.post_message, events.AppFocus())

    def run_input_thread(self) -> None:
        """Read until the console ends, or the server: Textual's own driver would not notice that."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._loop.call_soon_threadsafe(self._console.end, 0)

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Hear from the server, in the input's thread."""
        if packet_type == "quit":
            self._loop.call_soon_threadsafe(self._console.end, 0)
        else:
            super().on_meta(packet_type, payload)

    @property
    def _console(self) -> "Console":
        return cast("Console", self._app)

    def _write_if_read(self, packet: bytes, /) -> int:
        """Write to the server, if it is still there."""
        try:
            return os.write(self.fileno, packet)
        except BrokenPipeError:
            return len(packet)
