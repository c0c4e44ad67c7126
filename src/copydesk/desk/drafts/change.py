"""One change of a draft: what may not run in a write transaction, the columns to set, and the write.

Notes about a state are cleared with it: `rejection_feedback` when a draft is no longer rejected, `last_error` when its
status changes, its time when it is neither scheduled nor missed any more. `feedback` is the change the user last asked
for; it stays until the draft is approved or rejected. The event log keeps all of it.
"""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.check_draft import check_edited_draft
from copydesk.errors import ConflictError
from copydesk.model.draft import APPROVED_STATUSES, Action, Checks, Status, Trace, is_held
from copydesk.model.requests import TIME_ACTIONS, ChangeDraft
from copydesk.model.role import scope_of_change
from copydesk.model.schedule import SET_SLOTS_COMMAND
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope
from copydesk.model.transitions import EventKind, change_name, next_status, status_after_edit
from copydesk.scheduling.slots import HORIZON, next_free_slot
from copydesk.scheduling.time_text import DAYS, MONTHS
from copydesk.scheduling.wall_time import ScheduledTime, scheduled_at_instant
from copydesk.store import draft_queries, draft_updates, schedule
from copydesk.store.database import Transaction
from copydesk.store.draft_updates import DraftSnapshot, DraftUpdate

MINUTE = timedelta(minutes=1)
_SCHEDULED_STATUSES = (Status.SCHEDULED, Status.MISSED, Status.POSTING)


class EditedText(Struct, frozen=True):
    """A new text with its check results."""

    text: str
    checks: Checks
    confidence: float
    confidence_known: bool
    sentences: tuple[Trace, ...]
    """Traces of the sentences of the old text that are still in the new one."""


class PreparedChange(NamedTuple):
    """A valid request with the draft it was checked against: the draft must still be at that version when written."""

    snapshot: DraftSnapshot
    request: ChangeDraft
    now: datetime
    edited: EditedText | None
    reviewer: str

    @property
    def scope(self) -> Scope:
        """The scope that the change needs."""
        return scope_of_change(
            self.request.action,
            edits=self.request.text is not None,
            status=self.snapshot.status,
            last_error=self.snapshot.value("last_error"),
        )


async def prepare_change(
    ctx: DeskContext, draft_id: str, request: ChangeDraft, now: datetime, *, expected_version: int | None
) -> PreparedChange:
    """Read the draft and check its new text, which takes too long for a write transaction.

    Raise NotFoundError, StaleVersionError for another version than `expected_version`, ConflictError for a text that
    cannot be edited, InvalidError for feedback that no writer understands.
    """
    snapshot = await ctx.read(
        draft_updates.load_snapshot,
        draft_id,
        include_text=request.text is not None,
        expected_version=expected_version,
    )
    edited = await _check_edit(ctx, snapshot, request.text) if request.text is not None else None
    if request.action is Action.REGENERATE:
        await check_writer_feedback(ctx, _effective_feedback(snapshot, request.feedback))
    return PreparedChange(snapshot, request, now, edited, ctx.reviewer)


async def check_writer_feedback(ctx: DeskContext, feedback: str | None) -> None:
    """Raise InvalidError for feedback that no writer understands, so that its draft stays as it was."""
    if feedback:
        from copydesk.desk.writers.open_writer import check_feedback  # noqa: PLC0415 - most changes need no writer

        await check_feedback(ctx, feedback)


async def _check_edit(ctx: DeskContext, snapshot: DraftSnapshot, text: str) -> EditedText:
    # Refuse an invalid edit before the expensive checks run.
    status_after_edit(snapshot.status, archived=snapshot.archived)
    draft = msgspec.structs.replace(await ctx.read(draft_queries.load, snapshot.id), text=text)
    sentences = tuple(trace for trace in snapshot.value("sentences") if trace.text in text)
    checked = await check_edited_draft(ctx, msgspec.structs.replace(draft, sentences=sentences))
    return EditedText(
        text=text,
        checks=checked.checks,
        confidence=checked.confidence,
        confidence_known=checked.confidence_known,
        sentences=sentences,
    )


def write_change(
    conn: Transaction,
    user_id: str,
    prepared: PreparedChange,
    *,
    at: ScheduledTime | None = None,
    bulk_id: str | None = None,
) -> None:
    """Validate a change of a draft and write it, with its history event and the reviewer's approval."""
    draft_updates.apply_update(conn, user_id, prepared.snapshot, to_draft_update(prepared, at=at, bulk_id=bulk_id))


def to_draft_update(
    prepared: PreparedChange, *, at: ScheduledTime | None = None, bulk_id: str | None = None
) -> DraftUpdate:
    """Return the change of the draft, with the reviewer's approval.

    Raise ConflictError if the draft's status does not allow the change.
    """
    snapshot, request, now, edited, reviewer = prepared
    # To edit an approved draft, or to edit and schedule it, is to approve the new text.
    keeps_approved = request.action is None or request.action in (*TIME_ACTIONS, Action.CANCEL_SCHEDULE)
    edits_approved = request.text is not None and keeps_approved and snapshot.status in APPROVED_STATUSES
    new_values = draft_updates.to_column_values(_changed_columns(snapshot, request, now, edited=edited, at=at))
    return DraftUpdate(
        kind=EventKind.CHANGE,
        action=change_name(request.action),
        after=new_values,
        at=now,
        feedback=request.feedback,
        bulk_id=bulk_id,
        approved_by=reviewer if request.action is Action.APPROVE or edits_approved else None,
    )


def needs_slot(request: ChangeDraft) -> bool:
    """Return True if the request needs a free slot."""
    return request.action is Action.SCHEDULE and (request.smart_schedule or request.scheduled_at is None)


def resolve_time(
    conn: Transaction,
    user_id: str,
    snapshot: DraftSnapshot,
    request: ChangeDraft,
    now: datetime,
    *,
    after_slot: datetime | None = None,
) -> ScheduledTime | None:
    """Return the time for a change, None if it needs none.

    Call it in the transaction that stores the time, so that two drafts never get the same slot. Slots up to
    `after_slot` are skipped. Raise ConflictError if no slot is free.
    """
    if request.action in TIME_ACTIONS:
        # Report a disallowed action first: a missing slot would be a misleading error.
        time = _format_scheduled_time(snapshot)
        next_status(request.action, snapshot.status, archived=snapshot.archived, scheduled_for=time)
    if needs_slot(request):
        return _free_slot(conn, user_id, snapshot, request.scheduled_at, now, after_slot)
    if request.scheduled_at is None:
        return None
    return scheduled_at_instant(request.scheduled_at, schedule.get_time_zone(conn, user_id))


def _free_slot(
    conn: Transaction,
    user_id: str,
    snapshot: DraftSnapshot,
    not_before: datetime | None,
    now: datetime,
    later_than: datetime | None,
) -> ScheduledTime:
    slots = schedule.list_slots(conn, user_id)
    if not slots:
        raise draft_updates.draft_conflict(snapshot, "No weekly slots.", f"Add some: {SET_SLOTS_COMMAND}.")
    # Slots are exact to the minute, so the first candidate after `after_slot` is one minute later.
    start = max(now, not_before or now)
    earliest = max(start, later_than + MINUTE) if later_than else start
    taken = schedule.list_taken_times(conn, user_id, earliest - MINUTE)
    slot = next_free_slot(
        slots, schedule.get_time_zone(conn, user_id), taken, now, not_before=earliest if earliest > now else None
    )
    # `next_free_slot` searches HORIZON from its own start, which a bulk may have moved.
    if slot is None or slot.at > start + HORIZON:
        raise draft_updates.draft_conflict(
            snapshot, "All slots in the next 366 days are taken.", "Add slots, or schedule at a time."
        )
    return ScheduledTime(at=slot.at, wall_time=slot.wall_time)


def _changed_columns(
    snapshot: DraftSnapshot,
    request: ChangeDraft,
    now: datetime,
    *,
    edited: EditedText | None = None,
    at: ScheduledTime | None = None,
) -> dict[str, Any]:
    """Return the columns to set for `request`, the edit applied first; unchanged ones may be among them.

    `edited` accompanies a new text, `at` the actions schedule and reschedule. Raise ConflictError if the draft's status
    does not allow the change.
    """
    assert request.action is not Action.POST, "posting also creates deliveries: see Posting.post"
    status, values = snapshot.status, dict[str, Any]()
    if edited is not None:
        status = status_after_edit(status, archived=snapshot.archived)
        values |= {name: getattr(edited, name) for name in EditedText.__struct_fields__}
    if request.action is not None:
        time = _format_scheduled_time(snapshot)
        try:
            status = next_status(
                request.action, status, archived=snapshot.archived, feedback=request.feedback, scheduled_for=time
            )
        except ConflictError:
            # The edit is refused along with the action, so the error has to name the draft's stored status.
            next_status(request.action, snapshot.status, archived=snapshot.archived, scheduled_for=time)
            raise
        values |= _action_columns(request.action, snapshot, request.feedback, now)
    if at is not None:
        values |= _schedule_columns(at)
    if is_held(snapshot.status, snapshot.value("last_error")) and request.action in {None, Action.APPROVE}:
        # Edited or approved again, it goes out as scheduled, unless its time has passed.
        scheduled_at = snapshot.value("scheduled_at")
        status = Status.SCHEDULED if scheduled_at is not None and scheduled_at > now else Status.APPROVED
    return _cleared_columns(snapshot, status) | values | {"status": status}


def _action_columns(action: Action, snapshot: DraftSnapshot, feedback: str | None, now: datetime) -> dict[str, Any]:
    """Return the columns an action sets besides the status."""
    match action:
        case Action.APPROVE:
            return {"feedback": None}
        case Action.REJECT:
            return {"feedback": None, "rejection_feedback": feedback}
        case Action.UNAPPROVE:
            return {"feedback": feedback}
        case Action.REGENERATE:
            return {"feedback": _effective_feedback(snapshot, feedback)}
        case Action.ARCHIVE:
            return {"archived_at": now}
        case _:
            return {}


def _effective_feedback(snapshot: DraftSnapshot, feedback: str | None) -> str | None:
    """Return the feedback of a regeneration; without new one the last, the reason for writing the draft again."""
    return feedback or snapshot.value("rejection_feedback") or snapshot.value("feedback")


def _format_scheduled_time(snapshot: DraftSnapshot) -> str:
    """Return the draft's scheduled time on the user's clock: `Mon 30 Nov 09:00`; empty without one."""
    return format_wall_time(snapshot.stored["scheduled_wall"])


def format_wall_time(wall: str | None) -> str:
    """Return a stored wall time as `Mon 30 Nov 09:00`; empty without one."""
    if not wall:
        return ""
    day = datetime.fromisoformat(wall[:16])
    # Not strftime's names, which follow the machine's locale.
    weekday, month = DAYS[day.isoweekday() % 7][:3].title(), MONTHS[day.month - 1][:3].title()
    return f"{weekday} {day.day} {month} {day:%H:%M}"


def _schedule_columns(at: ScheduledTime | None) -> dict[str, Any]:
    """Return the columns of a draft's scheduled time; all None without one."""
    return {
        "scheduled_at": at.at if at else None,
        "scheduled_wall": at.wall_time.wall if at else None,
        "scheduled_zone": at.wall_time.zone if at else None,
    }


def _cleared_columns(snapshot: DraftSnapshot, status: Status) -> dict[str, Any]:
    """Return the columns to clear because the draft leaves its status."""
    cleared: dict[str, Any] = {}
    if status is not snapshot.status:
        cleared["last_error"] = None
    if status is not Status.REJECTED:
        cleared["rejection_feedback"] = None
    if status not in _SCHEDULED_STATUSES:
        cleared |= _schedule_columns(None)
    return cleared
