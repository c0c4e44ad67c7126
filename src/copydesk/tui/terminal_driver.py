"""Textual's terminal driver, extended for terminals of any width table and encoding, and for termination signals."""

import asyncio
import os
import select
import signal
from typing import TYPE_CHECKING, Any, cast

from textual.drivers.linux_driver import LinuxDriver

from copydesk.tui.plain_glyphs import replace_unencodable, terminal_encoding
from copydesk.tui.steady import correct_widths
from copydesk.tui.widths import patch_rich_width_table

if TYPE_CHECKING:
    from io import TextIOWrapper

    from copydesk.tui.app import Console

TERMINATION_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""Sent when the console is stopped from outside, or its terminal is closed."""
UTF_8 = "utf-8"
_STDOUT = 1


class TerminalDriver(LinuxDriver):
    """Writes output that fits the terminal; on a termination signal, exits the console in order, without data loss."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        patch_rich_width_table()
        self._encoding = terminal_encoding(os.environ)
        # stdout instead of Textual's stderr, which may be redirected to a file.
        self._file = cast("TextIOWrapper", TerminalFile(_STDOUT, self._encoding))

    def write(self, data: str) -> None:
        """Queue `data` for the terminal."""
        output = correct_widths(data)
        super().write(output if self._encoding == UTF_8 else replace_unencodable(output, self._encoding))

    def start_application_mode(self) -> None:
        """Take over the terminal and handle termination signals."""
        super().start_application_mode()  # type: ignore[no-untyped-call]  # untyped in Textual
        loop = asyncio.get_running_loop()
        for signal_number in TERMINATION_SIGNALS:
            loop.add_signal_handler(signal_number, cast("Console", self._app).shut_down, 128 + signal_number)

    def _sigcont_application(self, *_: object) -> None:
        """Take over again only after a suspend: closing the terminal also sends SIGCONT to a running process."""
        if self._must_signal_resume:
            super()._sigcont_application()


class TerminalFile:
    """The terminal as a file that accepts any text, even after the terminal was closed."""

    def __init__(self, descriptor: int, encoding: str) -> None:
        self._descriptor = descriptor
        self._encoding = encoding

    def write(self, text: str) -> int:
        """Write the text immediately; return the number of characters."""
        rest = text.encode(self._encoding, "replace")
        try:
            while rest:
                rest = rest[self._write_some(rest) :]
        except OSError:  # the terminal was closed; SIGHUP follows
            return 0
        return len(text)

    def _write_some(self, rest: bytes) -> int:
        """Write part of `rest` and return the number of bytes.

        If the terminal is non-blocking and full, wait until it accepts output again and return 0.
        """
        try:
            return os.write(self._descriptor, rest)
        except BlockingIOError:
            select.select((), (self._descriptor,), ())
            return 0

    def flush(self) -> None:
        """Do nothing: output is not buffered."""

    def fileno(self) -> int:
        return self._descriptor
