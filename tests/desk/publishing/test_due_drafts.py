"""Tests for due drafts: dispatched, missed, moved with zone rules; and for the clock guard."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from copydesk.desk import Desk
from copydesk.desk.clock_guard import MonotonicReading, read_monotonic
from copydesk.desk.publishing import due_drafts
from copydesk.desk.publishing.due_drafts import NO_ACCOUNT_MESSAGE
from copydesk.jobs import Jobs
from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from desk_fixtures import NOW, Watch, execute_sql, open_desk_at, query_db
from posting_fixtures import connect_account, fake_platforms, open_posting_desk
from schedule_fixtures import FRI, draft_status, insert_draft, insert_scheduled, make_slot, scheduled_times
from store_fixtures import add_user

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


class ManualMonotonicClock:
    """A monotonic clock that advances only when told to."""

    def __init__(self, *, boot: str = "first", counts_sleep: bool = True) -> None:
        self.boot = boot
        self.seconds = 1000.0
        self.counts_sleep = counts_sleep

    def __call__(self) -> MonotonicReading:
        return MonotonicReading(boot=self.boot, seconds=self.seconds, counts_sleep=self.counts_sleep)


async def mark_missed(desk: Desk) -> set[str]:
    return set(await desk.schedule.due_drafts.mark_missed())


@pytest.mark.parametrize(("format", "grace"), [("SHORT", 30 * MINUTE), ("THREAD", 30 * MINUTE), ("BLOG", 24 * HOUR)])
async def test_draft_is_missed_after_grace_period(tmp_path: Path, format: str, grace: timedelta) -> None:
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        draft_id = await insert_scheduled(desk, NOW, format=format)
        watch.now = NOW + grace
        assert await mark_missed(desk) == set()
        assert await draft_status(desk, draft_id) == "scheduled"
        watch.now += timedelta(milliseconds=1)
        assert await mark_missed(desk) == {draft_id}
        assert await mark_missed(desk) == set()
        draft = await desk.drafts.get(draft_id)
        assert (draft.status, draft.last_error, draft.scheduled_at) == ("missed", NO_ACCOUNT_MESSAGE, NOW)
    events = query_db(tmp_path, "SELECT who, kind, action FROM draft_event")
    assert events == [("system", "fixed", "late")]


async def test_grace_period_setting(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, schedule__grace_short_minutes="5", schedule__grace_blog_hours="1") as desk:
        short, thread, blog = [
            await insert_scheduled(desk, NOW - 20 * MINUTE, format=format_name)
            for format_name in ("SHORT", "THREAD", "BLOG")
        ]
        assert await mark_missed(desk) == {short}
        assert {await draft_status(desk, draft_id) for draft_id in (thread, blog)} == {"scheduled"}


async def test_downtime_is_given_as_reason(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await connect_account(desk, platform="bluesky")
        await connect_account(desk, platform="wordpress")
        draft_id = await insert_scheduled(desk, NOW - HOUR)
        blog_id = await insert_scheduled(desk, NOW - 25 * HOUR, format="BLOG")
        assert await mark_missed(desk) == {draft_id, blog_id}
        assert (await desk.drafts.get(draft_id)).last_error == "Missed: more than 30 minutes late. Nothing was sent."
        assert (await desk.drafts.get(blog_id)).last_error == "Missed: more than 1 day late. Nothing was sent."


async def test_missed_draft_can_be_rescheduled(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        draft_id = await insert_scheduled(desk, NOW - HOUR)
        assert await mark_missed(desk) == {draft_id}
        rescheduled = await desk.drafts.reschedule(draft_id, NOW + DAY)
        assert (rescheduled.status, rescheduled.last_error) == ("scheduled", None)


async def test_nothing_is_dispatched_without_platform(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        draft_id = await insert_scheduled(desk, NOW - MINUTE)
        assert await desk.schedule.due_drafts.dispatch_due() == ()
        assert await draft_status(desk, draft_id) == "scheduled"


async def test_backlog_is_dispatched_in_order_per_account(tmp_path: Path) -> None:
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        dispatcher = desk.schedule.due_drafts
        second, first = [await insert_scheduled(desk, NOW - minutes * MINUTE) for minutes in (10, 20)]
        mastodon_only = await insert_scheduled(desk, NOW - MINUTE, target_platforms=("mastodon",))
        later = await insert_scheduled(desk, NOW + MINUTE)
        late = await insert_scheduled(desk, NOW - HOUR)
        await connect_account(desk, platform="bluesky")
        assert [due.draft_id for due in await dispatcher.dispatch_due()] == [first]
        await connect_account(desk, platform="mastodon")
        assert [due.draft_id for due in await dispatcher.dispatch_due()] == []
        watch.now = NOW + 5 * MINUTE
        assert [due.draft_id for due in await dispatcher.dispatch_due()] == [second]
        assert await draft_status(desk, first) == await draft_status(desk, second) == "posting"
        assert {await draft_status(desk, draft_id) for draft_id in (mastodon_only, later, late)} == {"scheduled"}
        watch.now = NOW + 10 * MINUTE
        assert await mark_missed(desk) == {late}
    events = query_db(tmp_path, "SELECT who, action FROM draft_event WHERE draft_id = ?", first)
    assert events == [("system", "picked_up")]


async def test_posting_interval_holds_across_processes(tmp_path: Path) -> None:
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as first_desk, open_desk_at(tmp_path, clock=watch) as second_desk:
        for platform in ("bluesky", "mastodon"):
            await connect_account(first_desk, platform=platform)
        first, second = [
            await insert_scheduled(first_desk, NOW - minutes * MINUTE, target_platforms=("bluesky",))
            for minutes in (10, 9)
        ]
        other = await insert_scheduled(first_desk, NOW - 8 * MINUTE, target_platforms=("mastodon",))
        assert [due.draft_id for due in await first_desk.schedule.due_drafts.dispatch_due()] == [first, other]
        assert await second_desk.schedule.due_drafts.dispatch_due() == ()
        watch.now += MINUTE
        execute_sql(
            tmp_path, "UPDATE draft SET status = 'posted', posted_at = updated_at + 60000000 WHERE id = ?", first
        )
        execute_sql(
            tmp_path, "UPDATE delivery SET state = 'sent', sent_at = due_at + 660000000 WHERE draft_id = ?", first
        )
        watch.now += 4 * MINUTE
        assert await second_desk.schedule.due_drafts.dispatch_due() == ()
        watch.now += MINUTE
        assert [due.draft_id for due in await second_desk.schedule.due_drafts.dispatch_due()] == [second]


async def connect_second_account(desk: Desk) -> None:
    await connect_account(desk, platform="mastodon")


async def remove_account(desk: Desk) -> None:
    await desk.accounts.remove("bluesky:you")


@pytest.mark.parametrize(("change", "deliveries"), [(connect_second_account, 3), (remove_account, 1)])
async def test_draft_whose_accounts_change_while_it_is_dispatched_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Desk], Awaitable[None]], deliveries: int
) -> None:
    async with open_desk_at(tmp_path) as desk:
        await connect_account(desk, platform="bluesky")
        await connect_account(desk, "you", platform="bluesky")
        draft_id = await insert_scheduled(desk, NOW)
        due = desk.schedule.due_drafts
        apply_in_batches = due._apply_in_batches

        async def change_first(*args: Any) -> object:
            # Between the reading of what is due and the transaction.
            await change(desk)
            return await apply_in_batches(*args)

        with monkeypatch.context() as patch:
            patch.setattr(due, "_apply_in_batches", change_first)
            assert await due.dispatch_due() == ()
        assert [draft.draft_id for draft in await due.dispatch_due()] == [draft_id]
    assert query_db(tmp_path, "SELECT count(*) FROM delivery") == [(deliveries,)]


async def test_draft_is_dispatched_by_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_desk_at(tmp_path) as first_desk, open_desk_at(tmp_path) as second_desk:
        await connect_account(first_desk, platform="bluesky")
        draft_id = await insert_scheduled(first_desk, NOW)
        write_batch = second_desk._context.write_batch

        async def write_after_other(*args: object) -> object:
            assert [due.draft_id for due in await first_desk.schedule.due_drafts.dispatch_due()] == [draft_id]
            return await write_batch(*args)

        monkeypatch.setattr(second_desk._context, "write_batch", write_after_other)
        assert await second_desk.schedule.due_drafts.dispatch_due() == ()
    assert query_db(tmp_path, "SELECT count(*) FROM draft_event") == [(1,)]


async def test_draft_rescheduled_concurrently_is_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_desk_at(tmp_path) as desk, open_desk_at(tmp_path) as other_desk:
        draft_id = await insert_scheduled(desk, NOW - HOUR)
        write_batch = desk._context.write_batch

        async def write_after_other(*args: object) -> object:
            await other_desk.drafts.reschedule(draft_id, NOW + DAY)
            return await write_batch(*args)

        monkeypatch.setattr(desk._context, "write_batch", write_after_other)
        assert await mark_missed(desk) == set()
        assert await draft_status(desk, draft_id) == "scheduled"


async def test_new_zone_rules_move_scheduled_drafts(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        await desk.schedule.set_slots([make_slot(FRI, 9)])
        draft_id = await insert_draft(desk)
        await desk.schedule.schedule_next(draft_id)
        expected = datetime(2026, 2, 13, 8, tzinfo=UTC)
        assert await scheduled_times(desk) == {draft_id: expected}
        assert await desk.schedule.due_drafts.apply_zone_changes() == ()
        # As if Prague had been on summer time when the draft was scheduled.
        execute_sql(tmp_path, "UPDATE draft SET scheduled_at = scheduled_at - 3600000000")
        assert await desk.schedule.due_drafts.apply_zone_changes() == (draft_id,)
        assert await scheduled_times(desk) == {draft_id: expected}
        assert await draft_status(desk, draft_id) == "scheduled"
    events = query_db(tmp_path, "SELECT who, action FROM draft_event WHERE action <> 'schedule'")
    assert events == [("system", "moved")]


async def test_zone_changes_are_applied_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due_drafts, "READ_BATCH_SIZE", 2)
    wall_time = {"scheduled_wall": "2026-02-20T09:00", "scheduled_zone": "Europe/Prague"}
    async with open_desk_at(tmp_path) as desk:
        await insert_scheduled(desk, NOW + DAY)
        moved_ids = {await insert_scheduled(desk, NOW + DAY, **wall_time) for _ in range(5)}
        assert set(await desk.schedule.due_drafts.apply_zone_changes()) == moved_ids
        assert set((await scheduled_times(desk)).values()) == {NOW + DAY, datetime(2026, 2, 20, 8, tzinfo=UTC)}


async def test_unknown_or_missing_zone_moves_nothing(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await insert_scheduled(desk, NOW + DAY, scheduled_wall="2026-02-20T09:00", scheduled_zone="Europe/Atlantis")
        await insert_scheduled(desk, NOW + DAY)
        assert await desk.schedule.due_drafts.apply_zone_changes() == ()


async def test_forward_clock_jump_blocks_until_accepted(tmp_path: Path) -> None:
    clock, monotonic = Watch(), ManualMonotonicClock()
    async with open_desk_at(tmp_path, clock=clock) as desk:
        schedule = desk.schedule
        schedule._clock_guard.monotonic = monotonic
        await connect_account(desk, platform="bluesky")
        draft_id = await insert_scheduled(desk, NOW + 3 * HOUR)
        assert await schedule.clock_warning() is None
        clock.now += 3 * HOUR
        monotonic.seconds += 60
        warning = await schedule.clock_warning()
        assert warning is not None
        assert (warning.since, warning.seconds) == (clock.now, 3 * 3600 - 60)
        assert await schedule.due_drafts.dispatch_due() == ()
        clock.now += HOUR
        monotonic.seconds += 3600
        assert await mark_missed(desk) == set()
        assert await draft_status(desk, draft_id) == "scheduled"
        assert (await schedule.accept_clock()) is not None
        assert await schedule.clock_warning() is None
        assert await mark_missed(desk) == {draft_id}


async def test_corrected_clock_is_trusted(tmp_path: Path) -> None:
    clock, monotonic = Watch(), ManualMonotonicClock()
    async with open_desk_at(tmp_path, clock=clock) as desk:
        desk.schedule._clock_guard.monotonic = monotonic
        assert await desk.schedule.clock_warning() is None
        clock.now -= DAY
        warning = await desk.schedule.clock_warning()
        assert warning is not None
        assert warning.seconds == -86400
        clock.now += DAY
        assert await desk.schedule.clock_warning() is None


async def test_small_steps_add_up(tmp_path: Path) -> None:
    clock, monotonic = Watch(), ManualMonotonicClock()
    async with open_desk_at(tmp_path, clock=clock) as desk:
        desk.schedule._clock_guard.monotonic = monotonic
        assert await desk.schedule.clock_warning() is None
        for _ in range(3):
            clock.advance(30)
            assert (await desk.schedule.clock_warning() is None) is (clock.now <= NOW + MINUTE)


async def test_sleep_is_no_clock_jump(tmp_path: Path) -> None:
    for counts_sleep in (True, False):
        clock, monotonic = Watch(), ManualMonotonicClock(counts_sleep=counts_sleep)
        async with open_desk_at(tmp_path / str(counts_sleep), clock=clock) as desk:
            desk.schedule._clock_guard.monotonic = monotonic
            assert await desk.schedule.clock_warning() is None
            clock.now += 8 * HOUR
            monotonic.seconds += 8 * 3600 if counts_sleep else 5
            assert await desk.schedule.clock_warning() is None


async def run_daemon(desk: Desk, watch: Watch, monotonic: ManualMonotonicClock, minutes: int) -> None:
    """Run the daemon's jobs, once a minute."""
    jobs = Jobs(desk)
    for _ in range(minutes):
        await jobs.tick()
        await jobs.drain()
        watch.now += MINUTE
        monotonic.seconds += 60


@pytest.mark.parametrize(
    ("counts_sleep", "faults"),
    [
        (True, ()),
        (False, ()),
        (True, (Fault.NO_CONNECTION,) * 4),
        (True, (Fault.CUT_AFTER, Fault.CUT_BEFORE)),
    ],
    ids=["clock counts sleep", "clock stops", "offline", "lost answers"],
)
async def test_sleep_over_several_due_times(tmp_path: Path, counts_sleep: bool, faults: tuple[Fault, ...]) -> None:
    """After it wakes the machine may be offline for a while, or lose answers."""
    watch, monotonic, server = Watch(), ManualMonotonicClock(counts_sleep=counts_sleep), FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        desk.schedule._clock_guard.monotonic = monotonic
        for name in ("me", "you"):
            await connect_account(desk, name)
        ids = {
            minute: await insert_scheduled(desk, NOW + minute * MINUTE, text=f"Due at {minute}.")
            for minute in (25, 5, 50, 15)
        }
        await run_daemon(desk, watch, monotonic, 1)
        watch.now += 39 * MINUTE
        monotonic.seconds += 39 * 60 if counts_sleep else 5
        server.faults.extend(faults)
        await run_daemon(desk, watch, monotonic, 20)
        assert await desk.schedule.clock_warning() is None
        statuses = {minute: await draft_status(desk, draft_id) for minute, draft_id in ids.items()}
    # With half an hour of grace, the first one is 35 minutes late and the second one 25.
    assert statuses == {5: "missed", 15: "posted", 25: "posted", 50: "posted"}
    for name in ("me", "you"):
        texts = [post.text for post in server.posts if post.account == name]
        assert texts == ["Due at 15.", "Due at 25.", "Due at 50."]


@pytest.mark.parametrize("fault", [None, Fault.NO_CONNECTION, Fault.CUT_BEFORE, Fault.CUT_AFTER])
async def test_sleep_during_request(tmp_path: Path, fault: Fault | None) -> None:
    watch, monotonic, server = Watch(), ManualMonotonicClock(), FakeServer()
    sleeps = [20]

    class SleepyPlatform(FakePlatform):
        async def send(self, *args: object) -> object:
            minutes = sleeps.pop() if sleeps else 0
            watch.now += minutes * MINUTE
            monotonic.seconds += minutes * 60
            return await super().send(*args)

    async with open_posting_desk(tmp_path, {"fake": SleepyPlatform(server)}, clock=watch) as desk:
        desk.schedule._clock_guard.monotonic = monotonic
        await connect_account(desk)
        ids = [await insert_scheduled(desk, NOW + minute * MINUTE, text=f"Due at {minute}.") for minute in (0, 10, 15)]
        server.faults.append(fault)
        await run_daemon(desk, watch, monotonic, 15)
        assert [await draft_status(desk, draft_id) for draft_id in ids] == ["posted"] * 3
    assert [post.text for post in server.posts] == ["Due at 0.", "Due at 10.", "Due at 15."]


async def test_clock_warning_is_shared_between_processes(tmp_path: Path) -> None:
    clock, monotonic = Watch(), ManualMonotonicClock()
    async with open_desk_at(tmp_path, clock=clock) as first_desk, open_desk_at(tmp_path, clock=clock) as second_desk:
        first_desk.schedule._clock_guard.monotonic = second_desk.schedule._clock_guard.monotonic = monotonic
        assert await first_desk.schedule.clock_warning() is None
        clock.now += DAY
        assert await first_desk.schedule.clock_warning() == await second_desk.schedule.clock_warning() is not None
        await second_desk.schedule.accept_clock()
        assert await first_desk.schedule.clock_warning() is None


async def test_clock_warning_is_per_user(tmp_path: Path) -> None:
    clock, monotonic = Watch(), ManualMonotonicClock()
    async with open_desk_at(tmp_path, clock=clock) as desk:
        desk.schedule._clock_guard.monotonic = monotonic
        assert await desk.schedule.clock_warning() is None
        clock.now += DAY
        warning = await desk.schedule.clock_warning()
        user = desk._context.user
        other_id = await desk._context.write(lambda conn, _: add_user(conn, "Bea"))
        desk._context.user = replace(user, id=other_id)
        assert await desk.schedule.clock_warning() is None
        await desk.schedule.accept_clock()
        desk._context.user = user
        assert await desk.schedule.clock_warning() == warning is not None


async def test_clock_behind_after_reboot_is_noticed(tmp_path: Path) -> None:
    clock, monotonic = Watch(), ManualMonotonicClock()
    async with open_desk_at(tmp_path, clock=clock) as desk:
        desk.schedule._clock_guard.monotonic = monotonic
        assert await desk.schedule.clock_warning() is None
        monotonic.boot, monotonic.seconds = "second", 10.0
        clock.now = datetime(1970, 1, 2, tzinfo=UTC)
        warning = await desk.schedule.clock_warning()
        assert warning is not None
        assert warning.seconds < 0
        clock.now = NOW + MINUTE
        assert await desk.schedule.clock_warning() is None
        # From now on this boot is the reference.
        clock.now += HOUR
        assert await desk.schedule.clock_warning() is not None


async def test_reboot_keeps_clock_warning(tmp_path: Path) -> None:
    clock, monotonic = Watch(), ManualMonotonicClock()
    async with open_desk_at(tmp_path, clock=clock) as desk:
        desk.schedule._clock_guard.monotonic = monotonic
        assert await desk.schedule.clock_warning() is None
        clock.now += DAY
        warning = await desk.schedule.clock_warning()
        monotonic.boot, monotonic.seconds = "second", 10.0
        assert await desk.schedule.clock_warning() == warning is not None
        await desk.schedule.accept_clock()
        assert await desk.schedule.clock_warning() is None


async def test_clock_check_is_stored_after_five_minutes(tmp_path: Path) -> None:
    clock, monotonic = Watch(), ManualMonotonicClock()
    async with open_desk_at(tmp_path, clock=clock) as desk:
        desk.schedule._clock_guard.monotonic = monotonic

        async def stored_checks() -> list[tuple[object, ...]]:
            assert await desk.schedule.clock_warning() is None
            return query_db(tmp_path, "SELECT seen FROM clock_reading")

        first = await stored_checks()
        clock.advance(299)
        monotonic.seconds += 299
        assert await stored_checks() == first
        clock.advance(1)
        monotonic.seconds += 1
        assert await stored_checks() != first


def test_machine_clock() -> None:
    first, second = read_monotonic(), read_monotonic()
    assert first.boot == second.boot
    assert 0 <= second.seconds - first.seconds < 60
