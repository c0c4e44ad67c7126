"""Textual's browser driver, extended to exit in order when the page is closed."""

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual import events
from textual.drivers.web_driver import WebDriver

from copydesk.tui.terminal.driver import TERMINATION_SIGNALS, remove_line_feeds

if TYPE_CHECKING:
    from copydesk.tui.app import Console


class ConsoleDriver(WebDriver):
    """Exits the console when the page is closed or the server killed.

    Typed text is saved first, and no process stays behind.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._write = partial(self._write_if_connected)

    def start_application_mode(self) -> None:
        """Start, and mark the app as focused.

        Textual assumes it is not focused, possibly after the page already reported focus.
        """
        self._loop = asyncio.get_running_loop()
        super().start_application_mode()
        for signal_number in TERMINATION_SIGNALS:
            self._loop.add_signal_handler(signal_number, self._console.shut_down, 128 + signal_number)
        self._app.call_later(self._app.post_message, events.AppFocus())

    def write(self, data: str) -> None:
        """Send `data` to the page."""
        super().write(remove_line_feeds(data))

    def run_input_thread(self) -> None:
        """Read input until the console exits or the server does, which Textual's own driver would not notice."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._close_page()

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Handle a control packet from the server, in the input thread."""
        if packet_type == "quit":
            self._close_page()
        else:
            super().on_meta(packet_type, payload)

    def _close_page(self) -> None:
        # As a task, as each key is: so it runs after the keys read before it.
        asyncio.run_coroutine_threadsafe(self._console.close_page(), self._loop)

    @property
    def _console(self) -> "Console":
        return cast("Console", self._app)

    def _write_if_connected(self, packet: bytes, /) -> int:
        """Write to the server, ignoring that it is gone."""
        try:
            return os.write(self.fileno, packet)
        except BrokenPipeError:
            return len(packet)
