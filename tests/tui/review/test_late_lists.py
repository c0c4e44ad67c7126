"""Tests for answers about a list that was left or has changed since: the displayed list keeps its state."""

from pathlib import Path

import pytest

from console_driver import pass_round
from copydesk.errors import StoreError
from copydesk.model.draft import Action, ListedDraft
from copydesk.tui.review.queue_header import SearchLine
from delayed_responses import DelayedResponse, press_without_waiting, wait_stable_rounds, wait_until
from queue_driver import current_number, open_queue, review_screen, selected_numbers, type_search

pytestmark = pytest.mark.usefixtures("no_key_waiting")


async def test_bulk_finishing_late_keeps_marks_of_other_tab(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 12) as (ui, other):
        assert ui.app.desk is not None
        ids = await other.drafts.views.between(review_screen(ui).queue_pane.view)
        await other.drafts.bulk_all(Action.APPROVE, ids[9:])
        await ui.press("full_stop", "right_square_bracket", "space", "left_square_bracket", "g", "v", "j", "v")
        held = DelayedResponse(ui.app.desk.drafts, "bulk_all")
        await press_without_waiting(ui, "a")
        await held.wait_until_called()
        await press_without_waiting(ui, "right_square_bracket")
        held.released.set()
        await ui.wait()
        assert review_screen(ui).queue_pane.tab == "approved"
        assert len(await selected_numbers(ui, other)) == 1
        assert current_number(ui) != 0
        await ui.press("left_square_bracket")
        assert "marked" not in ui.text


async def test_rows_arriving_while_console_exits_are_dropped(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 12) as (ui, _):
        assert ui.app.desk is not None
        pane, held = review_screen(ui).queue_pane, DelayedResponse(ui.app.desk.drafts.views, "refresh")
        pane.refresh_rows()
        await held.wait_until_called()
        # An exiting console removes its widgets, the innermost first.
        await review_screen(ui).header.tabs.remove()
        await pane.queue.remove()
        held.released.set()
        await wait_until(lambda: not ui.app.desk_tasks.pending, lambda: pass_round(ui.app))
        await wait_stable_rounds(ui)


async def test_late_search_text_is_ignored_after_leaving(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 12) as (ui, _):
        await ui.press("slash")
        await type_search(ui, "number 7")
        await ui.press("enter", "right_square_bracket")
        late = SearchLine.Changed("number 7")
        review_screen(ui).query_one(SearchLine).post_message(late)
        await ui.wait()
        assert not review_screen(ui).queue_pane.view.query
        assert "No matching drafts in this tab" not in ui.text


async def test_draft_shows_news_after_a_tab_was_left_before_it_was_loaded(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 12) as (ui, other):
        pane = review_screen(ui).queue_pane
        pane.show_tab("rejected")
        pane.show_tab("to_review")
        await ui.wait()
        draft = review_screen(ui).queue.current
        assert draft is not None
        await other.drafts.comments.add(draft.id, "Really?", "")
        await wait_until(lambda: "Really?" in ui.text, lambda: pass_round(ui.app))


async def test_late_show_draft_does_not_change_tab(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 12) as (ui, other):
        assert ui.app.desk is not None
        ids = await other.drafts.views.between(review_screen(ui).queue_pane.view)
        await other.drafts.bulk_all(Action.APPROVE, ids[9:])
        await ui.press("full_stop")
        held = DelayedResponse(ui.app.desk.drafts.views, "load")
        ui.app.show_draft(ids[11])
        await held.wait_until_called()
        review_screen(ui).queue_pane.show_tab("rejected")
        held.released.set()
        await ui.wait()
        assert review_screen(ui).queue_pane.tab == "rejected"


async def test_last_requested_draft_is_displayed(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 12) as (ui, other):
        assert ui.app.desk is not None
        ids = await other.drafts.views.between(review_screen(ui).queue_pane.view)
        await other.drafts.bulk_all(Action.APPROVE, ids[8:10])
        await other.drafts.bulk_all(Action.REJECT, ids[10:])
        await ui.press("full_stop")
        held = DelayedResponse(ui.app.desk.drafts.views, "load")
        review_screen(ui).show_draft(ids[11])
        await held.wait_until_called()
        review_screen(ui).show_draft(ids[9])
        await wait_stable_rounds(ui)
        held.released.set()
        await ui.wait()
        current: ListedDraft | None = review_screen(ui).queue.current
        assert current is not None
        assert current.id == ids[9]


async def test_rows_marked_during_bulk_stay_marked(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 12) as (ui, other):
        assert ui.app.desk is not None
        await ui.press("v", "j", "j", "v")
        held = DelayedResponse(ui.app.desk.drafts, "bulk_all")
        await press_without_waiting(ui, "a")
        await held.wait_until_called()
        await press_without_waiting(ui, "j", "space", "v", "j", "v")
        held.released.set()
        await ui.wait()
        assert sorted(await selected_numbers(ui, other)) == [3, 4, 5]


async def test_failed_bulk_keeps_marks(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 12) as (ui, other):
        assert ui.app.desk is not None

        async def fail(*_: object, **__: object) -> None:
            raise StoreError("The disk is full.")

        await ui.press("v", "j", "j", "v", "j", "space")
        ui.app.desk.drafts.bulk_all = fail  # type: ignore[method-assign, assignment]
        await ui.press("a")
        assert sorted(await selected_numbers(ui, other)) == [0, 1, 2, 3]


async def test_query_error_before_search_line_is_mounted_is_shown(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 12) as (ui, _):
        line = SearchLine()
        line.show_error("Unknown field")
        await review_screen(ui).header.mount(line)
        await ui.wait()
        assert "Unknown field" in ui.text
