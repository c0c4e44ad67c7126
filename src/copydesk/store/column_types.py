"""Column types, which convert between Python values and stored values, and factories for columns and constraints."""

import datetime as dt
from enum import StrEnum
from typing import Any, Generic, TypeVar

import msgspec
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    Dialect,
    ForeignKey,
    Integer,
    Text,
    literal_column,
    text,
)
from sqlalchemy.types import TypeDecorator, TypeEngine, UserDefinedType

from copydesk.errors import StoreCorruptError

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)

ID = Text()
"""A UUIDv7 in canonical text form: 36 characters, readable in a database shell."""

ROW_ID = BigInteger().with_variant(Integer(), "sqlite")
"""An explicit row number. VACUUM may renumber implicit ones, and the full text index references them."""


def to_microseconds(instant: dt.datetime) -> int:
    """Return an aware datetime as it is stored: microseconds since 1970."""
    # Integer arithmetic: a float timestamp loses microseconds.
    return (instant - _EPOCH) // _MICROSECOND


def from_microseconds(microseconds: int) -> dt.datetime:
    """Return the UTC datetime for microseconds since 1970."""
    return _EPOCH + microseconds * _MICROSECOND


class UtcDateTime(TypeDecorator[dt.datetime]):
    """An instant: microseconds since 1970. Always aware, always UTC.

    SQLAlchemy's own `DateTime(timezone=True)` silently drops the offset on SQLite.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, _dialect: Dialect) -> Any:
        """Raise ValueError for a naive datetime: it is not known which instant it means."""
        if value is None:
            return None
        if value.utcoffset() is None:
            raise ValueError(f"a time without an offset cannot be stored: {value!r}")
        return to_microseconds(value)

    def process_result_value(self, value: Any, _dialect: Dialect) -> dt.datetime | None:
        if value is None:
            return None
        try:
            return from_microseconds(value)
        except (TypeError, OverflowError):
            raise StoreCorruptError(f"The database contains {value!r} as a time.") from None


class _Json(UserDefinedType[str]):
    """PostgreSQL's `json`, which keeps the text as it is."""

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        return "JSON"


class JsonText(TypeDecorator[Any]):
    """A value of the model as JSON text, decoded into its type: `JsonText(Checks)`. None is NULL.

    Raise StoreCorruptError on reading text that does not decode.
    """

    impl = Text
    cache_ok = True

    def __init__(self, type: Any) -> None:
        super().__init__()
        self.type = type
        self._decoder = msgspec.json.Decoder(type)

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(_Json() if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Any, _dialect: Dialect) -> str | None:
        """Return `value` as JSON with camelCase names."""
        return None if value is None else msgspec.json.encode(value).decode()

    def process_result_value(self, value: str | None, _dialect: Dialect) -> Any:
        if value is None:
            return None
        try:
            return self._decoder.decode(value)
        except msgspec.DecodeError as error:
            raise StoreCorruptError(f"The database contains a {self.type} that cannot be read: {error}") from error


class Choice(TypeDecorator[E], Generic[E]):
    """A member of a StrEnum, stored as its text value. Any other value is refused, in both directions."""

    impl = Text
    cache_ok = True

    def __init__(self, choices: type[E]) -> None:
        super().__init__()
        self.choices = choices
        self._members = {choice.value: choice for choice in choices}

    def process_bind_param(self, value: E | None, _dialect: Dialect) -> str | None:
        """Raise ValueError for a value that is not a member."""
        if value is None:
            return None
        try:
            return self._members[value].value
        except KeyError:
            raise ValueError(f"{value!r} is none of {self.choices.__name__}") from None

    def process_result_value(self, value: str | None, _dialect: Dialect) -> E | None:
        """Raise StoreCorruptError for a value that is not a member."""
        if value is None:
            return None
        try:
            return self._members[value]
        except KeyError:
            raise StoreCorruptError(f"The database contains {value!r} as a {self.choices.__name__}.") from None


def json_text(column: Column[Any], name: str) -> ColumnElement[Any]:
    """Return the expression for a member of a column's JSON: on PostgreSQL its text, on SQLite its value."""
    # With the name as a literal: the column's type would convert a parameter to JSON.
    return column.op("->>", return_type=Text())(literal_column(f"'{name}'"))


def required_column(name: str, type: Any, *parts: Any, **options: Any) -> Column[Any]:
    """Return a column that is never NULL."""
    return Column(name, type, *parts, nullable=False, **options)


def id_column() -> Column[Any]:
    """Return the `id` column, the primary key."""
    return required_column("id", ID, primary_key=True)


def user_id_column(**options: Any) -> Column[Any]:
    """Return the `user_id` column. The row is deleted with its user."""
    return required_column("user_id", ID, ForeignKey("user.id", ondelete="CASCADE"), **options)


def draft_id_column(**options: Any) -> Column[Any]:
    """Return the `draft_id` column. The row is deleted with its draft."""
    return required_column("draft_id", ID, ForeignKey("draft.id", ondelete="CASCADE"), **options)


def allowed_values(column: str, choices: type[StrEnum]) -> CheckConstraint:
    """Return a check that `column` holds one of the values of `choices`.

    Only for values fixed by the interface: adding one means rebuilding the table.
    """
    values = ", ".join(f"'{choice.value}'" for choice in choices)
    return CheckConstraint(f"{column} IN ({values})", name=column)


def partial_index(condition: str) -> dict[str, Any]:
    """Return the options of a partial index over the rows for which `condition` holds.

    For SQLite only: naming another dialect's option would import that dialect at every start.
    """
    return {"sqlite_where": text(condition)}
