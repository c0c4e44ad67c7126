"""Tests for the column types: values round-trip, and ambiguous ones are refused."""

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

from copydesk.errors import StoreCorruptError
from copydesk.model.draft import Checks, Finding, Severity
from copydesk.model.source import FetchState
from copydesk.store.column_types import ID, Choice, JsonText, UtcDateTime

pytestmark = pytest.mark.sqlite("values as SQLite stores them")


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


notes_table = Table(
    "notes",
    MetaData(),
    Column("id", ID, primary_key=True),
    Column("at", UtcDateTime),
    Column("colour", Choice(Colour)),
    Column("checks", JsonText(Checks)),
    Column("state", JsonText(FetchState)),
    Column("words", JsonText(tuple[str, ...])),
    Column("free", JsonText(dict[str, Any])),
)
PRAGUE = ZoneInfo("Europe/Prague")


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        notes_table.metadata.create_all(connection)
        yield connection
    engine.dispose()


def round_trip(connection: Connection, name: str, value: object) -> Any:
    """Store `value` and return it as loaded."""
    connection.execute(notes_table.delete())
    connection.execute(insert(notes_table).values({"id": "1", name: value}))
    return connection.execute(select(notes_table.c[name])).scalar_one()


def stored_value(connection: Connection, name: str) -> Any:
    return connection.execute(text(f"SELECT {name} FROM notes")).scalar_one()


@given(time=st.datetimes(timezones=st.timezones(), allow_imaginary=False))
def test_time_round_trips_in_utc(connection: Connection, time: datetime) -> None:
    try:
        expected = time.astimezone(UTC_ZONE)
    except OverflowError:  # the first and last day of the calendar have no UTC time in some zones
        return

    loaded = round_trip(connection, "at", time)

    assert loaded == expected
    assert loaded.tzinfo is UTC_ZONE


def test_repeated_hour_keeps_its_fold(connection: Connection) -> None:
    # DateTime(timezone=True) stores 02:30 for both.
    first = datetime(2026, 10, 25, 2, 30, tzinfo=PRAGUE, fold=0)
    second = datetime(2026, 10, 25, 2, 30, tzinfo=PRAGUE, fold=1)

    assert round_trip(connection, "at", second) - round_trip(connection, "at", first) == timedelta(hours=1)


def test_offset_is_preserved(connection: Connection) -> None:
    tokyo = datetime(2026, 2, 11, 9, 0, tzinfo=timezone(timedelta(hours=9)))

    assert round_trip(connection, "at", tokyo) == datetime(2026, 2, 11, 0, 0, tzinfo=UTC_ZONE)


def test_naive_time_is_refused(connection: Connection) -> None:
    with pytest.raises(StatementError, match="a time without an offset cannot be stored"):
        round_trip(connection, "at", datetime(2026, 2, 11, 9, 0))  # noqa: DTZ001


def test_time_is_stored_as_microseconds(connection: Connection) -> None:
    round_trip(connection, "at", datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC_ZONE))

    assert stored_value(connection, "at") == 1_000_005


def test_postgresql_stores_the_same_values() -> None:
    ddl = str(CreateTable(notes_table).compile(dialect=postgresql.dialect()))

    assert "at BIGINT" in ddl
    assert "id TEXT NOT NULL" in ddl


def test_model_values_round_trip(connection: Connection) -> None:
    checks = Checks(ran=2, findings=(Finding(rule="length", severity=Severity.ERROR, message="Too long.", start=3),))
    state = FetchState(etag='W/"x"', body_hash=b"\x00\xff", last_ok=datetime(2026, 2, 11, 1, 2, 3, 4, tzinfo=UTC_ZONE))

    assert round_trip(connection, "checks", checks) == checks
    assert round_trip(connection, "state", state) == state
    assert round_trip(connection, "words", ("a", "ž")) == ("a", "ž")
    assert round_trip(connection, "free", {"a": [1, None]}) == {"a": [1, None]}


def test_json_names_are_camel_case(connection: Connection) -> None:
    round_trip(connection, "state", FetchState(last_modified="x"))

    assert '"lastModified":"x"' in stored_value(connection, "state")


def test_none_is_stored_as_sql_null(connection: Connection) -> None:
    assert round_trip(connection, "checks", None) is None
    assert stored_value(connection, "checks") is None


def test_unreadable_json_raises_store_error(connection: Connection) -> None:
    round_trip(connection, "checks", None)
    connection.execute(text('UPDATE notes SET checks = \'{"ran": "many"}\''))

    with pytest.raises(StoreCorruptError, match="Checks"):
        connection.execute(select(notes_table.c.checks)).all()


def test_choice_round_trips(connection: Connection) -> None:
    assert round_trip(connection, "colour", Colour.GREEN) is Colour.GREEN
    assert round_trip(connection, "colour", "red") is Colour.RED
    assert stored_value(connection, "colour") == "red"


def test_invalid_choice_is_refused_on_load_and_save(connection: Connection) -> None:
    with pytest.raises(StatementError, match="'blue' is none of Colour"):
        round_trip(connection, "colour", "blue")

    round_trip(connection, "colour", None)
    connection.execute(text("UPDATE notes SET colour = 'blue'"))
    with pytest.raises(StoreCorruptError, match="'blue' as a Colour"):
        connection.execute(select(notes_table.c.colour)).all()
