"""The terminal while another program owns it, such as the user's editor."""

import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from copydesk.editor import ignore_interrupts
from copydesk.errors import CopydeskError

if TYPE_CHECKING:
    from textual.app import App


@contextmanager
def leave_terminal(app: "App[Any]") -> Iterator[None]:
    """Leave the terminal and Ctrl+C to another program, and discard keys that it did not read.

    Raise SuspendNotSupported if the app cannot leave its terminal.
    """
    error: Exception | None = None
    with app.suspend(), ignore_interrupts():
        try:
            yield
        # Raised once the app has the terminal again: Textual does not take it back after an error.
        except (CopydeskError, OSError) as caught:
            error = caught
        finally:
            # An `a` that is left over would approve a draft.
            with suppress(termios.error, OSError, ValueError):
                termios.tcflush(sys.__stdin__ or 0, termios.TCIFLUSH)
    if error is not None:
        raise error
