"""Tests that a console among other processes, with a database that is locked now and then, reports what it did."""

import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from console_driver import NOW, ConsoleDriver, wait_until_idle
from copydesk.desk import open_desk
from copydesk.desk.drafts.service import Drafts
from copydesk.model.draft import Draft
from copydesk.model.requests import BulkOutcome
from copydesk.model.transitions import UndoResult
from copydesk.tui.app import Console
from copydesk.tui.review.action_runner import ActionResult, ActionRunner
from copydesk.tui.review.screen import ReviewScreen
from desk_fixtures import Watch, open_desk_at, settings_at
from draft_consistency import HOURLY_SLOTS, assert_consistent, insert_drafts, load_drafts, load_events
from racing_changes import BUSY_TIMEOUT, lock_now_and_then, start_racers
from sampling import EXHAUSTIVE

STATES = ["pending_review", "awaiting_review", "approved", "changes_requested", "rejected", "missed"]
KEYS, STEPS = (600, 600) if EXHAUSTIVE else (20, 30)
"""Keys of the console, and operations of each other process."""
DECISIONS = ("a", "x", "s", "u", "ctrl+r")
MOVES = ("j", "k", "g", "G", "[", "]", "space", "escape")


class Recorder:
    """Records what the console tells, and the ids of the drafts that its desk changed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: list[ActionResult | str] = []
        self.changed: list[str] = []
        for owner, name in ((ActionRunner, "_show_result"), (Console, "notify"), (Console, "notify_latest")):
            monkeypatch.setattr(owner, name, self._recording(getattr(owner, name)))
        for name in ("change", "bulk_all", "undo", "redo"):
            monkeypatch.setattr(Drafts, name, self._following(getattr(Drafts, name)))

    def _recording(self, show: Callable[..., None]) -> Callable[..., None]:
        def recorded(widget: object, message: ActionResult | str, **options: object) -> None:
            self.told.append(message)
            show(widget, message, **options)

        return recorded

    def _following(self, call: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def followed(drafts: object, *args: object, **options: object) -> object:
            result = await call(drafts, *args, **options)
            match result:
                case Draft():
                    self.changed.append(result.id)
                case UndoResult():
                    self.changed += result.succeeded
                case BulkOutcome():
                    self.changed += result.results.succeeded
            return result

        return followed


async def test_every_key_takes_effect_or_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_desk_at(tmp_path) as desk:
        await insert_drafts(desk, STATES * 8)
        await desk.schedule.set_slots(HOURLY_SLOTS)
    before = load_drafts(tmp_path)
    recorder = Recorder(monkeypatch)
    settings = settings_at(tmp_path, database__busy_timeout=str(BUSY_TIMEOUT))
    app = Console(lambda: open_desk(settings, clock=Watch()), clock=lambda: NOW)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        ui, rng = ConsoleDriver(app, pilot), random.Random(7)
        with start_racers(tmp_path, ["desk", "commands"], STEPS) as wait, lock_now_and_then(tmp_path, 7):
            for number in range(KEYS):
                await press_and_check(ui, rng.choice(DECISIONS if number % 2 else MOVES), recorder)
            answers = wait()

    assert [answer["wrong"] for answer in answers] == [[], []]
    assert_consistent(tmp_path, before)
    # Nothing was changed that nobody was told, and nothing told that was not changed.
    changes = sum(len(events) - 1 for events in load_events(tmp_path).values())
    assert len(recorder.changed) + sum(answer["done"] for answer in answers) == changes
    refusals = [error for answer in answers for error in answer["refused"]]
    assert not EXHAUSTIVE or any("locked the database" in error for error in refusals)


async def press_and_check(ui: ConsoleDriver, key: str, recorder: Recorder) -> None:
    """Press a key; assert that it tells what it changed, and why it changed nothing."""
    told, changed = len(recorder.told), len(recorder.changed)
    screen = ui.app.screen
    assert isinstance(screen, ReviewScreen)
    has_draft = screen.queue.current is not None
    await ui.press(key)
    messages, ids = recorder.told[told:], set(recorder.changed[changed:])
    outcomes = [message.outcome for message in messages if isinstance(message, ActionResult)]
    # Without a draft under the cursor there is nothing to decide.
    assert messages or key in MOVES or not has_draft, f"{key} told nothing"
    assert ids == {draft_id for outcome in outcomes for draft_id in outcome.succeeded} or any(
        outcome.failed for outcome in outcomes
    )
    if any(outcome.failed for outcome in outcomes):
        assert any(isinstance(message, str) for message in messages), f"{key} failed silently"
