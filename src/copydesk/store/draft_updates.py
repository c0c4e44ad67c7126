"""Draft changes: a compare-and-set on the draft's version, and the event that records it.

Every change of a draft goes through here, the system's too: a change without an event could not be undone, and undoing
an earlier one would restore wrong values.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import BindParameter, Connection, TypeDecorator, bindparam, literal_column, select, text, update

from copydesk.errors import ConflictError, DraftNotFoundError, StaleVersionError, StoreCorruptError
from copydesk.model.activity import Approval
from copydesk.model.draft import APPROVED_STATUSES, STATUS_LABELS, Action, Format, Status, is_held
from copydesk.model.serialization import Struct
from copydesk.model.transitions import SYSTEM, USER, EventKind, SystemEvent, allowed_actions, status_after_event
from copydesk.model.validation import MAX_ID_LENGTH
from copydesk.store import draft_events
from copydesk.store.column_types import from_microseconds, to_microseconds
from copydesk.store.draft_events import EventData, EventRow
from copydesk.store.raw_sql import DIALECT, chunked, placeholders, raw_execute, send_query, to_sql
from copydesk.store.tables import draft, engagement

SHORT_COLUMNS: Final = (
    "status",
    "confidence",
    "confidence_known",
    "feedback",
    "rejection_feedback",
    "scheduled_at",
    "scheduled_wall",
    "scheduled_zone",
    "posted_at",
    "post_id",
    "archived_at",
    "last_error",
)
LONG_COLUMNS: Final = ("text", "checks", "sentences")
"""Columns that a change may set, besides SHORT_COLUMNS. Loaded only for edits, because they are large."""
APPROVALS: Final = "approvals"
"""The name under which an event has the approvals that it changes: rows of their own, each as (reviewer, time)."""

EVENT_COLUMNS: Final = frozenset({*draft.c.keys(), APPROVALS})
"""What an event may have. A newer version that shares the server may store more."""

_SNAPSHOT_COLUMNS: Final = ("id", "version", "format", "undo_rid", "redo_rid")

_StoredApprovals = Sequence[Sequence[Any]]
"""The reviewer and the stored time of each approval."""
_REMOVE_APPROVALS: Final = "DELETE FROM draft_approval WHERE user_id = ? AND draft_id = ?"
_ADD_APPROVAL: Final = """INSERT INTO draft_approval (draft_id, reviewer, user_id, at) VALUES (?, ?, ?, ?)
    ON CONFLICT (draft_id, reviewer) DO UPDATE SET at = excluded.at"""

_STATUSES: Final = {status.value: status for status in Status}
_FORMATS: Final = {format_.value: format_ for format_ in Format}


class DraftSnapshot(Struct, frozen=True):
    """The state of a draft that a change is based on."""

    id: str
    version: int
    status: Status
    format: Format
    archived: bool
    undo_rid: int | None
    """The event that the next undo reverts."""
    redo_rid: int | None
    """The undo that the next redo reverts."""
    stored: Mapping[str, Any]
    """SHORT_COLUMNS, and LONG_COLUMNS if requested, with their stored values."""

    def value(self, name: str) -> Any:
        """Return a column as a value of the draft's own type."""
        return from_column_value(name, self.stored[name])

    @property
    def allowed_actions(self) -> tuple[Action, ...]:
        """The actions that the draft's status allows."""
        return allowed_actions(self.status, archived=self.archived)


class DraftUpdate(Struct, frozen=True):
    """An update of one draft, and what its event records."""

    kind: EventKind
    action: str
    after: Mapping[str, Any]
    """The columns to set, with their stored values. Unchanged ones may be included."""
    at: datetime
    actor: str = USER
    feedback: str | None = None
    bulk_id: str | None = None
    target_event: EventRow | None = None
    """The event that an undo or a redo reverts."""
    keeps_undo: bool = False
    """The system changed nothing of what the user's next undo restores, so that it stays possible."""
    approved_by: str | None = None
    """The reviewer who approves the draft by this change."""


@cache
def _snapshot_sql(count: int, *, include_text: bool) -> str:
    columns = [draft.c[name] for name in (*_SNAPSHOT_COLUMNS, *SHORT_COLUMNS, *(LONG_COLUMNS if include_text else ()))]
    return to_sql(
        select(*columns).where(draft.c.user_id == bindparam("owner"), draft.c.id.in_(_draft_parameters(count)))
    )


@cache
def _sent_sql(count: int) -> str:
    columns = engagement.c
    conditions = (columns.user_id == bindparam("owner"), columns.draft_id.in_(_draft_parameters(count)))
    # A pending delivery may have been posted already.
    is_sent = text("engagement.status IN ('pending', 'posted')")
    return to_sql(select(columns.draft_id, columns.created_at, columns.platform).where(*conditions, is_sent))


def _draft_parameters(count: int) -> list[BindParameter[str]]:
    return [bindparam(f"draft{index}") for index in range(count)]


def _draft_values(user_id: str, ids: Sequence[str]) -> dict[str, str]:
    return {"owner": user_id, **{f"draft{index}": draft_id for index, draft_id in enumerate(ids)}}


def to_column_values(values: Mapping[str, object]) -> dict[str, Any]:
    """Convert values of the draft's columns to what is stored."""
    return {name: None if value is None else _ENCODERS[name](value) for name, value in values.items()}


def _encoder(name: str) -> Callable[[Any], Any]:
    type_ = draft.c[name].type
    return (lambda value: type_.process_bind_param(value, DIALECT)) if isinstance(type_, TypeDecorator) else _identity


def _identity(value: Any) -> Any:
    return value


_ENCODERS: Final = {name: _encoder(name) for name in (*SHORT_COLUMNS, *LONG_COLUMNS)}


def from_column_value(name: str, raw: Any) -> Any:
    """Convert a stored value of one of the draft's columns, or of APPROVALS, to its own type."""
    if name == APPROVALS:
        return tuple(Approval(reviewer=reviewer, at=from_microseconds(at)) for reviewer, at in raw)
    type_ = draft.c[name].type
    return type_.process_result_value(raw, DIALECT) if isinstance(type_, TypeDecorator) else raw


def load_snapshots(
    conn: Connection, user_id: str, ids: Sequence[str], *, include_text: bool = False
) -> dict[str, DraftSnapshot]:
    """Return the current state of the user's drafts by id; with `include_text` also LONG_COLUMNS."""
    return query_snapshots(conn, user_id, ids, include_text=include_text)()


def query_snapshots(
    conn: Connection, user_id: str, ids: Sequence[str], *, include_text: bool = False
) -> Callable[[], dict[str, DraftSnapshot]]:
    """Send the queries for the current state of drafts; return what waits for it, once."""
    names = (*SHORT_COLUMNS, *LONG_COLUMNS) if include_text else SHORT_COLUMNS
    parts = [
        send_query(conn, _snapshot_sql(len(chunk), include_text=include_text), _draft_values(user_id, chunk))
        for chunk in chunked(ids)
    ]
    return lambda: {row[0]: _snapshot(row, names) for part in parts for row in part()}


def load_snapshot(
    conn: Connection, user_id: str, draft_id: str, *, include_text: bool = False, expected_version: int | None = None
) -> DraftSnapshot:
    """Return the current state of the draft.

    Raise NotFoundError if the user has no such draft, and StaleVersionError if it has another version than
    `expected_version`.
    """
    snapshots = load_snapshots(conn, user_id, [draft_id], include_text=include_text)
    return select_snapshot(snapshots, draft_id, expected_version)


def select_snapshot(
    snapshots: Mapping[str, DraftSnapshot], draft_id: str, expected_version: int | None = None
) -> DraftSnapshot:
    """Return the snapshot of that draft. Raise as `load_snapshot` does."""
    snapshot = snapshots.get(draft_id)
    if snapshot is None:
        raise draft_not_found(draft_id)
    if expected_version not in (None, snapshot.version):
        raise version_conflict(snapshot, StaleVersionError)
    return snapshot


def draft_not_found(draft_id: str) -> DraftNotFoundError:
    """Return the error for an id that is not a draft of the user."""
    return DraftNotFoundError(f"No draft {draft_id[:MAX_ID_LENGTH]!r}.", hint="List all drafts: `copydesk draft list`.")


def apply_update(conn: Connection, user_id: str, snapshot: DraftSnapshot, change: DraftUpdate) -> int:
    """Update a draft and insert the event; return the number of the event.

    Raise ConflictError if the draft is no longer at the version of `snapshot`, NotFoundError if it was deleted. Nothing
    is written then.
    """
    (prepared,) = _prepare(conn, user_id, [(snapshot, change)])
    execute = raw_execute(conn)
    if execute(prepared.update, prepared.values).rowcount == 0:
        # Raises NotFoundError itself if the draft was deleted.
        raise version_conflict(load_snapshot(conn, user_id, snapshot.id))
    _record(execute, user_id, prepared)
    return prepared.rid


def apply_system_event(
    conn: Connection,
    user_id: str,
    snapshot: DraftSnapshot,
    event: SystemEvent,
    values: Mapping[str, object],
    now: datetime,
) -> None:
    """Set the status that follows from the event, and `values` by column; it cannot be undone.

    The request for a new version can be undone after it failed, since the draft is as it was but for its status.
    Raise ConflictError if the draft has left the status that the event is for, and as `apply_update` does.
    """
    after = to_column_values({**values, "status": status_after_event(event, snapshot.status)})
    system_update = DraftUpdate(
        kind=EventKind.PERMANENT,
        action=event.value,
        after=after,
        at=now,
        actor=SYSTEM,
        keeps_undo=event is SystemEvent.GENERATION_FAILED and snapshot.status is Status.PENDING_REGENERATION,
    )
    apply_update(conn, user_id, snapshot, system_update)


def find_conflicts(
    conn: Connection, user_id: str, snapshots: Iterable[DraftSnapshot]
) -> dict[str, ConflictError | DraftNotFoundError]:
    """Return, by draft, the error that `apply_update` would raise; nothing for those that are as in their snapshots."""
    errors: dict[str, ConflictError | DraftNotFoundError] = {}
    seen = {snapshot.id: snapshot for snapshot in snapshots}
    current = load_snapshots(conn, user_id, list(seen))
    for draft_id, snapshot in seen.items():
        if draft_id not in current:
            errors[draft_id] = draft_not_found(draft_id)
        elif _compared(current[draft_id]) != _compared(snapshot):
            errors[draft_id] = version_conflict(current[draft_id])
    return errors


def _compared(snapshot: DraftSnapshot) -> tuple[Any, ...]:
    """Return what the condition of an update compares."""
    return snapshot.version, snapshot.status, snapshot.redo_rid


def apply_updates(conn: Connection, user_id: str, changes: Sequence[tuple[DraftSnapshot, DraftUpdate]]) -> None:
    """Update each of several drafts, for which `find_conflicts` found none in the same transaction.

    A server is waited for a few times for all of them, and not for each.
    """
    execute = raw_execute(conn)
    updates = []
    for prepared in _prepare(conn, user_id, changes):
        updates.append(execute(prepared.update, prepared.values))
        _record(execute, user_id, prepared)
    if any(update.rowcount != 1 for update in updates):
        raise RuntimeError("A draft was changed that had no conflict in this transaction.")


class _PreparedUpdate(NamedTuple):
    """The statement of an update with its values, and what is stored beside it."""

    rid: int
    update: str
    values: Mapping[str, Any]
    """Those of the update."""
    event: EventData
    approvals: "tuple[_StoredApprovals, _StoredApprovals] | None"


def _prepare(
    conn: Connection, user_id: str, changes: Sequence[tuple[DraftSnapshot, DraftUpdate]]
) -> list[_PreparedUpdate]:
    # Most drafts have no approvals: those that are approved need no query.
    changed = [
        snapshot.id for snapshot, change in changes if _is_approved(snapshot) and _sets_approvals(snapshot, change)
    ]
    if not changes:
        return []
    approvals, rids = _query_approvals(conn, user_id, changed), draft_events.query_next_rids(conn, len(changes))
    approvals_before = approvals()
    return [
        _prepare_update(user_id, snapshot, change, approvals_before.get(snapshot.id, ()), rid)
        for (snapshot, change), rid in zip(changes, rids(), strict=True)
    ]


def _columns_after(snapshot: DraftSnapshot, change: DraftUpdate) -> Mapping[str, Any]:
    """Return the columns to set, with their stored values."""
    if change.target_event:
        # An undo or redo keeps all columns of its event, changed or not, so that it can itself be reverted exactly.
        return {name: stored_value for name, stored_value in change.after.items() if name != APPROVALS}
    return {name: stored_value for name, stored_value in change.after.items() if snapshot.stored[name] != stored_value}


def _prepare_update(
    user_id: str, snapshot: DraftSnapshot, change: DraftUpdate, approvals_before: "_StoredApprovals", rid: int
) -> _PreparedUpdate:
    after = _columns_after(snapshot, change)
    approvals = _changed_approvals(snapshot, change, approvals_before)
    event = _event(snapshot, change, after, approvals)
    undo_rid, redo_rid = _stacks_after(event, rid)
    values = {
        "owner": user_id,
        "draft": snapshot.id,
        "seen_version": snapshot.version,
        "seen_status": snapshot.stored["status"],
        "seen_redo": snapshot.redo_rid,
        "at": to_microseconds(change.at),
        "to_undo": undo_rid,
        "to_redo": redo_rid,
        **{f"to_{name}": stored_value for name, stored_value in after.items()},
    }
    return _PreparedUpdate(rid, _update_sql(tuple(after)), values, event, approvals)


def _record(execute: Callable[..., sqlite3.Cursor], user_id: str, prepared: _PreparedUpdate) -> None:
    """Insert the event of a change, and store the approvals."""
    draft_events.add(execute, user_id, prepared.rid, prepared.event)
    if prepared.approvals is not None:
        _save_approvals(execute, user_id, prepared.event.draft_id, *prepared.approvals)


def _query_approvals(
    conn: Connection, user_id: str, draft_ids: Sequence[str]
) -> Callable[[], dict[str, _StoredApprovals]]:
    """Send the queries for the approvals of drafts; return what waits for those of the drafts that have any, once."""
    parts = []
    for chunk in chunked(draft_ids):
        query = f"""SELECT draft_id, reviewer, at FROM draft_approval
            WHERE user_id = ? AND draft_id IN ({placeholders(chunk)}) ORDER BY at, reviewer"""  # noqa: S608 - placeholders
        parts.append(send_query(conn, query, (user_id, *chunk)))

    def group() -> dict[str, _StoredApprovals]:
        approvals: dict[str, list[tuple[Any, ...]]] = {}
        for part in parts:
            for draft_id, *approval in part():
                approvals.setdefault(draft_id, []).append(tuple(approval))
        return dict(approvals)

    return group


def _sets_approvals(snapshot: DraftSnapshot, change: DraftUpdate) -> bool:
    """Return True if the change may set other approvals."""
    restores = change.target_event is not None and APPROVALS in change.after
    return restores or change.approved_by is not None or _ends_approvals(snapshot, change)


def _changed_approvals(
    snapshot: DraftSnapshot, change: DraftUpdate, before: _StoredApprovals
) -> tuple[_StoredApprovals, _StoredApprovals] | None:
    """Return the draft's approvals before and after the change; None if it leaves them as they are."""
    if not _sets_approvals(snapshot, change):
        return None
    if change.target_event is not None:
        # Events of earlier versions do not have them.
        approvals = [tuple(approval) for approval in change.after.get(APPROVALS, ())]
    else:
        ends = _ends_approvals(snapshot, change)
        approvals = [] if ends else [tuple(approval) for approval in before if approval[0] != change.approved_by]
        approvals += [(change.approved_by, to_microseconds(change.at))] if change.approved_by is not None else []
        approvals.sort(key=lambda approval: (approval[1], approval[0]))
    # Also if they stay the same: the undo of an edit cannot tell otherwise whether it was approved before.
    return (before, approvals) if before or approvals else None


def _save_approvals(
    execute: Callable[..., object], user_id: str, draft_id: str, before: _StoredApprovals, after: _StoredApprovals
) -> None:
    if before:
        execute(_REMOVE_APPROVALS, (user_id, draft_id))
    for reviewer, at in after:
        execute(_ADD_APPROVAL, (draft_id, reviewer, user_id, at))


def _ends_approvals(snapshot: DraftSnapshot, change: DraftUpdate) -> bool:
    """Return True if those who approved the draft have not approved the result of this change."""
    after = _columns_after(snapshot, change)
    if "text" in after:
        return True
    # The system holds a draft that was approved as it stands: who decides on it ends that, not the system.
    ends = "status" in after and after["status"] not in {*APPROVED_STATUSES, Status.POSTING}
    return ends and _is_approved(snapshot) and change.kind is not EventKind.PERMANENT


def _is_approved(snapshot: DraftSnapshot) -> bool:
    return snapshot.status in APPROVED_STATUSES or is_held(snapshot.status, snapshot.stored["last_error"])


def _event(
    snapshot: DraftSnapshot,
    change: DraftUpdate,
    after: Mapping[str, Any],
    approvals: tuple[_StoredApprovals, _StoredApprovals] | None,
) -> EventData:
    undo_rid, redo_rid = _stacks_before(snapshot, change)
    if change.target_event is not None:
        # The system may have changed them since, if it kept the undo.
        reverted = change.target_event.after
        before = {name: snapshot.stored.get(name, reverted.get(name)) for name in change.after}
        after = change.after
    else:
        before = {name: snapshot.stored[name] for name in after}
        if approvals is not None:
            before, after = {**before, APPROVALS: approvals[0]}, {**after, APPROVALS: approvals[1]}
    return EventData(
        draft_id=snapshot.id,
        version=snapshot.version + 1,
        at=change.at,
        who=change.actor,
        kind=change.kind,
        action=change.action,
        before=before,
        after=after,
        feedback=change.feedback,
        bulk_id=change.bulk_id,
        of_rid=change.target_event.rid if change.target_event else None,
        undo_rid=undo_rid,
        redo_rid=redo_rid,
    )


def _stacks_before(snapshot: DraftSnapshot, change: DraftUpdate) -> tuple[int | None, int | None]:
    """Return the (undo_rid, redo_rid) to restore when this change is reverted: the tops of the two stacks without it.

    Each event stores them, so that the events of a draft form the undo and redo stacks as linked lists.
    """
    if change.kind is EventKind.CHANGE:
        # A new change discards what could be redone.
        return snapshot.undo_rid, None
    if change.kind is EventKind.PERMANENT or change.target_event is None:
        return (snapshot.undo_rid, None) if change.keeps_undo else (None, None)
    if change.kind is EventKind.UNDO:
        return change.target_event.undo_rid, snapshot.redo_rid
    return snapshot.undo_rid, change.target_event.redo_rid


def _stacks_after(event: EventData, rid: int) -> tuple[int | None, int | None]:
    """Return the (undo_rid, redo_rid) of the draft after the event: the tops of the two stacks with it."""
    if event.kind in (EventKind.CHANGE, EventKind.REDO):
        return rid, event.redo_rid
    return event.undo_rid, rid if event.kind is EventKind.UNDO else None


Sent = dict[str, list[tuple[datetime, str]]]
"""By draft the instant and the platform of its posts."""


def query_sent(conn: Connection, user_id: str, ids: Sequence[str]) -> Callable[[], Sent]:
    """Send the queries for the posts of drafts that were or may have been sent; return what waits for them, once."""
    parts = [send_query(conn, _sent_sql(len(chunk)), _draft_values(user_id, chunk)) for chunk in chunked(ids)]

    def group() -> Sent:
        sent: Sent = {}
        for part in parts:
            for draft_id, at, platform in part():
                sent.setdefault(draft_id, []).append((from_microseconds(at), platform))
        return sent

    return group


@cache
def _update_sql(names: tuple[str, ...]) -> str:
    """Return the SQL that sets these columns; raw, because the values are stored values already."""
    unchanged = (
        draft.c.id == bindparam("draft"),
        draft.c.user_id == bindparam("owner"),
        draft.c.version == bindparam("seen_version"),
        draft.c.status == bindparam("seen_status"),
        # Old events are deleted without a new version.
        draft.c.redo_rid.is_not_distinct_from(bindparam("seen_redo")),
    )
    values: dict[str, Any] = {name: bindparam(f"to_{name}") for name in names}
    values |= {"undo_rid": bindparam("to_undo"), "redo_rid": bindparam("to_redo"), "updated_at": bindparam("at")}
    query = update(draft).where(*unchanged).values(version=draft.c.version + literal_column("1"), **values)
    return to_sql(query)


def draft_conflict(
    snapshot: DraftSnapshot, message: str, hint: str = "", *, error_type: type[ConflictError] = ConflictError
) -> ConflictError:
    """Return the error for what the draft's state does not allow, with the actions that it does allow."""
    return error_type(message, hint=hint, current_status=snapshot.status, allowed=snapshot.allowed_actions)


def version_conflict(current: DraftSnapshot, error_type: type[ConflictError] = ConflictError) -> ConflictError:
    """Return the error for a draft that was changed after its snapshot was taken."""
    state = "it is archived" if current.archived else f"its status is “{STATUS_LABELS[current.status]}”"
    message = f"This draft changed in the meantime: {state} now. Your change was not saved."
    return draft_conflict(current, message, "Review it again.", error_type=error_type)


def _snapshot(row: Sequence[Any], names: Sequence[str]) -> DraftSnapshot:
    draft_id, version, format_, undo_rid, redo_rid, *column_values = row
    values = dict(zip(names, column_values, strict=True))
    try:
        status, text_format = _STATUSES[values["status"]], _FORMATS[format_]
    except KeyError as error:
        raise StoreCorruptError(f"The draft {draft_id} is damaged: {error} is no status or format.") from None
    return DraftSnapshot(
        id=draft_id,
        version=version,
        status=status,
        format=text_format,
        archived=values["archived_at"] is not None,
        undo_rid=undo_rid,
        redo_rid=redo_rid,
        stored=values,
    )
