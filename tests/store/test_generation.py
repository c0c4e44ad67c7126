"""What is to be written: a look at it costs the same however much waits."""

from datetime import timedelta

from sqlalchemy import Connection, event, update

from copydesk.store import generation, tables
from copydesk.store.engine import Engines
from copydesk.store.generation import Claim
from store_fixtures import NOW, add_draft, add_item, add_user

CLAIM = Claim(id="a-claim", owner="elsewhere/1/1", lease_until=NOW + timedelta(hours=1))


def add_waiting(conn: Connection, user: str, count: int, status: str = "pending_regeneration") -> list[str]:
    """Drafts that wait, the last of them for the longest; their ids in the order in which they were asked for."""
    ids = [
        add_draft(conn, user, add_item(conn, user, None), status=status, updated_at=NOW - timedelta(seconds=second))
        for second in range(count)
    ]
    return ids[::-1]


def steps(conn: Connection, user: str) -> int:
    """What SQLite does for one look: the steps of its machine, a handful for each row that it touches."""
    taken = 0

    def step() -> int:
        nonlocal taken
        taken += 1
        return 0

    driver = conn.connection.driver_connection
    assert driver is not None
    driver.set_progress_handler(step, 1)
    try:
        generation.waiting(conn, user)
    finally:
        driver.set_progress_handler(None, 0)
    return taken


async def test_a_look_at_what_waits_takes_as_many_steps_however_much_waits(store: Engines) -> None:
    def work(conn: Connection) -> tuple[int, int]:
        user = add_user(conn)
        add_waiting(conn, user, 50)
        few = steps(conn, user)
        add_waiting(conn, user, 300)
        add_waiting(conn, user, 300, status="pending_generation")
        return few, steps(conn, user)

    few, many = await store.write(work)
    assert few > generation.AT_ONCE
    assert many <= few * 1.1


async def test_nothing_is_sorted_for_a_look(store: Engines) -> None:
    asked: list[tuple[str, tuple[object, ...]]] = []

    def plan(conn: Connection) -> list[str]:
        def note(_c: object, _k: object, text: str, values: tuple[object, ...], *_: object) -> None:
            asked.append((text, values))

        event.listen(conn, "before_cursor_execute", note)
        generation.waiting(conn, "nobody")
        _, (text, values) = asked
        return [row.detail for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)]

    first, *_ = steps_taken = await store.read(plan)
    assert "ix_draft_user_id_updated_at_pending" in first
    assert not any("TEMP B-TREE" in step for step in steps_taken)


async def test_who_asked_first_comes_first_whatever_is_asked_for(store: Engines) -> None:
    def work(conn: Connection) -> tuple[list[str], list[str]]:
        user = add_user(conn)
        asked = add_waiting(conn, user, 30)
        new = tables.draft.c.id.in_(asked[::2])
        conn.execute(update(tables.draft).where(new).values(status="pending_generation"))
        return asked, [each.draft_id for each in generation.waiting(conn, user)]

    asked, found = await store.write(work)
    assert found == asked[: generation.AT_ONCE]


async def test_what_is_under_way_hides_nothing_that_waits(store: Engines) -> None:
    def work(conn: Connection) -> tuple[list[str], list[str | None], list[str]]:
        user = add_user(conn)
        asked = add_waiting(conn, user, generation.AT_ONCE + 5)
        generation.claim(conn, user, generation.waiting(conn, user), CLAIM)
        found = generation.waiting(conn, user)
        return asked, [each.claim_id for each in found], [each.draft_id for each in found]

    asked, claims, found = await store.write(work)
    assert found == asked
    assert claims == [CLAIM.id] * generation.AT_ONCE + [None] * 5


async def test_what_was_taken_back_while_it_was_written_does_not_wait(store: Engines) -> None:
    def work(conn: Connection) -> int:
        user = add_user(conn)
        add_waiting(conn, user, 3)
        generation.claim(conn, user, generation.waiting(conn, user), CLAIM)
        conn.execute(update(tables.draft).values(status="approved"))
        return len(generation.waiting(conn, user))

    assert await store.write(work) == 0


async def test_each_user_has_a_queue_of_his_own(store: Engines) -> None:
    def work(conn: Connection) -> tuple[list[str], list[str]]:
        ada, bea = add_user(conn), add_user(conn, "Bea")
        add_waiting(conn, ada, generation.AT_ONCE * 2)
        hers = add_waiting(conn, bea, 1)
        generation.claim(conn, ada, generation.waiting(conn, ada), CLAIM)
        return hers, [each.draft_id for each in generation.waiting(conn, bea)]

    hers, found = await store.write(work)
    assert found == hers
