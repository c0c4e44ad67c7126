"""The review's queue before a real desk: tabs, search, filters, marks, and what others write."""

from pathlib import Path

import pytest

from copydesk.model.change import ChangeDraft
from copydesk.model.draft import Action, Status
from copydesk.tui.widgets.tabs_line import short
from queue_fixtures import chosen, fill, noticed, number, review, screen, typed
from tui_fixtures import screen_text


async def test_the_end_is_one_key_away_and_so_is_the_way_back(tmp_path: Path) -> None:
    async with review(tmp_path) as (seen, _):
        assert "Queue · 450" in seen.text
        await seen.press("G")
        assert (number(seen), screen(seen).queue.cursor) == (449, 449)
        await seen.press("k", "k")
        assert number(seen) == 447
        await seen.press("g")
        assert number(seen) == 0


async def test_page_by_page_no_draft_is_left_out(tmp_path: Path) -> None:
    async with review(tmp_path) as (seen, _):
        for page in range(1, 20):
            await seen.press("ctrl+d")
            assert number(seen) == min(page * (screen(seen).queue.room.height // 2), 449)


async def test_tabs_keep_where_the_cursor_stood(tmp_path: Path) -> None:
    async with review(tmp_path) as (seen, desk):
        ids = await desk.drafts.between(screen(seen).view)
        await desk.drafts.act(Action.APPROVE, ids[300:])
        await seen.press("full_stop")
        assert "To review 300  Approved 150" in seen.text
        await seen.press("G", "k")
        await seen.press("right_square_bracket", "j", "j")
        assert number(seen) == 447  # the newest first
        await seen.press("left_square_bracket")
        assert number(seen) == 298
        await seen.press("right_square_bracket")
        assert number(seen) == 447
        await seen.press("right_square_bracket")
        assert "Scheduled: there is no draft." in seen.text


async def test_from_the_first_tab_one_goes_back_to_all(tmp_path: Path) -> None:
    async with review(tmp_path, 3) as (seen, desk):
        ids = await desk.drafts.between(screen(seen).view)
        await desk.drafts.archive(ids[0])
        await seen.press("left_square_bracket")
        assert screen(seen).tab == "all"
        assert "Queue · 3" in seen.text


async def test_a_click_shows_a_tab(tmp_path: Path) -> None:
    async with review(tmp_path, 3) as (seen, _):
        await seen._pilot.click("TabsLine", offset=(seen.lines[1].index("Posted"), 0))
        await seen.wait()
        assert screen(seen).tab == "posted"


async def test_space_marks_and_goes_on(tmp_path: Path) -> None:
    async with review(tmp_path, 9) as (seen, desk):
        await seen.press("space", "j", "space")
        assert "Queue · 9 · 2 marked" in seen.text
        assert seen.lines[3].startswith(" ●")
        assert await chosen(seen, desk) == [0, 2]
        await seen.press("k", "space")
        assert await chosen(seen, desk) == [0]
        await seen.press("escape")
        assert "marked" not in seen.lines[2]
        assert await chosen(seen, desk) == [3]


async def test_a_range_grows_with_every_motion_and_is_read_by_the_desk(tmp_path: Path) -> None:
    async with review(tmp_path) as (seen, desk):
        await seen.press("j", "j", "v", "G", "k")
        assert "447 marked" in seen.text
        assert await chosen(seen, desk) == list(range(2, 449))
        await seen.press("g", "space")
        assert await chosen(seen, desk) == [*range(2, 449), 0]
        await seen.press("j", "space")
        assert await chosen(seen, desk) == [*range(3, 449), 0]


async def test_all_is_what_the_filter_shows(tmp_path: Path) -> None:
    async with review(tmp_path) as (seen, desk):
        await seen.press("asterisk", "j", "space")
        assert "449 marked" in seen.text
        assert await chosen(seen, desk) == [0, *range(2, 450)]
        await seen.press("escape", "f", "G", "space", "enter")
        assert "Queue · 225 · #even" in seen.text
        await seen.press("asterisk")
        assert await chosen(seen, desk) == list(range(0, 450, 2))
        await seen.press("escape", "escape")
        assert "Queue · 450" in seen.text


async def test_what_stays_marked_after_a_bulk_is_said_by_its_ids(tmp_path: Path) -> None:
    async with review(tmp_path, 9) as (seen, desk):
        await seen.press("asterisk")
        ids = await desk.drafts.between(screen(seen).view)
        screen(seen).queue.mark_only(ids[2:4])
        assert await chosen(seen, desk) == [2, 3]


async def test_a_search_shows_what_it_finds_while_it_is_typed(tmp_path: Path) -> None:
    async with review(tmp_path) as (seen, desk):
        await seen.press("slash")
        await typed(seen, "number 7")
        assert "Queue · 1" in seen.text
        await typed(seen, "z")
        assert "There is no such draft" in seen.text
        await seen.press("backspace", "enter")
        assert number(seen) == 7
        await seen.press("asterisk")
        assert await chosen(seen, desk) == [7]
        await seen.press("escape", "escape")
        assert "Queue · 450" in seen.text
        assert "/" not in seen.lines[2]


async def test_all_hits_of_a_search_are_gone_through_and_its_end_is_one_key_away(tmp_path: Path) -> None:
    async with review(tmp_path) as (seen, desk):
        await seen.press("slash")
        await typed(seen, "here")
        await seen.press("enter")
        assert "Queue · 450" in seen.text
        await seen.press("G")
        assert (number(seen), screen(seen).queue.cursor) == (0, 449)
        await seen.press("N", "N", "n")
        assert number(seen) == 1
        await seen.press("g", "v", "G")
        assert "450 marked" in seen.text
        await seen.press("v", "k", "space")
        assert await chosen(seen, desk) == [each for each in range(449, -1, -1) if each != 1]


async def test_while_hits_are_counted_none_is_acted_on_that_was_not_counted(tmp_path: Path) -> None:
    async with review(tmp_path, 9) as (seen, _):
        await seen.press("asterisk")
        screen(seen).queue.window.sure = False
        screen(seen).show_title()
        assert screen(seen).chosen() is None
        await seen.wait()
        assert "9+ marked" in seen.text
        assert "still being read" in seen.toasts[-1]


async def test_words_that_cannot_be_looked_for_are_told_in_the_line(tmp_path: Path) -> None:
    async with review(tmp_path, 9) as (seen, _):
        await seen.press("slash")
        await typed(seen, "-x")
        assert "takes a word to look for" in seen.lines[2]
        assert not seen.toasts
        await seen.press("escape")
        assert "Queue · 9" in seen.text


async def test_a_row_that_was_acted_on_fades_and_stays(tmp_path: Path) -> None:
    async with review(tmp_path, 9) as (seen, _):
        queue = screen(seen).queue
        ids = queue.shown_ids()
        queue.fade(ids[:2], Status.APPROVED)
        assert queue.current is not None
        assert queue.current.status is Status.APPROVED
        assert all(queue.is_faded(row) for row in queue.window.rows[:2])
        queue.unfade(ids[1:2])
        assert not queue.is_faded(queue.window.rows[1])
        assert queue.window.rows[1].status is Status.PENDING_REVIEW
        await seen.press("full_stop")
        assert not queue.is_faded(queue.window.rows[0])


async def test_what_another_process_does_shows_in_its_place_and_what_is_new_waits(tmp_path: Path) -> None:
    async with review(tmp_path, 9) as (seen, other):
        await seen.press("j", "j")
        queue = screen(seen).queue
        ids = queue.shown_ids()
        await other.drafts.approve(ids[1])
        await other.drafts.change(ids[3], ChangeDraft(text="Draft number 3 was changed"))
        await other.ground.write(fill, 20, 22)
        await noticed(seen)
        assert "2 new, press ." in seen.text
        assert "Draft number 3 was changed" in seen.text
        assert (number(seen), queue.cursor) == (2, 2)
        assert queue.is_faded(queue.window.rows[1])
        assert "To review 10  Approved 1" in seen.text
        await seen.press("full_stop")
        assert "new, press" not in seen.text
        assert (number(seen), queue.cursor) == (2, 1)
        assert "Queue · 10" in seen.text


async def test_far_from_the_beginning_a_refresh_stays_where_it_is(tmp_path: Path) -> None:
    async with review(tmp_path) as (seen, other):
        await seen.press("G", "ctrl+u", "ctrl+u")
        queue, before = screen(seen).queue, number(seen)
        await other.drafts.act(Action.APPROVE, (await other.drafts.between(screen(seen).view))[:100])
        await seen.press("full_stop")
        assert (number(seen), queue.cursor, len(queue.window)) == (before, before - 100, 350)
        await seen.press("g")
        assert number(seen) == 100


@pytest.mark.parametrize("width", [40, 59])
async def test_a_narrow_terminal_has_the_name_and_count_of_one_tab(tmp_path: Path, width: int) -> None:
    async with review(tmp_path, 9, (width, 24)) as (seen, _):
        assert seen.lines[1].strip() == "To review 9"
        await seen.press("right_square_bracket")
        assert seen.lines[1].strip() == "Approved"


async def test_on_80_columns_every_tab_is_there(tmp_path: Path) -> None:
    async with review(tmp_path, 9, (80, 24)) as (seen, _):
        assert "To review 9  Approved  Scheduled  Posted  Missed  Rejected  Failed  All 9" in seen.lines[1]


async def test_the_wheel_takes_the_cursor_along(tmp_path: Path) -> None:
    async with review(tmp_path) as (seen, _):
        queue = screen(seen).queue
        queue.scroll_to(y=300, animate=False, immediate=True)
        await seen.wait()
        assert number(seen) == queue.cursor == 300
        assert "Draft number 310" in screen_text(seen.app)


def test_counts_are_short() -> None:
    assert [short(number) for number in (0, 9999, 10_000, 999_999, 1_250_000)] == ["0", "9999", "10k", "999k", "1.2M"]
