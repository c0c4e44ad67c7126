"""How long a thread keeps the interpreter while others want it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

TURN = 0.0003
"""Seconds; Python's own are 0.005."""


class _Turns:
    def __init__(self) -> None:
        self._wanted = 0
        self._usual = 0.0

    def shorten(self) -> None:
        if not self._wanted:
            self._usual = sys.getswitchinterval()
            sys.setswitchinterval(TURN)
        self._wanted += 1

    def leave(self) -> None:
        self._wanted -= 1
        if not self._wanted:
            sys.setswitchinterval(self._usual)


_turns = _Turns()


@contextmanager
def short_turns() -> Iterator[None]:
    """Let threads take short turns meanwhile, as long as anybody wants it.

    A thread that stores lets go of the interpreter at each of its statements, and one that answers keys or parses what
    comes at each turn of the event loop: with Python's own turns either waits for the other most of the time.
    """
    _turns.shorten()
    try:
        yield
    finally:
        _turns.leave()
