"""The terminal while another program owns it, such as the user's editor."""

import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


@contextmanager
def ignore_interrupts() -> Iterator[None]:
    """Leave Ctrl+C to the program that owns the terminal, and discard keys that it did not read."""

    def ignore(number: int, frame: FrameType | None) -> None:
        """Do nothing. Not SIG_IGN, which the program would inherit."""

    handlers = {
        signal_number: signal.signal(signal_number, ignore) for signal_number in (signal.SIGINT, signal.SIGQUIT)
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        # An `a` that is left over would approve a draft.
        with suppress(termios.error, OSError, ValueError):
            termios.tcflush(sys.__stdin__ or 0, termios.TCIFLUSH)
