"""Marks belong to the list that they were made in, and stay while it is read anew and others are looked at."""

from pathlib import Path

from copydesk.model.draft import Action, Status
from queue_fixtures import chosen, fill, noticed, review, screen


async def test_marks_stay_when_the_list_is_read_anew(tmp_path: Path) -> None:
    async with review(tmp_path, 30) as (seen, other):
        await seen.press("space", "j", "space", "j", "j", "v", "j", "j", "j", "v")
        assert await chosen(seen, other) == [5, 6, 7, 8, 0, 2]
        await other.ground.write(fill, 30, 32)
        await noticed(seen)
        assert "2 new" in seen.text
        assert "6 marked" in seen.text
        await seen.press("full_stop")
        assert "Queue · 32 · 6 marked" in seen.text
        assert await chosen(seen, other) == [5, 6, 7, 8, 0, 2]
        assert not seen.toasts


async def test_a_range_that_grows_is_kept_as_far_as_it_got(tmp_path: Path) -> None:
    async with review(tmp_path, 30) as (seen, other):
        await seen.press("j", "v", "j", "full_stop", "j")
        assert await chosen(seen, other) == [1, 2]


async def test_of_marked_drafts_that_went_it_is_said_how_many(tmp_path: Path) -> None:
    async with review(tmp_path, 30) as (seen, other):
        ids = await other.drafts.between(screen(seen).view)
        await seen.press("space", "space", "j", "v", "j", "j", "j", "v")
        assert await chosen(seen, other) == [3, 4, 5, 6, 0, 1]
        await other.drafts.act(Action.APPROVE, [ids[1], ids[4], ids[6], ids[20]])
        await seen.press("full_stop")
        assert "Queue · 26 · 3 marked" in seen.text
        assert seen.toasts == ["3 marked drafts went from this list, the mark with it."]
        assert await chosen(seen, other) == [3, 5, 0]


async def test_a_range_of_which_nothing_is_left_is_none(tmp_path: Path) -> None:
    async with review(tmp_path, 9) as (seen, other):
        ids = await other.drafts.between(screen(seen).view)
        await seen.press("v", "j", "v")
        await other.drafts.act(Action.APPROVE, ids[:2])
        await seen.press("full_stop")
        assert "marked" not in seen.lines[2]
        await other.drafts.act(Action.APPROVE, ids[2:])
        await seen.press("asterisk", "full_stop")
        assert "marked" not in seen.lines[2]


async def test_marks_are_there_again_when_the_filter_is_taken_away(tmp_path: Path) -> None:
    async with review(tmp_path, 30) as (seen, other):
        await seen.press("j", "space", "v", "j", "f", "G", "space", "enter")
        assert "Queue · 15 · #even" in seen.text
        assert "marked" not in seen.lines[2]
        await seen.press("space")
        assert await chosen(seen, other) == [0]
        await seen.press("escape", "escape")
        assert "Queue · 30 · 3 marked" in seen.text
        assert await chosen(seen, other) == [2, 3, 1]


async def test_a_search_has_marks_of_its_own(tmp_path: Path) -> None:
    async with review(tmp_path, 30) as (seen, other):
        await seen.press("space", "slash", *"number", "enter")
        assert "marked" not in seen.lines[2]
        await seen.press("j", "space", "left_square_bracket", "right_square_bracket")
        assert await chosen(seen, other) == [0]
        await seen.press("escape")
        assert "marked" not in seen.lines[2]


async def test_what_came_since_the_list_was_read_is_not_acted_on_with_all_of_it(tmp_path: Path) -> None:
    async with review(tmp_path, 5) as (seen, other):
        await seen.press("asterisk")
        await other.ground.write(fill, 5, 6)
        await noticed(seen)
        assert "Queue · 5 · 5 marked · 1 new" in seen.text
        await seen.press("a")
        assert seen.toasts == ["5 approved, 1 that came since was left · u undo"]
        assert (await other.drafts.counts()).among([Status.APPROVED]) == 5
        await seen.press("u", "asterisk", "a")
        assert (await other.drafts.counts()).among([Status.APPROVED]) == 5
        await seen.press("full_stop", "asterisk", "a")
        assert seen.toasts[-1] == "1 approved · u undo"


async def test_what_landed_in_a_range_or_came_back_since_is_not_acted_on_with_it(tmp_path: Path) -> None:
    async with review(tmp_path, 9) as (seen, other):
        ids = await other.drafts.between(screen(seen).view)
        await other.drafts.act(Action.APPROVE, [ids[3], ids[4]])
        await seen.press("full_stop", "j", "v", "j", "j", "j")
        await other.drafts.unapprove(ids[3])
        await other.ground.write(fill, 2, 3)
        await noticed(seen)
        assert "4 marked" in seen.text
        await seen.press("a")
        assert seen.toasts == ["4 approved, 2 that came since were left · u undo"]
        assert [(await other.drafts.get(each)).status for each in ids[3:5]] == [Status.AWAITING_REVIEW, Status.APPROVED]


async def test_rows_that_are_read_later_do_not_hold_what_came_since(tmp_path: Path) -> None:
    async with review(tmp_path, 450) as (seen, other):
        await other.ground.write(fill, 250, 251)
        await noticed(seen)
        await seen.press("asterisk", "G")
        assert "Queue · 450 · 450 marked" in seen.text
        await seen.press("a")
        assert seen.toasts == ["450 approved, 1 that came since was left · u undo"]
