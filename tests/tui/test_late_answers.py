"""Tests for answers that arrive after a newer action: they do not overwrite its result."""

from pathlib import Path

import pytest

from copydesk.model.draft import Status
from copydesk.tui.modals.edit import EditScreen
from copydesk.tui.widgets.typing import Typing
from deciding_fixtures import reviewing
from held_answers import HeldBack, press, stays

pytestmark = pytest.mark.usefixtures("impatient")


async def test_late_text_does_not_replace_other_draft(tmp_path: Path) -> None:
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


async def test_late_refusal_does_not_close_other_editor(tmp_path: Path) -> None:
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


async def test_late_text_is_not_reused_for_next_draft(tmp_path: Path) -> None:
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


async def test_late_refresh_keeps_second_decision(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first = review.current.id
        await review.press("a", "k")
        held_refresh = HeldBack(review.desk.drafts, "these")
        review.screen.read()
        await held_refresh.asked()
        held_write = HeldBack(review.desk.drafts, "change")
        await press(review, "r", "enter")
        await held_write.asked()
        held_refresh.go.set()
        await stays(review, lambda: review.row(first).status is Status.REJECTED)
        held_write.go.set()
        await review.wait()
        assert review.row(first).status is Status.REJECTED


async def test_refresh_from_before_undo_is_ignored(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        before = review.current
        await review.press("a", "k")
        held_refresh = HeldBack(review.desk.drafts, "these")
        review.screen.read()
        await held_refresh.asked()
        await press(review, "u")
        await review.until(lambda: review.row(before.id).status is before.status)
        held_refresh.go.set()
        await stays(review, lambda: review.row(before.id).status is before.status)


async def test_list_loaded_before_decision_shows_decision(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first = review.current.id
        await review.press("j", "k")
        held_list = HeldBack(review.desk.drafts, "window")
        await press(review, "full_stop")
        await held_list.asked()
        held_write = HeldBack(review.desk.drafts, "change")
        await press(review, "a")
        await held_write.asked()
        held_list.go.set()
        await stays(review, lambda: review.row(first).status is Status.APPROVED)
        held_write.go.set()
        await review.wait()
        assert review.row(first).status is Status.APPROVED
