"""Delete what is no longer needed, a little at a time. Decisions, posts and the latest metrics are never deleted."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from copydesk.model.item import ItemState
from copydesk.model.run import RunStatus
from copydesk.model.serialization import Struct
from copydesk.model.transitions import EventKind
from copydesk.store.backup import Interrupter
from copydesk.store.column_types import to_microseconds
from copydesk.store.raw_sql import POSTGRESQL, execute_many, execute_sql, placeholders, raw_execute

# Row numbers are in the order of insertion. The plus keeps SQLite from using the index of the user instead.
_CHUNK: Final = """SELECT max(rid), count(*), min({at}) FROM
    (SELECT rid, {at} FROM {table} WHERE rid > :after ORDER BY rid LIMIT :limit) AS chunk"""
_IN_CHUNK: Final = "rid > :after AND rid <= :last AND +user_id = :user"
_HAS_NO_DRAFT: Final = """NOT EXISTS (SELECT 1 FROM draft WHERE draft.item_id = item.id)
    AND NOT EXISTS (SELECT 1 FROM draft_item WHERE draft_item.item_id = item.id)"""
# A new item still waits for a run, and a recent one may be filtered anew when the rules change.
_OLD_ITEMS: Final = f"""SELECT rid FROM item WHERE {_IN_CHUNK} AND seen < :before AND published < :before
    AND state <> '{ItemState.NEW.value}' AND (text <> '' OR summary <> '' OR author IS NOT NULL
        OR image IS NOT NULL OR prompt IS NOT NULL) AND {_HAS_NO_DRAFT}"""  # noqa: S608 - words of our own
# Identity, title, address and hash stay: a feed that still lists the entry would bring it back as new, and a hash that
# differs as changed.
_CLEAR_ITEMS: Final = f"""UPDATE item SET text = '', summary = '', author = NULL, image = NULL, image_alt = NULL,
        prompt = NULL, tags = '[]'
    WHERE +user_id = ? AND state <> '{ItemState.NEW.value}' AND {_HAS_NO_DRAFT} AND rid IN """  # noqa: S608 - as above
_IS_LATER: Final = """SELECT 1 FROM engagement_reading AS later
    WHERE later.engagement_id = engagement_reading.engagement_id AND later.rid > engagement_reading.rid"""
_OLD_READINGS: Final = f"SELECT rid FROM engagement_reading WHERE {_IN_CHUNK} AND at < :before AND EXISTS ({_IS_LATER})"  # noqa: S608
_DELETE_READINGS: Final = f"DELETE FROM engagement_reading WHERE +user_id = ? AND EXISTS ({_IS_LATER}) AND rid IN "  # noqa: S608
_OLD_UNDOS: Final = f"""SELECT DISTINCT draft.rid FROM draft_event JOIN draft ON draft.id = draft_event.draft_id
    WHERE draft_event.rid > :after AND draft_event.rid <= :last AND +draft_event.user_id = :user
        AND kind = '{EventKind.UNDO.value}' AND at < :before"""  # noqa: S608 - words of our own
_EVENTS: Final = """SELECT draft_event.rid, at, draft_event.kind, of_rid, bulk_action.id IS NOT NULL
    FROM draft_event LEFT JOIN bulk_action ON bulk_action.id = draft_event.bulk_id
    WHERE draft_id = ? AND +draft_event.user_id = ? ORDER BY version"""
_DELETE_EVENT: Final = "DELETE FROM draft_event WHERE rid = ? AND user_id = ?"
# The last run is shown as such, however old.
_OLD_RUNS: Final = f"""SELECT id FROM run WHERE user_id = :user AND ended_at < :before
    AND status NOT IN ('{RunStatus.QUEUED.value}', '{RunStatus.RUNNING.value}')
    AND id < (SELECT max(id) FROM run WHERE user_id = :user) ORDER BY id LIMIT :limit"""  # noqa: S608 - as above
_DELETE_RUNS: Final = "DELETE FROM run WHERE user_id = ? AND id IN "

INCREMENTAL: Final = 2
"""The mode in which SQLite can move any page: new files have it, others only once they are compacted."""


class Scan(Struct, frozen=True):
    """A part of a table, in the order in which its rows were stored."""

    rids: tuple[int, ...]
    """The rows to delete or clear."""
    last_rid: int | None
    """Where the next part begins; None if there is none."""


def scan_items(conn: Connection, user_id: str, before: datetime, after_rid: int, limit: int) -> Scan:
    """Find items with content from before `before` that never became a draft, among the `limit` after `after_rid`."""
    return _scan(conn, "item", "seen", _OLD_ITEMS, (user_id, before, after_rid, limit))


def scan_readings(conn: Connection, user_id: str, before: datetime, after_rid: int, limit: int) -> Scan:
    """Find readings from before `before`, except the last of each post, among the `limit` after `after_rid`."""
    return _scan(conn, "engagement_reading", "at", _OLD_READINGS, (user_id, before, after_rid, limit))


def scan_undone(conn: Connection, user_id: str, before: datetime, after_rid: int, limit: int) -> Scan:
    """Find the drafts of which a change was undone before `before`, among the `limit` events after `after_rid`."""
    return _scan(conn, "draft_event", "at", _OLD_UNDOS, (user_id, before, after_rid, limit))


def _scan(conn: Connection, table: str, time_column: str, query: str, bounds: tuple[str, datetime, int, int]) -> Scan:
    user_id, before, after_rid, limit = bounds
    chunk = {"after": after_rid, "limit": limit}
    last_rid, count, first_time = execute_sql(conn, _CHUNK.format(table=table, at=time_column), chunk).fetchone()
    oldest = to_microseconds(before)
    # Later rows were stored later, but for some that were stored while the clock was wrong.
    if not count or first_time >= oldest:
        return Scan(rids=(), last_rid=None)
    values = {"user": user_id, "before": oldest, "after": after_rid, "last": last_rid}
    rids = tuple(rid for (rid,) in execute_sql(conn, query, values))
    return Scan(rids=rids, last_rid=last_rid if count == limit else None)


def clear_items(conn: Connection, user_id: str, rids: Sequence[int]) -> int:
    """Delete the content of these items, unless one has become a draft meanwhile; return their number."""
    return execute_sql(conn, f"{_CLEAR_ITEMS}({placeholders(rids)})", (user_id, *rids)).rowcount


def delete_readings(conn: Connection, user_id: str, rids: Sequence[int]) -> int:
    """Delete these readings of metrics; return their number."""
    return execute_sql(conn, f"{_DELETE_READINGS}({placeholders(rids)})", (user_id, *rids)).rowcount


def list_old_runs(conn: Connection, user_id: str, before: datetime, limit: int) -> tuple[str, ...]:
    """Return at most `limit` runs that ended before `before`, oldest first."""
    values = {"user": user_id, "before": to_microseconds(before), "limit": limit}
    return tuple(run_id for (run_id,) in execute_sql(conn, _OLD_RUNS, values))


def delete_runs(conn: Connection, user_id: str, run_ids: Sequence[str]) -> int:
    """Delete these runs; return their number.

    Triggers subtract them from the totals, which cover the runs that can be listed.
    """
    return execute_sql(conn, f"{_DELETE_RUNS}({placeholders(run_ids)})", (user_id, *run_ids)).rowcount


class UndoneStep(Struct, frozen=True):
    """The part of an event that tells which event it reverts."""

    rid: int
    at: int
    kind: str
    of_rid: int | None
    is_needed: bool
    """It belongs to a bulk action that was interrupted."""


def delete_undone(conn: Connection, user_id: str, rids: Sequence[int], before: datetime) -> int:
    """Delete the changes of these drafts that were undone before `before`, with their undos; return their number.

    What can still be redone stays, unless nothing has happened to the draft since.
    """
    count = 0
    for rid in rids:
        query = "SELECT id, redo_rid FROM draft WHERE rid = ? AND user_id = ?"
        draft_id, redo_rid = execute_sql(conn, query, (rid, user_id)).fetchone() or (None, None)
        events = [UndoneStep(*values) for values in execute_sql(conn, _EVENTS, (draft_id, user_id))]
        undone = find_undone(events, to_microseconds(before))
        if redo_rid in undone:
            execute_sql(conn, "UPDATE draft SET redo_rid = NULL WHERE rid = ? AND user_id = ?", (rid, user_id))
        count += execute_many(conn, _DELETE_EVENT, [(event_rid, user_id) for event_rid in undone])
    return count


def find_undone(events: Sequence[UndoneStep], before: int) -> list[int]:
    """Return the events of a draft to delete: changes undone before `before`, with their undos.

    `events` are all of them, oldest first. What can be redone goes or stays as a whole.
    """
    redo_stack = _redo_stack(events)
    remaining = {event.rid for event in events if event.is_needed}
    if any(event.at >= before or event.is_needed for event in events):
        remaining |= redo_stack
    reverted: set[int] = set()
    for event in reversed(events):
        if event.of_rid is not None and event.rid not in reverted:
            reverted.add(event.of_rid)
    # Not after the first recent event: the steps between a change and its undo go with them.
    pairs = {
        event.rid: event.of_rid
        for event in takewhile(lambda event: event.at < before, events)
        if event.kind == EventKind.UNDO.value and event.of_rid is not None and event.rid not in reverted
    }
    # A step that stays in between, a failed regeneration, makes no sense without the two.
    fixed = [event.rid for event in events if event.kind == EventKind.PERMANENT.value]
    pairs = {
        undo: change for undo, change in pairs.items() if not any(change < fixed_rid < undo for fixed_rid in fixed)
    }
    # An event that stays must not refer to one that is gone, so one pair that stays may keep another.
    while True:
        removed = {rid for pair in pairs.items() for rid in pair}
        left = [event for event in events if event.rid not in removed]
        remaining |= {event.of_rid for event in left if event.of_rid is not None}
        if _redo_stack(left):
            remaining |= redo_stack
        removable = {undo: change for undo, change in pairs.items() if not remaining & {undo, change}}
        if len(removable) == len(pairs):
            return sorted(removed)
        pairs = removable


def _redo_stack(events: Sequence[UndoneStep]) -> set[int]:
    """Return the undos that can be redone after these events, which are all of a draft, oldest first."""
    stack: list[int] = []
    for event in events:
        if event.kind == EventKind.UNDO.value:
            stack.append(event.rid)
        elif event.kind == EventKind.REDO.value:
            # Without a stack, its undo is gone with what it was made after.
            del stack[-1:]
        else:
            stack.clear()
    return set(stack)


def database_size(conn: Connection, user_id: str) -> int:  # noqa: ARG001 - of all users
    """Return the bytes of the database, those that are still in its log included."""
    pages, page_size = (int(execute_sql(conn, f"PRAGMA {name}").fetchone()[0]) for name in ("page_count", "page_size"))
    return pages * page_size


def vacuum(conn: Connection, user_id: str, spare_pages: int, max_pages: int) -> bool:  # noqa: ARG001 - of all users
    """Return at most `max_pages` free pages of the database file beyond `spare_pages` to the disk.

    Return True if more are left. Files of earlier versions return none until they are compacted.
    """
    if conn.dialect.name == POSTGRESQL:
        # The server does that by itself.
        return False
    mode, free = (int(execute_sql(conn, f"PRAGMA {name}").fetchone()[0]) for name in ("auto_vacuum", "freelist_count"))
    if mode != INCREMENTAL or free <= spare_pages:
        return False
    count = min(max_pages, free - spare_pages)
    execute = raw_execute(conn)
    for _ in range(count):
        # SQLite frees one page at each step, and the driver takes one step of a statement without columns.
        execute("PRAGMA incremental_vacuum(1)")
    return free - count > spare_pages


def compact_database(path: Path, busy_timeout: float, interrupter: Interrupter) -> None:
    """Rewrite the database at `path` without free pages, and so that `vacuum` can return later ones.

    Killed at any moment, it leaves the database as it was. Raise sqlite3.Error.
    """

    def connect(path: Path) -> sqlite3.Connection:
        return sqlite3.connect(path, timeout=busy_timeout, isolation_level=None, check_same_thread=False)

    with interrupter.connect(path, connect) as connection:
        # Not with the desk's own connections: they keep temporary files in memory.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
