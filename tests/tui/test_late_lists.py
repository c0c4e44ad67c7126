"""Tests for answers about a list that was left or has changed since: the displayed list keeps its state."""

from pathlib import Path

import pytest

from copydesk.errors import StoreError
from copydesk.model.draft import Action, ListedDraft
from copydesk.tui.widgets.search_line import SearchLine
from held_answers import HeldBack, long_enough, press
from queue_fixtures import chosen, number, review, screen, typed

pytestmark = pytest.mark.usefixtures("impatient")


async def test_bulk_finishing_late_keeps_marks_of_other_tab(tmp_path: Path) -> None:
    async with review(tmp_path, 12) as (ui, other):
        assert ui.app.desk is not None
        ids = await other.drafts.between(screen(ui).view)
        await other.drafts.act(Action.APPROVE, ids[9:])
        await ui.press("full_stop", "right_square_bracket", "space", "left_square_bracket", "g", "v", "j", "v")
        held = HeldBack(ui.app.desk.drafts, "act")
        await press(ui, "a")
        await held.asked()
        await press(ui, "right_square_bracket")
        held.go.set()
        await ui.wait()
        assert screen(ui).tab == "approved"
        assert len(await chosen(ui, other)) == 1
        assert number(ui) != 0
        await ui.press("left_square_bracket")
        assert "marked" not in ui.text


async def test_late_search_text_is_ignored_after_leaving(tmp_path: Path) -> None:
    async with review(tmp_path, 12) as (ui, _):
        await ui.press("slash")
        await typed(ui, "number 7")
        await ui.press("enter", "right_square_bracket")
        late = SearchLine.Changed("number 7")
        screen(ui).query_one(SearchLine).post_message(late)
        await ui.wait()
        assert not screen(ui).view.query
        assert "There is no such draft" not in ui.text


async def test_late_show_draft_does_not_change_tab(tmp_path: Path) -> None:
    async with review(tmp_path, 12) as (ui, other):
        assert ui.app.desk is not None
        ids = await other.drafts.between(screen(ui).view)
        await other.drafts.act(Action.APPROVE, ids[9:])
        await ui.press("full_stop")
        held = HeldBack(ui.app.desk.drafts, "moment")
        ui.app.show_draft(ids[11])
        await held.asked()
        screen(ui).show_tab("rejected")
        held.go.set()
        await ui.wait()
        assert screen(ui).tab == "rejected"


async def test_last_requested_draft_is_displayed(tmp_path: Path) -> None:
    async with review(tmp_path, 12) as (ui, other):
        assert ui.app.desk is not None
        ids = await other.drafts.between(screen(ui).view)
        await other.drafts.act(Action.APPROVE, ids[8:10])
        await other.drafts.act(Action.REJECT, ids[10:])
        await ui.press("full_stop")
        held = HeldBack(ui.app.desk.drafts, "moment")
        screen(ui).show_draft(ids[11])
        await held.asked()
        screen(ui).show_draft(ids[9])
        await long_enough(ui)
        held.go.set()
        await ui.wait()
        current: ListedDraft | None = screen(ui).queue.current
        assert current is not None
        assert current.id == ids[9]


async def test_rows_marked_during_bulk_stay_marked(tmp_path: Path) -> None:
    async with review(tmp_path, 12) as (ui, other):
        assert ui.app.desk is not None
        await ui.press("v", "j", "j", "v")
        held = HeldBack(ui.app.desk.drafts, "act")
        await press(ui, "a")
        await held.asked()
        await press(ui, "j", "space", "v", "j", "v")
        held.go.set()
        await ui.wait()
        assert sorted(await chosen(ui, other)) == [3, 4, 5]


async def test_failed_bulk_keeps_marks(tmp_path: Path) -> None:
    async with review(tmp_path, 12) as (ui, other):
        assert ui.app.desk is not None

        async def fail(*_: object, **__: object) -> None:
            raise StoreError("The disk is full.")

        await ui.press("v", "j", "j", "v", "j", "space")
        ui.app.desk.drafts.act = fail  # type: ignore[method-assign, assignment]
        await ui.press("a")
        assert sorted(await chosen(ui, other)) == [0, 1, 2, 3]
