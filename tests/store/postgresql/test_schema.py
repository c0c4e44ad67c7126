"""Tests that both databases have the same tables."""

from sqlalchemy import Connection, UniqueConstraint, inspect

from copydesk.store import tables, triggers
from copydesk.store.database import Database
from copydesk.store.database_file import HEAD_REVISION, REVISIONS
from copydesk.store.postgresql.schema import FINGERPRINTS, UPGRADES, compute_fingerprint
from copydesk.store.postgresql.triggers import TRIGGERS


def sqlite_columns() -> dict[str, dict[str, bool]]:
    """Return, by table and column, if it may be NULL."""
    return {
        table.name: {column.name: bool(column.nullable) for column in table.c}
        for table in tables.metadata.sorted_tables
    }


async def test_columns_are_those_of_sqlite(store: Database) -> None:
    def columns(connection: Connection) -> dict[str, dict[str, bool]]:
        query = """SELECT table_name, column_name, is_nullable = 'YES' FROM information_schema.columns
            JOIN information_schema.tables USING (table_schema, table_name)
            WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'"""
        found: dict[str, dict[str, bool]] = {}
        for table, column, nullable in connection.exec_driver_sql(query):
            found.setdefault(table, {})[column] = nullable
        return found

    found = await store.read(columns)

    # The revision, and the state that SQLite keeps in the header of the file.
    assert found.pop("alembic_version") == {"version_num": False}
    assert found.pop("desk") == {"sends_marked": False, "fingerprint": False}
    # The full text index.
    assert found["draft"].pop("words")
    assert found == sqlite_columns()


async def test_keys_and_indexes_are_those_of_sqlite(store: Database) -> None:
    def keys(connection: Connection) -> dict[str, tuple[set[str | None], set[str | None], set[str | None]]]:
        inspector = inspect(connection)
        return {
            name: (
                {str(index["name"]) for index in inspector.get_indexes(name) if "duplicates_constraint" not in index},
                {str(unique["name"]) for unique in inspector.get_unique_constraints(name)},
                {str(key["name"]) for key in inspector.get_foreign_keys(name)},
            )
            for name in sqlite_columns()
        }

    found = await store.read(keys)

    found["draft"][0].remove("ix_draft_words")
    assert found == {
        table.name: (
            {str(index.name) for index in table.indexes},
            {str(unique.name) for unique in table.constraints if isinstance(unique, UniqueConstraint)},
            {str(key.name) for key in table.foreign_key_constraints},
        )
        for table in tables.metadata.sorted_tables
    }


def test_triggers_are_those_of_sqlite() -> None:
    # A generated column takes the place of these.
    full_text = {"draft_indexed", "draft_indexed_anew", "draft_forgotten"}

    assert TRIGGERS.keys() == triggers.TRIGGERS.keys() - full_text


def test_fingerprint_is_that_of_the_statements() -> None:
    assert list(FINGERPRINTS)[-1] == HEAD_REVISION
    assert compute_fingerprint() == FINGERPRINTS[HEAD_REVISION], (
        "A revision is frozen: add the next one to FINGERPRINTS, and the statements that lead to it to UPGRADES."
    )


def test_every_revision_since_the_first_has_its_statements() -> None:
    first = next(iter(FINGERPRINTS))
    assert list(FINGERPRINTS) == [revision for revision in REVISIONS if revision >= first]
    assert list(UPGRADES) == list(FINGERPRINTS)[1:]
