"""The desk of `large_desk` in a PostgreSQL database, and the same for each of thousands of users."""

from collections.abc import Iterator
from contextlib import contextmanager

from large_desk import COUNT_DRAFTS, make_rows

from copydesk.store.postgresql.connection import PostgresConnection

_SESSION = """SET session_replication_role = replica; SET synchronous_commit = off;
SET maintenance_work_mem = '1GB'; SET max_parallel_maintenance_workers = 2"""
"""Triggers and checks of foreign keys are left out, as for rows that a standby server gets."""
# Those of constraints stay: what they belong to would have to be created again.
_INDEXES = """SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
    JOIN pg_class ON pg_class.oid = indrelid AND relnamespace = current_schema()::regnamespace
    WHERE NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)"""
_COLUMNS = """SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
    AND attgenerated = '' AND attname <> 'rid' ORDER BY attnum"""
TABLES = ("user", "source", "tag", "item", "draft", "draft_tag", "draft_image")


def fill_database(connection: PostgresConnection, drafts: int) -> None:
    """Insert the rows of one user into an empty desk."""
    with _bulk_insert(connection):
        _copy_rows(connection, drafts)


def fill_for_users(connection: PostgresConnection, users: int, drafts_per_user: int) -> None:
    """Insert the rows of a desk for each of `users`.

    Drafts that are next to each other in the table are those of different users, as if all had worked at the same time.
    They have no scores, sentences and findings, so that ten million need less than 50 GB.
    """
    with _bulk_insert(connection):
        _copy_rows(connection, drafts_per_user)
        # The words of a text are found once, instead of again for each user: that would take most of the time. What is
        # measured on these rows only reads.
        connection.control("ALTER TABLE draft ALTER COLUMN words DROP EXPRESSION")
        connection.control("UPDATE draft SET score = NULL, sentences = '[]', checks = '{}'")
        for table in TABLES:
            _repeat_rows(connection, table, users)


def id_of_user(id_: str, number: int) -> str:
    """Return what is `id_` for the first user of `fill_for_users`, for the user with this number."""
    return f"{id_[:24]}{number:06x}{id_[-6:]}"


@contextmanager
def _bulk_insert(connection: PostgresConnection) -> Iterator[None]:
    """Drop the indexes during the block, and create them afterwards; then compute what triggers would have."""
    connection.control(_SESSION)
    for table in TABLES:
        connection.control(f'ALTER TABLE "{table}" SET (autovacuum_enabled = off)')
    indexes = connection.execute(_INDEXES).fetchall()
    for name, _ in indexes:
        connection.control(f"DROP INDEX {name}")
    yield
    for _, definition in indexes:
        connection.control(definition)
    connection.execute(COUNT_DRAFTS)
    for table in TABLES:
        connection.control(f'ALTER TABLE "{table}" RESET (autovacuum_enabled)')
    connection.control("VACUUM ANALYZE")
    # What is measured is not to wait until all of this is on disk.
    connection.control("CHECKPOINT")


def _copy_rows(connection: PostgresConnection, drafts: int) -> None:
    for table, columns, rows in make_rows(drafts):
        with connection.cursor().copy(f'COPY "{table}" ({", ".join(columns)}) FROM STDIN') as copy:
            for row in rows:
                copy.write_row(row)


def _repeat_rows(connection: PostgresConnection, table: str, users: int) -> None:
    """Insert each row for the users from 1, with ids of their own."""
    columns = [name for (name,) in connection.cursor().execute(_COLUMNS, (f'"{table}"',)).fetchall()]
    names = ", ".join(f'"{name}"' for name in columns)
    values = ", ".join(_repeated_value(table, name) for name in columns)
    statement = f"""INSERT INTO "{table}" ({names}) SELECT {values}
        FROM "{table}", generate_series(1, {users - 1}) AS number WHERE "{table}".ctid = %s"""
    for row in connection.execute(f'SELECT ctid FROM "{table}"').fetchall():
        connection.cursor().execute(statement, row)


def _repeated_value(table: str, column: str) -> str:
    """Return the value for the user `number` from that of the first one."""
    if _is_id(column):
        # As `id_of_user` does.
        return f"left({column}, 24) || lpad(to_hex(number), 6, '0') || right({column}, 6)"
    if column == "words":
        source_id = _repeated_value(table, "source_id")
        return f"ts_delete(words, 'source:' || source_id) || array_to_tsvector(ARRAY['source:' || {source_id}])"
    return f'"{column}" || number' if (table, column) == ("user", "name") else f'"{column}"'


def _is_id(column: str) -> bool:
    return column == "id" or (column.endswith("_id") and column not in ("post_id", "remote_id"))
