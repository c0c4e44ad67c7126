"""Column types: what goes in comes out, and what cannot be told apart later is refused."""

from collections.abc import Iterator
from datetime import UTC as UTC_ZONE
from datetime import datetime, timedelta, timezone
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Connection, MetaData, Table, create_engine, insert, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import StatementError
from sqlalchemy.schema import CreateTable

from copydesk.errors import StoreDamagedError
from copydesk.model.draft import Checks, Finding, Severity
from copydesk.model.source import FetchState
from copydesk.store.types import ID, UTC, Choice, Json, keyset


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


notes = Table(
    "notes",
    MetaData(),
    Column("id", ID, primary_key=True),
    Column("at", UTC),
    Column("colour", Choice(Colour)),
    Column("checks", Json(Checks)),
    Column("state", Json(FetchState)),
    Column("words", Json(tuple[str, ...])),
    Column("free", Json(dict[str, Any])),
)
PRAGUE = ZoneInfo("Europe/Prague")


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        notes.metadata.create_all(connection)
        yield connection
    engine.dispose()


def kept(connection: Connection, name: str, value: object) -> Any:
    """What comes out where `value` went in."""
    connection.execute(notes.delete())
    connection.execute(insert(notes).values({"id": "1", name: value}))
    return connection.execute(select(notes.c[name])).scalar_one()


def raw(connection: Connection, name: str) -> Any:
    return connection.execute(text(f"SELECT {name} FROM notes")).scalar_one()


@given(moment=st.datetimes(timezones=st.timezones(), allow_imaginary=False))
def test_a_moment_comes_back_as_the_same_moment_in_utc(connection: Connection, moment: datetime) -> None:
    try:
        expected = moment.astimezone(UTC_ZONE)
    except OverflowError:  # the first and the last day of all time have no UTC in some zones
        return

    back = kept(connection, "at", moment)

    assert back == expected
    assert back.tzinfo is UTC_ZONE


def test_the_hour_that_a_clock_change_repeats_is_kept_apart(connection: Connection) -> None:
    # DateTime(timezone=True) stores 02:30 for both.
    first = datetime(2026, 10, 25, 2, 30, tzinfo=PRAGUE, fold=0)
    second = datetime(2026, 10, 25, 2, 30, tzinfo=PRAGUE, fold=1)

    assert kept(connection, "at", second) - kept(connection, "at", first) == timedelta(hours=1)


def test_an_offset_is_not_dropped(connection: Connection) -> None:
    tokyo = datetime(2026, 2, 11, 9, 0, tzinfo=timezone(timedelta(hours=9)))

    assert kept(connection, "at", tokyo) == datetime(2026, 2, 11, 0, 0, tzinfo=UTC_ZONE)


def test_a_time_without_an_offset_is_refused(connection: Connection) -> None:
    with pytest.raises(StatementError, match="a time without an offset cannot be stored"):
        kept(connection, "at", datetime(2026, 2, 11, 9, 0))  # noqa: DTZ001


def test_a_moment_is_stored_as_microseconds(connection: Connection) -> None:
    kept(connection, "at", datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC_ZONE))

    assert raw(connection, "at") == 1_000_005


def test_on_postgresql_a_moment_is_a_timestamptz_and_an_id_is_a_uuid() -> None:
    made = str(CreateTable(notes).compile(dialect=postgresql.dialect()))

    assert "at TIMESTAMP WITH TIME ZONE" in made
    assert "id UUID NOT NULL" in made


def test_a_value_of_the_model_comes_back_as_it_was(connection: Connection) -> None:
    checks = Checks(ran=2, findings=(Finding(rule="length", severity=Severity.ERROR, message="Too long.", start=3),))
    state = FetchState(etag='W/"x"', body_hash=b"\x00\xff", last_ok=datetime(2026, 2, 11, 1, 2, 3, 4, tzinfo=UTC_ZONE))

    assert kept(connection, "checks", checks) == checks
    assert kept(connection, "state", state) == state
    assert kept(connection, "words", ("a", "ž")) == ("a", "ž")
    assert kept(connection, "free", {"a": [1, None]}) == {"a": [1, None]}


def test_names_in_json_are_camel_case(connection: Connection) -> None:
    kept(connection, "state", FetchState(last_modified="x"))

    assert '"lastModified":"x"' in raw(connection, "state")


def test_none_is_null_and_not_the_word_null(connection: Connection) -> None:
    assert kept(connection, "checks", None) is None
    assert raw(connection, "checks") is None


def test_json_that_cannot_be_read_is_a_damaged_database(connection: Connection) -> None:
    kept(connection, "checks", None)
    connection.execute(text('UPDATE notes SET checks = \'{"ran": "many"}\''))

    with pytest.raises(StoreDamagedError, match="Checks"):
        connection.execute(select(notes.c.checks)).all()


def test_a_word_comes_back_as_its_choice(connection: Connection) -> None:
    assert kept(connection, "colour", Colour.GREEN) is Colour.GREEN
    assert kept(connection, "colour", "red") is Colour.RED
    assert raw(connection, "colour") == "red"


def test_a_word_that_is_no_choice_is_refused_in_both_directions(connection: Connection) -> None:
    with pytest.raises(StatementError, match="'blue' is none of Colour"):
        kept(connection, "colour", "blue")

    kept(connection, "colour", None)
    connection.execute(text("UPDATE notes SET colour = 'blue'"))
    with pytest.raises(StoreDamagedError, match="'blue' as a Colour"):
        connection.execute(select(notes.c.colour)).all()


START = datetime(2026, 2, 11, tzinfo=UTC_ZONE)


@given(
    minutes=st.lists(st.integers(0, 3), max_size=12),
    size=st.integers(1, 5),
    newest_first=st.booleans(),
)
def test_pages_visit_every_row_once_and_in_order(
    connection: Connection, minutes: list[int], size: int, newest_first: bool
) -> None:
    # Plain values in a tuple go past the column's type: the second page comes back empty.
    connection.execute(notes.delete())
    rows = [{"id": f"{n:02}", "at": START + timedelta(minutes=m)} for n, m in enumerate(minutes)]
    if rows:
        connection.execute(insert(notes), rows)
    columns = (notes.c.at, notes.c.id)
    query = select(*columns).order_by(*(c.desc() if newest_first else c for c in columns)).limit(size)

    page = seen = connection.execute(query).all()
    while page and len(seen) <= len(rows):
        page = connection.execute(query.where(keyset(columns, page[-1], descending=newest_first))).all()
        seen = [*seen, *page]

    assert seen == sorted(((row["at"], row["id"]) for row in rows), reverse=newest_first)


def test_a_place_of_another_length_than_its_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        keyset((notes.c.at, notes.c.id), (START,))
