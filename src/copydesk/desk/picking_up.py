"""What happens when a draft's time has come: it is picked up, or missed, or moved with the time zone database."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy import Connection

from copydesk.desk.clockwork import Clockwork
from copydesk.desk.ended import keep, settle
from copydesk.desk.grace import grace, in_words, late_before, too_late
from copydesk.desk.ground import Ground
from copydesk.desk.planning import plan
from copydesk.errors import StoreError
from copydesk.model.account import ConnectedAccount
from copydesk.model.draft import Format, Status
from copydesk.model.history import SYSTEM, EventKind
from copydesk.model.transitions import Happening, after_happening
from copydesk.posting.delivery import given_up
from copydesk.scheduling.late import PACE, Due, due_now, is_missed
from copydesk.scheduling.meant import Meant, moved
from copydesk.store import accounts, changes, deliveries, planned
from copydesk.store.changes import Seen, Step
from copydesk.store.delivery_changes import Happened
from copydesk.store.planned import Timed

T = TypeVar("T")
NOT_CONNECTED = "No account that takes it was connected when it was due; nothing was sent."
MOVED = "moved"
"""What the history calls a time that moved with the rules of its zone."""
AT_ONCE = 100
READ_AT_ONCE = 1000


class PickingUp:
    """The drafts of one desk whose time has come. As long as the clock is in doubt nothing is done to them."""

    def __init__(self, ground: Ground, clock: Clockwork) -> None:
        self._ground = ground
        self._clock = clock

    async def pick_up(self) -> tuple[Due, ...]:
        """Take the drafts whose time has come: they are posting from then on, and whoever asked sends them.

        Oldest first; on each account at most one in five minutes, so that after a night without power not everything
        goes out at once. None of them is late by more than its grace period, nor without a connected account.
        """
        if await self._clock.doubt():
            return ()
        now = self._ground.clock()
        due = await self._due(now)
        # Asked after what is due: what another process takes in between is then in both, and holds its account back.
        last_sent = await self._ground.read(deliveries.last_sent, now - PACE)
        ready = due_now([each for each in due if each.accounts], last_sent, now, self._grace)
        taken = await self._each(ready, lambda conn, user_id, each: _pick_up(conn, user_id, each, now))
        return tuple(taken)

    async def miss(self) -> tuple[str, ...]:
        """Mark the drafts that are late by more than their grace period as missed; their ids, oldest first.

        Deliveries that have waited so long, as for an account that has to be connected again, are given up.
        """
        if await self._clock.doubt():
            return ()
        now = self._ground.clock()
        await self._give_up_late(now)
        late = [each for each in await self._due(now) if is_missed(each.at, each.format, now, self._grace)]
        missed = await self._each(late, lambda conn, user_id, each: self._miss(conn, user_id, each, now))
        return tuple(each.draft_id for each in missed)

    async def follow_zones(self) -> tuple[str, ...]:
        """Move what is scheduled to where the rules of its zone have it now; the ids of the drafts that moved."""
        now = self._ground.clock()
        followed: list[str] = []
        after = now, ""
        while standing := await self._ground.read(planned.on_a_clock, after, READ_AT_ONCE):
            after = standing[-1].at, standing[-1].id
            off = [(each, at) for each in standing if (at := _moved(each)) is not None]
            done = await self._each(off, lambda conn, user_id, each: _move(conn, user_id, *each, now))
            followed += [each.id for each, _ in done]
        return tuple(followed)

    @property
    def _grace(self) -> Mapping[Format, timedelta]:
        return grace(self._ground.settings.schedule)

    async def _due(self, now: datetime) -> list[Due]:
        """The drafts whose time has come, each with the ids of the accounts that it goes to."""
        connected, timed = await self._ground.read(_standing, now)
        return [
            Due(
                draft_id=each.id,
                format=each.format,
                at=each.at,
                accounts=tuple(account.id for account in self._ground.meant(connected, each.platforms, each.format)),
            )
            for each in timed
        ]

    async def _give_up_late(self, now: datetime) -> None:
        settings = self._ground.settings.schedule
        for kept in await self._ground.read(deliveries.planned_before, late_before(settings, now).latest):
            if says := too_late(kept, now, settings):
                happened = Happened(progress=given_up(kept.progress, says), what="too late", says=says)
                await self._ground.write(keep, kept, happened, now)

    def _miss(self, conn: Connection, user_id: str, late: Due, now: datetime) -> None:
        says = f"It was late by more than {in_words(self._grace[late.format])}; nothing was sent."
        _happen(conn, user_id, late, Happening.LATE, now, last_error=says if late.accounts else NOT_CONNECTED)

    async def _each(self, every: Sequence[T], work: Callable[[Connection, str, T], None]) -> list[T]:
        """Those that `work` was done to, each in a transaction of its own; the others were changed meanwhile."""
        done: list[T] = []
        for start in range(0, len(every), AT_ONCE):
            some = every[start : start + AT_ONCE]
            ends = await self._ground.write_each(work, some)
            done += [each for each, error in zip(some, ends, strict=True) if error is None]
            if isinstance(ends[-1], StoreError):
                raise ends[-1]
        return done


def _standing(conn: Connection, user_id: str, now: datetime) -> tuple[tuple[ConnectedAccount, ...], tuple[Timed, ...]]:
    return accounts.every(conn, user_id), planned.scheduled_until(conn, user_id, now)


def _pick_up(conn: Connection, user_id: str, due: Due, now: datetime) -> None:
    to = [each for each in accounts.every(conn, user_id) if each.id in due.accounts]
    if not to:  # they were removed this moment; the next look finds that out
        raise changes.overtaken(changes.one_seen(conn, user_id, due.draft_id))
    _happen(conn, user_id, due, Happening.PICKED_UP, now, last_error=None)
    if not plan(conn, user_id, due.draft_id, to, due.at, now):
        settle(conn, user_id, due.draft_id, now)


def _happen(
    conn: Connection, user_id: str, due: Due, what: Happening, now: datetime, *, last_error: str | None
) -> None:
    """Carry out what happens to a draft whose time has come, if that is still its time."""
    seen = _still(conn, user_id, due.draft_id, due.at)
    after = {"status": after_happening(what, seen.status), "last_error": last_error}
    changes.put(conn, user_id, seen, _step(what, after, now))


def _moved(each: Timed) -> datetime | None:
    if each.wall is None or each.zone is None:
        return None
    return moved(Meant(wall=each.wall, zone=each.zone), each.at)


def _move(conn: Connection, user_id: str, each: Timed, at: datetime, now: datetime) -> None:
    seen = _still(conn, user_id, each.id, each.at)
    changes.put(conn, user_id, seen, _step(MOVED, {"scheduled_at": at}, now))


def _still(conn: Connection, user_id: str, draft_id: str, at: datetime) -> Seen:
    """The draft, still scheduled for that time. ConflictError where it is not: the user was faster."""
    seen = changes.one_seen(conn, user_id, draft_id)
    if seen.status is not Status.SCHEDULED or seen.value("scheduled_at") != at:
        raise changes.overtaken(seen)
    return seen


def _step(action: str, after: Mapping[str, object], now: datetime) -> Step:
    return Step(kind=EventKind.FIXED, action=action, after=changes.stored(after), at=now, who=SYSTEM)
