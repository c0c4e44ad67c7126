"""Detect jumps of the wall clock by comparing it with the machine's monotonic clock.

Nothing is sent by a clock that jumped until the user has confirmed it. Of several machines that work on one desk, each
checks its own clock.
"""

import socket
import sys
import time
from collections.abc import Callable, Sequence
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
MAX_READINGS = 200
"""Per user. Those stored last stay: any clock may be wrong, so their times tell nothing."""
MIN_CHANGE = 10.0
"""Seconds by which a jump has to change to be stored again: each reading differs a little."""


class MonotonicReading(Struct, frozen=True):
    """A reading of the monotonic clock."""

    boot: str
    """Id of the boot it counts from; empty if the system does not provide one."""
    seconds: float
    counts_sleep: bool
    """True if the clock advances while the machine is suspended."""
    machine: str = ""
    """Name of the machine, which a reboot does not change; empty if only one works on the desk."""


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
    return MonotonicReading(
        boot=read_boot_id(), seconds=seconds, counts_sleep=counts_sleep, machine=socket.gethostname()
    )


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
        wall, monotonic = self._read_clocks()
        previous = find_previous(await self._ctx.read(users.load_clock_readings), monotonic)
        state = evaluate(previous, wall, monotonic)
        # Read first and write only if needed: this runs on every tick.
        if previous is None or _should_save(previous, state):
            state = await self._ctx.write_unguarded(_evaluate_and_save, wall, monotonic)
        return _to_warning(state)

    async def peek(self) -> ClockWarning | None:
        """Return the warning as `check` does, without storing the readings."""
        return self.evaluate(await self._ctx.read(users.load_clock_readings))

    def evaluate(self, readings: Sequence[SavedClockReading]) -> ClockWarning | None:
        """Return the warning after these readings, which are those that are stored."""
        wall, monotonic = self._read_clocks()
        return _to_warning(evaluate(find_previous(readings, monotonic), wall, monotonic))

    async def accept(self) -> ClockWarning | None:
        """Trust this machine's wall clock as it is now; return the warning there was."""
        warning = await self.check()
        await self._ctx.write_durable(_save_accepted, _new_reference(*self._read_clocks()))
        return warning

    def _read_clocks(self) -> tuple[datetime, MonotonicReading]:
        monotonic = self.monotonic()
        if not self._ctx.settings.database.url:
            # A file is of one machine, whatever the name of its container is today.
            monotonic = msgspec.structs.replace(monotonic, machine="")
        return self._ctx.clock(), monotonic


def find_previous(readings: Sequence[SavedClockReading], monotonic: MonotonicReading) -> SavedClockReading | None:
    """Return the reading to compare with: of this boot, else the last of this machine, else of another. Pure.

    A jump of another machine's clock says nothing about this one's.
    """
    own = [reading for reading in readings if reading.boot == monotonic.boot]
    # Without a name, from before revision 0026, it may be of this machine.
    of_machine = [reading for reading in readings if reading.machine in {monotonic.machine, ""}]
    of_others = [reading for reading in readings if reading.doubt_since is None]
    return max(own or of_machine or of_others, key=lambda found: found.number, default=None)


def evaluate(previous: SavedClockReading | None, wall: datetime, monotonic: MonotonicReading) -> SavedClockReading:
    """Return the clock state to store after reading both clocks. Pure.

    Within one boot of the machine the first reading stays the reference, so that small steps add up. After a reboot
    only a clock that is behind can be detected; a warning from before it stands until the user answers.
    """
    if previous is None:
        return _new_reference(wall, monotonic)
    if previous.boot != monotonic.boot:
        # Monotonic readings of different boots cannot be compared.
        previous = msgspec.structs.replace(previous, boot=monotonic.boot, machine=monotonic.machine, steady=None)
    elif not previous.machine:
        previous = msgspec.structs.replace(previous, machine=monotonic.machine)
    reference = _comparable(previous, monotonic)
    now = ClockReading(wall=wall, monotonic=monotonic.seconds, counts_sleep=monotonic.counts_sleep)
    offset = clock_jump(reference, now) if reference else ZERO
    # A clock behind its last reading is wrong after a reboot, too.
    offset = offset or -clock_lag(wall, previous.seen)
    if offset:
        return msgspec.structs.replace(
            previous, doubt_since=previous.doubt_since or wall, doubt_by=offset.total_seconds()
        )
    if reference:
        return msgspec.structs.replace(previous, seen=max(wall, previous.seen), doubt_since=None, doubt_by=None)
    # The clock was ahead before the reboot. A new reference would hide that, so keep the warning.
    if previous.doubt_by is not None and previous.doubt_by > 0:
        return previous
    return _new_reference(wall, monotonic)


def _comparable(previous: SavedClockReading, monotonic: MonotonicReading) -> ClockReading | None:
    """Return the previous reading if both are of one boot."""
    if previous.steady is None or previous.steady > monotonic.seconds:
        return None
    return ClockReading(wall=previous.wall, monotonic=previous.steady, counts_sleep=previous.counts_sleep)


def _new_reference(wall: datetime, monotonic: MonotonicReading) -> SavedClockReading:
    return SavedClockReading(
        boot=monotonic.boot,
        machine=monotonic.machine,
        wall=wall,
        steady=monotonic.seconds,
        counts_sleep=monotonic.counts_sleep,
        seen=wall,
    )


def _should_save(previous: SavedClockReading, state: SavedClockReading) -> bool:
    """Return True if there is more to store than that the clock is still right."""
    doubt_by = previous.doubt_by
    if doubt_by is not None and state.doubt_by is not None and abs(state.doubt_by - doubt_by) < MIN_CHANGE:
        doubt_by = state.doubt_by
    unchanged = msgspec.structs.replace(previous, seen=state.seen, doubt_by=doubt_by)
    return state.seen - previous.seen >= SAVE_INTERVAL or state != unchanged


def _evaluate_and_save(
    conn: Transaction, user_id: str, wall: datetime, monotonic: MonotonicReading
) -> SavedClockReading:
    """Evaluate in one transaction: another process may have checked, and the user answered, in the meantime."""
    readings = users.load_clock_readings(conn, user_id)
    state = evaluate(find_previous(readings, monotonic), wall, monotonic)
    users.save_clock_reading(conn, user_id, state)
    users.prune_clock_readings(conn, user_id, MAX_READINGS)
    return state


def _save_accepted(conn: Transaction, user_id: str, reference: SavedClockReading) -> None:
    users.save_clock_reading(conn, user_id, reference)
    if reference.machine:
        # They may have been of this machine, and would warn again on the next one.
        users.delete_clock_readings_without_machine(conn, user_id)


def _to_warning(state: SavedClockReading) -> ClockWarning | None:
    if state.doubt_since is None or state.doubt_by is None:
        return None
    return ClockWarning(since=state.doubt_since, seconds=state.doubt_by)


def _follow(clock: Callable[[], datetime]) -> MonotonicClock:
    """Return a monotonic clock that follows `clock`, for clocks other than the machine's; it never shows a jump."""
    return lambda: MonotonicReading(
        boot="", seconds=(clock() - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds(), counts_sleep=True
    )
