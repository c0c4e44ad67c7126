"""Property test of the queue under random keys and concurrent writes: the cursor stays and no row is lost."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from console_driver import ConsoleDriver
from copydesk.desk import Desk
from copydesk.model.draft import Status
from copydesk.tui.review import queue_loader, queue_pane, row_window
from copydesk.tui.review.draft_queue import DraftQueue
from queue_driver import detect_changes, insert_drafts, open_queue, review_screen

DRAFTS = 44
MOVES = ("j", "k", "g", "G", "ctrl+d", "ctrl+u")
MARKS = ("space", "v", "asterisk", "escape")
DECISIONS = ("a", "x")
EXTERNAL_STEPS = ("approved elsewhere", "came new")
STEPS = st.sampled_from((*MOVES, *MOVES, *MARKS, *MARKS, *DECISIONS, *EXTERNAL_STEPS, "full_stop", "full_stop"))


@pytest.fixture(autouse=True)
def _small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load windows of a few rows, so that a small desk has many of them."""
    for module in (row_window, queue_loader, queue_pane):
        monkeypatch.setattr(module, "PAGE_SIZE", 12)
    monkeypatch.setattr(row_window, "READ_AHEAD", 6)
    monkeypatch.setattr(row_window, "MAX_ROWS", 36)


@settings(
    max_examples=3,
    phases=(Phase.explicit, Phase.generate),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example(
    ["j", "j", "space", "G", "ctrl+u", "approved elsewhere", "full_stop", "v", "ctrl+u", "came new", "full_stop"], False
)
@example(["g", "came new"], True)
@given(st.lists(STEPS, min_size=5, max_size=12), st.booleans())
def test_queue_is_consistent_after_random_steps(steps: list[str], searched: bool) -> None:
    with TemporaryDirectory() as home:
        asyncio.run(_run_steps(Path(home), steps, searched=searched))


async def _run_steps(home: Path, steps: list[str], *, searched: bool) -> None:
    async with open_queue(home, DRAFTS, (80, 14)) as (ui, other):
        if searched:
            await ui.press("slash", *"draft", "enter")
        for number, step in enumerate(steps):
            await _run_step(ui, other, step, number)
            _assert_consistent(review_screen(ui).queue)
            await _assert_marks_match_selection(ui, other)
        await ui.press("escape", "full_stop")
        await _assert_all_rows_reachable(ui, other)


async def _run_step(ui: ConsoleDriver, other: Desk, step: str, number: int) -> None:
    """Do one step; external writes and refreshes must not move the cursor to another draft."""
    queue = review_screen(ui).queue
    current_before, marked_before = queue.current, _marked_ids(queue)
    if step in EXTERNAL_STEPS:
        await _write_elsewhere(other, queue, step, number)
        await detect_changes(ui)
        # The list may be empty before or after; a cursor on a draft stays there.
        assert queue.current is None or current_before is None or queue.current.id == current_before.id, step
        assert _marked_ids(queue) == marked_before
        return
    await ui.press(step)
    if step == "full_stop" and current_before is not None and await _is_listed(ui, other, current_before.id):
        assert queue.current is not None
        assert queue.current.id == current_before.id


async def _write_elsewhere(other: Desk, queue: DraftQueue, step: str, number: int) -> None:
    if step == "came new":
        await other._context.write(insert_drafts, 1000 + number, 1002 + number)
        return
    pending_ids = [row.id for row in queue.window.rows if row.status is Status.PENDING_REVIEW]
    drafts = await other.drafts.views.by_ids(tuple(pending_ids[number % 3 :: 7]))
    for draft in drafts:
        if draft.status is Status.PENDING_REVIEW and draft.archived_at is None:
            await other.drafts.approve(draft.id)
    if not drafts:
        await other._context.write(insert_drafts, 1000 + number, 1001 + number)


async def _is_listed(ui: ConsoleDriver, other: Desk, draft_id: str) -> bool:
    return bool(await other.drafts.views.positions_of(review_screen(ui).queue_pane.view, (draft_id,)))


def _marked_ids(queue: DraftQueue) -> set[str]:
    return {row.id for index, row in enumerate(queue.window) if row is not None and queue._is_marked(index)}


def _assert_consistent(queue: DraftQueue) -> None:
    """Check that no row is duplicated and the cursor is on a loaded one."""
    ids = [row.id for row in queue.window.rows]
    assert len(ids) == len(set(ids))
    assert (queue.current is None) == (not queue.rows)


async def _assert_marks_match_selection(ui: ConsoleDriver, other: Desk) -> None:
    """Check that the marked rows on the screen are those that an action would process."""
    queue = review_screen(ui).queue
    if queue.range_start is not None or not queue.marked_count:
        return
    selection = review_screen(ui).queue_pane.selection()
    assert selection is not None
    assert selection.resolve is not None
    selected_ids = set((await selection.resolve(other)).ids)
    for draft_id in _marked_ids(queue) - selected_ids:
        # It left the list since; its row remains only until the next refresh.
        assert not await _is_listed(ui, other, draft_id)
    assert not (selected_ids & {row.id for row in queue.window.rows}) - _marked_ids(queue)


async def _assert_all_rows_reachable(ui: ConsoleDriver, other: Desk) -> None:
    expected_ids = await other.drafts.views.between(review_screen(ui).queue_pane.view)
    queue, visited_ids = review_screen(ui).queue, []
    await ui.press("g")
    for index in range(len(expected_ids)):
        assert queue.cursor == index
        assert queue.current is not None
        visited_ids.append(queue.current.id)
        await ui.press("j")
    assert tuple(visited_ids) == expected_ids
    assert queue.cursor == max(len(expected_ids) - 1, 0)
