"""Tests for `write_durable`: units that wait at the same time share a commit, and are still atomic one by one."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from copydesk.errors import ConflictError, StoreFullError
from copydesk.store.database import COMMIT_BATCH_SIZE, Database
from copydesk.store.raw_sql import dbapi_connection
from store_fixtures import add_source, add_user, user_names

pytestmark = pytest.mark.sqlite("PostgreSQL groups commits itself")

NAMES = [f"user {number:03}" for number in range(COMMIT_BATCH_SIZE + 5)]
Submit = Callable[[Awaitable[object]], "asyncio.Future[object]"]


@asynccontextmanager
async def busy_writer(store: Database, statements: list[str] | None = None) -> AsyncIterator[Submit]:
    """Keep the writer busy during the block, so that the units that are submitted in it wait.

    `statements` gets what the writer executes from then on.
    """
    proceed, tasks = threading.Event(), list[asyncio.Future[object]]()

    def block(connection: Connection) -> None:
        assert proceed.wait(60)
        if statements is not None:
            dbapi_connection(connection).set_trace_callback(statements.append)

    def submit(write: Awaitable[object]) -> "asyncio.Future[object]":
        tasks.append(asyncio.ensure_future(write))
        return tasks[-1]

    submit(store.write(block))
    try:
        yield submit
        await asyncio.sleep(0)
    finally:
        proceed.set()
        await asyncio.wait(tasks)


def refuse_after_writing(connection: Connection) -> None:
    add_user(connection, "refused")
    raise ConflictError("no")


def fill_the_disk(connection: Connection) -> None:
    driver = dbapi_connection(connection)
    pages = driver.execute("PRAGMA page_count").fetchone()[0]
    driver.execute(f"PRAGMA max_page_count = {pages}")
    add_user(connection, "large " * 100_000)


async def test_waiting_units_share_commits(store: Database) -> None:
    statements: list[str] = []
    async with busy_writer(store, statements) as submit:
        for name in NAMES:
            submit(store.write_durable(add_user, name))

    # The first one is of the unit that kept the writer busy.
    assert [statement for statement in statements if statement.startswith(("COMMIT", "PRAGMA"))] == [
        "COMMIT",
        *["PRAGMA synchronous = FULL", "COMMIT", "PRAGMA synchronous = NORMAL"] * 2,
    ]
    assert await store.read(user_names) == NAMES


async def test_results_are_returned_to_their_callers(store: Database) -> None:
    async with busy_writer(store) as submit:
        tasks = [submit(store.write_durable(lambda _, name=name: name.upper())) for name in NAMES]

    assert [task.result() for task in tasks] == [name.upper() for name in NAMES]


async def test_failed_unit_is_undone_alone(store: Database) -> None:
    async with busy_writer(store) as submit:
        submit(store.write_durable(add_user, "before"))
        refused = submit(store.write_durable(refuse_after_writing))
        failed = submit(store.write_durable(add_source, "nobody"))
        submit(store.write_durable(add_user, "later"))

    assert isinstance(refused.exception(), ConflictError)
    assert isinstance(failed.exception(), IntegrityError)
    assert await store.read(user_names) == ["before", "later"]


async def test_failed_commit_fails_all_units(store: Database) -> None:
    def break_commit(connection: Connection) -> None:
        dbapi_connection(connection).execute("PRAGMA defer_foreign_keys = ON")
        add_source(connection, "nobody")

    async with busy_writer(store) as submit:
        failed = [
            submit(store.write_durable(add_user, "before")),
            submit(store.write_durable(break_commit)),
            submit(store.write_durable(add_user, "later")),
        ]

    assert [type(task.exception()) for task in failed] == [IntegrityError] * 3
    await store.write_durable(add_user, "afterwards")
    assert await store.read(user_names) == ["afterwards"]


async def test_full_disk_leaves_no_answered_unit_unsaved(store: Database) -> None:
    async with busy_writer(store) as submit:
        first = submit(store.write_durable(add_user, "before"))
        full = submit(store.write_durable(fill_the_disk))

    assert isinstance(full.exception(), StoreFullError)
    assert await store.read(user_names) == ([] if first.exception() else ["before"])


async def test_answer_comes_after_the_commit(store: Database) -> None:
    def stored_names() -> list[str]:
        with closing(sqlite3.connect(store.path)) as other:
            return [name for (name,) in other.execute("SELECT name FROM user ORDER BY name")]

    async def write_and_look(name: str) -> bool:
        await store.write_durable(add_user, name)
        return name in stored_names()

    async with busy_writer(store) as submit:
        tasks = [submit(write_and_look(name)) for name in NAMES]

    assert all(task.result() for task in tasks)


async def test_units_keep_the_order_of_submission(store: Database) -> None:
    order: list[str] = []
    async with busy_writer(store) as submit:
        submit(store.write_durable(lambda _: order.append("first")))
        submit(store.write(lambda _: order.append("second")))
        submit(store.write_durable(lambda _: order.append("third")))
        submit(store.write_groups(lambda _, names: order.extend(names) or [None] * len(names), ["fourth", "fifth"]))
        submit(store.write_durable(lambda _: order.append("sixth")))

    assert order == ["first", "second", "third", "fourth", "fifth", "sixth"]


@pytest.mark.parametrize("cancelled", [0, 1, 2])
async def test_cancelled_unit_is_left_out(store: Database, cancelled: int) -> None:
    async with busy_writer(store) as submit:
        tasks = [submit(store.write_durable(add_user, name)) for name in NAMES[:3]]
        await asyncio.sleep(0)
        tasks[cancelled].cancel()

    assert tasks[cancelled].cancelled()
    assert await store.read(user_names) == [name for index, name in enumerate(NAMES[:3]) if index != cancelled]
