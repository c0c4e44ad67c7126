"""What a person does with drafts: edits and actions, one draft at a time and many at once."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Unpack

import msgspec
from sqlalchemy import Connection

from copydesk.desk.checking import checked_again
from copydesk.desk.deciding import Edited, decided
from copydesk.desk.ground import Ground
from copydesk.errors import ConflictError, CopydeskError
from copydesk.model.change import (
    MOST_IDS,
    TAKES_TIME,
    BulkChange,
    BulkFailure,
    BulkOutcome,
    ChangeDraft,
    bulk_outcome,
    checked_bulk,
    checked_change,
)
from copydesk.model.draft import Action, Draft, ListedDraft, plain
from copydesk.model.filters import Narrowing, checked_filters
from copydesk.model.history import EventKind, named
from copydesk.model.schedule import SET_SLOTS
from copydesk.model.transitions import after, after_edit, allowed_actions
from copydesk.scheduling.meant import Moment, moment_at
from copydesk.scheduling.slots import HORIZON, next_free
from copydesk.store import changes, lists, schedule
from copydesk.store.changes import Seen, Step
from copydesk.store.ids import new_id

MINUTE = timedelta(minutes=1)
AT_ONCE = 1_000
"""Ids that are read in one go."""


class Review:
    """What the user decides about drafts.

    A change is decided on what was read when it was asked for. Where another change of the same draft comes in
    between, whichever process makes it, this one is refused with a conflict and nothing is changed.
    """

    _ground: Ground

    async def change(
        self, draft_id: str, asked: ChangeDraft | Mapping[str, object], *, expected_version: int | None = None
    ) -> Draft:
        """An edit, an action, or an edit and then an action as one change; the draft after it.

        `expected_version` is the draft's version that the caller saw: where it is another by now, nothing is done.
        Raises InvalidError, NotFoundError, and ConflictError with the current state and what it allows.
        """
        now = self._ground.clock()
        asked = checked_change(asked, now)
        seen = await self._ground.read(changes.one_seen, draft_id, whole=asked.text is not None)
        if expected_version not in (None, seen.version):
            raise changes.overtaken(seen)
        edited = await self._edited(seen, asked.text) if asked.text is not None else None
        return await self._ground.write(_change, seen, asked, now, edited)

    async def edit(self, draft_id: str, text: str) -> Draft:
        """Give a draft another text; its checks are run again."""
        return await self.change(draft_id, ChangeDraft(text=text))

    async def approve(self, draft_id: str) -> Draft:
        """Let a draft be scheduled or posted."""
        return await self.change(draft_id, ChangeDraft(action=Action.APPROVE))

    async def reject(self, draft_id: str, feedback: str | None = None) -> Draft:
        """Turn a draft down."""
        return await self.change(draft_id, ChangeDraft(action=Action.REJECT, feedback=feedback))

    async def unapprove(self, draft_id: str, feedback: str | None = None) -> Draft:
        """Take an approval back, with what is to be changed or for another look."""
        return await self.change(draft_id, ChangeDraft(action=Action.UNAPPROVE, feedback=feedback))

    async def regenerate(self, draft_id: str, feedback: str | None = None) -> Draft:
        """Let a new version be written."""
        return await self.change(draft_id, ChangeDraft(action=Action.REGENERATE, feedback=feedback))

    async def archive(self, draft_id: str) -> Draft:
        """Put a draft away; its undo brings it back."""
        return await self.change(draft_id, ChangeDraft(action=Action.ARCHIVE))

    async def schedule(self, draft_id: str, at: datetime | None = None, *, smart: bool = False) -> Draft:
        """Give a draft a time: `at`, or the next slot that is free, at or after `at` where `smart` says so."""
        asked = ChangeDraft(action=Action.SCHEDULE, scheduled_at=at, smart_schedule=smart)
        return await self.change(draft_id, asked)

    async def reschedule(self, draft_id: str, at: datetime) -> Draft:
        """Give a draft another time."""
        return await self.change(draft_id, ChangeDraft(action=Action.RESCHEDULE, scheduled_at=at))

    async def cancel_schedule(self, draft_id: str) -> Draft:
        """Take a draft's time away."""
        return await self.change(draft_id, ChangeDraft(action=Action.CANCEL_SCHEDULE))

    async def bulk(self, asked: BulkChange | Mapping[str, object]) -> BulkOutcome:
        """One action on 1 to 100 drafts, each wholly done or not; what became of each, in the order asked.

        Undone as one. Raises InvalidError only.
        """
        now = self._ground.clock()
        asked = checked_bulk(asked, now)
        done = await self._each(asked.each, asked.ids, now, new_id(now))
        return outcome(asked.action, asked.ids, done)

    async def act(
        self,
        action: Action,
        ids: Sequence[str],
        asked: ChangeDraft | None = None,
        *,
        on_progress: Callable[[int], None] | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> BulkOutcome:
        """Any action on any number of drafts, in bulks of 100, undone as one; `asked` holds what goes with it.

        What is done is done where another bulk fails; `on_progress` hears after each how many are behind it, and where
        `stopped` says so no other one is begun: the outcome holds only what was tried. Raises InvalidError only.
        """
        now = self._ground.clock()
        asked = checked_change(msgspec.structs.replace(asked or ChangeDraft(), action=action, text=None), now)
        once, bulk_id = tuple(dict.fromkeys(ids)), new_id(now)
        done: list[CopydeskError | None] = []
        for start in range(0, len(once), MOST_IDS):
            if start and stopped is not None and stopped():
                break
            done += await self._each(asked, once[start : start + MOST_IDS], now, bulk_id)
            if on_progress is not None:
                on_progress(len(done))
        return outcome(action, once[: len(done)], done)

    async def _each(
        self, asked: ChangeDraft, ids: Sequence[str], now: datetime, bulk_id: str
    ) -> list[CopydeskError | None]:
        found = await self._ground.read(changes.seen, ids)
        return await self._ground.write_each(_Each(asked, found, now, bulk_id).carry_out, ids)

    async def matching(self, **narrowed: Unpack[Narrowing]) -> tuple[str, ...]:
        """The ids of all drafts that the filters show, newest first, to act on them; raises as `list` does."""
        filters = checked_filters(narrowed)
        found: list[str] = []
        while True:
            before = found[-1] if found else None
            some = await self._ground.read(lists.ids, filters, limit=AT_ONCE, before=before)
            found += some
            if len(some) < AT_ONCE:
                return tuple(found)

    async def _edited(self, seen: Seen, text: str) -> Edited:
        # What is not allowed is refused before the work of checking.
        after_edit(seen.status, archived=seen.archived)
        draft = msgspec.structs.replace(await self._ground.read(_shown, seen.id), text=text)
        checked = await checked_again(self._ground, draft)
        sentences = tuple(trace for trace in seen.value("sentences") if trace.text in text)
        return Edited(text=text, checks=checked.checks, confidence=checked.confidence, sentences=sentences)


class _Each:
    """A bulk action, draft by draft."""

    def __init__(self, asked: ChangeDraft, found: Mapping[str, Seen], now: datetime, bulk_id: str) -> None:
        self._asked = asked
        self._found = found
        self._now = now
        self._bulk_id = bulk_id
        self._last: datetime | None = None

    def carry_out(self, conn: Connection, user_id: str, draft_id: str) -> None:
        """Do it to one draft."""
        seen = self._found.get(draft_id)
        if seen is None:
            raise changes.no_draft(draft_id)
        at = time_for(conn, user_id, seen, self._asked, self._now, later_than=self._last)
        put(conn, user_id, seen, self._asked, self._now, at=at, bulk_id=self._bulk_id)
        if at and takes_slot(self._asked):
            # The next one need not look where this one found nothing, and each gets a slot of its own.
            self._last = at.at


def outcome(action: Action, ids: Sequence[str], done: Sequence[CopydeskError | None]) -> BulkOutcome:
    """What became of each draft, out of the errors that stand where something could not be done."""
    ended = list(zip(ids, done, strict=True))
    failed = [BulkFailure(id=draft_id, error=str(error)) for draft_id, error in ended if error]
    return bulk_outcome(action, [draft_id for draft_id, error in ended if error is None], failed)


def put(
    conn: Connection,
    user_id: str,
    seen: Seen,
    asked: ChangeDraft,
    now: datetime,
    *,
    edited: Edited | None = None,
    at: Moment | None = None,
    bulk_id: str | None = None,
) -> None:
    """Decide a change of a draft and write it, with its event."""
    after = changes.stored(decided(seen, asked, now, edited=edited, at=at))
    step = Step(
        kind=EventKind.CHANGE,
        action=named(asked.action),
        after=after,
        at=now,
        feedback=asked.feedback,
        bulk_id=bulk_id,
    )
    changes.put(conn, user_id, seen, step)


def takes_slot(asked: ChangeDraft) -> bool:
    """Whether a slot is to be found."""
    return asked.action is Action.SCHEDULE and (asked.smart_schedule or asked.scheduled_at is None)


def time_for(
    conn: Connection,
    user_id: str,
    seen: Seen,
    asked: ChangeDraft,
    now: datetime,
    *,
    later_than: datetime | None = None,
) -> Moment | None:
    """The time that goes with a change; None where it needs none. ConflictError where there is no free slot.

    Asked in the transaction that takes the time, so that no two drafts find one slot. Slots up to `later_than` are
    passed over.
    """
    if asked.action in TAKES_TIME:
        # Where the state does not allow it, that is what there is to say.
        after(asked.action, seen.status, archived=seen.archived)
    if takes_slot(asked):
        return _free_slot(conn, user_id, seen, asked.scheduled_at, now, later_than)
    if asked.scheduled_at is None:
        return None
    return moment_at(asked.scheduled_at, schedule.zone(conn, user_id))


def _free_slot(
    conn: Connection,
    user_id: str,
    seen: Seen,
    not_before: datetime | None,
    now: datetime,
    later_than: datetime | None,
) -> Moment:
    slots = schedule.slots(conn, user_id)
    if not slots:
        raise _refused(seen, "There are no slots to schedule to.", f"Set some: {SET_SLOTS}.")
    start = max(now, not_before or now)
    begin = max(start, later_than + MINUTE) if later_than else start
    taken = schedule.taken(conn, user_id, begin - MINUTE)
    found = next_free(slots, schedule.zone(conn, user_id), taken, now, not_before=begin if begin > now else None)
    if found is None or found.at > start + HORIZON:
        raise _refused(seen, "Every slot of the next 366 days is taken.", "Add slots, or give a time.")
    return Moment(at=found.at, meant=found.meant)


def _refused(seen: Seen, message: str, hint: str) -> ConflictError:
    allowed = allowed_actions(seen.status, archived=seen.archived)
    return ConflictError(message, hint=hint, current_status=seen.status, allowed=allowed)


def _change(
    conn: Connection, user_id: str, seen: Seen, asked: ChangeDraft, now: datetime, edited: Edited | None
) -> Draft:
    at = time_for(conn, user_id, seen, asked, now)
    put(conn, user_id, seen, asked, now, edited=edited, at=at)
    return plain(_shown(conn, user_id, seen.id))


def _shown(conn: Connection, user_id: str, draft_id: str) -> ListedDraft:
    found = lists.one(conn, user_id, draft_id)
    if found is None:
        raise changes.no_draft(draft_id)
    return found
