"""Drafts whose time has come: picked up, missed, moved; and a clock that is not believed."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from copydesk.desk import Desk, picking_up
from copydesk.desk.picking_up import NOT_CONNECTED
from copydesk.desk.steady import Steady, machine_clock
from desk_fixtures import NOW, Watch, change, open_at, rows
from posting_fixtures import connect
from schedule_fixtures import FRI, put_at, put_one, slot, status_of, times
from store_fixtures import add_user

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


class Steadily:
    """A steady clock for tests: goes on only as it is told."""

    def __init__(self, *, boot: str = "first", counts_sleep: bool = True) -> None:
        self.boot = boot
        self.seconds = 1000.0
        self.counts_sleep = counts_sleep

    def __call__(self) -> Steady:
        return Steady(boot=self.boot, seconds=self.seconds, counts_sleep=self.counts_sleep)


async def missed(desk: Desk) -> set[str]:
    return set(await desk.schedule.picking_up.miss())


@pytest.mark.parametrize(("format", "grace"), [("SHORT", 30 * MINUTE), ("THREAD", 30 * MINUTE), ("BLOG", 24 * HOUR)])
async def test_a_draft_is_missed_when_its_grace_period_is_over(tmp_path: Path, format: str, grace: timedelta) -> None:
    watch = Watch()
    async with open_at(tmp_path, clock=watch) as desk:
        draft = await put_at(desk, NOW, format=format)
        watch.now = NOW + grace
        assert await missed(desk) == set()
        assert await status_of(desk, draft) == "scheduled"
        watch.now += timedelta(milliseconds=1)
        assert await missed(desk) == {draft}
        assert await missed(desk) == set()
        found = await desk.drafts.get(draft)
        assert (found.status, found.last_error, found.scheduled_at) == ("missed", NOT_CONNECTED, NOW)
    events = rows(tmp_path, "SELECT who, kind, action FROM draft_event")
    assert events == [("system", "fixed", "late")]


async def test_the_grace_period_is_a_setting(tmp_path: Path) -> None:
    async with open_at(tmp_path, schedule__grace_short_minutes="5", schedule__grace_blog_hours="1") as desk:
        short, thread, blog = [
            await put_at(desk, NOW - 20 * MINUTE, format=kind) for kind in ("SHORT", "THREAD", "BLOG")
        ]
        assert await missed(desk) == {short}
        assert {await status_of(desk, draft) for draft in (thread, blog)} == {"scheduled"}


async def test_what_waits_for_a_machine_that_was_off_says_so(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await connect(desk, platform="bluesky")
        await connect(desk, platform="wordpress")
        draft = await put_at(desk, NOW - HOUR)
        blog = await put_at(desk, NOW - 25 * HOUR, format="BLOG")
        assert await missed(desk) == {draft, blog}
        assert (await desk.drafts.get(draft)).last_error == "It was late by more than 30 minutes; nothing was sent."
        assert (await desk.drafts.get(blog)).last_error == "It was late by more than 24 hours; nothing was sent."


async def test_a_missed_draft_can_be_scheduled_anew(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        draft = await put_at(desk, NOW - HOUR)
        assert await missed(desk) == {draft}
        found = await desk.drafts.reschedule(draft, NOW + DAY)
        assert (found.status, found.last_error) == ("scheduled", None)


async def test_nothing_is_picked_up_while_no_platform_is_connected(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        draft = await put_at(desk, NOW - MINUTE)
        assert await desk.schedule.picking_up.pick_up() == ()
        assert await status_of(desk, draft) == "scheduled"


async def test_after_downtime_one_at_a_time_on_each_account_oldest_first(tmp_path: Path) -> None:
    watch = Watch()
    async with open_at(tmp_path, clock=watch) as desk:
        pick_up = desk.schedule.picking_up
        second, first = [await put_at(desk, NOW - minutes * MINUTE) for minutes in (10, 20)]
        elsewhere = await put_at(desk, NOW - MINUTE, target_platforms=("mastodon",))
        later = await put_at(desk, NOW + MINUTE)
        late = await put_at(desk, NOW - HOUR)
        await connect(desk, platform="bluesky")
        assert [due.draft_id for due in await pick_up.pick_up()] == [first]
        await connect(desk, platform="mastodon")
        assert [due.draft_id for due in await pick_up.pick_up()] == []
        watch.now = NOW + 5 * MINUTE
        assert [due.draft_id for due in await pick_up.pick_up()] == [second]
        assert await status_of(desk, first) == await status_of(desk, second) == "posting"
        assert {await status_of(desk, draft) for draft in (elsewhere, later, late)} == {"scheduled"}
        watch.now = NOW + 10 * MINUTE
        assert await missed(desk) == {late}
    events = rows(tmp_path, "SELECT who, action FROM draft_event WHERE draft_id = ?", first)
    assert events == [("system", "picked_up")]


async def test_the_pace_holds_for_every_process_while_a_draft_is_posted_and_after(tmp_path: Path) -> None:
    watch = Watch()
    async with open_at(tmp_path, clock=watch) as one, open_at(tmp_path, clock=watch) as two:
        for platform in ("bluesky", "mastodon"):
            await connect(one, platform=platform)
        first, second = [
            await put_at(one, NOW - minutes * MINUTE, target_platforms=("bluesky",)) for minutes in (10, 9)
        ]
        other = await put_at(one, NOW - 8 * MINUTE, target_platforms=("mastodon",))
        assert [due.draft_id for due in await one.schedule.picking_up.pick_up()] == [first, other]
        assert await two.schedule.picking_up.pick_up() == ()
        watch.now += MINUTE
        change(tmp_path, "UPDATE draft SET status = 'posted', posted_at = updated_at + 60000000 WHERE id = ?", first)
        change(tmp_path, "UPDATE delivery SET state = 'sent', sent_at = due_at + 660000000 WHERE draft_id = ?", first)
        watch.now += 4 * MINUTE
        assert await two.schedule.picking_up.pick_up() == ()
        watch.now += MINUTE
        assert [due.draft_id for due in await two.schedule.picking_up.pick_up()] == [second]


async def test_of_two_processes_one_picks_a_draft_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_at(tmp_path) as one, open_at(tmp_path) as two:
        await connect(one, platform="bluesky")
        draft = await put_at(one, NOW)
        write_each = two.ground.write_each

        async def after_the_other(*args: object) -> object:
            assert [due.draft_id for due in await one.schedule.picking_up.pick_up()] == [draft]
            return await write_each(*args)

        monkeypatch.setattr(two.ground, "write_each", after_the_other)
        assert await two.schedule.picking_up.pick_up() == ()
    assert rows(tmp_path, "SELECT count(*) FROM draft_event") == [(1,)]


async def test_a_draft_that_is_rescheduled_at_the_last_moment_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_at(tmp_path) as desk, open_at(tmp_path) as user:
        draft = await put_at(desk, NOW - HOUR)
        write_each = desk.ground.write_each

        async def after_the_user(*args: object) -> object:
            await user.drafts.reschedule(draft, NOW + DAY)
            return await write_each(*args)

        monkeypatch.setattr(desk.ground, "write_each", after_the_user)
        assert await missed(desk) == set()
        assert await status_of(desk, draft) == "scheduled"


async def test_new_rules_of_a_zone_move_what_is_scheduled(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await desk.schedule.set_zone("Europe/Prague")
        await desk.schedule.set_slots([slot(FRI, 9)])
        one = await put_one(desk)
        await desk.schedule.next_for(one)
        right = datetime(2026, 2, 13, 8, tzinfo=UTC)
        assert await times(desk) == {one: right}
        assert await desk.schedule.picking_up.follow_zones() == ()
        # As if Prague had been on summer time when it was scheduled.
        change(tmp_path, "UPDATE draft SET scheduled_at = scheduled_at - 3600000000")
        assert await desk.schedule.picking_up.follow_zones() == (one,)
        assert await times(desk) == {one: right}
        assert await status_of(desk, one) == "scheduled"
    events = rows(tmp_path, "SELECT who, action FROM draft_event WHERE action <> 'schedule'")
    assert events == [("system", "moved")]


async def test_all_that_is_scheduled_follows_new_rules_a_part_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picking_up, "READ_AT_ONCE", 2)
    meant = {"scheduled_wall": "2026-02-20T09:00", "scheduled_zone": "Europe/Prague"}
    async with open_at(tmp_path) as desk:
        await put_at(desk, NOW + DAY)
        off = {await put_at(desk, NOW + DAY, **meant) for _ in range(5)}
        assert set(await desk.schedule.picking_up.follow_zones()) == off
        assert set((await times(desk)).values()) == {NOW + DAY, datetime(2026, 2, 20, 8, tzinfo=UTC)}


async def test_a_zone_that_is_gone_and_a_time_without_one_move_nothing(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await put_at(desk, NOW + DAY, scheduled_wall="2026-02-20T09:00", scheduled_zone="Europe/Atlantis")
        await put_at(desk, NOW + DAY)
        assert await desk.schedule.picking_up.follow_zones() == ()


async def test_a_clock_that_jumped_forward_holds_everything_until_it_is_accepted(tmp_path: Path) -> None:
    watch, steady = Watch(), Steadily()
    async with open_at(tmp_path, clock=watch) as desk:
        schedule = desk.schedule
        schedule.clock.steady = steady
        await connect(desk, platform="bluesky")
        draft = await put_at(desk, NOW + 3 * HOUR)
        assert await schedule.clock_doubt() is None
        watch.now += 3 * HOUR
        steady.seconds += 60
        doubt = await schedule.clock_doubt()
        assert doubt is not None
        assert (doubt.since, doubt.seconds) == (watch.now, 3 * 3600 - 60)
        assert await schedule.picking_up.pick_up() == ()
        watch.now += HOUR
        steady.seconds += 3600
        assert await missed(desk) == set()
        assert await status_of(desk, draft) == "scheduled"
        assert (await schedule.accept_clock()) is not None
        assert await schedule.clock_doubt() is None
        assert await missed(desk) == {draft}


async def test_a_clock_that_is_put_right_is_trusted_again(tmp_path: Path) -> None:
    watch, steady = Watch(), Steadily()
    async with open_at(tmp_path, clock=watch) as desk:
        desk.schedule.clock.steady = steady
        assert await desk.schedule.clock_doubt() is None
        watch.now -= DAY
        doubt = await desk.schedule.clock_doubt()
        assert doubt is not None
        assert doubt.seconds == -86400
        watch.now += DAY
        assert await desk.schedule.clock_doubt() is None


async def test_small_steps_add_up(tmp_path: Path) -> None:
    watch, steady = Watch(), Steadily()
    async with open_at(tmp_path, clock=watch) as desk:
        desk.schedule.clock.steady = steady
        assert await desk.schedule.clock_doubt() is None
        for _ in range(3):
            watch.forward(30)
            assert (await desk.schedule.clock_doubt() is None) is (watch.now <= NOW + MINUTE)


async def test_a_laptop_that_slept_is_no_reason_to_ask(tmp_path: Path) -> None:
    for counts_sleep in (True, False):
        watch, steady = Watch(), Steadily(counts_sleep=counts_sleep)
        async with open_at(tmp_path / str(counts_sleep), clock=watch) as desk:
            desk.schedule.clock.steady = steady
            assert await desk.schedule.clock_doubt() is None
            watch.now += 8 * HOUR
            steady.seconds += 8 * 3600 if counts_sleep else 5
            assert await desk.schedule.clock_doubt() is None


async def test_another_process_hears_of_the_doubt_and_may_answer(tmp_path: Path) -> None:
    watch, steady = Watch(), Steadily()
    async with open_at(tmp_path, clock=watch) as one, open_at(tmp_path, clock=watch) as two:
        one.schedule.clock.steady = two.schedule.clock.steady = steady
        assert await one.schedule.clock_doubt() is None
        watch.now += DAY
        assert await one.schedule.clock_doubt() == await two.schedule.clock_doubt() is not None
        await two.schedule.accept_clock()
        assert await one.schedule.clock_doubt() is None


async def test_each_user_is_asked_about_the_clock_by_what_was_known_of_it(tmp_path: Path) -> None:
    watch, steady = Watch(), Steadily()
    async with open_at(tmp_path, clock=watch) as desk:
        desk.schedule.clock.steady = steady
        assert await desk.schedule.clock_doubt() is None
        watch.now += DAY
        doubt = await desk.schedule.clock_doubt()
        mine = desk.ground.user
        other = await desk.ground.write(lambda conn, _: add_user(conn, "Bea"))
        desk.ground.user = replace(mine, id=other)
        assert await desk.schedule.clock_doubt() is None
        await desk.schedule.accept_clock()
        desk.ground.user = mine
        assert await desk.schedule.clock_doubt() == doubt is not None


async def test_after_a_start_of_the_machine_a_clock_that_is_behind_is_noticed(tmp_path: Path) -> None:
    watch, steady = Watch(), Steadily()
    async with open_at(tmp_path, clock=watch) as desk:
        desk.schedule.clock.steady = steady
        assert await desk.schedule.clock_doubt() is None
        steady.boot, steady.seconds = "second", 10.0
        watch.now = datetime(1970, 1, 2, tzinfo=UTC)
        doubt = await desk.schedule.clock_doubt()
        assert doubt is not None
        assert doubt.seconds < 0
        watch.now = NOW + MINUTE
        assert await desk.schedule.clock_doubt() is None
        # And this start is now what counts.
        watch.now += HOUR
        assert await desk.schedule.clock_doubt() is not None


async def test_a_start_of_the_machine_does_not_answer_the_question(tmp_path: Path) -> None:
    watch, steady = Watch(), Steadily()
    async with open_at(tmp_path, clock=watch) as desk:
        desk.schedule.clock.steady = steady
        assert await desk.schedule.clock_doubt() is None
        watch.now += DAY
        doubt = await desk.schedule.clock_doubt()
        steady.boot, steady.seconds = "second", 10.0
        assert await desk.schedule.clock_doubt() == doubt is not None
        await desk.schedule.accept_clock()
        assert await desk.schedule.clock_doubt() is None


async def test_a_look_at_a_clock_that_is_right_writes_nothing(tmp_path: Path) -> None:
    watch, steady = Watch(), Steadily()
    async with open_at(tmp_path, clock=watch) as desk:
        desk.schedule.clock.steady = steady

        async def seen() -> list[tuple[object, ...]]:
            assert await desk.schedule.clock_doubt() is None
            return rows(tmp_path, "SELECT seen FROM clock_check")

        first = await seen()
        watch.forward(299)
        steady.seconds += 299
        assert await seen() == first
        watch.forward(1)
        steady.seconds += 1
        assert await seen() != first


def test_the_machine_has_a_steady_clock() -> None:
    one, two = machine_clock(), machine_clock()
    assert one.boot == two.boot
    assert 0 <= two.seconds - one.seconds < 60
