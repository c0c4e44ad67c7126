"""What Python does by itself, changed for a process that answers keys.

It looks for garbage while no key is pressed. A look through all that lives takes longer than a frame of the screen and
would come every dozen keys, for a key makes thousands of objects that are gone with the next one. The young are looked
through in between, in larger lots than Python's own: of those few are still in use.

And what is freed goes back to the machine. A console is open all day and at rest for most of it; the C library keeps
what others may want again, and of what a million drafts were read from that is tens of megabytes.
"""

import gc
import time
from contextlib import suppress

YOUNG, MIDDLE, OLD = 10_000, 10, 100
"""Objects made beyond those gone, looks at the young, and looks at the middle ones, after which there is a look."""
CALM = 1.0
"""Seconds without a key after which there is time for what takes a while."""


class Responsive:
    """Garbage collection in a process that answers keys."""

    def __init__(self) -> None:
        self._threshold = gc.get_threshold()
        self._pressed = 0.0

    def begin(self) -> None:
        """What lives now was imported, and lives to the end: no look is wasted on it."""
        gc.freeze()
        gc.set_threshold(YOUNG, MIDDLE, OLD)

    def pressed(self) -> None:
        """Somebody is at the keyboard."""
        self._pressed = time.monotonic()

    @property
    def calm(self) -> bool:
        """Whether nobody waits."""
        return time.monotonic() - self._pressed > CALM

    def look(self) -> None:
        """Look through everything, where something has gathered since the last time."""
        if gc.get_count()[2]:
            gc.collect()

    def end(self) -> None:
        """As Python has it."""
        gc.set_threshold(*self._threshold)
        gc.unfreeze()


def give_back() -> None:
    """Give the machine back what was freed, where the C library can be told to: glibc keeps it else."""
    import ctypes  # noqa: PLC0415 - it takes a while, and is for when nobody waits

    with suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
