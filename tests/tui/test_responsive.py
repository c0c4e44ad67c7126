"""Tests for the console's garbage collection while idle, and its thread switch interval."""

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
    """Return the list of collected generations."""
    generations: list[int] = []

    def record(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            generations.append(info["generation"])

    gc.callbacks.append(record)
    yield generations
    gc.callbacks.remove(record)


def gather_some() -> None:
    """Run enough young collections that a full one is due."""
    for _ in range(responsive.MIDDLE + 2):
        gc.collect(1)


def test_console_is_busy_shortly_after_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responsive.time, "monotonic", lambda: 100.0)
    tuning = Responsive()
    tuning.pressed()
    assert not tuning.calm
    monkeypatch.setattr(responsive.time, "monotonic", lambda: 100.0 + responsive.CALM + 0.1)
    assert tuning.calm


def test_old_garbage_triggers_full_collection(looks: list[int]) -> None:
    gather_some()
    looks.clear()
    Responsive().look()
    assert looks == [2]


def test_no_garbage_triggers_no_collection(looks: list[int]) -> None:
    gc.collect()
    looks.clear()
    Responsive().look()
    assert looks == []


async def test_idle_console_releases_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = FakeDesk()
    idle, released = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def rest() -> bool:
        idle.set()
        return True

    monkeypatch.setattr(desk, "rest", rest)
    monkeypatch.setattr(desk_app, "give_back", lambda: loop.call_soon_threadsafe(released.set))
    monkeypatch.setattr(desk_app, "LOOK", 0.01)
    monkeypatch.setattr(responsive, "CALM", 600.0)
    app = console(desk)
    async with app.run_test() as pilot:
        app._responsive.pressed()
        await settled(pilot)
        assert not idle.is_set()
        monkeypatch.setattr(responsive, "CALM", 0.0)
        await asyncio.wait_for(released.wait(), 60)


async def test_busy_resources_are_not_reopened(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = FakeDesk()
    looks, rests = 0, 0
    enough_polls = asyncio.Event()

    async def changes() -> int:
        nonlocal looks
        looks += 1
        if looks > 20:
            enough_polls.set()
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
        await asyncio.wait_for(enough_polls.wait(), 60)
    assert rests == 1


def test_memory_release_is_optional() -> None:
    responsive.give_back()


async def test_console_restores_gc_settings() -> None:
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
