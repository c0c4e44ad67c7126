"""Tests for the console's garbage collection while idle, and its thread switch interval."""

import asyncio
import gc
import sys
from collections.abc import Iterator

import pytest

from console_driver import FakeDesk, make_console, wait_until_idle
from copydesk.switch_interval import SWITCH_INTERVAL
from copydesk.tui import desk_app
from copydesk.tui.runtime import gc_tuning
from copydesk.tui.runtime.gc_tuning import GcTuning


@pytest.fixture
def gc_generations() -> Iterator[list[int]]:
    """Return the list of collected generations. The objects of other tests are not searched."""
    generations: list[int] = []
    gc.freeze()

    def record(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            generations.append(info["generation"])

    gc.callbacks.append(record)
    yield generations
    gc.callbacks.remove(record)
    gc.unfreeze()


def make_full_collection_due() -> None:
    """Run enough young collections that a full one is due."""
    for _ in range(gc_tuning.MIDDLE_THRESHOLD + 2):
        gc.collect(1)


def test_console_is_busy_shortly_after_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc_tuning.time, "monotonic", lambda: 100.0)
    tuning = GcTuning()
    tuning.record_key()
    assert not tuning.is_idle
    monkeypatch.setattr(gc_tuning.time, "monotonic", lambda: 100.0 + gc_tuning.IDLE_AFTER + 0.1)
    assert tuning.is_idle


def test_old_garbage_triggers_full_collection(gc_generations: list[int]) -> None:
    make_full_collection_due()
    gc_generations.clear()
    GcTuning().collect()
    assert gc_generations == [2]


def test_no_garbage_triggers_no_collection(gc_generations: list[int]) -> None:
    gc.collect()
    gc_generations.clear()
    GcTuning().collect()
    assert gc_generations == []


async def test_idle_console_releases_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = FakeDesk()
    idle, released = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def release_memory() -> bool:
        idle.set()
        return True

    monkeypatch.setattr(desk, "release_memory", release_memory)
    monkeypatch.setattr(desk_app, "trim_memory", lambda: loop.call_soon_threadsafe(released.set))
    monkeypatch.setattr(desk_app, "CHECK_INTERVAL", 0.01)
    monkeypatch.setattr(gc_tuning, "IDLE_AFTER", 600.0)
    app = make_console(desk)
    async with app.run_test() as pilot:
        app._gc_tuning.record_key()
        await wait_until_idle(pilot)
        assert not idle.is_set()
        monkeypatch.setattr(gc_tuning, "IDLE_AFTER", 0.0)
        await asyncio.wait_for(released.wait(), 60)


async def test_busy_resources_are_not_reopened(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = FakeDesk()
    polls, idle_calls = 0, 0
    enough_polls = asyncio.Event()

    async def change_counter() -> int:
        nonlocal polls
        polls += 1
        if polls > 20:
            enough_polls.set()
        return 0

    async def release_memory() -> bool:
        nonlocal idle_calls
        idle_calls += 1
        return False

    monkeypatch.setattr(desk, "change_counter", change_counter)
    monkeypatch.setattr(desk, "release_memory", release_memory)
    monkeypatch.setattr(desk_app, "CHECK_INTERVAL", 0.0)
    monkeypatch.setattr(desk_app, "IDLE_INTERVAL", 600.0)
    monkeypatch.setattr(gc_tuning, "IDLE_AFTER", 0.0)
    async with make_console(desk).run_test():
        await asyncio.wait_for(enough_polls.wait(), 60)
    assert idle_calls == 1


def test_memory_release_is_optional() -> None:
    gc_tuning.trim_memory()


async def test_console_restores_gc_settings() -> None:
    before = gc.get_threshold(), sys.getswitchinterval()
    app = make_console(FakeDesk())
    async with app.run_test() as pilot:
        await wait_until_idle(pilot)
        assert gc.get_threshold() == (gc_tuning.YOUNG_THRESHOLD, gc_tuning.MIDDLE_THRESHOLD, gc_tuning.OLD_THRESHOLD)
        assert gc.get_freeze_count()
        assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL)
        assert app.desk is not None
        assert app.desk.is_interactive
    assert (gc.get_threshold(), sys.getswitchinterval()) == before
