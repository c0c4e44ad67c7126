"""Tests for the tables of the workers' queue: created once, migrated, kept when those of the desk are upgraded."""

import asyncio
import time
from pathlib import Path

import psycopg
import pytest

from copydesk.desk import open_desks
from copydesk.errors import StoreError
from copydesk.store.database_file import HEAD_REVISION
from copydesk.store.postgresql import work_queue
from copydesk.store.postgresql.database import PostgresDatabase, open_postgresql
from copydesk.store.postgresql.schema import upgrade_schema
from copydesk.store.totals import load_totals
from desk_fixtures import NOW, execute_sql, query_db, settings_at
from store_fixtures import postgresql_server

VERSION = "3.10.0"


@pytest.fixture
async def database(tmp_path: Path):
    """A database that is dropped after the test."""
    server = postgresql_server()
    assert server is not None
    database = open_postgresql(server.url_without_tables(tmp_path), busy_timeout=5)
    await database.prepare()
    yield database
    await database.close()


async def prepare(database: PostgresDatabase, version: str = VERSION) -> None:
    await database.upgrade(lambda connection: work_queue.prepare(connection, version))


async def test_queue_is_created_once(database, tmp_path):
    await prepare(database)
    execute_sql(tmp_path, "SELECT worker_wake('anna', NULL)")
    await prepare(database)
    assert query_db(tmp_path, "SELECT args ->> 'user_id', priority FROM procrastinate_jobs") == [("anna", 10)]


async def test_users_are_woken_once_each(database, tmp_path):
    await prepare(database)
    execute_sql(tmp_path, "SELECT worker_wake('anna', NULL)")
    with psycopg.connect(postgresql_server().url(tmp_path)) as connection:
        connection.execute(work_queue.WAKE, {"user_ids": ["anna", "bea", "bea"]})
    woken = query_db(tmp_path, "SELECT queueing_lock FROM procrastinate_jobs ORDER BY 1")
    assert woken == [("look:anna",), ("look:bea",)]


async def test_queue_of_a_newer_version_is_refused(database):
    await prepare(database, "3.11.0")
    with pytest.raises(StoreError, match=r"Procrastinate 3\.11\.0; 3\.10\.0 is installed"):
        await prepare(database)


async def test_newer_migrations_only_are_applied(database, tmp_path):
    await prepare(database)
    assert "procrastinate_retry_job_v2" in work_queue.list_migrations("3.3.0", VERSION)[0]
    assert work_queue.list_migrations("3.4.0", VERSION) == []
    # As it was before the last one.
    execute_sql(tmp_path, "DROP FUNCTION procrastinate_retry_job_v2")
    execute_sql(tmp_path, "ALTER TYPE procrastinate_job_event_type RENAME VALUE 'retried' TO 'removed'")
    execute_sql(tmp_path, "UPDATE worker_queue SET version = '3.3.0'")
    await prepare(database)
    assert query_db(tmp_path, "SELECT to_regproc('procrastinate_retry_job_v2') IS NOT NULL") == [(True,)]
    assert query_db(tmp_path, "SELECT version FROM worker_queue") == [(VERSION,)]


async def test_upgrade_of_the_desk_keeps_the_queue(database, tmp_path):
    await prepare(database)
    triggers = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname"
    before = query_db(tmp_path, triggers)
    await database.upgrade(lambda connection: upgrade_schema(connection, HEAD_REVISION))
    assert query_db(tmp_path, triggers) == before


@pytest.mark.parametrize(
    "change",
    ["DROP FUNCTION worker_wake_draft CASCADE", "UPDATE worker_queue SET fingerprint = 'that of another version'"],
)
async def test_missing_and_changed_triggers_are_created_again(database, tmp_path, change):
    await prepare(database)
    triggers = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname"
    state = "SELECT version, fingerprint FROM worker_queue"
    before = query_db(tmp_path, triggers), query_db(tmp_path, state)
    execute_sql(tmp_path, change)
    await prepare(database)
    assert (query_db(tmp_path, triggers), query_db(tmp_path, state)) == before


async def test_waiting_job_is_enough(database, tmp_path):
    await prepare(database)
    for _ in range(2):
        execute_sql(tmp_path, "SELECT worker_wake('anna', NULL), worker_wake('ben', 1)")
    assert query_db(tmp_path, "SELECT count(*) FROM procrastinate_jobs") == [(2,)]
    # One that has begun may have read what was there before.
    execute_sql(tmp_path, "UPDATE procrastinate_jobs SET status = 'doing'")
    execute_sql(tmp_path, "SELECT worker_wake('anna', NULL)")
    assert query_db(tmp_path, "SELECT count(*) FROM procrastinate_jobs") == [(3,)]


async def test_job_in_the_future_waits_for_its_time(database, tmp_path):
    await prepare(database)
    ((soon,),) = query_db(tmp_path, "SELECT (extract(epoch FROM now()) * 1000000)::bigint + 30000000")
    wake = f"SELECT worker_wake('anna', NULL), worker_wake('anna', {soon})"
    # Without a worker they would only pile up.
    execute_sql(tmp_path, wake)
    assert query_db(tmp_path, "SELECT count(*) FROM procrastinate_jobs") == [(1,)]
    execute_sql(tmp_path, "INSERT INTO procrastinate_workers DEFAULT VALUES")
    execute_sql(tmp_path, wake)
    times = "SELECT (extract(epoch FROM scheduled_at) * 1000000)::bigint FROM procrastinate_jobs ORDER BY id"
    assert query_db(tmp_path, times) == [(None,), (soon,)]


async def test_jobs_and_workers_are_counted(database, tmp_path):
    assert (await database.read(load_totals, NOW)).queue is None
    await prepare(database)
    execute_sql(tmp_path, "SELECT worker_wake('anna', NULL), worker_wake('ben', NULL), worker_wake('cleo', NULL)")
    execute_sql(tmp_path, "UPDATE procrastinate_events SET at = now() - interval '90 s'")
    for number in range(len(work_queue.QUEUES) + 1):
        # The last one has died with a job.
        minutes = 2 * (number == len(work_queue.QUEUES))
        insert = "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - make_interval(mins => ?))"
        execute_sql(tmp_path, insert, minutes)
    doing = "UPDATE procrastinate_jobs SET status = 'doing', worker_id = (SELECT {}(id) FROM procrastinate_workers)"
    execute_sql(tmp_path, doing.format("min") + " WHERE args ->> 'user_id' = 'anna'")
    execute_sql(tmp_path, doing.format("max") + " WHERE args ->> 'user_id' = 'ben'")

    queue = (await database.read(load_totals, NOW)).queue

    assert (queue.waiting, queue.running, queue.stuck, queue.workers) == (1, 2, 1, 1)
    assert 90 <= queue.oldest < 120


async def test_change_that_is_under_way_is_waited_for(database, tmp_path):
    settings = settings_at(tmp_path)
    changed = asyncio.Event()
    async with open_desks(settings) as desks:
        loop = asyncio.get_running_loop()

        def change(connection):
            connection.exec_driver_sql("UPDATE account SET name = name")
            loop.call_soon_threadsafe(changed.set)
            time.sleep(0.8)
            # A table that has got its trigger by now.
            connection.exec_driver_sql("UPDATE draft SET text = text")

        changing = asyncio.create_task(desks._ctx.database.of_user("anna").write(change))
        await changed.wait()
        await desks.prepare_queue(VERSION, None)
        await changing
    assert query_db(tmp_path, "SELECT version FROM worker_queue") == [(VERSION,)]
