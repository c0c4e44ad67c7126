"""Tests for the review's queue with a real desk: tabs, search, filters, marks, concurrent changes."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from console_driver import screen_text
from copydesk.model.draft import Action, Status
from copydesk.model.filters import Tab
from copydesk.model.requests import ChangeDraft
from copydesk.tui.review.queue_header import TabsLine, format_count
from queue_driver import (
    current_number,
    detect_changes,
    insert_drafts,
    open_queue,
    review_screen,
    selected_numbers,
    type_search,
)


async def test_first_and_last_keys_jump(tmp_path: Path) -> None:
    async with open_queue(tmp_path) as (ui, _):
        assert "Queue · 450" in ui.text
        await ui.press("G")
        assert (current_number(ui), review_screen(ui).queue.cursor) == (449, 449)
        await ui.press("k", "k")
        assert current_number(ui) == 447
        await ui.press("g")
        assert current_number(ui) == 0


async def test_paging_skips_no_draft(tmp_path: Path) -> None:
    async with open_queue(tmp_path) as (ui, _):
        for page in range(1, 20):
            await ui.press("ctrl+d")
            assert current_number(ui) == min(page * (review_screen(ui).queue.page_rows // 2), 449)


async def test_order_is_chosen_per_tab_and_marks_work_in_it(tmp_path: Path) -> None:
    async with open_queue(tmp_path) as (ui, desk):
        await ui.press("O")
        assert "Queue · 450 · newest draft first" in ui.text
        assert current_number(ui) == 449
        await ui.press("j", "v", "j", "j", "v")
        assert await selected_numbers(ui, desk) == [448, 447, 446]
        await ui.press("right_square_bracket", "left_square_bracket")
        assert "Queue · 450 · 3 marked · newest draft first" in ui.text
        await ui.press("escape", "O")
        assert "oldest draft first" in ui.text
        await ui.press("G")
        assert current_number(ui) == 449
        await ui.press("O", "O")
        assert "by source" in ui.text
        await ui.press("O")
        assert "Queue · 450 ─" in ui.text
        assert current_number(ui) == 0


async def test_other_order_and_hits_are_shown_from_their_start(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 12) as (ui, _):
        await ui.press("O")
        assert (current_number(ui), review_screen(ui).queue.cursor) == (11, 0)
        await ui.press("slash")
        await type_search(ui, "number")
        assert review_screen(ui).queue.cursor == 0


async def test_cursor_stays_on_the_draft_when_search_or_filter_is_cleared(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 12) as (ui, _):
        await ui.press("slash")
        await type_search(ui, "number")
        await ui.press("enter", "j", "j")
        found = current_number(ui)
        await ui.press("escape")
        assert current_number(ui) == found
        pane = review_screen(ui).queue_pane
        pane.apply_view(replace(pane.view, tags=("even",)))
        await ui.wait()
        await ui.press("j", "j")
        assert current_number(ui) == 4
        await ui.press("escape")
        assert (current_number(ui), review_screen(ui).queue.cursor) == (4, 4)


async def test_every_tab_is_sorted_by_confidence_and_source_unless_it_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_queue(tmp_path) as (ui, desk):
        ids = await desk.drafts.views.between(review_screen(ui).queue_pane.view)
        await desk.drafts.bulk_all(Action.APPROVE, ids[:20])
        await ui.press("full_stop", "right_square_bracket")
        titles = []
        for _ in range(5):
            await ui.press("O")
            titles.append(ui.lines[2].split("─")[1].strip())
        orders = ("by score", "oldest draft first", "by confidence", "by source")
        assert titles == [*(f"Queue · 20 · {order}" for order in orders), "Queue · 20"]
        monkeypatch.setattr("copydesk.model.filters.MAX_SORTED", 19)
        await ui.press("O", "O", "O")
        assert "Queue · 20 ─" in ui.text
        assert ui.toasts[-1] == "Too many drafts for the other orders: more than 19."


async def test_draft_is_shown_in_the_order_of_its_tab(tmp_path: Path) -> None:
    async with open_queue(tmp_path) as (ui, desk):
        ids = await desk.drafts.views.between(review_screen(ui).queue_pane.view)
        await ui.press("O")
        review_screen(ui).show_draft(ids[10])
        await ui.wait()
        assert current_number(ui) == 10
        await ui.press("j")
        assert current_number(ui) == 9


async def test_tabs_remember_cursor(tmp_path: Path) -> None:
    async with open_queue(tmp_path) as (ui, desk):
        ids = await desk.drafts.views.between(review_screen(ui).queue_pane.view)
        await desk.drafts.bulk_all(Action.APPROVE, ids[300:])
        await ui.press("full_stop")
        assert "To review 300  Approved 150" in ui.text
        await ui.press("G", "k")
        await ui.press("right_square_bracket", "j", "j")
        assert current_number(ui) == 447  # newest first
        await ui.press("left_square_bracket")
        assert current_number(ui) == 298
        await ui.press("right_square_bracket")
        assert current_number(ui) == 447
        await ui.press("right_square_bracket")
        assert "No drafts in Scheduled" in ui.text


async def test_previous_tab_wraps_to_archived(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 3) as (ui, desk):
        ids = await desk.drafts.views.between(review_screen(ui).queue_pane.view)
        await desk.drafts.archive(ids[0])
        await ui.press("left_square_bracket")
        assert review_screen(ui).queue_pane.tab == "archived"
        assert "Queue · 1" in ui.text
        await ui.press("left_square_bracket")
        assert "Queue · 2" in ui.text


async def test_tabs_that_do_not_fit_show_the_nearest(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 1, size=(80, 24)) as (ui, _):
        tabs = ui.app.screen.query_one(TabsLine)
        tabs.show("missed", dict.fromkeys((tab.value for tab in Tab if tab is not Tab.MISSED), 1234))
        (line,) = tabs.lines(78)
        # The current one, which is empty, and those around it.
        assert line.plain == "…  Sched. 1234  Posted 1234  Missed  Rej. 1234  Failed 1234  All 1234  …"
        (line,) = tabs.lines(62)
        assert line.plain == "…  Sched. 1234  Posted 1234  Missed  Rej. 1234  Failed 1234  …"


async def test_click_on_the_sign_of_hidden_tabs_shows_the_nearest(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 1, size=(80, 24)) as (ui, _):
        tabs = ui.app.screen.query_one(TabsLine)
        tabs.show("all", dict.fromkeys((tab.value for tab in Tab), 1234))
        await ui.wait()
        await ui.pilot.click("TabsLine", offset=(ui.lines[1].index("…"), 0))
        await ui.wait()
        assert review_screen(ui).queue_pane.tab == "scheduled"


async def test_click_switches_tab(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 3) as (ui, _):
        await ui.pilot.click("TabsLine", offset=(ui.lines[1].index("Posted"), 0))
        await ui.wait()
        assert review_screen(ui).queue_pane.tab == "posted"


async def test_space_marks_and_moves_on(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 9) as (ui, desk):
        await ui.press("space", "j", "space")
        assert "Queue · 9 · 2 marked" in ui.text
        assert ui.lines[3].startswith(" ●")
        assert await selected_numbers(ui, desk) == [0, 2]
        await ui.press("k", "space")
        assert await selected_numbers(ui, desk) == [0]
        await ui.press("escape")
        assert "marked" not in ui.lines[2]
        assert await selected_numbers(ui, desk) == [3]


async def test_range_grows_with_motion(tmp_path: Path) -> None:
    async with open_queue(tmp_path) as (ui, desk):
        await ui.press("j", "j", "v", "G", "k")
        assert "447 marked" in ui.text
        assert await selected_numbers(ui, desk) == list(range(2, 449))
        await ui.press("g", "space")
        assert await selected_numbers(ui, desk) == [*range(2, 449), 0]
        await ui.press("j", "space")
        assert await selected_numbers(ui, desk) == [*range(3, 449), 0]


async def test_mark_all_follows_filter(tmp_path: Path) -> None:
    async with open_queue(tmp_path) as (ui, desk):
        await ui.press("asterisk", "j", "space")
        assert "449 marked" in ui.text
        assert await selected_numbers(ui, desk) == [0, *range(2, 450)]
        await ui.press("escape", "f", "G", "space", "enter")
        assert "Queue · 225 · #even" in ui.text
        await ui.press("asterisk")
        assert await selected_numbers(ui, desk) == list(range(0, 450, 2))
        await ui.press("escape", "escape")
        assert "Queue · 450" in ui.text


async def test_failed_rows_of_bulk_stay_marked(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 9) as (ui, desk):
        await ui.press("asterisk")
        ids = await desk.drafts.views.between(review_screen(ui).queue_pane.view)
        review_screen(ui).queue.mark_only(ids[2:4])
        assert await selected_numbers(ui, desk) == [2, 3]


async def test_search_filters_while_typing(tmp_path: Path) -> None:
    async with open_queue(tmp_path) as (ui, desk):
        await ui.press("slash")
        await type_search(ui, "number 7")
        assert "Queue · 1" in ui.text
        await type_search(ui, "z")
        assert "No matching drafts in this tab" in ui.text
        await ui.press("backspace", "enter")
        assert current_number(ui) == 7
        await ui.press("asterisk")
        assert await selected_numbers(ui, desk) == [7]
        await ui.press("escape", "escape")
        assert "Queue · 450" in ui.text
        assert "/" not in ui.lines[2]


async def test_search_hits_can_be_paged_and_marked(tmp_path: Path) -> None:
    async with open_queue(tmp_path) as (ui, desk):
        await ui.press("slash")
        await type_search(ui, "here")
        await ui.press("enter")
        assert "Queue · 450" in ui.text
        await ui.press("G")
        assert (current_number(ui), review_screen(ui).queue.cursor) == (0, 449)
        await ui.press("N", "N", "n")
        assert current_number(ui) == 1
        await ui.press("g", "v", "G")
        assert "450 marked" in ui.text
        await ui.press("v", "k", "space")
        assert await selected_numbers(ui, desk) == [index for index in range(449, -1, -1) if index != 1]


async def test_bulk_is_refused_until_hits_are_counted(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 9) as (ui, _):
        await ui.press("asterisk")
        review_screen(ui).queue.window.is_total_exact = False
        review_screen(ui).queue_pane._show_title()
        assert review_screen(ui).queue_pane.selection() is None
        await ui.wait()
        assert "9+ marked" in ui.text
        assert ui.toasts[-1] == "The marked drafts are still loading. Try again."


async def test_invalid_search_is_explained_in_line(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 9) as (ui, _):
        await ui.press("slash")
        await type_search(ui, "-x")
        assert "needs a search word" in ui.lines[2]
        assert not ui.toasts
        await ui.press("escape")
        assert "Queue · 9" in ui.text


async def test_processed_row_fades_and_stays(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 9) as (ui, _):
        queue = review_screen(ui).queue
        ids = queue.visible_ids()
        queue.fade(ids[:2], Status.APPROVED)
        assert queue.current is not None
        assert queue.current.status is Status.APPROVED
        assert all(queue.is_faded(row) for row in queue.window.rows[:2])
        queue.unfade(ids[1:2])
        assert not queue.is_faded(queue.window.rows[1])
        assert queue.window.rows[1].status is Status.PENDING_REVIEW
        await ui.press("full_stop")
        assert not queue.is_faded(queue.window.rows[0])


async def test_changes_of_other_process_update_rows(tmp_path: Path) -> None:
    """New drafts wait for a refresh."""
    async with open_queue(tmp_path, 9) as (ui, other):
        await ui.press("j", "j")
        queue = review_screen(ui).queue
        ids = queue.visible_ids()
        await other.drafts.approve(ids[1])
        await other.drafts.change(ids[3], ChangeDraft(text="Draft number 3 was changed"))
        await other._context.write(insert_drafts, 20, 22)
        await detect_changes(ui)
        assert "2 new, press ." in ui.text
        assert "Draft number 3 was changed" in ui.text
        assert (current_number(ui), queue.cursor) == (2, 2)
        assert queue.is_faded(queue.window.rows[1])
        assert "To review 10  Approved 1" in ui.text
        await ui.press("full_stop")
        assert "new, press" not in ui.text
        assert (current_number(ui), queue.cursor) == (2, 1)
        assert "Queue · 10" in ui.text


async def test_refresh_far_down_keeps_position(tmp_path: Path) -> None:
    async with open_queue(tmp_path) as (ui, other):
        await ui.press("G", "ctrl+u", "ctrl+u")
        queue, number_before = review_screen(ui).queue, current_number(ui)
        await other.drafts.bulk_all(
            Action.APPROVE, (await other.drafts.views.between(review_screen(ui).queue_pane.view))[:100]
        )
        await ui.press("full_stop")
        assert (current_number(ui), queue.cursor, len(queue.window)) == (number_before, number_before - 100, 350)
        await ui.press("g")
        assert current_number(ui) == 100


@pytest.mark.parametrize("width", [40, 59])
async def test_narrow_terminal_shows_current_tab(tmp_path: Path, width: int) -> None:
    async with open_queue(tmp_path, 9, (width, 24)) as (ui, _):
        assert ui.lines[1].strip() == "To review 9"
        await ui.press("right_square_bracket")
        assert ui.lines[1].strip() == "Approved"


async def test_80_columns_show_all_tabs(tmp_path: Path) -> None:
    async with open_queue(tmp_path, 9, (80, 24)) as (ui, _):
        assert "To review 9  Approved  Scheduled  Posted  Missed  Rejected  Failed  All 9" in ui.lines[1]


async def test_wheel_moves_cursor(tmp_path: Path) -> None:
    async with open_queue(tmp_path) as (ui, _):
        queue = review_screen(ui).queue
        queue.scroll_to(y=600, animate=False, immediate=True)
        await ui.wait()
        assert current_number(ui) == queue.cursor == 300
        assert "Draft number 310" in screen_text(ui.app)


def test_counts_are_abbreviated() -> None:
    assert [format_count(number) for number in (0, 9999, 10_000, 999_999, 1_250_000)] == [
        "0",
        "9999",
        "10k",
        "999k",
        "1.2M",
    ]
