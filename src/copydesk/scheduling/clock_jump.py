"""Detect jumps of the wall clock, so that nothing is sent by a wrong clock before the user has been asked.

Two readings of the wall clock are compared with a monotonic clock. That should count the time that the machine sleeps:
CLOCK_BOOTTIME on Linux, CLOCK_MONOTONIC on macOS. Then every difference is a jump. Linux's CLOCK_MONOTONIC, which
`time.monotonic` reads, stops during sleep: by such a clock a wall clock that ran ahead is most likely a laptop that was
closed, which is no reason to ask. It does not count as a jump, and the grace period alone decides what is still sent. A
wall clock that went back is a jump by either clock.

A reboot resets the monotonic clock. Then only `clock_lag` can tell: the wall clock is before the last recorded event.
"""

from datetime import datetime, timedelta

from copydesk.model.serialization import Struct

TOLERANCE = timedelta(seconds=60)
"""More than a running clock is ever corrected by, less than would send a draft at a wrong time."""
ZERO = timedelta(0)


class ClockReading(Struct, frozen=True):
    """Both clocks, read together."""

    wall: datetime
    monotonic: float
    """Seconds since an instant that is fixed while the machine runs."""
    counts_sleep: bool
    """True if the monotonic clock runs while the machine sleeps."""


def clock_jump(then: ClockReading, now: ClockReading, tolerance: timedelta = TOLERANCE) -> timedelta:
    """Return how far the wall clock jumped between two readings of one boot; zero if it did not. Positive is forward.

    Pass as `then` the first reading, or the one that the user last confirmed: compared with the previous reading, many
    small shifts would go unnoticed.
    """
    elapsed = timedelta(seconds=now.monotonic - then.monotonic)
    difference = (now.wall - then.wall) - elapsed
    if abs(difference) <= tolerance:
        return ZERO
    may_have_slept = difference > ZERO and not (then.counts_sleep and now.counts_sleep)
    return ZERO if may_have_slept else difference


def clock_lag(wall: datetime, last_event: datetime, tolerance: timedelta = TOLERANCE) -> timedelta:
    """Return how far the wall clock is before the last recorded event; zero if it is not."""
    lag = last_event - wall
    return lag if lag > tolerance else ZERO
