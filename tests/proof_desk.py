"""What the proofs share: drafts in every state, all that a database holds, and whether its events agree with it."""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection

from copydesk.desk import Desk
from copydesk.model.draft import Draft, Format, Status
from copydesk.model.history import EventKind
from copydesk.model.schedule import Slot
from copydesk.store import drafts
from copydesk.store.drafts import NewDraft
from copydesk.store.ids import new_id
from copydesk.store.tables import Origin
from desk_fixtures import damage, rows, word
from store_fixtures import add_item

PROVE = os.environ.get("COPYDESK_PROVE", "") not in {"", "0"}
"""Whether there is time for all of it, and not only for a sample."""
HOURLY = tuple(Slot(day_of_week=day, hour=hour, minute=0) for day in range(7) for hour in range(24))
COUNTED_ON = ("version", "updated_at", "undo_rid", "redo_rid")
"""Columns of a draft that an undo does not bring back: they say that something happened, and what can be undone."""
CHANGEABLE = (
    *("status", "confidence", "feedback", "rejection_feedback", "scheduled_at", "scheduled_wall", "scheduled_zone"),
    *("posted_at", "post_id", "archived_at", "last_error", "text", "checks", "sentences"),
)
"""What a change of a draft may set. The test knows by itself: a column that an event forgets is to be noticed."""
EVENTS = ("draft_event", "alembic_version")
Row = dict[str, Any]


async def furnish(desk: Desk, statuses: Sequence[str], formats: Sequence[str] = ("SHORT",)) -> list[str]:
    """A draft in each of these states, as if it had been created so; their ids, in order."""
    now = desk.ground.clock()

    def add(conn: Connection, user_id: str) -> list[str]:
        made = []
        for number, status in enumerate(statuses):
            item = add_item(conn, user_id, None, title=f"On {word(number)}")
            draft = Draft(
                id=new_id(now),
                text=text(number, "first"),
                format=Format(formats[number % len(formats)]),
                status=Status(status),
                confidence=(number * 37 % 100) / 100,
                feedback=None,
                rejection_feedback="It is too long." if status == "rejected" else None,
                scheduled_at=None,
                posted_at=None,
                post_id=None,
                item_id=item,
                regenerated_from_id=None,
                created_at=now,
                updated_at=now,
            )
            new = NewDraft(draft=draft, source_id=None, source_type=None, story_id=item, origin=Origin.DIRECT)
            assert drafts.add(conn, user_id, new)
            made.append(draft.id)
        return made

    return await desk.ground.write(add)


def text(number: int, edition: object) -> str:
    """A draft's text; another one for each number and edition."""
    return f"The ferry to {word(number)} sails at dawn. This is the {edition} word on it."


def drafts_in(home: Path) -> dict[str, Row]:
    """Every draft by its id, with all columns as the database keeps them."""
    return {row["id"]: row for row in _named(home, "SELECT * FROM draft ORDER BY id")}


def events_in(home: Path) -> dict[str, list[Row]]:
    """The events of each draft in the order of its versions."""
    found: dict[str, list[Row]] = {}
    for row in _named(home, "SELECT * FROM draft_event ORDER BY draft_id, version"):
        row |= {name: json.loads(row[name]) for name in ("before", "after")}
        found.setdefault(row["draft_id"], []).append(row)
    return found


def everything(home: Path) -> dict[str, list[Row]]:
    """All tables, the full text index among them; without the events and the columns that an undo does not restore."""
    with _connected(home) as connection:
        names = [row["name"] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        kept = [name for name in names if name not in EVENTS and not name.startswith(("sqlite_", "draft_words"))]
        queries = {name: f'SELECT * FROM "{name}" ORDER BY 1, 2' for name in kept}
        queries["words"] = "SELECT rowid, text, about FROM draft_words ORDER BY rowid"
        found = {name: [dict(row) for row in connection.execute(query)] for name, query in queries.items()}
    for row in found["draft"]:
        for name in COUNTED_ON:
            del row[name]
    return found


def _named(home: Path, query: str) -> list[Row]:
    with _connected(home) as connection:
        return [dict(row) for row in connection.execute(query)]


@contextmanager
def _connected(home: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


class Told(NamedTuple):
    """What the events of a draft come to."""

    row: Row
    version: int
    undo: list[int]
    redo: list[int]
    """The numbers of the events that can be taken back, the next one last."""


def told(first: Row, events: Sequence[Row]) -> Told:
    """Replay the events of a draft that was `first`. AssertionError where one does not follow from the one before."""
    row = {name: first[name] for name in CHANGEABLE}
    created, *later = events
    assert (created["action"], created["kind"], created["version"]) == ("create", EventKind.FIXED, 1)
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
            case EventKind.FIXED:
                undo, redo = [], []
            case EventKind.UNDO:
                assert event["of_rid"] == undo[-1], event
                redo = [*redo, event["rid"]]
                undo.pop()
                assert event["after"] == by_rid[event["of_rid"]]["before"], event
            case EventKind.REDO:
                assert event["of_rid"] == redo[-1], event
                undo = [*undo, event["rid"]]
                redo.pop()
                assert event["after"] == by_rid[event["of_rid"]]["before"], event
    return Told(row, len(events), undo, redo)


def assert_agrees(home: Path, first: Mapping[str, Row]) -> None:
    """The file is sound, each draft is what its events say, and counts and words are those of the drafts."""
    assert damage(home) == []
    events = events_in(home)
    now = drafts_in(home)
    assert now.keys() == first.keys() == events.keys()
    for draft_id, row in now.items():
        said = told(first[draft_id], events[draft_id])
        assert {name: row[name] for name in CHANGEABLE} == said.row
        assert row["version"] == said.version
        assert (row["undo_rid"], row["redo_rid"]) == tuple(each[-1] if each else None for each in said[2:])
        untouched = row.keys() - {*CHANGEABLE, *COUNTED_ON}
        assert {name: row[name] for name in untouched} == {name: first[draft_id][name] for name in untouched}
    assert_counted(home)


def assert_counted(home: Path) -> None:
    """The counts are those of the drafts, and so are the words that they are found by."""
    counted = "SELECT status, archived, sum(drafts) FROM draft_count GROUP BY 1, 2 ORDER BY 1, 2"
    full = "SELECT status, archived_at IS NOT NULL, count(*) FROM draft GROUP BY 1, 2 ORDER BY 1, 2"
    assert rows(home, counted) == rows(home, full)
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        # With 1 it compares the index with the drafts' own words, and raises where they differ.
        connection.execute("INSERT INTO draft_words (draft_words, rank) VALUES ('integrity-check', 1)")
        connection.rollback()


def shared_minutes(home: Path) -> list[tuple[object, ...]]:
    """The minutes in which more than one draft stands."""
    return rows(
        home,
        "SELECT scheduled_at / 60000000, count(*) FROM draft WHERE status IN ('scheduled', 'posting')"
        " GROUP BY 1 HAVING count(*) > 1",
    )
