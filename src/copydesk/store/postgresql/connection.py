"""psycopg connections that take the SQL of the store, which is written for SQLite, and return the same values."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, cast

import psycopg
from psycopg import postgres
from psycopg.abc import AdaptContext
from psycopg.adapt import AdaptersMap, Dumper, Loader
from psycopg.types.string import TextLoader

_PLACEHOLDER = re.compile(r"\?|%|(?<![:\w]):([a-z_]\w*)")
_DIALECT: Final = (
    # Hints to SQLite's planner: the index to use, a column whose index is not to be used, the order of a join.
    (re.compile(r" INDEXED BY \w+"), ""),
    (re.compile(r"(?<=[\s(])\+(?=[a-z])"), ""),
    (re.compile(r"\bCROSS JOIN\b"), "JOIN"),
    # Comparisons that take NULL for a value.
    (re.compile(r"\bIS NOT (?=%|\?|:)"), "IS DISTINCT FROM "),
    (re.compile(r"\bIS (?=%|\?|:)"), "IS NOT DISTINCT FROM "),
    (re.compile(r"substr\(([\w.]+), -(\d+)\)"), r"right(\1, \2)"),
    (re.compile(r"\bMATCH\b"), "@@"),
)


@lru_cache(maxsize=2000)
def translate(sql: str) -> str:
    """Return SQL of the store with what PostgreSQL spells differently, but for placeholders."""
    for pattern, replacement in _DIALECT:
        sql = pattern.sub(replacement, sql)
    return sql


@lru_cache(maxsize=2000)
def translate_placeholders(sql: str) -> str:
    """Return SQL with the placeholders of SQLite, `?` and `:name`, as those of psycopg."""
    return _PLACEHOLDER.sub(_placeholder, sql)


def _placeholder(found: re.Match[str]) -> str:
    if found[1]:
        return f"%({found[1]})s"
    return "%s" if found[0] == "?" else "%%"


class _Cursor(psycopg.Cursor[tuple[Any, ...]]):
    """A cursor that translates statements and counts the rows that they write."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> "_Cursor":
        super().execute(translate(query), params, **options)
        self._count()
        return self

    def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
        super().executemany(translate(query), params_seq, **options)
        self._count()

    def _count(self) -> None:
        if self.description is None and self.rowcount > 0:
            cast("PostgresConnection", self.connection).total_changes += self.rowcount


class PostgresConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection with those methods of sqlite3's that the store uses."""

    total_changes = 0
    """Number of rows that were written by statements, without those of triggers."""

    def execute(self, query: Any, params: Any = (), **options: Any) -> _Cursor:
        """Execute a statement with the placeholders of SQLite."""
        return cast("_Cursor", self.cursor().execute(translate_placeholders(query), params, **options))

    def executemany(self, query: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> _Cursor:
        """Execute a statement with the placeholders of SQLite for each of `rows`."""
        cursor = cast("_Cursor", self.cursor())
        cursor.executemany(translate_placeholders(query), rows)
        return cursor

    def control(self, script: str) -> None:
        """Execute statements without parameters in one round trip."""
        self.cursor().execute(script)


class _IntDumper(Dumper):
    """Leaves the type to the place where the number stands, as for text: a boolean column takes 1."""

    def dump(self, obj: int) -> bytes:
        return str(int(obj)).encode()


class _NumberLoader(Loader):
    """Sums are of type numeric; SQLite returns int and float."""

    def load(self, data: Any) -> int | float:
        digits = bytes(data).decode()
        return int(digits) if digits.lstrip("-").isdecimal() else float(digits)


class _Adapters(AdaptContext):
    """Conversions of values, for all connections."""

    def __init__(self) -> None:
        self._adapters = AdaptersMap(postgres.adapters)
        self._adapters.register_dumper(int, _IntDumper)
        self._adapters.register_loader("numeric", _NumberLoader)
        # Decoded by the column's type, or not at all.
        self._adapters.register_loader("json", TextLoader)

    @property
    def adapters(self) -> AdaptersMap:
        return self._adapters

    @property
    def connection(self) -> None:
        return None


_ADAPTERS: Final = _Adapters()


def connect(url: str, *, password: str = "", lock_timeout: float, read_only: bool) -> PostgresConnection:
    """Connect to the database at `url`. Without a password, libpq looks for one. Raise psycopg.OperationalError."""
    connection = PostgresConnection.connect(
        url,
        password=password or None,
        autocommit=True,
        context=_ADAPTERS,
        cursor_factory=_Cursor,
        connect_timeout=10,
        application_name="copydesk",
    )
    connection.control(
        f"SET lock_timeout = {round(lock_timeout * 1000)}; SET default_transaction_read_only = {read_only};"
        " SET client_encoding = UTF8; SET client_min_messages = warning"
    )
    return connection
