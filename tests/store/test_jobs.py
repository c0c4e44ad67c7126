"""Tests for job claims and the query for due work."""

from collections.abc import Callable
from datetime import timedelta
from itertools import product

import pytest
from sqlalchemy import Connection, event, insert, select, update

from copydesk.desk.publishing.grace import expires_at, grace_periods, missed_cutoffs
from copydesk.model.delivery import Account, Delivery, DeliveryState, StepResult
from copydesk.model.draft import Format
from copydesk.model.job import DueWork, JobLease, JobName
from copydesk.model.source import FetchState
from copydesk.scheduling.due import RETRY_WINDOW, ZERO
from copydesk.settings import Schedule
from copydesk.store import deliveries, jobs, tables
from copydesk.store.database import Database
from copydesk.store.ids import new_id
from copydesk.store.jobs import MissedCutoffs
from store_fixtures import NOW, add_draft, add_item, add_source, add_user

MINUTE = timedelta(minutes=1)
HOUR, DAY, YEAR = timedelta(hours=1), timedelta(days=1), timedelta(days=365)
LIMITS = MissedCutoffs(short=NOW - HOUR, thread=NOW - HOUR, blog=NOW - 24 * HOUR, retry_window=HOUR)
LATE = {"due_at": NOW - 2 * HOUR, "not_before": NOW + HOUR}


def claim(name: str, owner: str = "here/1/1") -> JobLease:
    return JobLease(id=name, job="missed", owner=owner, lease_until=NOW + MINUTE)


async def test_jobs_are_per_user(store: Database) -> None:
    def work(conn: Connection) -> list[bool]:
        ada, bea = add_user(conn), add_user(conn, "Bea")
        first = jobs.acquire_lease(conn, ada, claim("a"), NOW)
        second = jobs.acquire_lease(conn, ada, claim("b"), NOW)
        other = jobs.acquire_lease(conn, bea, claim("c"), NOW)
        # Another user's claim id matches nothing.
        jobs.release_lease(conn, bea, claim("a"), NOW, finished=True, error=None)
        return [
            first,
            second,
            other,
            jobs.renew_lease(conn, ada, claim("a"), NOW),
            jobs.renew_lease(conn, bea, claim("a"), NOW),
        ]

    assert await store.write(work) == [True, False, True, True, False]


async def test_claim_is_taken_over_after_lease_or_death(store: Database) -> None:
    def work(conn: Connection) -> list[bool]:
        user = add_user(conn)
        assert jobs.acquire_lease(conn, user, claim("a", "dead/1/1"), NOW)
        return [
            jobs.acquire_lease(conn, user, claim("b"), NOW + MINUTE, last_began_at=NOW),
            jobs.acquire_lease(conn, user, claim("b"), NOW, last_began_at=NOW, abandoned_owner="other/1/1"),
            jobs.acquire_lease(conn, user, claim("b"), NOW, last_began_at=NOW, abandoned_owner="dead/1/1"),
            jobs.renew_lease(conn, user, claim("a"), NOW + MINUTE),
            jobs.acquire_lease(conn, user, claim("c"), NOW + 2 * MINUTE, last_began_at=NOW),
        ]

    assert await store.write(work) == [False, False, True, False, True]


async def test_job_that_has_run_meanwhile_is_not_claimed(store: Database) -> None:
    def work(conn: Connection) -> list[bool]:
        user = add_user(conn)
        assert jobs.acquire_lease(conn, user, claim("a"), NOW)
        jobs.release_lease(conn, user, claim("a"), NOW, finished=True, error=None)
        return [jobs.acquire_lease(conn, user, claim("b"), NOW, last_began_at=began) for began in (None, NOW)]

    assert await store.write(work) == [False, True]


async def test_error_remains_until_job_succeeds(store: Database) -> None:
    def work(conn: Connection) -> list[str | None]:
        user, errors = add_user(conn), []
        for began, finished, error in ((None, True, "no"), (NOW, False, None), (NOW, True, None)):
            assert jobs.acquire_lease(conn, user, claim("a"), NOW, last_began_at=began)
            jobs.release_lease(conn, user, claim("a"), NOW, finished=finished, error=error)
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


@pytest.mark.sqlite("plans of SQLite")
@pytest.mark.parametrize(
    "query",
    [
        lambda conn, user: jobs.load_due_work(conn, user, NOW, LIMITS, 10),
        lambda conn, user: deliveries.list_planned_before(conn, user, NOW),
    ],
    ids=["due work", "planned"],
)
async def test_deliveries_that_have_ended_are_not_read(
    store: Database, query: Callable[[Connection, str], object]
) -> None:
    def create_last(conn: Connection) -> None:
        """Create the indexes of all deliveries anew: of two that seem to be equal SQLite takes the last one."""
        is_whole = "type = 'index' AND tbl_name = 'delivery' AND sql NOT LIKE '%WHERE%'"
        for name, sql in conn.exec_driver_sql(f"SELECT name, sql FROM sqlite_master WHERE {is_whole}").all():
            conn.exec_driver_sql(f"DROP INDEX {name}")
            conn.exec_driver_sql(sql)

    def plan(conn: Connection) -> list[str]:
        executed: list[tuple[str, tuple[object, ...]]] = []
        event.listen(conn, "before_cursor_execute", lambda _c, _k, text, values, *_: executed.append((text, values)))
        query(conn, "nobody")
        text, values = executed[0]
        return [row.detail for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)]

    await store.write(create_last)
    steps = [step for step in await store.read(plan) if " delivery " in step]
    partial = ("account_id_open", "due_at_planned", "figures_at")
    assert steps
    assert [step for step in steps if not any(name in step for name in partial)] == []


async def test_other_users_drafts_are_not_due(store: Database) -> None:
    limits = MissedCutoffs(short=NOW, thread=NOW, blog=NOW)

    def work(conn: Connection) -> list[bool]:
        ada, bea = add_user(conn), add_user(conn, "Bea")
        for status in ("scheduled", "pending_generation"):
            add_draft(conn, ada, add_item(conn, ada, None), status=status, scheduled_at=NOW - MINUTE)
        ada_due, bea_due = (jobs.load_due_work(conn, user, NOW, limits, 10) for user in (ada, bea))
        return [ada_due.due, ada_due.late, ada_due.to_write, bea_due.due, bea_due.late, bea_due.to_write]

    assert await store.write(work) == [True, True, True, False, False, False]


def add_delivery(
    conn: Connection, user: str, *, trouble: str | None = None, format: str = "SHORT", **values: object
) -> None:
    """Insert an open delivery that can be sent, unless `values` say otherwise."""
    draft, delivery, account = add_draft(conn, user, add_item(conn, user, None)), new_id(NOW), new_id(NOW)
    details = Account(platform="fake", server="https://fake.example", id=account, name="ada")
    columns = {"platform": "fake", "server": details.server, "remote_id": account, "name": "ada", "details": details}
    row = {"id": account, "user_id": user, "connected_at": NOW, "trouble": trouble}
    conn.execute(insert(tables.account).values(row | columns))
    record = {"platform": "fake", "format": format, "status": "pending", "created_at": NOW}
    conn.execute(insert(tables.engagement).values(record | {"id": delivery, "user_id": user, "draft_id": draft}))
    defaults = {"account_id": account, "state": "planned", "due_at": NOW, "seed": delivery, "digest": ""}
    row = {"id": delivery, "user_id": user, "draft_id": draft, "progress": Delivery()} | defaults
    conn.execute(insert(tables.delivery).values(row | values))


def add_webhook_delivery(conn: Connection, user: str, next_at: object, **values: object) -> None:
    webhook = new_id(NOW)
    row = {"id": webhook, "user_id": user, "url": "https://hook.example", "secret": "s", "created_at": NOW}
    conn.execute(insert(tables.webhook).values(row | values))
    row = {"webhook_id": webhook, "event_id": 1, "user_id": user, "next_at": next_at}
    conn.execute(insert(tables.webhook_delivery).values(row))


def add_scheduled(conn: Connection, user: str, at: object, status: str = "scheduled") -> None:
    add_draft(conn, user, add_item(conn, user, None), status=status, scheduled_at=at)


def add_daily_jobs(conn: Connection, user: str, **values: object) -> None:
    """Insert the jobs that begin once a day, as begun at NOW unless `values` say otherwise."""
    for name in jobs.DAILY_JOBS:
        conn.execute(insert(tables.job).values(user_id=user, name=name, **{"began_at": NOW} | values))


RETRIED = {"progress": Delivery(first_sent_at=NOW - HOUR)}
PART = Delivery(steps=2, results=(StepResult(ids=("1",), urls=()),))
WORK = {
    "draft due": lambda conn, user: add_scheduled(conn, user, NOW),
    "draft late": lambda conn, user: add_scheduled(conn, user, NOW - 2 * HOUR),
    "text to write": lambda conn, user: add_scheduled(conn, user, None, "pending_generation"),
    "delivery late": lambda conn, user: add_delivery(conn, user, **LATE),
    "retry late": lambda conn, user: add_delivery(conn, user, **LATE | {"due_at": NOW - 2 * HOUR - MINUTE}, **RETRIED),
    "blog post late": lambda conn, user: add_delivery(conn, user, format="BLOG", **LATE | {"due_at": NOW - 25 * HOUR}),
    "delivery to send": add_delivery,
    "retry": lambda conn, user: add_delivery(conn, user, not_before=NOW),
    "delivery that was interrupted": lambda conn, user: add_delivery(conn, user, state="sending", trouble="Log in."),
    "metrics": lambda conn, user: add_delivery(conn, user, state="sent", figures_at=NOW),
    "new source": add_source,
    "source": lambda conn, user: add_source(conn, user, next_at=NOW, not_before=NOW),
    # By a clock that was ahead.
    "source of next year": lambda conn, user: add_source(conn, user, next_at=NOW + YEAR, not_before=NOW + YEAR),
    "webhook": lambda conn, user: add_webhook_delivery(conn, user, NOW),
}
LATER = {
    "draft of tomorrow": lambda conn, user: add_scheduled(conn, user, NOW + HOUR),
    "draft to review": lambda conn, user: add_scheduled(conn, user, NOW, "pending_review"),
    "retry of tomorrow": lambda conn, user: add_delivery(conn, user, not_before=NOW + HOUR),
    "delivery of an account with an error": lambda conn, user: add_delivery(conn, user, trouble="Log in."),
    "late retry in its time": lambda conn, user: add_delivery(conn, user, **LATE, **RETRIED),
    "late blog post in its time": lambda conn, user: add_delivery(conn, user, format="BLOG", **LATE),
    "late part of a thread": lambda conn, user: add_delivery(conn, user, **LATE, progress=PART),
    "late delivery in doubt": lambda conn, user: add_delivery(conn, user, **LATE, progress=Delivery(doubt=True)),
    "delivery of no account": lambda conn, user: add_delivery(conn, user, account_id=None),
    "post": lambda conn, user: add_delivery(conn, user, state="sent", figures_at=NOW + HOUR),
    "source of tomorrow": lambda conn, user: add_source(conn, user, next_at=NOW + HOUR),
    "source of next month": lambda conn, user: add_source(conn, user, next_at=NOW + 31 * DAY),
    "host in cooldown": lambda conn, user: add_source(conn, user, next_at=NOW, not_before=NOW + HOUR),
    "disabled source": lambda conn, user: add_source(conn, user, enabled=False),
    "source that is gone": lambda conn, user: add_source(conn, user, fetch=FetchState(gone=True)),
    "webhook of tomorrow": lambda conn, user: add_webhook_delivery(conn, user, NOW + HOUR),
    "webhook in cooldown": lambda conn, user: add_webhook_delivery(conn, user, NOW, not_before=NOW + HOUR),
    "nothing": lambda *_: None,
}


async def test_sweep_finds_the_users_with_due_work(store: Database) -> None:
    def work(conn: Connection) -> tuple[dict[str, str], dict[str, DueWork], tuple[str, ...]]:
        users, due = {}, {}
        for name, add in (WORK | LATER).items():
            users[name] = add_user(conn, name)
            add_daily_jobs(conn, users[name])
            add(conn, users[name])
            due[name] = jobs.load_due_work(conn, users[name], NOW, LIMITS, 10)
        return users, due, jobs.list_users_with_work(conn, NOW, LIMITS, MINUTE)

    users, due, found = await store.write(work)

    assert {name for name, user in users.items() if user in found} == WORK.keys()
    # A poll for one user finds the same as the sweep over all.
    flags = ("due", "late", "to_send", "to_measure", "to_write", "to_fetch", "to_notify")
    assert {name for name, found_work in due.items() if any(getattr(found_work, flag) for flag in flags)} == WORK.keys()


async def test_work_is_late_from_when_a_delivery_expires(store: Database) -> None:
    settings = Schedule(grace_short_minutes=10, grace_thread_minutes=20, grace_blog_hours=3)
    margins = [timedelta(microseconds=margin) for margin in (-1, 0, 1)]
    results, states = ((), PART.results), (DeliveryState.PLANNED, DeliveryState.UNKNOWN)
    cases = list(product(Format, (ZERO, RETRY_WINDOW), margins, (None, NOW), results, (False, True), states))

    def work(conn: Connection) -> list[tuple[bool, bool]]:
        found = []
        for number, (format_, window, margin, first_sent_at, results, doubt, state) in enumerate(cases):
            user = add_user(conn, str(number))
            progress = Delivery(state=state, steps=2, first_sent_at=first_sent_at, results=results, doubt=doubt)
            due_at = NOW - grace_periods(settings)[format_] - window + margin
            add_delivery(conn, user, format=format_, state=state, due_at=due_at, progress=progress)
            (delivery_id,) = conn.execute(select(tables.delivery.c.id).where(tables.delivery.c.user_id == user)).one()
            row = deliveries.get(conn, user, delivery_id)
            assert row is not None
            until = expires_at(row, settings)
            late = jobs.load_due_work(conn, user, NOW, missed_cutoffs(settings, NOW), 10).late
            found.append((late, until is not None and until < NOW))
        return found

    found = await store.write(work)

    assert [case for case, (late, is_expired) in zip(cases, found, strict=True) if late is not is_expired] == []
    assert {is_expired for _, is_expired in found} == {False, True}


async def test_sweep_finds_interrupted_runs(store: Database) -> None:
    def work(conn: Connection) -> list[str]:
        users = {name: add_user(conn, name) for name in ("ended", "killed", "running")}
        for name, user in users.items():
            add_daily_jobs(conn, user)
            run = JobLease(id=name, job=JobName.PIPELINE, owner="here/1/1", lease_until=NOW + MINUTE)
            assert jobs.acquire_lease(conn, user, run, NOW - HOUR)
            if name != "running":
                jobs.release_lease(conn, user, run, NOW, finished=name == "ended", error=None)
        found = jobs.list_users_with_work(conn, NOW, LIMITS, MINUTE)
        return [name for name, user in users.items() if user in found]

    assert await store.write(work) == ["killed"]


async def test_sweep_finds_drafts_that_are_due_soon(store: Database) -> None:
    def work(conn: Connection) -> bool:
        user = add_user(conn)
        add_daily_jobs(conn, user)
        add_scheduled(conn, user, NOW + MINUTE)
        return jobs.list_users_with_work(conn, NOW, LIMITS, MINUTE) == (user,)

    assert await store.write(work)


@pytest.mark.parametrize("name", jobs.DAILY_JOBS)
@pytest.mark.parametrize(
    ("values", "is_found"),
    [
        ({}, False),
        ({"began_at": NOW - DAY}, True),
        # By a clock that was ahead.
        ({"began_at": NOW + DAY}, True),
        ({"owner": "here/1/1", "lease_until": NOW + MINUTE}, False),
        ({"owner": "here/1/1", "lease_until": NOW - MINUTE}, True),
    ],
)
async def test_sweep_finds_daily_jobs(
    store: Database, name: JobName, values: dict[str, object], is_found: bool
) -> None:
    def work(conn: Connection) -> tuple[str, ...]:
        add_daily_jobs(conn, user := add_user(conn))
        is_job = (tables.job.c.user_id == user, tables.job.c.name == name)
        conn.execute(update(tables.job).where(*is_job).values({"began_at": NOW} | values))
        return jobs.list_users_with_work(conn, NOW, LIMITS, MINUTE)

    assert bool(await store.write(work)) is is_found


async def test_sweep_finds_zone_checks_that_failed(store: Database) -> None:
    def work(conn: Connection) -> bool:
        add_daily_jobs(conn, user := add_user(conn))
        is_check = (tables.job.c.user_id == user, tables.job.c.name == JobName.ZONES)
        conn.execute(update(tables.job).where(*is_check).values(ended_at=NOW, failed_at=NOW))
        return jobs.list_users_with_work(conn, NOW, LIMITS, MINUTE) == (user,)

    assert await store.write(work)


async def test_sweep_finds_a_user_who_never_had_daily_jobs(store: Database) -> None:
    def work(conn: Connection) -> bool:
        user = add_user(conn)
        return jobs.list_users_with_work(conn, NOW, LIMITS, MINUTE) == (user,)

    assert await store.write(work)


@pytest.mark.parametrize(
    ("values", "is_found"),
    [
        ({"ended_at": NOW}, False),
        ({"ended_at": NOW, "failed_at": NOW}, True),
        ({"ended_at": NOW - MINUTE}, True),
        ({"owner": "here/1/1", "lease_until": NOW + MINUTE}, False),
        ({"owner": "here/1/1", "lease_until": NOW - MINUTE}, True),
        # The daily jobs find it.
        ({"began_at": NOW - DAY, "ended_at": NOW - DAY, "failed_at": NOW - DAY}, False),
    ],
)
async def test_sweep_finds_confidences_that_were_not_computed(
    store: Database, values: dict[str, object], is_found: bool
) -> None:
    def work(conn: Connection) -> tuple[str, ...]:
        add_daily_jobs(conn, user := add_user(conn))
        conn.execute(insert(tables.job).values({"user_id": user, "name": "confidence", "began_at": NOW} | values))
        return jobs.list_users_with_work(conn, NOW, LIMITS, MINUTE)

    assert bool(await store.write(work)) is is_found
