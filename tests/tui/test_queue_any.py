"""Whatever a person does with the queue while others write to the desk: the cursor stays, and no row is lost."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from copydesk.desk import Desk
from copydesk.model.draft import Status
from copydesk.tui import queue_reading, window
from copydesk.tui.screens import review_reading
from copydesk.tui.widgets.queue import Queue
from queue_fixtures import fill, noticed, review, screen
from tui_fixtures import Seen

DRAFTS = 44
MOVES = ("j", "k", "g", "G", "ctrl+d", "ctrl+u")
MARKS = ("space", "v", "asterisk", "escape")
DECISIONS = ("a", "x")
OTHERS = ("approved elsewhere", "came new")
STEPS = st.sampled_from((*MOVES, *MOVES, *MARKS, *MARKS, *DECISIONS, *OTHERS, "full_stop", "full_stop"))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of a few rows, so that a small desk has many of them."""
    for module in (window, queue_reading, review_reading):
        monkeypatch.setattr(module, "PAGE", 12)
    monkeypatch.setattr(window, "AHEAD", 6)
    monkeypatch.setattr(window, "MOST", 36)


@settings(
    max_examples=3,
    phases=(Phase.explicit, Phase.generate),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example(
    ["j", "j", "space", "G", "ctrl+u", "approved elsewhere", "full_stop", "v", "ctrl+u", "came new", "full_stop"], False
)
@given(st.lists(STEPS, min_size=5, max_size=12), st.booleans())
def test_any_course_of_keys_and_of_what_others_write_keeps_the_queue_whole(course: list[str], searched: bool) -> None:
    with TemporaryDirectory() as home:
        asyncio.run(_go_through(Path(home), course, searched=searched))


async def _go_through(home: Path, course: list[str], *, searched: bool) -> None:
    async with review(home, DRAFTS, (80, 14)) as (seen, other):
        if searched:
            await seen.press("slash", *"draft", "enter")
        for number, step in enumerate(course):
            await _take(seen, other, step, number)
            _whole(screen(seen).queue)
            await _marked_as_told(seen, other)
        await seen.press("escape", "full_stop")
        await _every_row_is_reached(seen, other)


async def _take(seen: Seen, other: Desk, step: str, number: int) -> None:
    """Do one thing; what others do moves no cursor, and neither does reading the list anew."""
    queue = screen(seen).queue
    before, marked = queue.current, _marked(queue)
    if step in OTHERS:
        await _write(other, queue, step, number)
        await noticed(seen)
        assert queue.current is None or before is None or queue.current.id == before.id, step
        assert _marked(queue) == marked
        return
    await seen.press(step)
    if step == "full_stop" and before is not None and await _shown(seen, other, before.id):
        assert queue.current is not None
        assert queue.current.id == before.id


async def _write(other: Desk, queue: Queue, step: str, number: int) -> None:
    if step == "came new":
        await other.ground.write(fill, 1000 + number, 1002 + number)
        return
    open_ones = [row.id for row in queue.window.rows if row.status is Status.PENDING_REVIEW]
    drafts = await other.drafts.these(tuple(open_ones[number % 3 :: 7]))
    for draft in drafts:
        if draft.status is Status.PENDING_REVIEW and draft.archived_at is None:
            await other.drafts.approve(draft.id)
    if not drafts:
        await other.ground.write(fill, 1000 + number, 1001 + number)


async def _shown(seen: Seen, other: Desk, draft_id: str) -> bool:
    return bool(await other.drafts.standing(screen(seen).view, (draft_id,)))


def _marked(queue: Queue) -> set[str]:
    return {row.id for at, row in enumerate(queue.window) if row is not None and queue._is_marked(at)}


def _whole(queue: Queue) -> None:
    """No row is there twice, and the cursor is on one that is known."""
    ids = [row.id for row in queue.window.rows]
    assert len(ids) == len(set(ids))
    assert queue.current is not None or not queue.rows


async def _marked_as_told(seen: Seen, other: Desk) -> None:
    """Of the rows that can be seen those that have a mark are those that an action would be for."""
    queue = screen(seen).queue
    if queue.range_from is not None or not queue.marked:
        return
    asked = screen(seen).chosen()
    assert asked is not None
    assert asked.find is not None
    meant = set((await asked.find(other)).ids)
    for draft_id in _marked(queue) - meant:
        # It went out of the list meanwhile, and its row is only shown until the list is read again.
        assert not await _shown(seen, other, draft_id)
    assert not (meant & {row.id for row in queue.window.rows}) - _marked(queue)


async def _every_row_is_reached(seen: Seen, other: Desk) -> None:
    wanted = await other.drafts.between(screen(seen).view)
    queue, found = screen(seen).queue, []
    await seen.press("g")
    for at in range(len(wanted)):
        assert queue.cursor == at
        assert queue.current is not None
        found.append(queue.current.id)
        await seen.press("j")
    assert tuple(found) == wanted
    assert queue.cursor == max(len(wanted) - 1, 0)
