"""Tests for job claims and the query for due work."""

from datetime import timedelta

from sqlalchemy import Connection, event

from copydesk.model.job import Claim
from copydesk.store import jobs
from copydesk.store.engine import Engines
from copydesk.store.jobs import Limits
from store_fixtures import NOW, add_draft, add_item, add_user

MINUTE = timedelta(minutes=1)


def claim(name: str, owner: str = "here/1/1") -> Claim:
    return Claim(id=name, job="missed", owner=owner, lease_until=NOW + MINUTE)


async def test_jobs_are_per_user(store: Engines) -> None:
    def work(conn: Connection) -> list[bool]:
        ada, bea = add_user(conn), add_user(conn, "Bea")
        first = jobs.claim(conn, ada, claim("a"), NOW)
        second = jobs.claim(conn, ada, claim("b"), NOW)
        other = jobs.claim(conn, bea, claim("c"), NOW)
        # Another user's claim id matches nothing.
        jobs.end(conn, bea, claim("a"), NOW, finished=True, error=None)
        return [first, second, other, jobs.renew(conn, ada, claim("a"), NOW), jobs.renew(conn, bea, claim("a"), NOW)]

    assert await store.write(work) == [True, False, True, True, False]


async def test_claim_is_taken_over_after_lease_or_death(store: Engines) -> None:
    def work(conn: Connection) -> list[bool]:
        user = add_user(conn)
        assert jobs.claim(conn, user, claim("a", "dead/1/1"), NOW)
        return [
            jobs.claim(conn, user, claim("b"), NOW + MINUTE),
            jobs.claim(conn, user, claim("b"), NOW, instead_of="other/1/1"),
            jobs.claim(conn, user, claim("b"), NOW, instead_of="dead/1/1"),
            jobs.renew(conn, user, claim("a"), NOW + MINUTE),
            jobs.claim(conn, user, claim("c"), NOW + 2 * MINUTE),
        ]

    assert await store.write(work) == [False, False, True, False, True]


async def test_error_remains_until_job_succeeds(store: Engines) -> None:
    def work(conn: Connection) -> list[str | None]:
        user, errors = add_user(conn), []
        for finished, error in ((True, "no"), (False, None), (True, None)):
            jobs.claim(conn, user, claim("a"), NOW)
            jobs.end(conn, user, claim("a"), NOW, finished=finished, error=error)
            errors.append(jobs.states(conn, user)[0].error)
        return errors

    assert await store.write(work) == ["no", "no", None]


async def test_due_work_query_scans_no_table(store: Engines) -> None:
    def plan(conn: Connection) -> list[str]:
        executed: list[tuple[str, tuple[object, ...]]] = []

        def record(_c: object, _k: object, text: str, values: tuple[object, ...], *_: object) -> None:
            executed.append((text, values))

        event.listen(conn, "before_cursor_execute", record)
        jobs.outlook(conn, "nobody", NOW, Limits(short=NOW, thread=NOW, blog=NOW))
        text, values = executed[0]
        return [row.detail for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)]

    steps = await store.read(plan)
    assert [step for step in steps if step.startswith("SCAN")] == ["SCAN CONSTANT ROW"]


async def test_other_users_drafts_are_not_due(store: Engines) -> None:
    limits = Limits(short=NOW, thread=NOW, blog=NOW)

    def work(conn: Connection) -> list[bool]:
        ada, bea = add_user(conn), add_user(conn, "Bea")
        for status in ("scheduled", "pending_generation"):
            add_draft(conn, ada, add_item(conn, ada, None), status=status, scheduled_at=NOW - MINUTE)
        ada_due, bea_due = jobs.outlook(conn, ada, NOW, limits), jobs.outlook(conn, bea, NOW, limits)
        return [ada_due.due, ada_due.late, ada_due.to_write, bea_due.due, bea_due.late, bea_due.to_write]

    assert await store.write(work) == [True, True, True, False, False, False]
