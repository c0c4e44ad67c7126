"""Process drafts whose time has come: dispatch them, mark them as missed, or move them after a time zone change."""

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
"""Action name in the history of a draft whose time moved with the rules of its time zone."""
AT_ONCE = 100
READ_AT_ONCE = 1000


class PickingUp:
    """Due drafts of one desk. Nothing is dispatched or marked as missed while the wall clock is in doubt."""

    def __init__(self, ground: Ground, clock: Clockwork) -> None:
        self._ctx = ground
        self._clock = clock

    async def pick_up(self) -> tuple[Due, ...]:
        """Move due drafts to POSTING and create their deliveries; return them, oldest first. The caller sends them.

        At most one draft per account every five minutes (`MIN_POST_INTERVAL`), so that not everything goes out at once
        after the machine was off. Skips drafts that are late by more than their grace period or have no connected
        account.
        """
        if await self._clock.doubt():
            return ()
        now = self._ctx.clock()
        due = await self._due(now)
        # Read after the due drafts: a draft that another process dispatches in between is then in both results and
        # blocks its account, instead of being in neither.
        last_sent = await self._ctx.read(deliveries.last_sent, now - PACE)
        sendable = due_now([draft for draft in due if draft.accounts], last_sent, now, self._grace_periods)
        dispatched = await self._apply_in_batches(
            sendable, lambda conn, user_id, draft: _dispatch(conn, user_id, draft, now)
        )
        return tuple(dispatched)

    async def miss(self) -> tuple[str, ...]:
        """Mark drafts that are late by more than their grace period as missed; return their ids, oldest first.

        Deliveries that have waited that long, for example for an account that needs a login, are given up.
        """
        if await self._clock.doubt():
            return ()
        now = self._ctx.clock()
        await self._give_up_late_deliveries(now)
        late = [draft for draft in await self._due(now) if is_missed(draft.at, draft.format, now, self._grace_periods)]
        missed = await self._apply_in_batches(
            late, lambda conn, user_id, draft: self._mark_missed(conn, user_id, draft, now)
        )
        return tuple(draft.draft_id for draft in missed)

    async def follow_zones(self) -> tuple[str, ...]:
        """Move scheduled drafts whose UTC time changed with the time zone database; return their ids.

        The wall time that the user chose stays the same.
        """
        now = self._ctx.clock()
        moved_ids: list[str] = []
        after = now, ""
        while page := await self._ctx.read(planned.on_a_clock, after, READ_AT_ONCE):
            after = page[-1].at, page[-1].id
            shifted = [(draft, at) for draft in page if (at := _new_time(draft)) is not None]
            saved = await self._apply_in_batches(
                shifted, lambda conn, user_id, draft: _move(conn, user_id, *draft, now)
            )
            moved_ids += [draft.id for draft, _ in saved]
        return tuple(moved_ids)

    @property
    def _grace_periods(self) -> Mapping[Format, timedelta]:
        return grace(self._ctx.settings.schedule)

    async def _due(self, now: datetime) -> list[Due]:
        """Return the drafts whose time has come, each with the ids of its accounts."""
        connected, drafts = await self._ctx.read(_load_due, now)
        return [
            Due(
                draft_id=draft.id,
                format=draft.format,
                at=draft.at,
                accounts=tuple(account.id for account in self._ctx.meant(connected, draft.platforms, draft.format)),
            )
            for draft in drafts
        ]

    async def _give_up_late_deliveries(self, now: datetime) -> None:
        settings = self._ctx.settings.schedule
        for row in await self._ctx.read(deliveries.planned_before, late_before(settings, now).latest):
            if reason := too_late(row, now, settings):
                update = Happened(progress=given_up(row.progress, reason), what="too late", says=reason)
                await self._ctx.write(keep, row, update, now)

    def _mark_missed(self, conn: Connection, user_id: str, draft: Due, now: datetime) -> None:
        message = f"It was late by more than {in_words(self._grace_periods[draft.format])}; nothing was sent."
        _apply_event(conn, user_id, draft, Happening.LATE, now, last_error=message if draft.accounts else NOT_CONNECTED)

    async def _apply_in_batches(self, values: Sequence[T], work: Callable[[Connection, str, T], None]) -> list[T]:
        """Run `work` for each value in its own transaction; return the values that succeeded.

        Values that fail were changed by someone else since they were read. Raise StoreError if the database fails.
        """
        succeeded: list[T] = []
        for start in range(0, len(values), AT_ONCE):
            batch = values[start : start + AT_ONCE]
            results = await self._ctx.write_each(work, batch)
            succeeded += [value for value, error in zip(batch, results, strict=True) if error is None]
            # The database itself failed, so the remaining batches would fail too.
            if isinstance(results[-1], StoreError):
                raise results[-1]
        return succeeded


def _load_due(conn: Connection, user_id: str, now: datetime) -> tuple[tuple[ConnectedAccount, ...], tuple[Timed, ...]]:
    return accounts.every(conn, user_id), planned.scheduled_until(conn, user_id, now)


def _dispatch(conn: Connection, user_id: str, due: Due, now: datetime) -> None:
    targets = [account for account in accounts.every(conn, user_id) if account.id in due.accounts]
    if not targets:  # the accounts were just removed; the next tick marks the draft as missed
        raise changes.overtaken(changes.one_seen(conn, user_id, due.draft_id))
    _apply_event(conn, user_id, due, Happening.PICKED_UP, now, last_error=None)
    if not plan(conn, user_id, due.draft_id, targets, due.at, now):
        settle(conn, user_id, due.draft_id, now)


def _apply_event(
    conn: Connection, user_id: str, due: Due, event: Happening, now: datetime, *, last_error: str | None
) -> None:
    """Apply a system event to a due draft. Raise ConflictError if it is no longer scheduled for that time."""
    snapshot = _check_still_scheduled(conn, user_id, due.draft_id, due.at)
    after = {"status": after_happening(event, snapshot.status), "last_error": last_error}
    changes.put(conn, user_id, snapshot, _system_change(event, after, now))


def _new_time(draft: Timed) -> datetime | None:
    if draft.wall is None or draft.zone is None:
        return None
    return moved(Meant(wall=draft.wall, zone=draft.zone), draft.at)


def _move(conn: Connection, user_id: str, draft: Timed, at: datetime, now: datetime) -> None:
    snapshot = _check_still_scheduled(conn, user_id, draft.id, draft.at)
    changes.put(conn, user_id, snapshot, _system_change(MOVED, {"scheduled_at": at}, now))


def _check_still_scheduled(conn: Connection, user_id: str, draft_id: str, at: datetime) -> Seen:
    """Return the draft, still scheduled for `at`. Raise ConflictError if the user changed it first."""
    snapshot = changes.one_seen(conn, user_id, draft_id)
    if snapshot.status is not Status.SCHEDULED or snapshot.value("scheduled_at") != at:
        raise changes.overtaken(snapshot)
    return snapshot


def _system_change(action: str, after: Mapping[str, object], now: datetime) -> Step:
    return Step(kind=EventKind.FIXED, action=action, after=changes.stored(after), at=now, who=SYSTEM)
