"""The console looks for garbage while no key is pressed, and its threads take short turns."""

import asyncio
import gc
import sys
from collections.abc import Iterator

import pytest

from copydesk.tui import desk_app, responsive
from copydesk.tui.responsive import Responsive
from copydesk.turns import TURN
from tui_fixtures import FakeDesk, console, settled


@pytest.fixture
def looks() -> Iterator[list[int]]:
    """The generations that were looked through."""
    seen: list[int] = []

    def watch(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            seen.append(info["generation"])

    gc.callbacks.append(watch)
    yield seen
    gc.callbacks.remove(watch)


def gather_some() -> None:
    """Garbage in cycles, looked at often enough to count as old."""
    for _ in range(responsive.MIDDLE + 2):
        gc.collect(1)


def test_nobody_waits_a_while_after_the_last_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responsive.time, "monotonic", lambda: 100.0)
    watch = Responsive()
    watch.pressed()
    assert not watch.calm
    monkeypatch.setattr(responsive.time, "monotonic", lambda: 100.0 + responsive.CALM + 0.1)
    assert watch.calm


def test_everything_is_looked_through_where_something_has_gathered(looks: list[int]) -> None:
    gather_some()
    looks.clear()
    Responsive().look()
    assert looks == [2]


def test_nothing_is_looked_through_where_nothing_has_gathered(looks: list[int]) -> None:
    gc.collect()
    looks.clear()
    Responsive().look()
    assert looks == []


async def test_a_console_at_rest_gives_back_what_it_holds_to_be_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = FakeDesk()
    rested, given = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def rest() -> bool:
        rested.set()
        return True

    monkeypatch.setattr(desk, "rest", rest)
    monkeypatch.setattr(desk_app, "give_back", lambda: loop.call_soon_threadsafe(given.set))
    monkeypatch.setattr(desk_app, "LOOK", 0.01)
    monkeypatch.setattr(responsive, "CALM", 600.0)
    app = console(desk)
    async with app.run_test() as pilot:
        app._responsive.pressed()
        await settled(pilot)
        assert not rested.is_set()
        monkeypatch.setattr(responsive, "CALM", 0.0)
        await asyncio.wait_for(given.wait(), 60)


async def test_what_is_used_every_second_is_not_opened_anew_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = FakeDesk()
    looks, rests = 0, 0
    looked = asyncio.Event()

    async def changes() -> int:
        nonlocal looks
        looks += 1
        if looks > 20:
            looked.set()
        return 0

    async def rest() -> bool:
        nonlocal rests
        rests += 1
        return False

    monkeypatch.setattr(desk, "changes", changes)
    monkeypatch.setattr(desk, "rest", rest)
    monkeypatch.setattr(desk_app, "LOOK", 0.0)
    monkeypatch.setattr(desk_app, "REST", 600.0)
    monkeypatch.setattr(responsive, "CALM", 0.0)
    async with console(desk).run_test():
        await asyncio.wait_for(looked.wait(), 60)
    assert rests == 1


def test_memory_is_given_back_or_left_where_nobody_takes_it() -> None:
    responsive.give_back()


async def test_a_console_leaves_python_as_it_found_it() -> None:
    before = gc.get_threshold(), sys.getswitchinterval()
    app = console(FakeDesk())
    async with app.run_test() as pilot:
        await settled(pilot)
        assert gc.get_threshold() == (responsive.YOUNG, responsive.MIDDLE, responsive.OLD)
        assert gc.get_freeze_count()
        assert sys.getswitchinterval() == pytest.approx(TURN)
        assert app.desk is not None
        assert app.desk.ground.attended
    assert (gc.get_threshold(), sys.getswitchinterval()) == before
