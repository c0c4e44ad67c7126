"""Whether the wall clock jumped: nothing is sent by a clock that may be wrong before the user was asked.

Two readings of the wall clock are compared with a steady clock beside it, which nobody sets. The steady clock should
count the time that the machine sleeps: CLOCK_BOOTTIME on Linux, CLOCK_MONOTONIC on macOS. Then every difference is a
jump. Linux's CLOCK_MONOTONIC, which `time.monotonic` reads, stands still during sleep: with such a clock a wall clock
that ran ahead is most likely a laptop that was closed, which is no reason to ask. It is not called a jump then, and
the grace period alone decides what is still sent. A wall clock that went back is a jump by either clock.

A machine that started anew has another steady clock. Then only `behind` can tell: a wall clock before the last thing
that is known to have happened.
"""

from datetime import datetime, timedelta

from copydesk.model.wire import Struct

TOLERANCE = timedelta(seconds=60)
"""More than any correction of a clock that runs, and less than what would send a draft at a wrong time."""
NONE = timedelta(0)


class Reading(Struct, frozen=True):
    """Both clocks, read together."""

    wall: datetime
    steady: float
    """Seconds since any moment that stays the same while the machine runs."""
    counts_sleep: bool
    """Whether the steady clock goes on while the machine sleeps."""


def jump(then: Reading, now: Reading, tolerance: timedelta = TOLERANCE) -> timedelta:
    """By how much the wall clock jumped between two readings of one start of the machine; zero where it did not.

    Positive is forward. Take as `then` the first reading, or the one that the user last confirmed: against the one
    before, a clock that is pushed a little again and again would go unnoticed.
    """
    passed = timedelta(seconds=now.steady - then.steady)
    ahead = (now.wall - then.wall) - passed
    if abs(ahead) <= tolerance:
        return NONE
    slept = ahead > NONE and not (then.counts_sleep and now.counts_sleep)
    return NONE if slept else ahead


def behind(wall: datetime, last_event: datetime, tolerance: timedelta = TOLERANCE) -> timedelta:
    """By how much the wall clock is before the last thing that is known to have happened; zero where it is not."""
    lag = last_event - wall
    return lag if lag > tolerance else NONE
