"""Tests of two versions of Copydesk beside each other: one that has upgraded the tables, and the one before.

This version takes the part of the older one: the tables are upgraded to a revision that it does not know.
"""

import re
from contextlib import closing
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.errors import StoreBusyError, StoreTooNewError, UndoNotAllowedError
from copydesk.model.draft import Status
from copydesk.store.database_file import HEAD_REVISION
from copydesk.store.postgresql import schema
from desk_fixtures import FakeWeb, create_source, entry, execute_sql, feed, open_desk_at, query_db
from next_version import NEXT_REVISION, upgrade_to_next_version
from posting_fixtures import connect_account, create_approved_draft, fake_platforms, open_posting_desk
from store_fixtures import connect_to, postgresql_server

ALLOWED = (
    r"CREATE TABLE \w+ \(.*\)",
    r"CREATE INDEX \w+ ON \w+ .*",
    # The version before names no index on PostgreSQL.
    r"DROP INDEX \w+",
    # The version before inserts rows without a value for it.
    # Of a new column and a new table, which the version before does not know.
    r"UPDATE delivery SET identity = .*",
    r"INSERT INTO clock_reading .*",
    r'ALTER TABLE (\w+|"\w+") ADD COLUMN \w+ \w+( COLLATE "C")?( DEFAULT \S+ NOT NULL)?',
)
FEED = "https://one.example/feed"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The URL of a database that other tests do not get afterwards."""
    server = postgresql_server()
    assert server is not None
    return server.url_without_tables(tmp_path)


@pytest.mark.parametrize("revision", schema.UPGRADES)
def test_upgrades_only_add(revision: str) -> None:
    statements = [statement.strip() for statement in schema.UPGRADES[revision].split(";\n") if statement.strip()]
    assert statements
    for statement in statements:
        assert any(re.fullmatch(pattern, statement, re.DOTALL) for pattern in ALLOWED), statement


async def use(desk: Desk) -> None:
    """Do a little of everything that reads and writes drafts and items."""
    # Often enough for the driver to prepare the statements on the server.
    for number in range(7):
        (draft,) = (await desk.drafts.create({"text": f"Words about harbours, {number}."})).drafts
        await desk.drafts.approve(draft.id)
        await desk.drafts.undo(draft.id)
        assert (await desk.drafts.get(draft.id)).status is draft.status
    assert (await desk.drafts.search("harbours")).items
    assert (await desk.drafts.list(limit=5)).items
    assert await desk.drafts.queue()


async def test_older_process_works_on(tmp_path: Path, url: str) -> None:
    web = FakeWeb()
    web.put(FEED, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk, FEED)
        await use(desk)
        await desk.pipeline.run()

        await upgrade_to_next_version(url)

        await use(desk)
        web.put(FEED, feed(entry(1), entry(2)))
        assert (await desk.pipeline.run()).stats.items_new == 1
        counts = await desk.drafts.counts()
    assert sum(counts.by_status.values()) == len(query_db(tmp_path, "SELECT id FROM draft"))
    assert query_db(tmp_path, "SELECT DISTINCT mood FROM draft") == [("calm",)]


async def test_older_process_is_refused_at_its_start(tmp_path: Path, url: str) -> None:
    async with open_desk_at(tmp_path):
        pass
    await upgrade_to_next_version(url)
    with pytest.raises(StoreTooNewError, match=r"A newer version of Copydesk created the tables \(revision 9000\)"):
        async with open_desk_at(tmp_path):
            pass


async def test_upgrade_does_not_wait_for_ever(tmp_path: Path, url: str) -> None:
    async with open_desk_at(tmp_path):
        pass
    with closing(connect_to(tmp_path)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM draft").fetchone()
        with pytest.raises(StoreBusyError):
            await upgrade_to_next_version(url, busy_timeout=0.1)
        connection.execute("ROLLBACK")
    assert query_db(tmp_path, "SELECT version_num FROM alembic_version") == [(HEAD_REVISION,)]

    await upgrade_to_next_version(url)

    assert query_db(tmp_path, "SELECT version_num FROM alembic_version") == [(NEXT_REVISION,)]


async def test_deliveries_get_the_identity_of_their_connected_account(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        await connect_account(desk), await connect_account(desk, "you")
        await desk.posting.post(await create_approved_draft(desk))
        await desk.accounts.remove("fake:you")
    # As the version before left the tables.
    execute_sql(tmp_path, "DROP TABLE clock_reading")
    execute_sql(tmp_path, "ALTER TABLE source DROP COLUMN named_by_user")
    execute_sql(tmp_path, "ALTER TABLE delivery DROP COLUMN identity")
    execute_sql(tmp_path, "UPDATE alembic_version SET version_num = '0023'")
    execute_sql(tmp_path, "UPDATE desk SET fingerprint = ?", schema.FINGERPRINTS["0023"])
    async with open_posting_desk(tmp_path, fake_platforms()):
        pass
    identities = query_db(tmp_path, "SELECT account_id IS NULL, identity FROM delivery ORDER BY identity")
    assert identities == [(False, "fake:me@https://fake.example"), (True, None)]


async def test_older_process_does_not_undo_a_change_of_a_new_column(tmp_path: Path, url: str) -> None:
    async with open_desk_at(tmp_path) as desk:
        (draft,) = (await desk.drafts.create({"text": "Words about harbours."})).drafts
        await desk.drafts.approve(draft.id)
        await upgrade_to_next_version(url)
        # As the next version stores the change.
        execute_sql(tmp_path, """UPDATE draft_event SET "before" = '{"status": "pending_review", "mood": "sad"}'""")

        with pytest.raises(UndoNotAllowedError, match=r"a newer version of Copydesk made the change\. Use that"):
            await desk.drafts.undo(draft.id)

        assert (await desk.drafts.get(draft.id)).status is Status.APPROVED
    assert query_db(tmp_path, "SELECT mood FROM draft") == [("calm",)]
