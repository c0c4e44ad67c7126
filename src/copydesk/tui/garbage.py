"""When Python looks for garbage: while no key is pressed.

A look through all that lives takes longer than a frame of the screen and would come every dozen keys, for a key
makes thousands of objects that are gone with the next one. The young are looked through in between, in larger lots
than Python's own: of those few are still in use.
"""

import gc
import time

YOUNG, MIDDLE, OLD = 10_000, 10, 100
"""Objects made beyond those gone, looks at the young, and looks at the middle ones, after which there is a look."""
CALM = 1.0
"""Seconds without a key after which there is time for a whole look."""


class Garbage:
    """Garbage collection in a process that answers keys."""

    def __init__(self) -> None:
        self._before = gc.get_threshold()
        self._pressed = 0.0

    def begin(self) -> None:
        """What lives now was imported, and lives to the end: no look is wasted on it."""
        gc.freeze()
        gc.set_threshold(YOUNG, MIDDLE, OLD)

    def pressed(self) -> None:
        """Somebody is at the keyboard."""
        self._pressed = time.monotonic()

    def look(self) -> None:
        """Look through everything, where nobody waits and something has gathered since the last time."""
        if gc.get_count()[2] and time.monotonic() - self._pressed > CALM:
            gc.collect()

    def end(self) -> None:
        """As Python has it."""
        gc.set_threshold(*self._before)
        gc.unfreeze()
