"""The machine's steady clock, which nobody sets: what the wall clock is measured by."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from copydesk.model.wire import Struct

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Steady(Struct, frozen=True):
    """One reading of a steady clock."""

    boot: str
    """Which start of the machine it counts from; empty where the machine does not say."""
    seconds: float
    counts_sleep: bool
    """Whether it goes on while the machine sleeps."""


SteadyClock = Callable[[], Steady]


def machine_clock() -> Steady:
    """The steady clock of this machine, the one that goes on while it sleeps where there is one."""
    if sys.platform == "linux":
        seconds, counts_sleep = time.clock_gettime(time.CLOCK_BOOTTIME), True
    else:
        seconds, counts_sleep = time.monotonic(), sys.platform == "darwin"
    return Steady(boot=_boot(), seconds=seconds, counts_sleep=counts_sleep)


def _boot() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
