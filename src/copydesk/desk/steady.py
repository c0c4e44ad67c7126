"""The machine's monotonic clock, against which the wall clock is checked."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from copydesk.model.wire import Struct

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class MonotonicReading(Struct, frozen=True):
    """A reading of the monotonic clock."""

    boot: str
    """Id of the boot it counts from; empty if the system does not provide one."""
    seconds: float
    counts_sleep: bool
    """True if the clock advances while the machine is suspended."""


MonotonicClock = Callable[[], MonotonicReading]


def read_monotonic() -> MonotonicReading:
    """Return a reading of the monotonic clock, preferring one that advances during suspend.

    CLOCK_BOOTTIME on Linux; `time.monotonic` elsewhere, which on macOS advances during sleep.
    """
    if sys.platform == "linux":
        # CLOCK_MONOTONIC, which `time.monotonic` reads on Linux, stops during suspend.
        seconds, counts_sleep = time.clock_gettime(time.CLOCK_BOOTTIME), True
    else:
        seconds, counts_sleep = time.monotonic(), sys.platform == "darwin"
    return MonotonicReading(boot=_read_boot_id(), seconds=seconds, counts_sleep=counts_sleep)


def _read_boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
