"""The console looks for garbage while no key is pressed, and its threads take short turns."""

import gc
import sys
from collections.abc import Iterator

import pytest

from copydesk.tui import responsive
from copydesk.tui.responsive import Responsive
from tui_fixtures import FakeDesk, console, settled


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The generations that were looked through."""
    seen: list[int] = []

    def watch(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            seen.append(info["generation"])

    monkeypatch.setattr(responsive.time, "monotonic", lambda: 100.0)
    gc.callbacks.append(watch)
    yield seen
    gc.callbacks.remove(watch)


def gather_some() -> None:
    """Garbage in cycles, looked at often enough to count as old."""
    for _ in range(responsive.MIDDLE + 2):
        gc.collect(1)


def test_nothing_is_looked_through_while_somebody_types(looks: list[int]) -> None:
    watch = Responsive()
    watch.pressed()
    gather_some()
    looks.clear()
    watch.look()
    assert looks == []


def test_everything_is_looked_through_once_nobody_types(looks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Responsive()
    watch.pressed()
    gather_some()
    looks.clear()
    monkeypatch.setattr(responsive.time, "monotonic", lambda: 100.0 + responsive.CALM + 0.1)
    watch.look()
    assert looks == [2]


def test_nothing_is_looked_through_where_nothing_has_gathered(looks: list[int]) -> None:
    gc.collect()
    looks.clear()
    Responsive().look()
    assert looks == []


async def test_a_console_leaves_python_as_it_found_it() -> None:
    before = gc.get_threshold(), sys.getswitchinterval()
    app = console(FakeDesk())
    async with app.run_test() as pilot:
        await settled(pilot)
        assert gc.get_threshold() == (responsive.YOUNG, responsive.MIDDLE, responsive.OLD)
        assert gc.get_freeze_count()
        assert sys.getswitchinterval() == pytest.approx(responsive.TURN)
    assert (gc.get_threshold(), sys.getswitchinterval()) == before
