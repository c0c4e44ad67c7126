"""Presence of reviewers, leases of edits, texts of edits that were taken over, and comments."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from copydesk.model.activity import Approval, Comment, UnsavedEdit, Viewer
from copydesk.model.serialization import Struct
from copydesk.store.column_types import from_microseconds, to_microseconds
from copydesk.store.draft_rows import in_one_round_trip
from copydesk.store.raw_sql import chunked, dbapi_connection, execute_sql

_SAVE_VIEWER: Final = """INSERT INTO draft_viewer (draft_id, reviewer, user_id, until) VALUES (?, ?, ?, ?)
    ON CONFLICT (draft_id, reviewer) DO UPDATE SET until = excluded.until"""
_REMOVE_VIEWER: Final = "DELETE FROM draft_viewer WHERE user_id = ? AND draft_id = ? AND reviewer = ?"
_REMOVE_EXPIRED: Final = "DELETE FROM draft_viewer WHERE user_id = ? AND until <= ?"
_LIST_VIEWERS: Final = """SELECT reviewer, until FROM draft_viewer
    WHERE user_id = ? AND draft_id = ? AND until > ? ORDER BY reviewer"""

# One statement, since it runs for every draft that is displayed.
_TRACES: Final = """SELECT
    EXISTS (SELECT 1 FROM draft WHERE user_id = ? AND id = ?),
    EXISTS (SELECT 1 FROM draft_viewer WHERE user_id = ? AND draft_id = ? AND reviewer <> ? AND until > ?)
        OR EXISTS (SELECT 1 FROM draft_edit WHERE user_id = ? AND draft_id = ?)
        OR EXISTS (SELECT 1 FROM unsaved_edit WHERE user_id = ? AND draft_id = ?)
        OR EXISTS (SELECT 1 FROM draft_comment WHERE user_id = ? AND draft_id = ?)
        OR EXISTS (SELECT 1 FROM draft_approval WHERE user_id = ? AND draft_id = ?),
    EXISTS (SELECT 1 FROM draft_viewer WHERE user_id = ? AND reviewer <> ? AND until > ?),
    (SELECT coalesce(max(approvals), 0) FROM account WHERE user_id = ?)"""

_GET_EDIT: Final = """SELECT lease_id, reviewer, lease_until, version, text FROM draft_edit
    WHERE user_id = ? AND draft_id = ?"""
_SAVE_EDIT: Final = """INSERT INTO draft_edit (draft_id, user_id, lease_id, reviewer, lease_until, version, text)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (draft_id) DO UPDATE SET lease_id = excluded.lease_id, reviewer = excluded.reviewer,
        lease_until = excluded.lease_until, version = excluded.version, text = excluded.text"""
_REMOVE_EDIT: Final = "DELETE FROM draft_edit WHERE user_id = ? AND draft_id = ? AND lease_id = ?"

_ADD_UNSAVED: Final = """INSERT INTO unsaved_edit (id, user_id, draft_id, reviewer, at, version, text)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
_UNSAVED: Final = "SELECT id, draft_id, reviewer, at, version, text FROM unsaved_edit WHERE user_id = ?"
_LIST_UNSAVED: Final = f"{_UNSAVED} AND draft_id = ? AND text <> '' ORDER BY id"
_GET_UNSAVED: Final = f"{_UNSAVED} AND id = ?"
# The id is that of a lease, so that its holder can add what was typed since.
_UPDATE_UNSAVED: Final = "UPDATE unsaved_edit SET text = ? WHERE user_id = ? AND draft_id = ? AND id = ?"
# Nobody types in these any more.
_REMOVE_EMPTY: Final = "DELETE FROM unsaved_edit WHERE user_id = ? AND draft_id = ? AND text = '' AND at < ?"
_REMOVE_UNSAVED: Final = "DELETE FROM unsaved_edit WHERE user_id = ? AND id = ?"

_GET_TEXT: Final = "SELECT text FROM draft WHERE user_id = ? AND id = ?"
_LIST_APPROVALS: Final = """SELECT reviewer, at FROM draft_approval
    WHERE user_id = ? AND draft_id = ? ORDER BY at, reviewer"""

_ADD_COMMENT: Final = """INSERT INTO draft_comment (id, user_id, draft_id, reviewer, at, position, quote, text)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_COMMENTS: Final = """SELECT id, draft_id, reviewer, at, text, quote, position, resolved_at, resolved_by
    FROM draft_comment WHERE user_id = ?"""
_LIST_COMMENTS: Final = f"{_COMMENTS} AND draft_id = ? ORDER BY id"
_GET_COMMENT: Final = f"{_COMMENTS} AND id = ?"
_RESOLVE_COMMENT: Final = "UPDATE draft_comment SET resolved_at = ?, resolved_by = ? WHERE user_id = ? AND id = ?"
_REMOVE_COMMENT: Final = "DELETE FROM draft_comment WHERE user_id = ? AND id = ?"


class Traces(NamedTuple):
    """What is known about the reviewers of a draft without loading it."""

    exists: bool
    """True if the user has the draft."""
    any: bool
    """True if somebody else has it open, edits it or typed in it, or there are comments or approvals."""
    is_shared: bool
    """True if another reviewer has any draft open."""
    most_approvals: int
    """The largest number of approvals that an account asks for; 0 without accounts."""


class OpenEdit(Struct, frozen=True):
    """An edit that was begun and not ended: under its lease, or left behind."""

    lease_id: str
    reviewer: str
    until: datetime
    version: int
    text: str | None = None
    """As it was typed by the last renewal; None before that."""


def find_traces(conn: Connection, user_id: str, draft_id: str, reviewer: str, now: datetime) -> Traces:
    """Return what there is to load about the other reviewers of a draft."""
    at, draft = to_microseconds(now), (user_id, draft_id)
    values = (*draft, *draft, reviewer, at, *draft, *draft, *draft, *draft, user_id, reviewer, at, user_id)
    exists, any_, is_shared, most = execute_sql(conn, _TRACES, values).fetchone()
    return Traces(bool(exists), bool(any_), bool(is_shared), most)


class StoredActivity(NamedTuple):
    """What the reviewers of a draft have done on it."""

    text: str
    """The present text of the draft."""
    viewers: tuple[Viewer, ...]
    """Who has the draft open, by name."""
    edit: OpenEdit | None
    """The edit that was begun last and not ended, even if its lease has expired."""
    unsaved: tuple[UnsavedEdit, ...]
    """Texts that were typed and not saved, oldest first."""
    approvals: tuple[Approval, ...]
    """Those of the present text, oldest first; `draft_updates` changes them."""
    comments: tuple[Comment, ...]
    """Oldest first, with the positions of the words when they were made."""


def load(conn: Connection, user_id: str, draft_id: str, now: datetime) -> StoredActivity | None:
    """Return what the reviewers have done on the draft, in one round trip to a server; None if there is no draft."""
    driver, draft = dbapi_connection(conn), (user_id, draft_id)
    with in_one_round_trip(driver):
        texts = driver.execute(_GET_TEXT, draft)
        viewers = driver.execute(_LIST_VIEWERS, (*draft, to_microseconds(now)))
        edits = driver.execute(_GET_EDIT, draft)
        unsaved = driver.execute(_LIST_UNSAVED, draft)
        approvals = driver.execute(_LIST_APPROVALS, draft)
        comments = driver.execute(_LIST_COMMENTS, draft)
    text, edit = texts.fetchone(), edits.fetchone()
    if text is None:
        return None
    return StoredActivity(
        text=text[0],
        viewers=tuple(Viewer(reviewer=reviewer, until=from_microseconds(until)) for reviewer, until in viewers),
        edit=_to_edit(edit) if edit else None,
        unsaved=tuple(map(_to_unsaved, unsaved)),
        approvals=tuple(map(_to_approval, approvals)),
        comments=tuple(map(_to_comment, comments)),
    )


def save_viewer(conn: Connection, user_id: str, draft_id: str, viewer: Viewer, now: datetime) -> None:
    """Record that a reviewer has the user's draft open, and delete what has expired."""
    # Here rather than in a job: without viewers there is nothing to delete.
    execute_sql(conn, _REMOVE_EXPIRED, (user_id, to_microseconds(now)))
    execute_sql(conn, _SAVE_VIEWER, (draft_id, viewer.reviewer, user_id, to_microseconds(viewer.until)))


def remove_viewer(conn: Connection, user_id: str, draft_id: str, reviewer: str) -> None:
    """Record that a reviewer has closed the draft."""
    execute_sql(conn, _REMOVE_VIEWER, (user_id, draft_id, reviewer))


def get_edit(conn: Connection, user_id: str, draft_id: str) -> OpenEdit | None:
    """Return the edit of the draft that was begun last and not ended, even if its lease has expired."""
    row = execute_sql(conn, _GET_EDIT, (user_id, draft_id)).fetchone()
    return _to_edit(row) if row else None


def _to_edit(row: tuple[Any, ...]) -> OpenEdit:
    lease_id, reviewer, until, version, text = row
    return OpenEdit(lease_id=lease_id, reviewer=reviewer, until=from_microseconds(until), version=version, text=text)


def save_edit(conn: Connection, user_id: str, draft_id: str, edit: OpenEdit) -> None:
    """Store the edit in the place of the one before."""
    until = to_microseconds(edit.until)
    values = (draft_id, user_id, edit.lease_id, edit.reviewer, until, edit.version, edit.text)
    execute_sql(conn, _SAVE_EDIT, values)


def remove_edit(conn: Connection, user_id: str, draft_id: str, lease_id: str) -> None:
    """End the edit with this lease, unless another one has taken its place."""
    execute_sql(conn, _REMOVE_EDIT, (user_id, draft_id, lease_id))


def add_unsaved(conn: Connection, user_id: str, edit: UnsavedEdit, forget_before: datetime) -> None:
    """Store a text that was typed and not saved; an empty one takes what is still typed.

    Delete empty ones of the draft from before `forget_before`.
    """
    execute_sql(conn, _REMOVE_EMPTY, (user_id, edit.draft_id, to_microseconds(forget_before)))
    at = to_microseconds(edit.at)
    values = (edit.id, user_id, edit.draft_id, edit.reviewer, at, edit.version, edit.text)
    execute_sql(conn, _ADD_UNSAVED, values)


def update_unsaved(conn: Connection, user_id: str, draft_id: str, edit_id: str, text: str) -> bool:
    """Replace such a text. Return False if there is none with this id."""
    return bool(execute_sql(conn, _UPDATE_UNSAVED, (text, user_id, draft_id, edit_id)).rowcount)


def get_unsaved(conn: Connection, user_id: str, edit_id: str) -> UnsavedEdit | None:
    """Return such a text, or None if the user has none with this id."""
    row = execute_sql(conn, _GET_UNSAVED, (user_id, edit_id)).fetchone()
    return _to_unsaved(row) if row else None


def _to_unsaved(row: tuple[Any, ...]) -> UnsavedEdit:
    id_, draft_id, reviewer, at, version, text = row
    return UnsavedEdit(
        id=id_, draft_id=draft_id, reviewer=reviewer, at=from_microseconds(at), version=version, text=text
    )


def remove_unsaved(conn: Connection, user_id: str, edit_id: str) -> bool:
    """Delete such a text. Return False if the user has none with this id."""
    return bool(execute_sql(conn, _REMOVE_UNSAVED, (user_id, edit_id)).rowcount)


def list_approvals(conn: Connection, user_id: str, draft_id: str) -> tuple[Approval, ...]:
    """Return the approvals of the draft with its present text, oldest first; `draft_updates` changes them."""
    return tuple(map(_to_approval, execute_sql(conn, _LIST_APPROVALS, (user_id, draft_id))))


def _to_approval(row: tuple[Any, ...]) -> Approval:
    reviewer, at = row
    return Approval(reviewer=reviewer, at=from_microseconds(at))


def count_approvals(conn: Connection, user_id: str, draft_ids: Sequence[str]) -> dict[str, int]:
    """Return the number of approvals by draft; drafts without one are left out."""
    counts: dict[str, int] = {}
    for chunk in chunked(draft_ids):
        marks = ", ".join("?" * len(chunk))
        query = f"SELECT draft_id, count(*) FROM draft_approval WHERE user_id = ? AND draft_id IN ({marks}) GROUP BY 1"  # noqa: S608 - question marks
        counts |= dict(execute_sql(conn, query, (user_id, *chunk)).fetchall())
    return counts


def add_comment(conn: Connection, user_id: str, comment: Comment) -> None:
    """Insert a comment."""
    at = to_microseconds(comment.at)
    values = (comment.id, user_id, comment.draft_id, comment.reviewer, at, comment.start, comment.quote, comment.text)
    execute_sql(conn, _ADD_COMMENT, values)


def list_comments(conn: Connection, user_id: str, draft_id: str) -> tuple[Comment, ...]:
    """Return the comments on a draft, oldest first, with the positions of the words when they were made."""
    return tuple(map(_to_comment, execute_sql(conn, _LIST_COMMENTS, (user_id, draft_id))))


def _to_comment(row: tuple[Any, ...]) -> Comment:
    id_, draft_id, reviewer, at, text, quote, position, resolved_at, resolved_by = row
    return Comment(
        id=id_,
        draft_id=draft_id,
        reviewer=reviewer,
        at=from_microseconds(at),
        text=text,
        quote=quote,
        start=position,
        resolved_at=None if resolved_at is None else from_microseconds(resolved_at),
        resolved_by=resolved_by,
    )


def get_comment(conn: Connection, user_id: str, comment_id: str) -> Comment | None:
    """Return a comment, or None if the user has none with this id."""
    row = execute_sql(conn, _GET_COMMENT, (user_id, comment_id)).fetchone()
    return _to_comment(row) if row else None


def resolve_comment(conn: Connection, user_id: str, comment_id: str, at: datetime | None, reviewer: str | None) -> None:
    """Mark a comment as resolved, or with None as open again."""
    at_stored = None if at is None else to_microseconds(at)
    execute_sql(conn, _RESOLVE_COMMENT, (at_stored, reviewer, user_id, comment_id))


def remove_comment(conn: Connection, user_id: str, comment_id: str) -> bool:
    """Delete a comment. Return False if the user has none with this id."""
    return bool(execute_sql(conn, _REMOVE_COMMENT, (user_id, comment_id)).rowcount)
