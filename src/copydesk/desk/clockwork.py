"""Whether the wall clock can be trusted: nothing goes out by a clock that jumped before the user was asked."""

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
"""The last time at which the clock was right is written down so often, and not at every look."""


class Clockwork:
    """The wall clock of one desk, measured by the machine's steady clock."""

    def __init__(self, ground: Ground, steady: SteadyClock | None = None) -> None:
        self._ground = ground
        self.steady = steady or (machine_clock if ground.clock is utc_now else _beside(ground.clock))

    async def doubt(self) -> ClockDoubt | None:
        """Look at both clocks: what is wrong with the wall clock, None where nothing is.

        A doubt goes away when the clock is put right, or by `accept`.
        """
        wall, steady = self._ground.clock(), self.steady()
        before = await self._ground.read(kept.checked)
        after = looked(before, wall, steady)
        if before is None or _worth_keeping(before, after):
            after = await self._ground.write(_look_again, wall, steady)
        return _doubt(after)

    async def accept(self) -> ClockDoubt | None:
        """Trust the wall clock as it is now; the doubt that was there."""
        doubt = await self.doubt()
        await self._ground.write(kept.keep, _anew(self._ground.clock(), self.steady()))
        return doubt


def looked(before: Checked | None, wall: datetime, steady: Steady) -> Checked:
    """What is kept after a look at both clocks. Pure.

    On one start of the machine the first reading goes on to count, so that small steps add up. After another start
    only a clock that is behind can be told; a doubt from before it stands, until the user answers.
    """
    if before is None:
        return _anew(wall, steady)
    same_start = before.boot == steady.boot and before.steady <= steady.seconds
    off = _jump(before, wall, steady) if same_start else NONE
    off = off or -behind(wall, before.seen)
    if off:
        return msgspec.structs.replace(before, doubt_since=before.doubt_since or wall, doubt_by=off.total_seconds())
    if same_start:
        return msgspec.structs.replace(before, seen=max(wall, before.seen), doubt_since=None, doubt_by=None)
    if before.doubt_by is not None and before.doubt_by > 0:
        return before
    return _anew(wall, steady)


def _jump(before: Checked, wall: datetime, steady: Steady) -> timedelta:
    then = Reading(wall=before.wall, steady=before.steady, counts_sleep=before.counts_sleep)
    return jump(then, Reading(wall=wall, steady=steady.seconds, counts_sleep=steady.counts_sleep))


def _anew(wall: datetime, steady: Steady) -> Checked:
    return Checked(boot=steady.boot, wall=wall, steady=steady.seconds, counts_sleep=steady.counts_sleep, seen=wall)


def _worth_keeping(before: Checked, after: Checked) -> bool:
    """Whether there is more to write down than that the clock is still right."""
    return after.seen - before.seen >= SEEN_EVERY or after != msgspec.structs.replace(before, seen=after.seen)


def _look_again(conn: Connection, user_id: str, wall: datetime, steady: Steady) -> Checked:
    """As `looked`, in one transaction: another process may have been asked and answered meanwhile."""
    after = looked(kept.checked(conn, user_id), wall, steady)
    kept.keep(conn, user_id, after)
    return after


def _doubt(after: Checked) -> ClockDoubt | None:
    if after.doubt_since is None or after.doubt_by is None:
        return None
    return ClockDoubt(since=after.doubt_since, seconds=after.doubt_by)


def _beside(clock: Callable[[], datetime]) -> SteadyClock:
    """A steady clock for a wall clock that is not the machine's: it goes as that one goes, and so finds no jump."""
    return lambda: Steady(
        boot="", seconds=(clock() - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds(), counts_sleep=True
    )
