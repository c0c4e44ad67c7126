"""Tests for a desk on a PostgreSQL server: how it is opened, what it refuses, how others see its changes."""

import asyncio
import sys
from pathlib import Path

import pytest

from cli_runner import run_command
from copydesk.desk import Desk, load_first_page, open_desk, open_desks
from copydesk.desk.doctor import examine
from copydesk.errors import ConflictError, StoreError, StoreSchemaError, StoreTooNewError
from copydesk.model.check_finding import Verdict
from copydesk.model.event import EventType
from copydesk.store.database_file import HEAD_REVISION
from desk_fixtures import execute_sql, list_drafts, open_desk_at, query_db, settings_at
from store_fixtures import database_variables, list_files, postgresql_server


async def create_draft(desk: Desk, text: str = "The ferry sails again.") -> str:
    return (await desk.drafts.create({"text": text})).drafts[0].id


def remove_tables(home: Path) -> None:
    """Give the desk a database without tables."""
    server = postgresql_server()
    assert server is not None
    server.url_without_tables(home)


def test_database_without_tables_has_no_first_page(tmp_path: Path) -> None:
    remove_tables(tmp_path)
    assert load_first_page(settings_at(tmp_path), 10) == ()


async def test_first_page_is_loaded_without_sqlalchemy(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await create_draft(desk)
    program = f"""import sys
from pathlib import Path
from copydesk.desk import load_first_page
from copydesk.settings import load
drafts = load_first_page(load({database_variables(tmp_path)}, Path({str(tmp_path)!r})), 10)
print(len(drafts), "sqlalchemy" in sys.modules)"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert output.decode().split() == ["1", "False"]


async def test_nothing_is_stored_in_the_folder(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await create_draft(desk)

    assert query_db(tmp_path, "SELECT text FROM draft") == [("The ferry sails again.",)]
    assert list_files(tmp_path) == []


async def test_missing_driver_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("copydesk.store.postgresql")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install '\.\[postgresql\]'"):
        async with open_desk_at(tmp_path):
            pass


async def test_server_that_is_not_there_is_reported_without_the_password(tmp_path: Path) -> None:
    url = f"postgresql://ada:AAAA1234@/desk?host={tmp_path}"
    with pytest.raises(StoreError, match="Cannot reach postgresql://") as raised:
        async with open_desk_at(tmp_path, database__url=url):
            pass
    assert "AAAA1234" not in str(raised.value)


async def test_desks_that_start_at_once_share_tables_and_owner(tmp_path: Path) -> None:
    remove_tables(tmp_path)

    async def open_and_create(number: int) -> str:
        async with open_desk(settings_at(tmp_path)) as desk:
            await create_draft(desk, f"Draft {number}.")
            return desk.user.id

    owners = await asyncio.gather(*(open_and_create(number) for number in range(6)))

    assert len(set(owners)) == 1
    async with open_desk_at(tmp_path) as desk:
        assert len(await list_drafts(desk)) == 6


async def test_two_commands_that_start_at_once_create_the_tables(tmp_path: Path) -> None:
    remove_tables(tmp_path)

    commands = [asyncio.to_thread(run_command, tmp_path, "draft", "new", f"Draft {number}.") for number in range(2)]
    results = await asyncio.gather(*commands)

    assert [result.code for result in results] == [0, 0], results
    assert query_db(tmp_path, "SELECT count(*) FROM draft") == [(2,)]


async def test_tables_of_another_program_are_left_alone(tmp_path: Path) -> None:
    remove_tables(tmp_path)
    execute_sql(tmp_path, "CREATE TABLE draft (id INTEGER)")

    with pytest.raises(StoreError, match=r"Cannot create the tables: .*draft.*Nothing changed"):
        async with open_desk_at(tmp_path):
            pass

    assert query_db(tmp_path, "SELECT relname FROM pg_stat_user_tables") == [("draft",)]


async def test_newer_tables_are_refused(tmp_path: Path) -> None:
    execute_sql(tmp_path, "UPDATE alembic_version SET version_num = '9999'")
    try:
        with pytest.raises(StoreTooNewError, match="9999"):
            async with open_desk_at(tmp_path):
                pass
    finally:
        execute_sql(tmp_path, "UPDATE alembic_version SET version_num = ?", HEAD_REVISION)


async def test_tables_of_a_development_version_are_refused(tmp_path: Path) -> None:
    ((fingerprint,),) = query_db(tmp_path, "SELECT fingerprint FROM desk")
    execute_sql(tmp_path, "UPDATE desk SET fingerprint = 'other'")
    try:
        with pytest.raises(StoreSchemaError):
            async with open_desk_at(tmp_path):
                pass
    finally:
        execute_sql(tmp_path, "UPDATE desk SET fingerprint = ?", fingerprint)


async def test_change_of_another_desk_is_seen(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    async with open_desks(settings) as here, open_desks(settings) as elsewhere:
        watching, changing = await here.get(here.owner), await elsewhere.get(elsewhere.owner)
        newest = (await watching.events.range()).newest
        waiting = asyncio.create_task(watching.events.wait(newest))
        await asyncio.sleep(0)
        await create_draft(changing)
        assert [event.type for event in await asyncio.wait_for(waiting, 30)] == [EventType.DRAFT_CREATED]


async def test_automatic_backups_are_left_to_the_server(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        assert not await desk.backups.is_due()
        with pytest.raises(ConflictError, match="VACUUM FULL"):
            await desk.retention.compact()


async def test_doctor_reports_the_server(tmp_path: Path) -> None:
    findings = await examine(settings_at(tmp_path), lambda: open_desk_at(tmp_path))

    (database,) = [finding for finding in findings if finding.what == "database"]
    assert database.verdict is Verdict.OK
    assert "PostgreSQL 1" in database.found
    assert " MiB" in database.found
    assert "answers in " in database.found
    (size,) = [finding for finding in findings if finding.what == "size"]
    assert size.found == "0.0 MiB: images 0.0, backups 0.0."
    assert not [finding for finding in findings if finding.verdict is Verdict.ERROR]


async def test_data_folder_is_created(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path / "new" / "home"):
        assert list_files(tmp_path / "new") == ["home"]
