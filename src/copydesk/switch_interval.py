"""Shorten the interpreter's thread switch interval while background threads compete with the event loop."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_INTERVAL = 0.0003
"""Seconds. CPython's default is 0.005."""


class _SwitchInterval:
    """Reference count of the active requests, so that nested ones restore the interval only once."""

    def __init__(self) -> None:
        self._users = 0
        self._previous = 0.0

    def shorten(self) -> None:
        if not self._users:
            self._previous = sys.getswitchinterval()
            sys.setswitchinterval(SWITCH_INTERVAL)
        self._users += 1

    def restore(self) -> None:
        self._users -= 1
        if not self._users:
            sys.setswitchinterval(self._previous)


_switch_interval = _SwitchInterval()


@contextmanager
def short_switch_interval() -> Iterator[None]:
    """Shorten the switch interval of all threads for the duration of the block. Blocks may be nested and may overlap.

    A storing thread releases the GIL at each SQL statement, and the event loop releases it at each iteration. With the
    default interval each would spend most of its time waiting for the other to be preempted.
    """
    _switch_interval.shorten()
    try:
        yield
    finally:
        _switch_interval.restore()
