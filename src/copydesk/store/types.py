"""Column types: what a value is in Python, and what it is in the database."""

import datetime as dt
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Generic, TypeVar

import msgspec
from sqlalchemy import BigInteger, Column, ColumnElement, Dialect, Integer, Text, Uuid, literal, tuple_
from sqlalchemy.types import TIMESTAMP, TypeDecorator, TypeEngine

from copydesk.errors import StoreDamagedError

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)

ID = Text().with_variant(Uuid(as_uuid=False), "postgresql")
"""A UUIDv7 in its canonical text form: 36 characters that a person can read in a database shell."""

ROW_ID = BigInteger().with_variant(Integer(), "sqlite")
"""An explicit row number. SQLite may renumber implicit ones in VACUUM, and full text search points at them."""


def microseconds(moment: dt.datetime) -> int:
    """`moment`, which is aware, as SQLite keeps it: microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def moment_of(microseconds: int) -> dt.datetime:
    """What SQLite keeps as microseconds since 1970."""
    return _EPOCH + microseconds * _MICROSECOND


class UTC(TypeDecorator[dt.datetime]):
    """A moment: microseconds since 1970 on SQLite, `timestamptz` on PostgreSQL; always aware, always UTC.

    SQLAlchemy's own `DateTime(timezone=True)` drops the offset on SQLite without a word.
    """

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column type on this database."""
        stored = TIMESTAMP(timezone=True) if dialect.name == "postgresql" else BigInteger()
        return dialect.type_descriptor(stored)

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> Any:
        """ValueError for a time without an offset: nobody can say which moment it is."""
        if value is None:
            return None
        if value.utcoffset() is None:
            raise ValueError(f"a time without an offset cannot be stored: {value!r}")
        return value if dialect.name == "postgresql" else microseconds(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> dt.datetime | None:
        """The moment in UTC."""
        if value is None:
            return None
        if dialect.name == "postgresql":
            stored: dt.datetime = value
            return stored.astimezone(dt.UTC)
        return moment_of(value)


class Json(TypeDecorator[Any]):
    """A value of the model as JSON text, decoded into the type that it had: `Json(Checks)`.

    None is NULL. Text that does not decode is a damaged database: StoreDamagedError.
    """

    impl = Text
    cache_ok = True

    def __init__(self, type: Any) -> None:
        super().__init__()
        self.type = type
        self._decoder = msgspec.json.Decoder(type)

    def process_bind_param(self, value: Any, _dialect: Dialect) -> str | None:
        """`value` as JSON with camelCase names."""
        return None if value is None else msgspec.json.encode(value).decode()

    def process_result_value(self, value: str | None, _dialect: Dialect) -> Any:
        """The value again."""
        if value is None:
            return None
        try:
            return self._decoder.decode(value)
        except msgspec.DecodeError as error:
            raise StoreDamagedError(f"The database holds a {self.type} that cannot be read: {error}") from error


class Choice(TypeDecorator[E], Generic[E]):
    """One of the words of a StrEnum, kept as text. Any other word is refused, in both directions."""

    impl = Text
    cache_ok = True

    def __init__(self, choices: type[E]) -> None:
        super().__init__()
        self.choices = choices
        self._by_word = {choice.value: choice for choice in choices}

    def process_bind_param(self, value: E | None, _dialect: Dialect) -> str | None:
        """ValueError for a word that is none of the choices."""
        if value is None:
            return None
        try:
            return self._by_word[value].value
        except KeyError:
            raise ValueError(f"{value!r} is none of {self.choices.__name__}") from None

    def process_result_value(self, value: str | None, _dialect: Dialect) -> E | None:
        """The choice; StoreDamagedError for a word that is none."""
        if value is None:
            return None
        try:
            return self._by_word[value]
        except KeyError:
            raise StoreDamagedError(f"The database holds {value!r} as a {self.choices.__name__}.") from None


def keyset(columns: Sequence[Column[Any]], place: Sequence[Any], *, descending: bool = True) -> ColumnElement[bool]:
    """The rows after `place`, the values of `columns` in the last row of the page before.

    Order by the same columns, all in the same direction. Each value is bound with its column's own type: plain
    values in a tuple are bound as they are, and comparing a datetime with an integer finds nothing.
    """
    left = tuple_(*columns)
    right = tuple_(*(literal(value, column.type) for column, value in zip(columns, place, strict=True)))
    return left < right if descending else left > right
