"""Copy all rows of a database to another one: from a SQLite file to a PostgreSQL database, or back.

    create tables -> copy the rows in batches -> compare all rows -> add indexes, foreign keys, triggers, the revision

The rows of a table go in the order of its primary key, one transaction for each batch: the last key in the target says
where a copy that was killed goes on. Triggers come last, since they would count and date the rows again. Without its
revision the target is no desk, so that no unfinished copy is ever opened as one.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Protocol

from sqlalchemy import Table

from copydesk.errors import ConflictError, StoreBusyError, StoreError
from copydesk.model.backup import CopyProgress, CopyStage
from copydesk.store import tables
from copydesk.store.database_file import HEAD_REVISION, connect_readonly
from copydesk.store.migrate import CREATE_VERSION_TABLE, index_statements, table_statements
from copydesk.store.raw_sql import placeholders
from copydesk.store.triggers import CREATE_FTS_INDEX, TRIGGERS

BATCH_SIZE: Final = 1000
"""Rows that are copied in one transaction, and compared at once."""
STATE_TABLE: Final = "unfinished_copy"
"""In the target until the copy is complete: the source and the revision of the tables."""
NUMBERED: Final = "draft_event"
"""The table whose numbers are never used again, even if the row was deleted."""
CREATE_STATE: Final = "CREATE TABLE unfinished_copy (source TEXT NOT NULL, revision TEXT NOT NULL)"
SAVE_STATE: Final = "INSERT INTO unfinished_copy VALUES (?, ?)"
LOAD_STATE: Final = "SELECT source, revision FROM unfinished_copy"
DROP_STATE: Final = "DROP TABLE unfinished_copy"

Row = tuple[Any, ...]
OnProgress = Callable[[CopyProgress], None]
"""Called after each batch. What it raises stops the copy."""


class SqlConnection(Protocol):
    """What both drivers have in common, with the placeholders of SQLite."""

    def execute(self, statement: str, values: Sequence[Any] = ..., /) -> Any:
        """Execute a statement; return its cursor."""


class CopiedTable:
    """The columns of a table that are copied: all but those that the database computes."""

    def __init__(self, table: Table) -> None:
        self.name = table.name
        self.columns = [column.name for column in table.columns if column.computed is None]
        self.column_list = _quoted(self.columns)
        keys = [column.name for column in table.primary_key]
        self._key_positions = [self.columns.index(name) for name in keys]
        key_list, descending = _quoted(keys), ", ".join(f'"{name}" DESC' for name in keys)
        # Names of our own.
        self._count_query = f'SELECT count(*) FROM "{self.name}"'  # noqa: S608
        self._last_key_query = f'SELECT {key_list} FROM "{self.name}" ORDER BY {descending} LIMIT 1'  # noqa: S608
        self._condition = f"WHERE ({key_list}) > ({placeholders(keys)})"
        self._query = f'SELECT {self.column_list} FROM "{self.name}" {{condition}} ORDER BY {key_list} LIMIT {{limit}}'  # noqa: S608
        self.insert_statement = f'INSERT INTO "{self.name}" ({self.column_list}) VALUES ({placeholders(self.columns)})'  # noqa: S608
        self.delete_statement = f'DELETE FROM "{self.name}"'  # noqa: S608
        self.row_number = "rid" if "rid" in keys else None
        """The column that the database numbers by itself, if there is one."""

    def key(self, row: Row) -> Row:
        """Return the primary key of a row."""
        return tuple(row[position] for position in self._key_positions)

    def count(self, connection: SqlConnection) -> int:
        """Return the number of rows."""
        return int(connection.execute(self._count_query).fetchone()[0])

    def last_key(self, connection: SqlConnection) -> Row | None:
        """Return the largest primary key; None if there are no rows."""
        found: Row | None = connection.execute(self._last_key_query).fetchone()
        return found

    def batches(self, connection: SqlConnection, after: Row | None = None) -> Iterator[list[Row]]:
        """Yield the rows whose key follows `after`, in order, as they are stored."""
        while rows := self._read(connection, after):
            yield rows
            after = self.key(rows[-1])

    def _read(self, connection: SqlConnection, after: Row | None) -> list[Row]:
        condition = "" if after is None else self._condition
        query = self._query.format(condition=condition, limit=BATCH_SIZE)
        # SQLite has no booleans: PostgreSQL's are the numbers that it stores.
        return [
            tuple([int(value) if value is True or value is False else value for value in row])
            for row in connection.execute(query, after or ()).fetchall()
        ]


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


COPIED_TABLES: Final = tuple(map(CopiedTable, tables.metadata.sorted_tables))


class Source(Protocol):
    """A database to copy, open for reading, which shows the same rows all the time."""

    name: str

    @property
    def connection(self) -> SqlConnection:
        """The open connection."""

    def sends_marked(self) -> bool:
        """Return True if requests of it were marked outside it; see `deliveries.are_sends_marked`."""

    def last_number(self) -> int:
        """Return the last number that NUMBERED has used."""

    def check_unchanged(self) -> None:
        """Raise StoreBusyError if it was changed since it was opened. Nothing is read from it after that."""


class Target(Protocol):
    """A database that is being written."""

    name: str

    @property
    def connection(self) -> SqlConnection:
        """The open connection."""

    def is_complete(self) -> bool:
        """Return True if it is a whole desk of this version."""

    def create_tables(self, source: str) -> None:
        """Create the tables without anything that depends on their rows, unless an earlier call did.

        Raise ConflictError if the database holds anything else than an unfinished copy of `source`.
        """

    def insert(self, table: CopiedTable, rows: Sequence[Row]) -> None:
        """Insert rows in one transaction."""

    def clear(self, table: CopiedTable) -> None:
        """Delete all rows of the table."""

    def finish(self, *, sends_marked: bool, last_number: int) -> None:
        """Add everything else in one transaction, the revision too."""


def copy_rows(source: Source, target: Target, on_progress: OnProgress) -> int:
    """Copy what `target` lacks, compare every row, and finish it; return the number of rows.

    A target that is complete is only compared. Raise ConflictError if it holds something else, StoreBusyError if
    `source` changed, StoreError if a row cannot be stored or is not the same.
    """
    if target.is_complete():
        return check_equal(source, target.name, target.connection, on_progress)
    target.create_tables(source.name)
    # Of one snapshot: the totals do not change while the rows are copied.
    counts = {table.name: table.count(source.connection) for table in COPIED_TABLES}
    total = sum(counts.values())
    copied = _Counter(CopyStage.COPY, total, on_progress)
    for table in COPIED_TABLES:
        _copy_table(table, source, target, copied)
    compared = _Counter(CopyStage.COMPARE, total, on_progress)
    for table in COPIED_TABLES:
        if _find_difference(table, source.connection, target.connection, compared) is None:
            continue
        # Copied by an earlier call, and the source has changed since then.
        target.clear(table)
        _copy_table(table, source, target, _Counter(CopyStage.COPY, counts[table.name], on_progress))
        difference = _find_difference(table, source.connection, target.connection, compared)
        if difference is not None:
            raise StoreError(
                f"Row {_format_key(difference)} of the table {table.name} is not the same in {target.name};"
                f" {source.name} is unchanged.",
                hint="Report it, with the version of the server.",
            )
    sends_marked, last_number = source.sends_marked(), source.last_number()
    source.check_unchanged()
    on_progress(CopyProgress(stage=CopyStage.FINISH, done=0, total=1))
    target.finish(sends_marked=sends_marked, last_number=last_number)
    on_progress(CopyProgress(stage=CopyStage.FINISH, done=1, total=1))
    return total


class _Counter:
    """Counts rows of one stage and reports them."""

    def __init__(self, stage: CopyStage, total: int, on_progress: OnProgress) -> None:
        self._stage, self._total, self._on_progress = stage, total, on_progress
        self._done = 0

    def add(self, table: CopiedTable, rows: int) -> None:
        self._done += rows
        # More than were counted only if the source is not the same any more, which is noticed at the end.
        done = min(self._done, self._total)
        self._on_progress(CopyProgress(stage=self._stage, done=done, total=self._total, table=table.name))


def _copy_table(table: CopiedTable, source: Source, target: Target, counter: _Counter) -> None:
    last_key = table.last_key(target.connection)
    if last_key is not None:
        counter.add(table, table.count(target.connection))
    for rows in table.batches(source.connection, last_key):
        target.insert(table, rows)
        counter.add(table, len(rows))


def _find_difference(table: CopiedTable, one: SqlConnection, other: SqlConnection, counter: _Counter) -> Row | None:
    """Return the key of the first row that is not the same on both sides; None if all are."""
    both: Iterator[tuple[list[Row], list[Row]]] = zip_longest(table.batches(one), table.batches(other), fillvalue=[])
    for expected, found in both:
        # Whole batches first: nearly all are equal.
        if expected != found:
            return next(table.key(row or copy or ()) for row, copy in zip_longest(expected, found) if row != copy)
        counter.add(table, len(expected))
    return None


def check_equal(source: Source, name: str, other: SqlConnection, on_progress: OnProgress) -> int:
    """Return the number of rows of `source`. Raise ConflictError if the desk `name` has not exactly the same rows."""
    counts = [table.count(source.connection) for table in COPIED_TABLES]
    counter = _Counter(CopyStage.COMPARE, sum(counts), on_progress)
    is_equal = counts == [table.count(other) for table in COPIED_TABLES] and all(
        _find_difference(table, source.connection, other, counter) is None for table in COPIED_TABLES
    )
    if not is_equal:
        raise ConflictError(
            f"{name} already holds a desk, and not the same rows as {source.name}; nothing changed.",
            hint="Name a database that is empty, or a file that does not exist.",
        )
    return sum(counts)


def _format_key(key: Row) -> str:
    return "/".join(map(str, key))


class FileSource:
    """A SQLite database in one read transaction."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.name = str(path)
        self.connection = connection
        # Counts the commits of others, but not within a transaction.
        self._version = self._data_version()
        connection.execute("BEGIN")
        # Takes the snapshot.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()

    def _data_version(self) -> int:
        return int(self.connection.execute("PRAGMA data_version").fetchone()[0])

    def check_references(self) -> None:
        """Raise StoreError if rows refer to missing ones: PostgreSQL would refuse them when all others are copied."""
        orphans = {table for table, *_ in self.connection.execute("PRAGMA foreign_key_check")}
        if orphans:
            raise StoreError(
                f"Rows of {', '.join(sorted(orphans))} refer to rows that are missing in {self.name}; nothing changed.",
                hint="Another program deleted them. Restore a backup, or delete these rows.",
            )

    def sends_marked(self) -> bool:
        return bool(self.connection.execute("PRAGMA user_version").fetchone()[0])

    def last_number(self) -> int:
        found = self.connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (NUMBERED,)).fetchone()
        return int(found[0]) if found else 0

    def check_unchanged(self) -> None:
        self.connection.execute("ROLLBACK")
        if self._data_version() != self._version:
            raise StoreBusyError(
                f"Another program changed {self.name} while it was copied; nothing else changed.",
                hint="Run the command again: it copies what has changed.",
            )


@contextmanager
def read_file(path: Path) -> Iterator[FileSource]:
    """Open the database at `path` for reading, which leaves it as it is."""
    with closing(connect_readonly(path)) as connection:
        connection.isolation_level = None
        yield FileSource(path, connection)


class FileTarget:
    """A SQLite database to write: an empty file, or one with an unfinished copy."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.name = str(path)
        self.connection = connection

    def is_complete(self) -> bool:
        return self._has_table("alembic_version") and not self._has_table(STATE_TABLE)

    def create_tables(self, source: str) -> None:
        state = None
        if self._has_table(STATE_TABLE):
            state = self.connection.execute(LOAD_STATE).fetchone()
        is_empty = not self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if is_unfinished(state, source, self.name, is_empty=is_empty):
            return
        # Only possible while there are no tables, as in every other database.
        self.connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        with self._transaction():
            for statement in table_statements():
                self.connection.execute(statement)
            self.connection.execute(CREATE_STATE)
            self.connection.execute(SAVE_STATE, (source, HEAD_REVISION))

    def _has_table(self, name: str) -> bool:
        return bool(self.connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone())

    def insert(self, table: CopiedTable, rows: Sequence[Row]) -> None:
        with self._transaction():
            self.connection.executemany(table.insert_statement, rows)

    def clear(self, table: CopiedTable) -> None:
        with self._transaction():
            self.connection.execute(table.delete_statement)

    def finish(self, *, sends_marked: bool, last_number: int) -> None:
        with self._transaction():
            for statement in [*index_statements(), CREATE_FTS_INDEX]:
                self.connection.execute(statement)
            self.connection.execute("INSERT INTO draft_words (draft_words) VALUES ('rebuild')")
            for statement in TRIGGERS.values():
                self.connection.execute(statement)
            # SQLite has counted the copied rows itself, but not the numbers that were used and deleted.
            self.connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (NUMBERED,))
            if last_number:
                self.connection.execute(
                    "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (NUMBERED, last_number)
                )
            self.connection.execute(f"PRAGMA user_version = {int(sends_marked)}")
            self.connection.execute(DROP_STATE)
            self.connection.execute(CREATE_VERSION_TABLE)
            self.connection.execute("INSERT INTO alembic_version VALUES (?)", (HEAD_REVISION,))
            # Without statistics the first queries would read all rows of the user.
            self.connection.execute("PRAGMA analysis_limit = 400")
            self.connection.execute("ANALYZE")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # A full disk may have ended it already.
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")


@contextmanager
def write_file(path: Path) -> Iterator[FileTarget]:
    """Open the file at `path`, which exists, to write a copy to it. Only one process can do so at a time."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)) as connection:
        # Held from the first transaction to the end.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        yield FileTarget(path, connection)


def is_unfinished(state: Row | None, source: str, target: str, *, is_empty: bool) -> bool:
    """Return True if the `state` is that of an unfinished copy of `source`, False if the target is empty.

    Raise ConflictError if the target holds anything else.
    """
    if state is None:
        if is_empty:
            return False
        raise ConflictError(f"{target} is not empty; nothing changed.", hint="Name an empty database.")
    if state != (source, HEAD_REVISION):
        raise ConflictError(
            f"{target} has an unfinished copy of {state[0]}, which is another desk or was made by another version;"
            " nothing changed.",
            hint="Name an empty database.",
        )
    return True


def copy_to_file(source: Source, path: Path, on_progress: OnProgress) -> int:
    """Copy all rows to the file at `path`, which exists and is empty or unfinished; return the number of rows."""
    with write_file(path) as target:
        return copy_rows(source, target, on_progress)
