"""Textual's driver for a terminal, made to last: any terminal's widths and encoding, and any end of it."""

import asyncio
import os
import select
import signal
from typing import TYPE_CHECKING, Any, cast

from textual.drivers.linux_driver import LinuxDriver

from copydesk.tui.plain_glyphs import encoding_of, in_encoding
from copydesk.tui.steady import steady
from copydesk.tui.widths import agree

if TYPE_CHECKING:
    from io import TextIOWrapper

    from copydesk.tui.app import Console

ENDS = (signal.SIGTERM, signal.SIGHUP)
"""Somebody ends the console, or its terminal is closed."""
UTF_8 = "utf-8"
_STDOUT = 1


class TerminalDriver(LinuxDriver):
    """What is written fits the terminal; a signal to end ends the console as the user does, with nothing lost."""

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        agree()
        self._encoding = encoding_of(os.environ)
        # Not to where errors go, as Textual does: that may be a file.
        self._file = cast("TextIOWrapper", Lasting(_STDOUT, self._encoding))

    def write(self, data: str) -> None:
        """Write to the terminal, soon."""
        placed = steady(data)
        super().write(placed if self._encoding == UTF_8 else in_encoding(placed, self._encoding))

    def start_application_mode(self) -> None:
        """Take the terminal over."""
        super().start_application_mode()  # type: ignore[no-untyped-call]  # so it is in Textual
        loop = asyncio.get_running_loop()
        for number in ENDS:
            loop.add_signal_handler(number, cast("Console", self._app).end, 128 + number)

    def _sigcont_application(self, *_: object) -> None:
        """Take it over again, where it was given away: a terminal that is closed wakes who never slept, too."""
        if self._must_signal_resume:
            super()._sigcont_application()


class Lasting:
    """The terminal as a file that takes every text; one that is closed takes it, too."""

    def __init__(self, descriptor: int, encoding: str) -> None:
        self._descriptor = descriptor
        self._encoding = encoding

    def write(self, text: str) -> int:
        """Write it now."""
        rest = text.encode(self._encoding, "replace")
        try:
            while rest:
                rest = rest[self._written(rest) :]
        except OSError:  # it was closed, and SIGHUP says so
            return 0
        return len(text)

    def _written(self, rest: bytes) -> int:
        """How many bytes the terminal took; one that takes no more for now is waited for, where its owner does not."""
        try:
            return os.write(self._descriptor, rest)
        except BlockingIOError:
            select.select((), (self._descriptor,), ())
            return 0

    def flush(self) -> None:
        """It is written already."""

    def fileno(self) -> int:
        """Of the terminal."""
        return self._descriptor
