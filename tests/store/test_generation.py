"""Tests for the generation queue: constant cost, order, and claims."""

from datetime import timedelta

import pytest
from sqlalchemy import Connection, event, update

from copydesk.store import generation, tables
from copydesk.store.database import Database
from copydesk.store.generation import GenerationClaim
from store_fixtures import NOW, add_draft, add_item, add_user

CLAIM = GenerationClaim(id="a-claim", owner="elsewhere/1/1", lease_until=NOW + timedelta(hours=1))


def add_waiting(conn: Connection, user: str, count: int, status: str = "pending_regeneration") -> list[str]:
    """Add waiting drafts, the last of them waiting longest; return their ids in request order."""
    ids = [
        add_draft(conn, user, add_item(conn, user, None), status=status, updated_at=NOW - timedelta(seconds=second))
        for second in range(count)
    ]
    return ids[::-1]


def count_steps(conn: Connection, user: str) -> int:
    """Return the number of SQLite virtual machine steps that one poll of the queue takes: a handful per row touched."""
    count = 0

    def count_step() -> int:
        nonlocal count
        count += 1
        return 0

    driver = conn.connection.driver_connection
    assert driver is not None
    driver.set_progress_handler(count_step, 1)
    try:
        generation.list_pending(conn, user)
    finally:
        driver.set_progress_handler(None, 0)
    return count


@pytest.mark.sqlite("plans of SQLite")
async def test_poll_cost_is_independent_of_queue_length(store: Database) -> None:
    def work(conn: Connection) -> tuple[int, int]:
        user = add_user(conn)
        add_waiting(conn, user, 50)
        few = count_steps(conn, user)
        add_waiting(conn, user, 300)
        add_waiting(conn, user, 300, status="pending_generation")
        return few, count_steps(conn, user)

    few, many = await store.write(work)
    assert few > generation.UNCLAIMED_LIMIT
    assert many <= few * 1.1


@pytest.mark.sqlite("plans of SQLite")
async def test_poll_needs_no_sorting(store: Database) -> None:
    executed: list[tuple[str, tuple[object, ...]]] = []

    def plan(conn: Connection) -> list[str]:
        def record(_c: object, _k: object, text: str, values: tuple[object, ...], *_: object) -> None:
            executed.append((text, values))

        event.listen(conn, "before_cursor_execute", record)
        generation.list_pending(conn, "nobody")
        _, (text, values) = executed
        return [row.detail for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)]

    first, *_ = plan_steps = await store.read(plan)
    assert "ix_draft_user_id_updated_at_pending" in first
    assert not any("TEMP B-TREE" in step for step in plan_steps)


async def test_oldest_request_comes_first(store: Database) -> None:
    def work(conn: Connection) -> tuple[list[str], list[str]]:
        user = add_user(conn)
        requested = add_waiting(conn, user, 30)
        new = tables.draft.c.id.in_(requested[::2])
        conn.execute(update(tables.draft).where(new).values(status="pending_generation"))
        return requested, [job.draft_id for job in generation.list_pending(conn, user)]

    requested, found = await store.write(work)
    assert found == requested[: generation.UNCLAIMED_LIMIT]


async def test_claimed_jobs_do_not_hide_waiting_ones(store: Database) -> None:
    def work(conn: Connection) -> tuple[list[str], list[str | None], list[str]]:
        user = add_user(conn)
        requested = add_waiting(conn, user, generation.UNCLAIMED_LIMIT + 5)
        generation.claim_pending(conn, user, generation.list_pending(conn, user), CLAIM)
        found = generation.list_pending(conn, user)
        return requested, [job.claim_id for job in found], [job.draft_id for job in found]

    requested, claims, found = await store.write(work)
    assert found == requested
    assert claims == [CLAIM.id] * generation.UNCLAIMED_LIMIT + [None] * 5


async def test_job_with_changed_status_does_not_wait(store: Database) -> None:
    def work(conn: Connection) -> int:
        user = add_user(conn)
        add_waiting(conn, user, 3)
        generation.claim_pending(conn, user, generation.list_pending(conn, user), CLAIM)
        conn.execute(update(tables.draft).values(status="approved"))
        return len(generation.list_pending(conn, user))

    assert await store.write(work) == 0


async def test_queues_are_per_user(store: Database) -> None:
    def work(conn: Connection) -> tuple[list[str], list[str]]:
        ada, bea = add_user(conn), add_user(conn, "Bea")
        add_waiting(conn, ada, generation.UNCLAIMED_LIMIT * 2)
        expected = add_waiting(conn, bea, 1)
        generation.claim_pending(conn, ada, generation.list_pending(conn, ada), CLAIM)
        return expected, [job.draft_id for job in generation.list_pending(conn, bea)]

    expected, found = await store.write(work)
    assert found == expected
