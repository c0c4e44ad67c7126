"""Detect jumps of the wall clock. Nothing is sent by a clock that jumped until the user has confirmed it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
from sqlalchemy import Connection

from copydesk.desk.ground import Ground, utc_now
from copydesk.desk.steady import Steady, SteadyClock, machine_clock
from copydesk.model.job import ClockDoubt
from copydesk.scheduling.jumps import NONE, Reading, behind, jump
from copydesk.store import clock as kept
from copydesk.store.clock import Checked

SEEN_EVERY = timedelta(minutes=5)
"""A clock that is right is recorded this often instead of on every check, to save writes."""


class Clockwork:
    """The wall clock of one desk, compared with the machine's monotonic clock."""

    def __init__(self, ground: Ground, steady: SteadyClock | None = None) -> None:
        self._ctx = ground
        self.steady = steady or (machine_clock if ground.clock is utc_now else _follow(ground.clock))

    async def doubt(self) -> ClockDoubt | None:
        """Compare both clocks; return the warning, or None if the wall clock is right.

        A warning ends when the clock is set right, or by `accept`.
        """
        wall, monotonic = self._ctx.clock(), self.steady()
        previous = await self._ctx.read(kept.checked)
        state = looked(previous, wall, monotonic)
        # Read first and write only if needed: this runs on every tick.
        if previous is None or _should_save(previous, state):
            state = await self._ctx.write(_evaluate_and_save, wall, monotonic)
        return _to_warning(state)

    async def accept(self) -> ClockDoubt | None:
        """Trust the wall clock as it is now; return the warning there was."""
        warning = await self.doubt()
        await self._ctx.write(kept.keep, _new_reference(self._ctx.clock(), self.steady()))
        return warning


def looked(before: Checked | None, wall: datetime, steady: Steady) -> Checked:
    """Return the clock state to store after reading both clocks. Pure.

    Within one boot of the machine the first reading stays the reference, so that small steps add up. After a reboot
    only a clock that is behind can be detected; a warning from before it stands until the user answers.
    """
    if before is None:
        return _new_reference(wall, steady)
    # Monotonic readings of different boots cannot be compared.
    same_boot = before.boot == steady.boot and before.steady <= steady.seconds
    offset = _jump(before, wall, steady) if same_boot else NONE
    offset = offset or -behind(wall, before.seen)
    if offset:
        return msgspec.structs.replace(before, doubt_since=before.doubt_since or wall, doubt_by=offset.total_seconds())
    if same_boot:
        return msgspec.structs.replace(before, seen=max(wall, before.seen), doubt_since=None, doubt_by=None)
    # The clock was ahead before the reboot. A new reference would hide that, so keep the warning.
    if before.doubt_by is not None and before.doubt_by > 0:
        return before
    return _new_reference(wall, steady)


def _jump(previous: Checked, wall: datetime, monotonic: Steady) -> timedelta:
    earlier = Reading(wall=previous.wall, steady=previous.steady, counts_sleep=previous.counts_sleep)
    return jump(earlier, Reading(wall=wall, steady=monotonic.seconds, counts_sleep=monotonic.counts_sleep))


def _new_reference(wall: datetime, monotonic: Steady) -> Checked:
    return Checked(
        boot=monotonic.boot, wall=wall, steady=monotonic.seconds, counts_sleep=monotonic.counts_sleep, seen=wall
    )


def _should_save(previous: Checked, state: Checked) -> bool:
    """Return True if there is more to store than that the clock is still right."""
    return state.seen - previous.seen >= SEEN_EVERY or state != msgspec.structs.replace(previous, seen=state.seen)


def _evaluate_and_save(conn: Connection, user_id: str, wall: datetime, monotonic: Steady) -> Checked:
    """Evaluate in one transaction: another process may have checked, and the user answered, in the meantime."""
    state = looked(kept.checked(conn, user_id), wall, monotonic)
    kept.keep(conn, user_id, state)
    return state


def _to_warning(state: Checked) -> ClockDoubt | None:
    if state.doubt_since is None or state.doubt_by is None:
        return None
    return ClockDoubt(since=state.doubt_since, seconds=state.doubt_by)


def _follow(clock: Callable[[], datetime]) -> SteadyClock:
    """Return a monotonic clock that follows `clock`, for clocks other than the machine's; it never shows a jump."""
    return lambda: Steady(
        boot="", seconds=(clock() - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds(), counts_sleep=True
    )
