"""Tests that two reviewers who type at two consoles, as fast as they can, decide nothing twice and lose no key.

Both begin with the same draft and press the key: the faster one decides, the other one is told why not.
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from console_driver import NOW, ConsoleDriver, wait_until_idle
from copydesk.tui.app import Console
from copydesk.tui.review.action_runner import ActionResult, ActionRunner
from copydesk.tui.review.screen import ReviewScreen
from desk_fixtures import open_desk_at
from draft_consistency import assert_consistent, insert_drafts, load_drafts, load_events
from posting_fixtures import connect_account
from sampling import EXHAUSTIVE

DRAFTS = 1000 if EXHAUSTIVE else 30
MAX_BURST = 5
"""Keys that are typed without looking at the screen."""


class Recorder:
    """Records what each console shows: the results of its keys, and its warnings."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.results: defaultdict[Console, list[ActionResult]] = defaultdict(list)
        self.warnings: defaultdict[Console, list[str]] = defaultdict(list)
        show_result, notify = ActionRunner._show_result, Console.notify

        def record_result(runner: ActionRunner, result: ActionResult) -> None:
            self.results[runner.app].append(result)  # type: ignore[index]
            show_result(runner, result)

        def record_notification(console: Console, message: str, **options: object) -> None:
            if options.get("severity", "information") != "information":
                self.warnings[console].append(message)
            notify(console, message, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(ActionRunner, "_show_result", record_result)
        monkeypatch.setattr(Console, "notify", record_notification)


@asynccontextmanager
async def open_as(home: Path, reviewer: str) -> AsyncIterator[ConsoleDriver]:
    """Open the console of a reviewer."""
    app = Console(lambda: open_desk_at(home, console__reviewer=reviewer), clock=lambda: NOW)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        yield ConsoleDriver(app, pilot)


async def review_all(ui: ConsoleDriver, seed: int) -> int:
    """Approve what is left to review, from top to bottom, until nothing is; return how often the key was pressed.

    Some keys are typed before the screen shows that the other one was faster. Where it does, the reviewer skips ahead.
    """
    rng, approvals, screen = random.Random(seed), 0, ui.app.screen
    assert isinstance(screen, ReviewScreen)
    queue = screen.queue
    while (draft := queue.current) is not None:
        count = rng.randint(1, MAX_BURST)
        if not queue.is_faded(draft):
            keys = ["a"] * count
        elif queue.cursor < len(queue.window) - 1:
            keys = [*"a" * (rng.random() < 0.1), *"j" * count]
        else:
            keys = ["full_stop"]  # Loads the list again.
        approvals += keys.count("a")
        for key in keys:
            ui.app.simulate_key(key)
        await ui.wait()
    return approvals


async def test_each_key_decides_or_is_told_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine a result may take longer than keys wait for it.
    for wait in ("key_buffer.MAX_HOLD", "desk_tasks.MAX_WRITE_HOLD"):
        monkeypatch.setattr(f"copydesk.tui.runtime.{wait}", 60)
    async with open_desk_at(tmp_path) as desk:
        # Without one, each console warns that nothing can be posted.
        await connect_account(desk, platform="mastodon")
        ids = await insert_drafts(desk, ["pending_review"] * DRAFTS)
    before, recorder = load_drafts(tmp_path), Recorder(monkeypatch)
    async with open_as(tmp_path, "anna") as anna, open_as(tmp_path, "ben") as ben:
        counts = await asyncio.gather(review_all(anna, 1), review_all(ben, 2))

    decided, refused = Counter[str](), 0
    for console, count in zip((anna.app, ben.app), counts, strict=True):
        outcomes = [result.outcome for result in recorder.results[console]]
        assert len(outcomes) == count
        assert all(len(outcome.succeeded) + len(outcome.failed) == 1 for outcome in outcomes)
        reasons = [reason for outcome in outcomes for reason in outcome.failed.values()]
        warnings = recorder.warnings[console]
        assert all(reason in warning for reason, warning in zip(reasons, warnings, strict=True))
        # With many drafts, neither is always the faster one.
        assert not EXHAUSTIVE or 0 < len(reasons) < count
        refused += len(reasons)
        decided.update(draft_id for outcome in outcomes for draft_id in outcome.succeeded)
    assert decided == Counter(ids)
    assert refused
    assert_consistent(tmp_path, before)
    events = load_events(tmp_path)
    assert {draft_id: [event["action"] for event in events[draft_id][1:]] for draft_id in ids} == {
        draft_id: ["approve"] for draft_id in ids
    }
