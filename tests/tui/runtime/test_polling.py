"""Tests for noticing changes by other processes: not between two keys, but soon all the same."""

import pytest

from console_driver import FakeDesk, make_console, pass_round, wait_until_idle
from copydesk.tui import desk_app
from copydesk.tui.runtime.gc_tuning import GcTuning
from delayed_responses import wait_until

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
    monkeypatch.setattr(desk_app, "POLL_INTERVAL", 0.001)
    monkeypatch.setattr(desk_app, "KEY_PAUSE", 0.001)
    seconds = [0.0]
    monkeypatch.setattr(GcTuning, "idle_time", property(lambda _: seconds[0]))
    return seconds


async def test_changes_are_not_loaded_between_keys(idle_time: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_app, "MAX_POLL_DELAY", 600)
    desk = ChangedDesk()
    app = make_console(desk)
    async with app.run_test() as pilot:
        await wait_until_idle(pilot)
        for _ in range(MANY_ROUNDS):
            await pass_round(app)
        assert desk.checks <= 1  # when the desk was opened
        idle_time[0] = 1
        await wait_until(lambda: desk.checks > 1, lambda: pass_round(app))


@pytest.mark.usefixtures("idle_time")
async def test_changes_are_loaded_however_fast_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_app, "MAX_POLL_DELAY", 0.001)
    desk = ChangedDesk(is_changing=False)
    app = make_console(desk)
    async with app.run_test() as pilot:
        await wait_until_idle(pilot)
        changes, desk.is_changing = app.change_count, True
        await wait_until(lambda: app.change_count > changes, lambda: pass_round(app))
