"""Detect jumps of the wall clock by comparing it with the machine's monotonic clock.

Nothing is sent by a clock that jumped until the user has confirmed it.
"""

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from copydesk.desk.context import DeskContext, utc_now
from copydesk.model.job import ClockWarning
from copydesk.model.serialization import Struct
from copydesk.scheduling.due import ZERO, ClockReading, clock_jump, clock_lag
from copydesk.store import users
from copydesk.store.database import Transaction
from copydesk.store.users import SavedClockReading

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
SAVE_INTERVAL = timedelta(minutes=5)
"""A clock that is right is recorded this often instead of on every check, to save writes."""


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
    return MonotonicReading(boot=read_boot_id(), seconds=seconds, counts_sleep=counts_sleep)


def read_boot_id() -> str:
    """Return the id of this boot of the machine; empty if the system does not provide one."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


class ClockGuard:
    """The wall clock of one desk, compared with the machine's monotonic clock."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx
        self.monotonic = read_monotonic if ctx.clock is utc_now else _follow(ctx.clock)

    async def check(self) -> ClockWarning | None:
        """Compare both clocks; return the warning, or None if the wall clock is right.

        A warning ends when the clock is set right, or by `accept`.
        """
        wall, monotonic = self._ctx.clock(), self.monotonic()
        previous = await self._ctx.read(users.load_clock_reading)
        state = evaluate(previous, wall, monotonic)
        # Read first and write only if needed: this runs on every tick.
        if previous is None or _should_save(previous, state):
            state = await self._ctx.write_unguarded(_evaluate_and_save, wall, monotonic)
        return _to_warning(state)

    async def peek(self) -> ClockWarning | None:
        """Return the warning as `check` does, without storing the readings."""
        return self.evaluate(await self._ctx.read(users.load_clock_reading))

    def evaluate(self, previous: SavedClockReading | None) -> ClockWarning | None:
        """Return the warning after the reading that was stored last."""
        return _to_warning(evaluate(previous, self._ctx.clock(), self.monotonic()))

    async def accept(self) -> ClockWarning | None:
        """Trust the wall clock as it is now; return the warning there was."""
        warning = await self.check()
        await self._ctx.write_durable(users.save_clock_reading, _new_reference(self._ctx.clock(), self.monotonic()))
        return warning


def evaluate(previous: SavedClockReading | None, wall: datetime, monotonic: MonotonicReading) -> SavedClockReading:
    """Return the clock state to store after reading both clocks. Pure.

    Within one boot of the machine the first reading stays the reference, so that small steps add up. After a reboot
    only a clock that is behind can be detected; a warning from before it stands until the user answers.
    """
    if previous is None:
        return _new_reference(wall, monotonic)
    # Monotonic readings of different boots cannot be compared.
    same_boot = previous.boot == monotonic.boot and previous.steady <= monotonic.seconds
    offset = _jump(previous, wall, monotonic) if same_boot else ZERO
    # A clock behind its last reading is wrong after a reboot, too.
    offset = offset or -clock_lag(wall, previous.seen)
    if offset:
        return msgspec.structs.replace(
            previous, doubt_since=previous.doubt_since or wall, doubt_by=offset.total_seconds()
        )
    if same_boot:
        return msgspec.structs.replace(previous, seen=max(wall, previous.seen), doubt_since=None, doubt_by=None)
    # The clock was ahead before the reboot. A new reference would hide that, so keep the warning.
    if previous.doubt_by is not None and previous.doubt_by > 0:
        return previous
    return _new_reference(wall, monotonic)


def _jump(previous: SavedClockReading, wall: datetime, monotonic: MonotonicReading) -> timedelta:
    earlier = ClockReading(wall=previous.wall, monotonic=previous.steady, counts_sleep=previous.counts_sleep)
    return clock_jump(
        earlier, ClockReading(wall=wall, monotonic=monotonic.seconds, counts_sleep=monotonic.counts_sleep)
    )


def _new_reference(wall: datetime, monotonic: MonotonicReading) -> SavedClockReading:
    return SavedClockReading(
        boot=monotonic.boot, wall=wall, steady=monotonic.seconds, counts_sleep=monotonic.counts_sleep, seen=wall
    )


def _should_save(previous: SavedClockReading, state: SavedClockReading) -> bool:
    """Return True if there is more to store than that the clock is still right."""
    return state.seen - previous.seen >= SAVE_INTERVAL or state != msgspec.structs.replace(previous, seen=state.seen)


def _evaluate_and_save(
    conn: Transaction, user_id: str, wall: datetime, monotonic: MonotonicReading
) -> SavedClockReading:
    """Evaluate in one transaction: another process may have checked, and the user answered, in the meantime."""
    state = evaluate(users.load_clock_reading(conn, user_id), wall, monotonic)
    users.save_clock_reading(conn, user_id, state)
    return state


def _to_warning(state: SavedClockReading) -> ClockWarning | None:
    if state.doubt_since is None or state.doubt_by is None:
        return None
    return ClockWarning(since=state.doubt_since, seconds=state.doubt_by)


def _follow(clock: Callable[[], datetime]) -> MonotonicClock:
    """Return a monotonic clock that follows `clock`, for clocks other than the machine's; it never shows a jump."""
    return lambda: MonotonicReading(
        boot="", seconds=(clock() - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds(), counts_sleep=True
    )
