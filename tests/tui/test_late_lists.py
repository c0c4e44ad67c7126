"""What the desk said of a list that the user has left, or that has changed since, changes nothing of the one shown."""

from pathlib import Path

import pytest

from copydesk.errors import StoreError
from copydesk.model.draft import Action, ListedDraft
from copydesk.tui.widgets.search_line import SearchLine
from held_answers import HeldBack, long_enough, press
from queue_fixtures import chosen, number, review, screen, typed

pytestmark = pytest.mark.usefixtures("impatient")


async def test_a_bulk_that_ends_after_the_tab_was_left_takes_no_mark_away_in_another(tmp_path: Path) -> None:
    async with review(tmp_path, 12) as (seen, other):
        assert seen.app.desk is not None
        ids = await other.drafts.between(screen(seen).view)
        await other.drafts.act(Action.APPROVE, ids[9:])
        await seen.press("full_stop", "right_square_bracket", "space", "left_square_bracket", "g", "v", "j", "v")
        held = HeldBack(seen.app.desk.drafts, "act")
        await press(seen, "a")
        await held.asked()
        await press(seen, "right_square_bracket")
        held.go.set()
        await seen.wait()
        assert screen(seen).tab == "approved"
        assert len(await chosen(seen, other)) == 1
        assert number(seen) != 0
        await seen.press("left_square_bracket")
        assert "marked" not in seen.text


async def test_words_that_are_told_after_the_search_was_left_are_not_looked_for(tmp_path: Path) -> None:
    async with review(tmp_path, 12) as (seen, _):
        await seen.press("slash")
        await typed(seen, "number 7")
        await seen.press("enter", "right_square_bracket")
        late = SearchLine.Changed("number 7")
        screen(seen).query_one(SearchLine).post_message(late)
        await seen.wait()
        assert not screen(seen).view.query
        assert "There is no such draft" not in seen.text


async def test_a_draft_that_is_found_after_the_user_went_to_another_tab_is_not_gone_to(tmp_path: Path) -> None:
    async with review(tmp_path, 12) as (seen, other):
        assert seen.app.desk is not None
        ids = await other.drafts.between(screen(seen).view)
        await other.drafts.act(Action.APPROVE, ids[9:])
        await seen.press("full_stop")
        held = HeldBack(seen.app.desk.drafts, "moment")
        seen.app.show_draft(ids[11])
        await held.asked()
        screen(seen).show_tab("rejected")
        held.go.set()
        await seen.wait()
        assert screen(seen).tab == "rejected"


async def test_of_two_drafts_that_are_asked_for_the_last_is_shown(tmp_path: Path) -> None:
    async with review(tmp_path, 12) as (seen, other):
        assert seen.app.desk is not None
        ids = await other.drafts.between(screen(seen).view)
        await other.drafts.act(Action.APPROVE, ids[8:10])
        await other.drafts.act(Action.REJECT, ids[10:])
        await seen.press("full_stop")
        held = HeldBack(seen.app.desk.drafts, "moment")
        screen(seen).show_draft(ids[11])
        await held.asked()
        screen(seen).show_draft(ids[9])
        await long_enough(seen)
        held.go.set()
        await seen.wait()
        current: ListedDraft | None = screen(seen).queue.current
        assert current is not None
        assert current.id == ids[9]


async def test_what_is_marked_while_a_bulk_goes_on_stays_marked(tmp_path: Path) -> None:
    async with review(tmp_path, 12) as (seen, other):
        assert seen.app.desk is not None
        await seen.press("v", "j", "j", "v")
        held = HeldBack(seen.app.desk.drafts, "act")
        await press(seen, "a")
        await held.asked()
        await press(seen, "j", "space", "v", "j", "v")
        held.go.set()
        await seen.wait()
        assert sorted(await chosen(seen, other)) == [3, 4, 5]


async def test_what_was_to_be_done_to_many_and_failed_leaves_them_marked(tmp_path: Path) -> None:
    async with review(tmp_path, 12) as (seen, other):
        assert seen.app.desk is not None

        async def fail(*_: object, **__: object) -> None:
            raise StoreError("The disk is full.")

        await seen.press("v", "j", "j", "v", "j", "space")
        seen.app.desk.drafts.act = fail  # type: ignore[method-assign, assignment]
        await seen.press("a")
        assert sorted(await chosen(seen, other)) == [0, 1, 2, 3]
