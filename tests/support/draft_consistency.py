"""Shared by the proofs: drafts in every state, dumps of the database, and the check that events and drafts agree."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection

from copydesk.desk import Desk
from copydesk.model.draft import Draft, Format, Status
from copydesk.model.schedule import Slot
from copydesk.model.transitions import EventKind
from copydesk.store import drafts, tables
from copydesk.store.drafts import NewDraft
from copydesk.store.ids import new_id
from copydesk.store.tables import DraftOrigin
from desk_fixtures import integrity_errors, made_up_word, query_db
from store_fixtures import add_item, connect_to, postgresql_server

HOURLY_SLOTS = tuple(Slot(day_of_week=day, hour=hour, minute=0) for day in range(7) for hour in range(24))
UNRESTORED_COLUMNS = ("version", "updated_at", "undo_rid", "redo_rid")
"""Columns of a draft that undo does not restore."""
CHANGEABLE_COLUMNS = (
    *(
        "status",
        "confidence",
        "confidence_known",
        "feedback",
        "rejection_feedback",
        "scheduled_at",
        "scheduled_wall",
        "scheduled_zone",
    ),
    *("posted_at", "post_id", "archived_at", "last_error", "text", "checks", "sentences", "approvals"),
)
"""Columns that a change of a draft may set, and its approvals, which are rows.

Listed independently of the code, so that an event without one is noticed.
"""
EVENT_TABLES = ("draft_event", "event", "webhook_delivery", "bulk_action", "alembic_version")
"""Tables that undo does not restore."""
Row = dict[str, Any]


async def insert_drafts(desk: Desk, statuses: Sequence[str], formats: Sequence[str] = ("SHORT",)) -> list[str]:
    """Insert a draft in each of these states, as if created so; return their ids in order."""
    now = desk._context.clock()

    def add(conn: Connection, user_id: str) -> list[str]:
        draft_ids = []
        for number, status in enumerate(statuses):
            item_id = add_item(conn, user_id, None, title=f"On {made_up_word(number)}")
            draft = Draft(
                id=new_id(now),
                text=draft_text(number, "first"),
                format=Format(formats[number % len(formats)]),
                status=Status(status),
                confidence=(number * 37 % 100) / 100,
                confidence_known=True,
                feedback=None,
                rejection_feedback="It is too long." if status == "rejected" else None,
                scheduled_at=None,
                posted_at=None,
                post_id=None,
                item_id=item_id,
                regenerated_from_id=None,
                created_at=now,
                updated_at=now,
            )
            new = NewDraft(draft=draft, source_id=None, source_type=None, story_id=item_id, origin=DraftOrigin.DIRECT)
            assert drafts.add(conn, user_id, new)
            draft_ids.append(draft.id)
        return draft_ids

    return await desk._context.write(add)


def draft_text(number: int, edition: object) -> str:
    """Return a draft's text, a different one for each number and edition."""
    return f"The ferry to {made_up_word(number)} sails at dawn. This is the {edition} word on it."


def load_drafts(home: Path) -> dict[str, Row]:
    """Return all drafts by id, with all columns as stored, and their approvals."""
    drafts = {row["id"]: row | {"approvals": []} for row in _query(home, "SELECT * FROM draft ORDER BY id")}
    for row in _query(home, "SELECT draft_id, reviewer, at FROM draft_approval ORDER BY at, reviewer"):
        drafts[row["draft_id"]]["approvals"].append([row["reviewer"], row["at"]])
    return drafts


def load_events(home: Path) -> dict[str, list[Row]]:
    """Return the events of each draft in the order of its versions."""
    events: dict[str, list[Row]] = {}
    for row in _query(home, "SELECT * FROM draft_event ORDER BY draft_id, version"):
        row |= {name: json.loads(row[name]) for name in ("before", "after")}
        events.setdefault(row["draft_id"], []).append(row)
    return events


def dump_tables(home: Path) -> dict[str, list[Row]]:
    """Return all tables with the full-text index, without events, bulk actions and the columns that undo does not
    restore.
    """
    with _connect(home) as connection:
        names = [table.name for table in tables.metadata.sorted_tables if table.name not in EVENT_TABLES]
        queries = {name: f'SELECT * FROM "{name}" ORDER BY 1, 2' for name in names}
        # On PostgreSQL the words are a column of the draft.
        if postgresql_server() is None:
            queries["words"] = "SELECT rowid, text, about FROM draft_words ORDER BY rowid"
        dump = {name: [dict(row) for row in connection.execute(query)] for name, query in queries.items()}
    for row in dump["draft"]:
        for name in UNRESTORED_COLUMNS:
            del row[name]
    return dump


def _query(home: Path, query: str) -> list[Row]:
    with _connect(home) as connection:
        return [dict(row) for row in connection.execute(query)]


@contextmanager
def _connect(home: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect_to(home)) as connection:
        if postgresql_server() is None:
            connection.row_factory = sqlite3.Row
        else:
            from psycopg.rows import dict_row

            connection.row_factory = dict_row
        yield connection


class ReplayedDraft(NamedTuple):
    """The state a draft's events lead to."""

    row: Row
    version: int
    undo: list[int]
    redo: list[int]
    """The ids of the events that can be reverted, the next one last."""


def replay(first: Row, events: Sequence[Row]) -> ReplayedDraft:
    """Replay the events of a draft that began as `first`.

    AssertionError if one does not follow from its predecessor.
    """
    row = {name: first[name] for name in CHANGEABLE_COLUMNS}
    created, *later = events
    assert (created["action"], created["kind"], created["version"]) == ("create", EventKind.PERMANENT, 1)
    by_rid = {event["rid"]: event for event in events}
    undo: list[int] = []
    redo: list[int] = []
    for version, event in enumerate(later, 2):
        assert event["version"] == version, event
        assert set(event["before"]) == set(event["after"]), event
        assert {name: row[name] for name in event["before"]} == event["before"], event
        row |= event["after"]
        match event["kind"]:
            case EventKind.CHANGE:
                undo, redo = [*undo, event["rid"]], []
            case EventKind.PERMANENT:
                regenerating = event["before"].get("status") == "pending_regeneration"
                undo, redo = undo if event["action"] == "writing_failed" and regenerating else [], []
            case EventKind.UNDO:
                assert event["of_rid"] == undo[-1], event
                redo = [*redo, event["rid"]]
                undo.pop()
                # The error of a failed regeneration is from after the change.
                failed = event["before"].get("status") == "generation_failed" and event["action"] == "regenerate"
                error = {"last_error": None} if failed else {}
                assert event["after"] == error | by_rid[event["of_rid"]]["before"], event
            case EventKind.REDO:
                assert event["of_rid"] == redo[-1], event
                undo = [*undo, event["rid"]]
                redo.pop()
                assert event["after"] == by_rid[event["of_rid"]]["before"], event
    return ReplayedDraft(row, len(events), undo, redo)


def assert_consistent(home: Path, first: Mapping[str, Row]) -> None:
    """Assert that the file is intact, drafts match their events, and counts and search index match the drafts."""
    assert integrity_errors(home) == []
    events = load_events(home)
    drafts = load_drafts(home)
    assert drafts.keys() == first.keys() == events.keys()
    for draft_id, row in drafts.items():
        replayed = replay(first[draft_id], events[draft_id])
        assert {name: row[name] for name in CHANGEABLE_COLUMNS} == replayed.row
        assert row["version"] == replayed.version
        assert (row["undo_rid"], row["redo_rid"]) == tuple(stack[-1] if stack else None for stack in replayed[2:])
        # PostgreSQL computes the words of the text.
        untouched = row.keys() - {*CHANGEABLE_COLUMNS, *UNRESTORED_COLUMNS, "words"}
        assert {name: row[name] for name in untouched} == {name: first[draft_id][name] for name in untouched}
    assert_counts_and_index(home)


def assert_counts_and_index(home: Path) -> None:
    """Assert that counts and search index match the drafts."""
    counts_query = "SELECT status, archived, sum(drafts) FROM draft_count GROUP BY 1, 2 ORDER BY 1, 2"
    scan_query = "SELECT status, archived_at IS NOT NULL, count(*) FROM draft GROUP BY 1, 2 ORDER BY 1, 2"
    assert query_db(home, counts_query) == query_db(home, scan_query)
    if postgresql_server() is not None:
        # The index is on a generated column.
        return
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        # With rank 1 it compares the index with the content table, and raises if they differ.
        connection.execute("INSERT INTO draft_words (draft_words, rank) VALUES ('integrity-check', 1)")
        connection.rollback()


def shared_slots(home: Path) -> list[tuple[object, ...]]:
    """Return the minutes with more than one scheduled or posting draft, with their number."""
    return query_db(
        home,
        "SELECT scheduled_at / 60000000, count(*) FROM draft WHERE status IN ('scheduled', 'posting')"
        " GROUP BY 1 HAVING count(*) > 1",
    )
