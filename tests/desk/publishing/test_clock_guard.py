"""Tests of the clock guard with several machines that work on one desk, each with its own clocks."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from copydesk.desk import Desk
from copydesk.desk.clock_guard import MAX_READINGS, MonotonicReading, _evaluate_and_save, _new_reference, _save_accepted
from copydesk.store import users
from desk_fixtures import NOW, Watch, open_desk_at, query_db
from posting_fixtures import connect_account
from schedule_fixtures import draft_status, insert_scheduled
from store_fixtures import add_user, connect_in_memory

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


class Machine:
    """A machine, whose wall clock is `ahead` of the right time."""

    def __init__(self, name: str, time: Watch) -> None:
        self.name = name
        self.ahead = timedelta()
        self._time = time
        self._boots = 0
        self.reboot()

    def reboot(self) -> None:
        self._boots += 1
        self._booted_at = self._time.now

    def wall(self) -> datetime:
        return self._time.now + self.ahead

    def monotonic(self) -> MonotonicReading:
        seconds = (self._time.now - self._booted_at).total_seconds()
        boot = f"{self.name} {self._boots}"
        return MonotonicReading(boot=boot, seconds=seconds, counts_sleep=True, machine=self.name)

    @asynccontextmanager
    async def open_desk(self, home: Path) -> AsyncIterator[Desk]:
        async with open_desk_at(home, clock=self.wall) as desk:
            desk.schedule._clock_guard.monotonic = self.monotonic
            yield desk


def stored_readings(home: Path) -> list[tuple[object, ...]]:
    return query_db(home, "SELECT * FROM clock_reading ORDER BY boot")


async def test_machine_whose_clock_jumped_posts_nothing_beside_another(tmp_path: Path) -> None:
    time = Watch()
    a, b = Machine("a", time), Machine("b", time)
    async with a.open_desk(tmp_path) as first, b.open_desk(tmp_path) as second:
        await connect_account(first, platform="bluesky")
        draft_id = await insert_scheduled(first, NOW + 150 * MINUTE)
        assert await first.schedule.clock_warning() is None
        time.now += MINUTE
        assert await second.schedule.clock_warning() is None
        a.ahead = 3 * HOUR
        for _ in range(3):
            time.now += MINUTE
            assert await first.schedule.due_drafts.dispatch_due() == ()
            warning = await first.schedule.clock_warning()
            assert warning is not None
            assert warning.seconds == 3 * 3600
            # The other clock is right, and what it says is no answer for the first one.
            assert await second.schedule.clock_warning() is None
        assert await draft_status(first, draft_id) == "scheduled"
        time.now = NOW + 150 * MINUTE
        (posted,) = await second.schedule.due_drafts.dispatch_due()
        assert posted.draft_id == draft_id
        a.ahead = timedelta()
        assert await first.schedule.clock_warning() is None


async def test_machines_that_check_in_turn_write_nothing(tmp_path: Path) -> None:
    time = Watch()
    a, b = Machine("a", time), Machine("b", time)
    async with a.open_desk(tmp_path) as first, b.open_desk(tmp_path) as second:
        for desk in (first, second):
            assert await desk.schedule.clock_warning() is None
        stored = stored_readings(tmp_path)
        assert len(stored) == 2
        for _ in range(4):
            time.now += MINUTE
            for desk in (first, second):
                assert await desk.schedule.clock_warning() is None
        assert stored_readings(tmp_path) == stored


async def test_accepted_time_is_that_of_its_machine(tmp_path: Path) -> None:
    time = Watch()
    a, b = Machine("a", time), Machine("b", time)
    async with a.open_desk(tmp_path) as first, b.open_desk(tmp_path) as second:
        assert await first.schedule.clock_warning() is None
        assert await second.schedule.clock_warning() is None
        a.ahead, b.ahead = -HOUR, HOUR
        warning = await second.schedule.clock_warning()
        assert await first.schedule.accept_clock() is not None
        assert await first.schedule.clock_warning() is None
        assert await second.schedule.clock_warning() == warning is not None


async def test_new_machine_behind_the_others_is_noticed(tmp_path: Path) -> None:
    time = Watch()
    a, b = Machine("a", time), Machine("b", time)
    b.ahead = -DAY
    async with a.open_desk(tmp_path) as first, b.open_desk(tmp_path) as second:
        assert await first.schedule.clock_warning() is None
        (stored,) = stored_readings(tmp_path)
        for _ in range(2):
            warning = await second.schedule.clock_warning()
            assert warning is not None
            assert (warning.since, warning.seconds) == (NOW - DAY, -86400)
        assert stored_readings(tmp_path)[0] == stored
        b.ahead = timedelta()
        assert await second.schedule.clock_warning() is None
        # From now on its own boot is the reference.
        b.ahead = HOUR
        assert await second.schedule.clock_warning() is not None


@pytest.mark.sqlite("of a server the machine may be another one")
async def test_warning_of_a_file_outlasts_a_reboot_with_another_host_name(tmp_path: Path) -> None:
    machine = Machine("a", Watch())
    async with machine.open_desk(tmp_path) as desk:
        assert await desk.schedule.clock_warning() is None
        machine.ahead = HOUR
        warning = await desk.schedule.clock_warning()
        machine.name = "new container"
        machine.reboot()
        assert await desk.schedule.clock_warning() == warning is not None


def test_new_machine_is_not_paused_by_the_jump_of_another(tmp_path: Path) -> None:
    time = Watch()
    a, b = Machine("a", time), Machine("b", time)
    with connect_in_memory(tmp_path) as conn:
        user = add_user(conn)
        _evaluate_and_save(conn, user, a.wall(), a.monotonic())
        a.ahead = HOUR
        assert _evaluate_and_save(conn, user, a.wall(), a.monotonic()).doubt_by == 3600
        assert _evaluate_and_save(conn, user, b.wall(), b.monotonic()).doubt_by is None
        a.reboot()
        assert _evaluate_and_save(conn, user, a.wall(), a.monotonic()).doubt_by == 3600


async def test_accepted_time_holds_after_another_reboot(tmp_path: Path) -> None:
    time = Watch()
    machine = Machine("a", time)
    # Wrong from the first reading on, which nothing can show.
    machine.ahead = DAY
    async with machine.open_desk(tmp_path) as desk:
        assert await desk.schedule.clock_warning() is None
        machine.ahead = timedelta()
        machine.reboot()
        assert await desk.schedule.accept_clock() is not None
        machine.reboot()
        assert await desk.schedule.clock_warning() is None


def test_warnings_are_those_of_a_machine_alone(tmp_path: Path) -> None:
    """Jumps, corrections, reboots and answers of one machine, beside another whose clock is right."""
    dice = random.Random(5)
    warnings = 0
    with connect_in_memory(tmp_path) as conn:
        for _ in range(30):
            time = Watch()
            a, b = Machine("a", time), Machine("b", time)
            shared, alone = add_user(conn), add_user(conn)
            for machine in (a, b):
                _evaluate_and_save(conn, shared, machine.wall(), machine.monotonic())
            _evaluate_and_save(conn, alone, a.wall(), a.monotonic())
            for _ in range(40):
                time.now += dice.choice([SECOND, MINUTE, 6 * MINUTE, 5 * HOUR])
                if dice.random() < 0.3:
                    a.ahead = dice.choice([-3 * HOUR, timedelta(), timedelta(), 3 * HOUR])
                for machine in (a, b):
                    if dice.random() < 0.2:
                        machine.reboot()
                if dice.random() < 0.7:
                    state = _evaluate_and_save(conn, shared, b.wall(), b.monotonic())
                    assert state.doubt_since is None
                if dice.random() < 0.1:
                    for user in (shared, alone):
                        users.save_clock_reading(conn, user, _new_reference(a.wall(), a.monotonic()))
                state, expected = (
                    replace(_evaluate_and_save(conn, user, a.wall(), a.monotonic()), number=0)
                    for user in (shared, alone)
                )
                assert state == expected
                warnings += state.doubt_since is not None
    assert 100 < warnings < 1100


def test_readings_but_the_last_are_deleted(tmp_path: Path) -> None:
    time = Watch()
    a, b, c = (Machine(name, time) for name in "abc")
    with connect_in_memory(tmp_path) as conn:
        user, other = add_user(conn), add_user(conn)
        _evaluate_and_save(conn, other, a.wall(), a.monotonic())
        for machine in (b, c):
            _evaluate_and_save(conn, user, machine.wall(), machine.monotonic())
        b.ahead = HOUR
        _evaluate_and_save(conn, user, b.wall(), b.monotonic())
        for _ in range(MAX_READINGS + 5):
            time.now += DAY
            a.reboot()
            _evaluate_and_save(conn, user, a.wall(), a.monotonic())
        boots = {reading.boot for reading in users.load_clock_readings(conn, user)}
        # The clock that nobody has confirmed yet stays in doubt.
        assert boots == {b.monotonic().boot} | {f"a {boot}" for boot in range(7, MAX_READINGS + 7)}
        assert len(users.load_clock_readings(conn, other)) == 1


def test_new_machine_far_ahead_pauses_no_other(tmp_path: Path) -> None:
    time = Watch()
    a, b = Machine("a", time), Machine("b", time)
    b.ahead = 40 * DAY
    with connect_in_memory(tmp_path) as conn:
        user = add_user(conn)
        for machine in (a, b, a, b, a):
            time.now += HOUR
            assert _evaluate_and_save(conn, user, machine.wall(), machine.monotonic()).doubt_by is None


def test_accepted_time_ends_the_warning_of_an_unknown_machine(tmp_path: Path) -> None:
    time = Watch()
    a, b = Machine("a", time), Machine("b", time)
    with connect_in_memory(tmp_path) as conn:
        user = add_user(conn)
        unknown = replace(_new_reference(time.now, a.monotonic()), boot="earlier", machine="")
        users.save_clock_reading(conn, user, replace(unknown, doubt_since=time.now, doubt_by=3600.0))
        assert _evaluate_and_save(conn, user, a.wall(), a.monotonic()).doubt_by == 3600
        _save_accepted(conn, user, _new_reference(a.wall(), a.monotonic()))
        assert _evaluate_and_save(conn, user, b.wall(), b.monotonic()).doubt_by is None


async def test_clock_in_doubt_is_stored_once(tmp_path: Path) -> None:
    time = Watch()
    machine = Machine("a", time)
    async with machine.open_desk(tmp_path) as desk:
        assert await desk.schedule.clock_warning() is None
        machine.ahead = HOUR
        assert await desk.schedule.clock_warning() is not None
        stored = stored_readings(tmp_path)
        for _ in range(5):
            time.now += SECOND
            machine.ahead += timedelta(milliseconds=1)
            assert await desk.schedule.clock_warning() is not None
        assert stored_readings(tmp_path) == stored
