"""Tests for noticing changes by other processes: not between two keys, but within a second all the same."""

import asyncio

import pytest

from console_driver import FakeDesk, make_console, pass_round, wait_until_idle
from copydesk.store.database import Database
from copydesk.tui import desk_app
from copydesk.tui.runtime.gc_tuning import GcTuning
from delayed_responses import wait_until
from virtual_time import run_in_virtual_time

MANY_ROUNDS = 50
"""Rounds of the console, a millisecond or longer each, in which there would be several checks."""


class ChangedDesk(FakeDesk):
    """A desk that another process changes before each check, once `is_changing`."""

    def __init__(self, *, is_changing: bool = True) -> None:
        super().__init__(3)
        self.checks = 0
        self.is_changing = is_changing

    async def change_counter(self) -> int:
        self.checks += 1
        return self.checks if self.is_changing else 0


@pytest.fixture
def idle_time(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Poll without delay; return a list of one number, the seconds since the last key."""
    monkeypatch.setattr(desk_app, "CHECK_INTERVAL", 0.001)
    monkeypatch.setattr(desk_app, "KEY_PAUSE", 0.001)
    seconds = [0.0]
    monkeypatch.setattr(GcTuning, "idle_time", property(lambda _: seconds[0]))
    return seconds


async def test_changes_are_not_loaded_between_keys(idle_time: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_app, "MAX_CHECK_DELAY", 600)
    desk = ChangedDesk()
    app = make_console(desk)
    async with app.run_test() as pilot:
        await wait_until_idle(pilot)
        for _ in range(MANY_ROUNDS):
            await pass_round(app)
        assert desk.checks <= 2  # before and after the desk was opened
        idle_time[0] = 1
        await wait_until(lambda: desk.checks > 2, lambda: pass_round(app))


@pytest.mark.usefixtures("idle_time")
async def test_changes_are_loaded_however_fast_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_app, "MAX_CHECK_DELAY", 0.001)
    desk = ChangedDesk(is_changing=False)
    app = make_console(desk)
    async with app.run_test() as pilot:
        await wait_until_idle(pilot)
        changes, desk.is_changing = app.change_count, True
        await wait_until(lambda: app.change_count > changes, lambda: pass_round(app))


class WrittenDesk(FakeDesk):
    """A desk to which another process writes now and then, as a file or as a server that tells of it."""

    def __init__(self, *, tells: bool) -> None:
        super().__init__(3)
        self.writes = 0
        self._tells = tells
        self._written = asyncio.Event()

    def write(self) -> None:
        self.writes += 1
        self._written.set()

    async def change_counter(self) -> int:
        self._written.clear()
        return self.writes

    async def wait_for_change(self, counter: int) -> None:
        if self._tells:
            await self._written.wait()
        else:
            await Database.wait_for_change(self, counter)  # type: ignore[arg-type]


async def test_change_while_the_desk_opens_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = WrittenDesk(tells=False)

    async def write() -> tuple[()]:
        desk.write()
        return ()

    # Read after the rows were requested and before the first check.
    monkeypatch.setattr(desk.drafts, "interrupted_bulks", write)
    app = make_console(desk)
    async with app.run_test() as pilot:
        await wait_until_idle(pilot)
        assert app.change_count == desk.writes == 1


async def _longest_delay(desk: WrittenDesk) -> float:
    """Return the most seconds from a write to the message to the screen, over writes at all moments of the cycle."""
    app, loop, delays = make_console(desk), asyncio.get_running_loop(), list[float]()
    watcher = asyncio.create_task(app._watch_changes(desk, desk.writes))  # type: ignore[arg-type]
    for number in range(100):
        await asyncio.sleep(2 + number / 50)
        changes, written_at = app.change_count, loop.time()
        desk.write()
        while app.change_count == changes:  # noqa: ASYNC110 - in virtual time
            await asyncio.sleep(0.001)
        delays.append(loop.time() - written_at)
    watcher.cancel()
    return max(delays)


@pytest.mark.parametrize("tells", [True, False], ids=["server", "file"])
def test_change_is_noticed_within_a_second_however_fast_the_keys(
    monkeypatch: pytest.MonkeyPatch, *, tells: bool
) -> None:
    monkeypatch.setattr(GcTuning, "idle_time", property(lambda _: 0.0))
    # The rest of the second is for loading and painting.
    assert run_in_virtual_time(_longest_delay(WrittenDesk(tells=tells))) < 0.85


def test_change_is_noticed_at_the_next_check_if_no_key_is_pressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GcTuning, "idle_time", property(lambda _: 60.0))
    assert run_in_virtual_time(_longest_delay(WrittenDesk(tells=True))) <= desk_app.CHECK_INTERVAL
