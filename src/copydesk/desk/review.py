"""Review actions: edit, approve, reject and schedule drafts, one at a time or in bulk."""

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
"""Ids per query."""


class Review:
    """Changes to drafts.

    A change is validated against the snapshot that was read when it was requested. If the draft has been changed since,
    in whichever process, ConflictError is raised and nothing is written.
    """

    _ground: Ground

    async def change(
        self, draft_id: str, asked: ChangeDraft | Mapping[str, object], *, expected_version: int | None = None
    ) -> Draft:
        """Apply an edit, an action, or an edit followed by an action as one change; return the draft after it.

        `expected_version` is the version that the caller displayed; if the draft has another one by now, nothing is
        written. Raise InvalidError, NotFoundError, or ConflictError with the current status and the actions it allows.
        """
        now = self._ground.clock()
        asked = checked_change(asked, now)
        snapshot = await self._ground.read(changes.one_seen, draft_id, whole=asked.text is not None)
        if expected_version not in (None, snapshot.version):
            raise changes.overtaken(snapshot)
        edited = await self._check_edit(snapshot, asked.text) if asked.text is not None else None
        return await self._ground.write(_apply_request, snapshot, asked, now, edited)

    async def edit(self, draft_id: str, text: str) -> Draft:
        """Replace the text of a draft and run its checks again."""
        return await self.change(draft_id, ChangeDraft(text=text))

    async def approve(self, draft_id: str) -> Draft:
        """Approve a draft, so that it can be scheduled or posted."""
        return await self.change(draft_id, ChangeDraft(action=Action.APPROVE))

    async def reject(self, draft_id: str, feedback: str | None = None) -> Draft:
        return await self.change(draft_id, ChangeDraft(action=Action.REJECT, feedback=feedback))

    async def unapprove(self, draft_id: str, feedback: str | None = None) -> Draft:
        """Withdraw an approval; `feedback` says what should change."""
        return await self.change(draft_id, ChangeDraft(action=Action.UNAPPROVE, feedback=feedback))

    async def regenerate(self, draft_id: str, feedback: str | None = None) -> Draft:
        """Request a new version of the text."""
        return await self.change(draft_id, ChangeDraft(action=Action.REGENERATE, feedback=feedback))

    async def archive(self, draft_id: str) -> Draft:
        """Archive a draft. Undo restores it."""
        return await self.change(draft_id, ChangeDraft(action=Action.ARCHIVE))

    async def schedule(self, draft_id: str, at: datetime | None = None, *, smart: bool = False) -> Draft:
        """Schedule a draft at `at`. Without `at` or with `smart`, use the next free slot, not before `at`."""
        request = ChangeDraft(action=Action.SCHEDULE, scheduled_at=at, smart_schedule=smart)
        return await self.change(draft_id, request)

    async def reschedule(self, draft_id: str, at: datetime) -> Draft:
        """Move a scheduled draft to another time."""
        return await self.change(draft_id, ChangeDraft(action=Action.RESCHEDULE, scheduled_at=at))

    async def cancel_schedule(self, draft_id: str) -> Draft:
        """Remove the time of a scheduled draft."""
        return await self.change(draft_id, ChangeDraft(action=Action.CANCEL_SCHEDULE))

    async def bulk(self, asked: BulkChange | Mapping[str, object]) -> BulkOutcome:
        """Apply one action to 1 to 100 drafts; return the outcome of each, in request order.

        Each draft succeeds or fails as a whole; all are undone as one. Raise InvalidError only.
        """
        now = self._ground.clock()
        asked = checked_bulk(asked, now)
        errors = await self._apply_to_each(asked.each, asked.ids, now, new_id(now))
        return outcome(asked.action, asked.ids, errors)

    async def act(
        self,
        action: Action,
        ids: Sequence[str],
        asked: ChangeDraft | None = None,
        *,
        on_progress: Callable[[int], None] | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> BulkOutcome:
        """Apply an action to any number of drafts, in batches of 100 that are undone as one.

        `request` holds the action's parameters. `on_progress` is called after each batch with the number of drafts
        processed; when `is_cancelled` returns True no further batch is started, and the outcome covers only the drafts
        that were tried. Completed batches stay if a later one fails. Raise InvalidError only.
        """
        now = self._ground.clock()
        asked = checked_change(msgspec.structs.replace(asked or ChangeDraft(), action=action, text=None), now)
        unique_ids, bulk_id = tuple(dict.fromkeys(ids)), new_id(now)
        errors: list[CopydeskError | None] = []
        for start in range(0, len(unique_ids), MOST_IDS):
            if start and stopped is not None and stopped():
                break
            errors += await self._apply_to_each(asked, unique_ids[start : start + MOST_IDS], now, bulk_id)
            if on_progress is not None:
                on_progress(len(errors))
        return outcome(action, unique_ids[: len(errors)], errors)

    async def _apply_to_each(
        self, request: ChangeDraft, ids: Sequence[str], now: datetime, bulk_id: str
    ) -> list[CopydeskError | None]:
        # One read for the batch. Each write checks that its draft is still at the version read here.
        snapshots = await self._ground.read(changes.seen, ids)
        return await self._ground.write_each(_BulkAction(request, snapshots, now, bulk_id).carry_out, ids)

    async def matching(self, **filter_params: Unpack[Narrowing]) -> tuple[str, ...]:
        """Return the ids of all drafts that match the filters, newest first. Raise as `list` does."""
        filters = checked_filters(filter_params)
        ids: list[str] = []
        while True:
            before = ids[-1] if ids else None
            page = await self._ground.read(lists.ids, filters, limit=AT_ONCE, before=before)
            ids += page
            if len(page) < AT_ONCE:
                return tuple(ids)

    async def _check_edit(self, snapshot: Seen, text: str) -> Edited:
        # Refuse an invalid edit before the expensive checks run.
        after_edit(snapshot.status, archived=snapshot.archived)
        draft = msgspec.structs.replace(await self._ground.read(_get_draft, snapshot.id), text=text)
        checked = await checked_again(self._ground, draft)
        sentences = tuple(trace for trace in snapshot.value("sentences") if trace.text in text)
        return Edited(text=text, checks=checked.checks, confidence=checked.confidence, sentences=sentences)


class _BulkAction:
    """A bulk action, applied to one draft per transaction."""

    def __init__(self, request: ChangeDraft, snapshots: Mapping[str, Seen], now: datetime, bulk_id: str) -> None:
        self._request = request
        self._snapshots = snapshots
        self._now = now
        self._bulk_id = bulk_id
        self._last_slot: datetime | None = None

    def carry_out(self, conn: Connection, user_id: str, draft_id: str) -> None:
        """Apply the action to one draft."""
        snapshot = self._snapshots.get(draft_id)
        if snapshot is None:
            raise changes.no_draft(draft_id)
        at = time_for(conn, user_id, snapshot, self._request, self._now, later_than=self._last_slot)
        put(conn, user_id, snapshot, self._request, self._now, at=at, bulk_id=self._bulk_id)
        if at and takes_slot(self._request):
            # Start the next search after this slot: all earlier ones are taken, and each draft gets a slot of its own.
            self._last_slot = at.at


def outcome(action: Action, ids: Sequence[str], done: Sequence[CopydeskError | None]) -> BulkOutcome:
    """Return the bulk outcome for `ids`, given the error (or None) of each."""
    results = list(zip(ids, done, strict=True))
    failed = [BulkFailure(id=draft_id, error=str(error)) for draft_id, error in results if error]
    return bulk_outcome(action, [draft_id for draft_id, error in results if error is None], failed)


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
    """Validate a change of a draft and write it, with its history event."""
    new_values = changes.stored(decided(seen, asked, now, edited=edited, at=at))
    change = Step(
        kind=EventKind.CHANGE,
        action=named(asked.action),
        after=new_values,
        at=now,
        feedback=asked.feedback,
        bulk_id=bulk_id,
    )
    changes.put(conn, user_id, seen, change)


def takes_slot(asked: ChangeDraft) -> bool:
    """Return True if the request needs a free slot."""
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
    """Return the time for a change, None if it needs none.

    Call it in the transaction that stores the time, so that two drafts never get the same slot. Slots up to
    `after_slot` are skipped. Raise ConflictError if no slot is free.
    """
    if asked.action in TAKES_TIME:
        # Report a disallowed action first: a missing slot would be a misleading error.
        after(asked.action, seen.status, archived=seen.archived)
    if takes_slot(asked):
        return _free_slot(conn, user_id, seen, asked.scheduled_at, now, later_than)
    if asked.scheduled_at is None:
        return None
    return moment_at(asked.scheduled_at, schedule.zone(conn, user_id))


def _free_slot(
    conn: Connection,
    user_id: str,
    snapshot: Seen,
    not_before: datetime | None,
    now: datetime,
    later_than: datetime | None,
) -> Moment:
    slots = schedule.slots(conn, user_id)
    if not slots:
        raise _conflict(snapshot, "There are no slots to schedule to.", f"Set some: {SET_SLOTS}.")
    # Slots are exact to the minute, so the first candidate after `after_slot` is one minute later.
    start = max(now, not_before or now)
    earliest = max(start, later_than + MINUTE) if later_than else start
    taken = schedule.taken(conn, user_id, earliest - MINUTE)
    slot = next_free(slots, schedule.zone(conn, user_id), taken, now, not_before=earliest if earliest > now else None)
    # `next_free` searches HORIZON from its own start, which a bulk may have moved.
    if slot is None or slot.at > start + HORIZON:
        raise _conflict(snapshot, "Every slot of the next 366 days is taken.", "Add slots, or give a time.")
    return Moment(at=slot.at, meant=slot.meant)


def _conflict(snapshot: Seen, message: str, hint: str) -> ConflictError:
    allowed = allowed_actions(snapshot.status, archived=snapshot.archived)
    return ConflictError(message, hint=hint, current_status=snapshot.status, allowed=allowed)


def _apply_request(
    conn: Connection, user_id: str, snapshot: Seen, request: ChangeDraft, now: datetime, edited: Edited | None
) -> Draft:
    at = time_for(conn, user_id, snapshot, request, now)
    put(conn, user_id, snapshot, request, now, edited=edited, at=at)
    return plain(_get_draft(conn, user_id, snapshot.id))


def _get_draft(conn: Connection, user_id: str, draft_id: str) -> ListedDraft:
    draft = lists.one(conn, user_id, draft_id)
    if draft is None:
        raise changes.no_draft(draft_id)
    return draft
