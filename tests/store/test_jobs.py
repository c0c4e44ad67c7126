"""Tests for job claims and the query for due work."""

from datetime import timedelta

import pytest
from sqlalchemy import Connection, event

from copydesk.model.job import JobLease
from copydesk.store import jobs
from copydesk.store.database import Database
from copydesk.store.jobs import MissedCutoffs
from store_fixtures import NOW, add_draft, add_item, add_user

MINUTE = timedelta(minutes=1)


def claim(name: str, owner: str = "here/1/1") -> JobLease:
    return JobLease(id=name, job="missed", owner=owner, lease_until=NOW + MINUTE)


async def test_jobs_are_per_user(store: Database) -> None:
    def work(conn: Connection) -> list[bool]:
        ada, bea = add_user(conn), add_user(conn, "Bea")
        first = jobs.claim_job(conn, ada, claim("a"), NOW)
        second = jobs.claim_job(conn, ada, claim("b"), NOW)
        other = jobs.claim_job(conn, bea, claim("c"), NOW)
        # Another user's claim id matches nothing.
        jobs.release_job(conn, bea, claim("a"), NOW, finished=True, error=None)
        return [
            first,
            second,
            other,
            jobs.renew_claim(conn, ada, claim("a"), NOW),
            jobs.renew_claim(conn, bea, claim("a"), NOW),
        ]

    assert await store.write(work) == [True, False, True, True, False]


async def test_claim_is_taken_over_after_lease_or_death(store: Database) -> None:
    def work(conn: Connection) -> list[bool]:
        user = add_user(conn)
        assert jobs.claim_job(conn, user, claim("a", "dead/1/1"), NOW)
        return [
            jobs.claim_job(conn, user, claim("b"), NOW + MINUTE),
            jobs.claim_job(conn, user, claim("b"), NOW, abandoned_owner="other/1/1"),
            jobs.claim_job(conn, user, claim("b"), NOW, abandoned_owner="dead/1/1"),
            jobs.renew_claim(conn, user, claim("a"), NOW + MINUTE),
            jobs.claim_job(conn, user, claim("c"), NOW + 2 * MINUTE),
        ]

    assert await store.write(work) == [False, False, True, False, True]


async def test_error_remains_until_job_succeeds(store: Database) -> None:
    def work(conn: Connection) -> list[str | None]:
        user, errors = add_user(conn), []
        for finished, error in ((True, "no"), (False, None), (True, None)):
            jobs.claim_job(conn, user, claim("a"), NOW)
            jobs.release_job(conn, user, claim("a"), NOW, finished=finished, error=error)
            errors.append(jobs.list_states(conn, user)[0].error)
        return errors

    assert await store.write(work) == ["no", "no", None]


@pytest.mark.sqlite("plans of SQLite")
async def test_due_work_query_scans_no_table(store: Database) -> None:
    def plan(conn: Connection) -> list[str]:
        executed: list[tuple[str, tuple[object, ...]]] = []

        def record(_c: object, _k: object, text: str, values: tuple[object, ...], *_: object) -> None:
            executed.append((text, values))

        event.listen(conn, "before_cursor_execute", record)
        jobs.load_due_work(conn, "nobody", NOW, MissedCutoffs(short=NOW, thread=NOW, blog=NOW), 10)
        text, values = executed[0]
        return [row.detail for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)]

    steps = await store.read(plan)
    assert [step for step in steps if step.startswith("SCAN")] == ["SCAN CONSTANT ROW"]


async def test_other_users_drafts_are_not_due(store: Database) -> None:
    limits = MissedCutoffs(short=NOW, thread=NOW, blog=NOW)

    def work(conn: Connection) -> list[bool]:
        ada, bea = add_user(conn), add_user(conn, "Bea")
        for status in ("scheduled", "pending_generation"):
            add_draft(conn, ada, add_item(conn, ada, None), status=status, scheduled_at=NOW - MINUTE)
        ada_due, bea_due = (jobs.load_due_work(conn, user, NOW, limits, 10) for user in (ada, bea))
        return [ada_due.due, ada_due.late, ada_due.to_write, bea_due.due, bea_due.late, bea_due.to_write]

    assert await store.write(work) == [True, True, True, False, False, False]
