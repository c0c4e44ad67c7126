"""Garbage collection and memory tuned for a process that must answer keys quickly.

Full collections run while no key is pressed. A collection of all live objects takes longer than a frame and would
happen every dozen keys, because each key creates thousands of short-lived objects. Young objects are still collected in
between, in larger batches than Python's default: few of them are still in use by then.

Freed memory is returned to the operating system. A console is open all day and mostly idle, while the C library keeps
freed memory for later allocations: tens of megabytes after reading from a million drafts.
"""

import gc
import time
from contextlib import suppress

from copydesk.tui.terminal.private_api import release_closed_widgets

YOUNG_THRESHOLD, MIDDLE_THRESHOLD, OLD_THRESHOLD = 10_000, 10, 100
"""The thresholds of gc.set_threshold: new objects minus freed ones, young collections, middle collections."""
IDLE_AFTER = 1.0
"""Seconds without a key press after which slow housekeeping may run."""


class GcTuning:
    """Garbage collection for an interactive process."""

    def __init__(self) -> None:
        self._threshold = gc.get_threshold()
        self._last_key_at = 0.0

    def start(self) -> None:
        """Exclude all current objects from collections, and set the thresholds.

        They were created by imports and live to the end.
        """
        release_closed_widgets()
        gc.freeze()
        gc.set_threshold(YOUNG_THRESHOLD, MIDDLE_THRESHOLD, OLD_THRESHOLD)

    def record_key(self) -> None:
        """Record a key press."""
        self._last_key_at = time.monotonic()

    @property
    def idle_time(self) -> float:
        """Seconds since the last key press."""
        return time.monotonic() - self._last_key_at

    @property
    def is_idle(self) -> bool:
        """True if the user is not typing."""
        return self.idle_time > IDLE_AFTER

    def collect(self) -> None:
        """Run a full collection if middle collections happened since the last one."""
        # Without middle collections nothing is old enough to be worth a full one, which takes longer than a frame.
        if gc.get_count()[2]:
            gc.collect()

    def stop(self) -> None:
        """Restore Python's defaults."""
        gc.set_threshold(*self._threshold)
        gc.unfreeze()


def trim_memory() -> None:
    """Return freed memory to the operating system, if the C library can; glibc would keep it."""
    import ctypes  # noqa: PLC0415 - slow to import, and only needed while idle

    with suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
