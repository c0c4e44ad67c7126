"""Tests for marks across refreshes: they belong to one list and survive filters and other tabs."""

from pathlib import Path

from copydesk.model.draft import Action, Status
from queue_driver import detect_changes, insert_drafts, open_queue, review_screen, selected_numbers


async def test_marks_survive_refresh(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 30) as (ui, other):
        await ui.press("space", "j", "space", "j", "j", "v", "j", "j", "j", "v")
        assert await selected_numbers(ui, other) == [5, 6, 7, 8, 0, 2]
        await other._context.write(insert_drafts, 30, 32)
        await detect_changes(ui)
        assert "2 new" in ui.text
        assert "6 marked" in ui.text
        await ui.press("full_stop")
        assert "Queue · 32 · 6 marked" in ui.text
        assert await selected_numbers(ui, other) == [5, 6, 7, 8, 0, 2]
        assert not ui.toasts


async def test_growing_range_survives_refresh(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 30) as (ui, other):
        await ui.press("j", "v", "j", "full_stop", "j")
        assert await selected_numbers(ui, other) == [1, 2]


async def test_lost_marks_are_counted_in_toast(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 30) as (ui, other):
        ids = await other.drafts.views.between(review_screen(ui).queue_pane.view)
        await ui.press("space", "space", "j", "v", "j", "j", "j", "v")
        assert await selected_numbers(ui, other) == [3, 4, 5, 6, 0, 1]
        await other.drafts.bulk_all(Action.APPROVE, [ids[1], ids[4], ids[6], ids[20]])
        await ui.press("full_stop")
        assert "Queue · 26 · 3 marked" in ui.text
        assert ui.toasts == ["3 marked drafts left this list"]
        assert await selected_numbers(ui, other) == [3, 5, 0]


async def test_empty_range_disappears(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 9) as (ui, other):
        ids = await other.drafts.views.between(review_screen(ui).queue_pane.view)
        await ui.press("v", "j", "v")
        await other.drafts.bulk_all(Action.APPROVE, ids[:2])
        await ui.press("full_stop")
        assert "marked" not in ui.lines[2]
        await other.drafts.bulk_all(Action.APPROVE, ids[2:])
        await ui.press("asterisk", "full_stop")
        assert "marked" not in ui.lines[2]


async def test_marks_return_when_filter_is_cleared(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 30) as (ui, other):
        await ui.press("j", "space", "v", "j", "f", "G", "space", "enter")
        assert "Queue · 15 · #even" in ui.text
        assert "marked" not in ui.lines[2]
        await ui.press("space")
        assert await selected_numbers(ui, other) == [0]
        await ui.press("escape", "escape")
        assert "Queue · 30 · 3 marked" in ui.text
        assert await selected_numbers(ui, other) == [2, 3, 1]


async def test_search_has_separate_marks(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 30) as (ui, other):
        await ui.press("space", "slash", *"number", "enter")
        assert "marked" not in ui.lines[2]
        await ui.press("j", "space", "left_square_bracket", "right_square_bracket")
        assert await selected_numbers(ui, other) == [0]
        await ui.press("escape")
        assert "marked" not in ui.lines[2]


async def test_new_rows_are_excluded_from_marking_all(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 5) as (ui, other):
        await ui.press("asterisk")
        await other._context.write(insert_drafts, 5, 6)
        await detect_changes(ui)
        assert "Queue · 5 · 5 marked · 1 new" in ui.text
        await ui.press("a")
        assert ui.toasts[0] == "5 approved (1 newer draft not included) · u undo"
        assert (await other.drafts.counts()).total_in([Status.APPROVED]) == 5
        await ui.press("u", "asterisk", "a")
        assert (await other.drafts.counts()).total_in([Status.APPROVED]) == 5
        await ui.press("full_stop", "asterisk", "a")
        assert ui.toasts[-1] == "1 approved · u undo"


async def test_new_rows_in_range_are_not_processed(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 9) as (ui, other):
        ids = await other.drafts.views.between(review_screen(ui).queue_pane.view)
        await other.drafts.bulk_all(Action.APPROVE, [ids[3], ids[4]])
        await ui.press("full_stop", "j", "v", "j", "j", "j")
        await other.drafts.unapprove(ids[3])
        await other._context.write(insert_drafts, 2, 3)
        await detect_changes(ui)
        assert "4 marked" in ui.text
        await ui.press("a")
        assert ui.toasts[0] == "4 approved (2 newer drafts not included) · u undo"
        assert [(await other.drafts.get(draft_id)).status for draft_id in ids[3:5]] == [
            Status.AWAITING_REVIEW,
            Status.APPROVED,
        ]


async def test_rows_loaded_later_exclude_new_drafts(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 450) as (ui, other):
        await other._context.write(insert_drafts, 250, 251)
        await detect_changes(ui)
        await ui.press("asterisk", "G")
        assert "Queue · 450 · 450 marked" in ui.text
        await ui.press("a")
        assert ui.toasts[0] == "450 approved (1 newer draft not included) · u undo"
