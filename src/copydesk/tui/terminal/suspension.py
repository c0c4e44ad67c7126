"""The terminal while another program owns it, such as the user's editor."""

import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from copydesk.editor import ignore_interrupts


@contextmanager
def leave_terminal() -> Iterator[None]:
    """Leave Ctrl+C to the program that owns the terminal, and discard keys that it did not read."""
    with ignore_interrupts():
        try:
            yield
        finally:
            # An `a` that is left over would approve a draft.
            with suppress(termios.error, OSError, ValueError):
                termios.tcflush(sys.__stdin__ or 0, termios.TCIFLUSH)
