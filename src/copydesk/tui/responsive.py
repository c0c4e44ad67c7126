"""What Python does by itself, changed for a process that answers keys.

It looks for garbage while no key is pressed. A look through all that lives takes longer than a frame of the screen and
would come every dozen keys, for a key makes thousands of objects that are gone with the next one. The young are looked
through in between, in larger lots than Python's own: of those few are still in use.

And a thread gives up the interpreter sooner. While sources are read several threads want it, and the one that answers
keys lets go of it at each turn of the event loop, of which a key takes dozens.

And what is freed goes back to the machine. A console is open all day and at rest for most of it; the C library keeps
what others may want again, and of what a million drafts were read from that is tens of megabytes.
"""

import gc
import sys
import time
from contextlib import suppress

YOUNG, MIDDLE, OLD = 10_000, 10, 100
"""Objects made beyond those gone, looks at the young, and looks at the middle ones, after which there is a look."""
CALM = 1.0
"""Seconds without a key after which there is time for what takes a while."""
TURN = 0.001
"""Seconds that a thread keeps the interpreter while others want it; Python's own are 0.005."""


class Responsive:
    """Garbage collection and threads in a process that answers keys."""

    def __init__(self) -> None:
        self._before = gc.get_threshold(), sys.getswitchinterval()
        self._pressed = 0.0

    def begin(self) -> None:
        """What lives now was imported, and lives to the end: no look is wasted on it."""
        gc.freeze()
        gc.set_threshold(YOUNG, MIDDLE, OLD)
        sys.setswitchinterval(TURN)

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
        threshold, interval = self._before
        gc.set_threshold(*threshold)
        gc.unfreeze()
        sys.setswitchinterval(interval)


def give_back() -> None:
    """Give the machine back what was freed, where the C library can be told to: glibc keeps it else."""
    import ctypes  # noqa: PLC0415 - it takes a while, and is for when nobody waits

    with suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
