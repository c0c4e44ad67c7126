"""Tests for answers that arrive after a newer action: they do not overwrite its result."""

from pathlib import Path

import pytest

from copydesk.drafting.fake_writer import FakeWriter
from copydesk.model.draft import Status
from copydesk.tui.review.dialogs import EditDialog
from copydesk.tui.widgets.inputs import SafeTextArea
from delayed_responses import DelayedResponse, assert_stays, press_without_waiting
from desk_fixtures import open_desk_at
from review_driver import open_review

pytestmark = pytest.mark.usefixtures("no_key_waiting")


async def test_late_text_does_not_replace_other_draft(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first, second = review.screen.queue.window.rows[:2]
        held = DelayedResponse(review.desk.drafts, "get", count=2)
        await press_without_waiting(review, "e")
        await held.wait_until_called()
        await press_without_waiting(review, "escape", "j", "e")
        edit = review.app.screen
        assert isinstance(edit, EditDialog)
        held.released.set()
        await review.wait_for(lambda: edit.query_one(SafeTextArea).text)
        assert edit.query_one(SafeTextArea).text == second.text
        await review.press("ctrl+end", "!", "ctrl+s")
        assert (await review.desk.drafts.get(first.id)).text == first.text
        assert (await review.desk.drafts.get(second.id)).text == f"{second.text}!"


async def test_late_refusal_does_not_close_other_editor(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first, second = review.screen.queue.window.rows[:2]
        held = DelayedResponse(review.desk.drafts, "get")
        await press_without_waiting(review, "e")
        await held.wait_until_called()
        async with open_desk_at(tmp_path) as other:
            await other.drafts.archive(first.id)
        await press_without_waiting(review, "escape", "j", "e")
        held.released.set()
        await review.wait()
        assert isinstance(review.app.screen, EditDialog)
        assert review.app.screen.query_one(SafeTextArea).text == second.text


async def test_late_text_is_not_reused_for_next_draft(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        held = DelayedResponse(review.desk.drafts, "get")
        await press_without_waiting(review, "e")
        await held.wait_until_called()
        await press_without_waiting(review, "escape")
        held.released.set()
        await review.wait()
        late = DelayedResponse(review.desk.drafts, "get")
        await press_without_waiting(review, "j", "e")
        await late.wait_until_called()
        edit = review.app.screen
        assert isinstance(edit, EditDialog)
        assert (edit.is_waiting, edit.query_one(SafeTextArea).read_only, edit.query_one(SafeTextArea).text) == (
            True,
            True,
            "",
        )
        late.released.set()
        await review.wait()


async def test_late_refresh_keeps_second_decision(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current.id
        await review.press("a", "k")
        held_refresh = DelayedResponse(review.desk.drafts.views, "refresh")
        review.screen.refresh_data()
        await held_refresh.wait_until_called()
        held_write = DelayedResponse(review.desk.drafts, "change")
        await press_without_waiting(review, "r", "enter")
        await held_write.wait_until_called()
        held_refresh.released.set()
        await assert_stays(review, lambda: review.find_row(first).status is Status.REJECTED)
        held_write.released.set()
        await review.wait()
        assert review.find_row(first).status is Status.REJECTED


async def test_refresh_from_before_undo_is_ignored(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        before = review.current
        await review.press("a", "k")
        held_refresh = DelayedResponse(review.desk.drafts.views, "refresh")
        review.screen.refresh_data()
        await held_refresh.wait_until_called()
        await press_without_waiting(review, "u")
        await review.wait_for(lambda: review.find_row(before.id).status is before.status)
        held_refresh.released.set()
        await assert_stays(review, lambda: review.find_row(before.id).status is before.status)


async def test_list_loaded_before_decision_shows_decision(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current.id
        await review.press("j", "k")
        held_list = DelayedResponse(review.desk.drafts.views, "load")
        await press_without_waiting(review, "full_stop")
        await held_list.wait_until_called()
        held_write = DelayedResponse(review.desk.drafts, "change")
        await press_without_waiting(review, "a")
        await held_write.wait_until_called()
        held_list.released.set()
        await assert_stays(review, lambda: review.find_row(first).status is Status.APPROVED)
        held_write.released.set()
        await review.wait()
        assert review.find_row(first).status is Status.APPROVED


@pytest.mark.parametrize(
    ("keys", "endings"),
    [
        (("R", "enter", "a"), ["Its text is kept, in the tab Failed."]),
        (("R", "enter", "1"), ["u restores it as it was."]),
        (("R", "enter", "2"), ["Its text is kept, in the tab Failed."]),
        (("R", "enter", "R", "enter"), ["Its text is kept, in the tab Failed.", "u restores it as it was."]),
        (("space", "space", "R", "enter"), ["u restores them as they were."]),
    ],
    ids=["another change", "no other change", "another screen", "one by one", "at once"],
)
async def test_failed_regeneration_names_undo_that_restores_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...], endings: list[str]
) -> None:
    writer = FakeWriter()
    for _ in range(2):
        writer.fail("Offline.")
    monkeypatch.setattr("copydesk.drafting.writer.get_writer", lambda: writer)
    async with open_review(tmp_path) as review:
        rows = review.screen.queue.window.rows[:2]
        held = DelayedResponse(review.desk.generation, "finish", count=2)
        await press_without_waiting(review, *keys)
        await held.wait_until_called()
        held.released.set()

        def failures() -> list[str]:
            return [toast for toast in review.toasts if toast.startswith("Could not regenerate")]

        await review.wait_for(lambda: len(failures()) == len(endings))
        assert [toast.partition("Offline. Regenerate it to try again. ")[2] for toast in failures()] == endings
        if keys[-1] == "a":
            await review.press("u")
            assert await review.get_status(rows[0].id) is Status.GENERATION_FAILED
            assert await review.get_status(rows[1].id) is rows[1].status


async def test_each_key_schedules_a_draft_while_the_answer_is_late(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.desk.schedule.set_slots([review.desk.schedule.parse_slot("wed 09:00")])
        first, second, third, fourth = review.screen.queue.window.rows[:4]
        held = DelayedResponse(review.desk.drafts, "change")
        await press_without_waiting(review, "s", "s", "s")
        await held.wait_until_called()
        assert review.current.id == fourth.id
        held.released.set()
        await review.wait()
        assert [await review.get_status(draft.id) for draft in (first, second, third)] == [Status.SCHEDULED] * 3
        assert review.current.id == fourth.id


@pytest.mark.parametrize(
    ("keys", "before", "after"), [("s", 1, 0), ("ss", 2, 1), ("sj", 2, 2)], ids=["stayed", "refused twice", "moved on"]
)
async def test_cursor_returns_to_draft_without_slot_unless_moved(
    tmp_path: Path, keys: str, before: int, after: int
) -> None:
    async with open_review(tmp_path) as review:
        rows = review.screen.queue.window.rows[:3]
        held = DelayedResponse(review.desk.drafts, "change")
        await press_without_waiting(review, *keys)
        await held.wait_until_called()
        assert review.current.id == rows[before].id
        held.released.set()
        await review.wait()
        assert review.current.id == rows[after].id
        assert [review.find_row(draft.id).status for draft in rows] == [draft.status for draft in rows]
