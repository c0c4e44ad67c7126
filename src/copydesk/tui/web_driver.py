"""Textual's driver for a browser, which ends the console when nobody shows it any more."""

import os

from textual import events, messages
from textual.drivers.web_driver import WebDriver


class ConsoleDriver(WebDriver):
    """The server may be killed: then nothing is read, nothing comes, and Textual's own driver would wait for ever."""

    def start_application_mode(self) -> None:
        """Start, and take it that the user looks. Textual says the contrary, maybe after the page said so."""
        super().start_application_mode()
        self._app.call_later(self._app.post_message, events.AppFocus())

    def run_input_thread(self) -> None:
        """Read until the server ends, or the console does."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._app.post_message(messages.ExitApp())

    def _write(self, packet: bytes) -> int:  # type: ignore[override]  # Textual sets a partial of os.write
        """Write to the server, if it is still there."""
        try:
            return os.write(self.fileno, packet)
        except BrokenPipeError:
            return len(packet)
