"""psycopg connections that take the SQL of the store, which is written for SQLite, and return the same values."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any, Final, cast

import psycopg
from psycopg import postgres
from psycopg.abc import AdaptContext
from psycopg.adapt import AdaptersMap, Dumper, Loader
from psycopg.pq import PipelineStatus
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
    """A cursor that translates statements, and in a pipeline waits for a result only once somebody looks at it."""

    _rows = 0
    """Rows that were written before the cursor was closed."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> "_Cursor":
        self._connection.leave_failed_pipeline()
        query = translate(query)
        # The best plan depends on the words or the length of the page: one for any words would read all drafts for a
        # rare one, one for any length a tenth of them.
        if "@@" in query or "%(stop)s" in query:
            options["prepare"] = False
        super().execute(query, params, **options)
        self._connection.count(self)
        return self

    def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
        super().executemany(translate(query), params_seq, **options)
        # psycopg knows the number of rows only once all results are there, and does not wait for them by itself.
        self._connection.sync_pipeline()
        self._connection.count(self)

    def close(self) -> None:
        if self.pgresult is not None:
            self._rows = self.count_rows()
        super().close()

    def count_rows(self) -> int:
        """Return the number of rows that the statement wrote."""
        if self.closed:
            return self._rows
        return max(0, self.rowcount) if self.description is None else 0

    @property
    def _connection(self) -> "PostgresConnection":
        return cast("PostgresConnection", self.connection)

    @property
    def description(self) -> list[psycopg.Column] | None:
        self._fetch_pipeline()
        return super().description

    @property
    def rowcount(self) -> int:
        self._fetch_pipeline()
        return super().rowcount


class PostgresConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection with those methods of sqlite3's that the store uses."""

    takes_lists = True
    """A list is one parameter, for `= ANY(?)`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._uncounted: list[_Cursor] = []
        """Cursors of the transaction that are not counted in `total_changes` yet."""
        self._changes = 0
        self._open_pipeline: psycopg.Pipeline | None = None

    @property
    def total_changes(self) -> int:
        """Number of rows that were written in this transaction by statements, without those of triggers."""
        cursors, self._uncounted = self._uncounted, []
        self._changes += sum(cursor.count_rows() for cursor in cursors)
        return self._changes

    def count(self, cursor: _Cursor) -> None:
        """Count what a statement writes, once somebody looks at `total_changes`: that waits for its result."""
        # Only transactions have a pipeline. What is read outside of them would be held for ever.
        if self._open_pipeline is not None:
            self._uncounted.append(cursor)

    @contextmanager
    def transaction_pipeline(self) -> Iterator[None]:
        """Send what is executed in the block with the next statement whose result is looked at, or at its end."""
        self._uncounted.clear()
        try:
            with self.pipeline() as self._open_pipeline:
                yield
        finally:
            self._open_pipeline = None

    def batch(self) -> AbstractContextManager[object]:
        """Send what is executed in the block at once, and wait for the results at its end."""
        # That of a transaction waits when they are looked at, and that of another batch at its end.
        return nullcontext() if self.pgconn.pipeline_status != PipelineStatus.OFF else self.pipeline()

    def sync_pipeline(self) -> None:
        """Wait for the results of all statements that were sent."""
        if self._open_pipeline is not None:
            self._open_pipeline.sync()

    def leave_failed_pipeline(self) -> None:
        """After an error, let the server take statements again, such as the end of a savepoint."""
        if self.pgconn.pipeline_status == PipelineStatus.ABORTED:
            self.sync_pipeline()

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


class ConnectError(psycopg.OperationalError):
    """A connection could not be opened, so nothing was changed on it."""

    needs_password = False
    """The server asks for a password, and there is none."""


@contextmanager
def connect_errors() -> Iterator[None]:
    """Re-raise an error of psycopg's `connect` as ConnectError."""
    try:
        yield
    except psycopg.OperationalError as error:
        connect_error = ConnectError(str(error))
        connect_error.needs_password = error.pgconn is not None and error.pgconn.needs_password
        raise connect_error from error


def connect(
    url: str, *, password: str = "", lock_timeout: float, read_only: bool, connect_timeout: int = 10
) -> PostgresConnection:
    """Connect to the database at `url`. Without a password, libpq looks for one. Raise ConnectError."""
    with connect_errors():
        connection = PostgresConnection.connect(
            url,
            password=password or None,
            autocommit=True,
            context=_ADAPTERS,
            cursor_factory=_Cursor,
            connect_timeout=connect_timeout,
            application_name="copydesk",
        )
    # A page is read from an index and stops at its length; parallel workers read on, and take as long to start.
    workers = " SET max_parallel_workers_per_gather = 0;" if read_only else ""
    connection.control(
        f"SET lock_timeout = {round(lock_timeout * 1000)}; SET default_transaction_read_only = {read_only};"
        f"{workers} SET client_encoding = UTF8; SET client_min_messages = warning"
    )
    return connection
