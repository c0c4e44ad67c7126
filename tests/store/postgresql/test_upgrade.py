"""Tests that tables of earlier revisions become those of this one, and keep their rows."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from copydesk.errors import StoreError
from copydesk.store.database_file import HEAD_REVISION, normalize_sql
from copydesk.store.postgresql import database as database_module
from copydesk.store.postgresql import schema
from copydesk.store.postgresql.connection import PostgresConnection
from copydesk.store.postgresql.database import PostgresDatabase, open_postgresql
from postgresql_server import PostgresqlServer, describe_schema
from store_fixtures import add_item, add_source, add_user, user_names

RELEASED = {file.stem: file for file in Path(__file__).with_name("released").iterdir()}


@pytest.fixture
def old(tmp_path: Path, server: PostgresqlServer) -> Path:
    """The folder of a desk whose database has no tables yet."""
    server.url_without_tables(tmp_path / "old")
    return tmp_path / "old"


def create_released(connection: PostgresConnection, revision: str) -> None:
    """Create the tables as the release of this revision did."""
    collation = connection.execute(schema._FIND_COLLATION).fetchone() or ("default",)
    script = RELEASED[revision].read_text().replace("{collation}", f'"{collation[0]}"')
    connection.control(script)
    connection.execute("INSERT INTO desk VALUES (FALSE, ?)", (schema.FINGERPRINTS[revision],))
    connection.execute("INSERT INTO alembic_version VALUES (?)", (revision,))


def test_tables_of_every_revision_are_kept() -> None:
    assert RELEASED.keys() == schema.FINGERPRINTS.keys()
    # Indexes and constraints are in no order.
    released, current = (
        sorted(map(normalize_sql, script.split(";\n")))
        for script in (RELEASED[HEAD_REVISION].read_text(), schema.creation_script())
    )
    assert released == current


@pytest.mark.parametrize("revision", RELEASED)
async def test_upgraded_tables_equal_new_ones(
    tmp_path: Path, server: PostgresqlServer, old: Path, revision: str
) -> None:
    with closing(server.connect(old)) as connection, closing(server.connect(tmp_path / "new")) as other:
        create_released(connection, revision)
        database = open_postgresql(server.url(old), busy_timeout=5)
        await database.upgrade(lambda conn: schema.upgrade_schema(conn, revision))
        await database.close()

        assert describe_schema(connection) == describe_schema(other)


@pytest.fixture
async def older(server: PostgresqlServer, old: Path) -> str:
    """The URL of a database with the current tables and a user."""
    database = open_postgresql(server.url(old), busy_timeout=5)
    await database.prepare()
    await database.write(add_user)
    await database.close()
    return server.url(old)


@pytest.fixture
def next_revision(older: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A revision after the current one, which adds a column."""
    monkeypatch.setattr(schema, "FINGERPRINTS", {**schema.FINGERPRINTS, "9000": "f"})
    monkeypatch.setattr(schema, "UPGRADES", {"9000": 'ALTER TABLE "user" ADD COLUMN pronoun TEXT'})
    for module in (schema, database_module):
        monkeypatch.setattr(module, "HEAD_REVISION", "9000")
    return "9000"


async def upgrade(url: str) -> str | None:
    """Open the database, and return the revision that it was upgraded from."""
    database = open_postgresql(url, busy_timeout=5)
    try:
        return (await database.prepare()).migrated_from
    finally:
        await database.close()


async def test_upgrade_keeps_rows_and_triggers(older: str, next_revision: str) -> None:
    assert await upgrade(older) == HEAD_REVISION

    database: PostgresDatabase = open_postgresql(older, busy_timeout=5)
    assert await database.read(user_names) == ["Ada"]
    assert await database.read(lambda conn: conn.exec_driver_sql('SELECT pronoun FROM "user"').scalar()) is None
    user = await database.read(lambda conn: str(conn.exec_driver_sql('SELECT id FROM "user"').scalar()))
    source = await database.write(add_source, user)
    await database.write(add_item, user, source)
    count = await database.read(lambda conn: conn.exec_driver_sql("SELECT item_count FROM source").scalar())
    await database.close()
    assert count == 1


async def test_processes_that_upgrade_at_once_do_it_once(older: str, next_revision: str) -> None:
    upgraded = await asyncio.gather(*(upgrade(older) for _ in range(5)))

    assert sorted(map(str, upgraded)) == [HEAD_REVISION, *["None"] * 4]


async def test_failed_upgrade_changes_nothing(older: str, next_revision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(schema.UPGRADES, "9000", 'ALTER TABLE "user" ADD COLUMN pronoun TEXT; SELECT 1 / 0')
    with pytest.raises(StoreError, match="division by zero"):
        await upgrade(older)

    database = open_postgresql(older, busy_timeout=5)
    columns = "SELECT count(*) FROM information_schema.columns WHERE column_name = 'pronoun'"
    assert await database.read(lambda conn: conn.exec_driver_sql(columns).scalar()) == 0
    assert (
        await database.read(lambda conn: conn.exec_driver_sql("SELECT version_num FROM alembic_version").scalar())
        == HEAD_REVISION
    )
    await database.close()
