"""An answer that was asked for before something happened, and comes after it, changes nothing of what happened."""

from pathlib import Path

import pytest

from copydesk.model.draft import Status
from copydesk.tui.modals.edit import EditScreen
from copydesk.tui.widgets.typing import Typing
from deciding_fixtures import reviewing
from held_answers import HeldBack, press, stays

pytestmark = pytest.mark.usefixtures("impatient")


async def test_a_text_that_comes_after_it_was_left_does_not_stand_in_another_drafts_place(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first, second = review.screen.rows.window.rows[:2]
        held = HeldBack(review.desk.drafts, "get", first=2)
        await press(review, "e")
        await held.asked()
        await press(review, "escape", "j", "e")
        edit = review.app.screen
        assert isinstance(edit, EditScreen)
        held.go.set()
        await review.until(lambda: edit.query_one(Typing).text)
        assert edit.query_one(Typing).text == second.text
        await review.press("ctrl+end", "!", "ctrl+s")
        assert (await review.desk.drafts.get(first.id)).text == first.text
        assert (await review.desk.drafts.get(second.id)).text == f"{second.text}!"


async def test_a_refusal_that_comes_after_it_was_left_does_not_close_another_drafts_text(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        second = review.screen.rows.window.rows[1]
        await review.press("x", "k")
        held = HeldBack(review.desk.drafts, "get")
        await press(review, "e")
        await held.asked()
        await press(review, "escape", "j", "e")
        held.go.set()
        await review.wait()
        assert isinstance(review.app.screen, EditScreen)
        assert review.app.screen.query_one(Typing).text == second.text


async def test_a_text_that_comes_after_it_was_left_is_gone_when_the_next_is_asked_for(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        held = HeldBack(review.desk.drafts, "get")
        await press(review, "e")
        await held.asked()
        await press(review, "escape")
        held.go.set()
        await review.wait()
        late = HeldBack(review.desk.drafts, "get")
        await press(review, "j", "e")
        await late.asked()
        edit = review.app.screen
        assert isinstance(edit, EditScreen)
        assert (edit.idle, edit.query_one(Typing).read_only, edit.query_one(Typing).text) == (True, True, "")
        late.go.set()
        await review.wait()


async def test_a_look_from_between_two_decisions_does_not_take_the_second_back(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first = review.current.id
        await review.press("a", "k")
        looking = HeldBack(review.desk.drafts, "these")
        review.screen.read()
        await looking.asked()
        writing = HeldBack(review.desk.drafts, "change")
        await press(review, "r", "enter")
        await writing.asked()
        looking.go.set()
        await stays(review, lambda: review.row(first).status is Status.REJECTED)
        writing.go.set()
        await review.wait()
        assert review.row(first).status is Status.REJECTED


async def test_a_look_from_before_an_undo_does_not_bring_the_decision_back(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        before = review.current
        await review.press("a", "k")
        looking = HeldBack(review.desk.drafts, "these")
        review.screen.read()
        await looking.asked()
        await press(review, "u")
        await review.until(lambda: review.row(before.id).status is before.status)
        looking.go.set()
        await stays(review, lambda: review.row(before.id).status is before.status)


async def test_a_list_from_before_a_decision_shows_it_as_decided(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first = review.current.id
        await review.press("j", "k")
        reading = HeldBack(review.desk.drafts, "window")
        await press(review, "full_stop")
        await reading.asked()
        writing = HeldBack(review.desk.drafts, "change")
        await press(review, "a")
        await writing.asked()
        reading.go.set()
        await stays(review, lambda: review.row(first).status is Status.APPROVED)
        writing.go.set()
        await review.wait()
        assert review.row(first).status is Status.APPROVED
