"""Tests for decisions about drafts in the console: approve, reject, archive, bulks, undo and redo."""

import asyncio
import errno
import re
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.desk.drafts.review import Review as DeskReview
from copydesk.desk.drafts.service import Drafts
from copydesk.drafting.fake_writer import FakeWriter
from copydesk.drafting.offline_writer import FeedbackRequest
from copydesk.editor import Autosave
from copydesk.errors import StoreFullError
from copydesk.model.draft import Status
from copydesk.model.transitions import EventKind, InterruptedBulk, UndoResult
from copydesk.tui import labels
from copydesk.tui.palette import list_commands
from copydesk.tui.review import action_runner
from copydesk.tui.review.action_runner import (
    MAX_LOGGED,
    Outcome,
    describe_bulk,
    describe_interrupted_undo,
    describe_restored,
    format_failures,
    list_unchanged,
)
from copydesk.tui.review.actions import PromptAutosave
from copydesk.tui.widgets.key_hints import KeyLine
from copydesk.tui.widgets.top_line import TopLine
from desk_fixtures import NOW, execute_sql, open_desk_at
from review_driver import TEXTS, ReviewDriver, open_review, select_ids


async def test_approve_shows_next_draft_and_saves(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        review.app.simulate_key("a")
        await review.wait_for(lambda: review.current.id != first.id)
        await review.wait()
        assert await review.get_status(first.id) is Status.APPROVED
        assert review.find_row(first.id).status is Status.APPROVED
        assert review.toasts == ["Approved · u undo"]


async def test_next_draft_does_not_wait_for_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_review(tmp_path) as review:
        first, current_ids = review.current, []

        async def fail(self: object, *args: object, **kwargs: object) -> object:
            current_ids.append(review.current.id)
            raise StoreFullError

        monkeypatch.setattr(DeskReview, "apply", fail)
        await review.press("a")
        assert current_ids == [review.current.id]
        assert review.current.id != first.id


async def test_failed_decision_restores_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_review(tmp_path) as review:
        first = review.current

        async def fail(self: object, *args: object, **kwargs: object) -> object:
            raise StoreFullError

        monkeypatch.setattr(DeskReview, "apply", fail)
        await review.press("a")
        assert review.find_row(first.id) == first
        (toast,) = review.toasts
        assert toast.startswith("“A postmortem that names no culprit.”: The disk is full")


async def test_draft_edited_elsewhere_is_not_approved(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        async with open_desk_at(tmp_path) as other:
            await other.drafts.edit(first.id, "Other words.")
        review.app.simulate_key("a")
        await review.wait()
        assert await review.get_status(first.id) is not Status.APPROVED
        assert any("changed in the meantime" in message for message in review.toasts)


async def test_undo_and_redo_reverse_decisions_in_order(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("a")
        second = review.current
        await review.press("x", "u")
        assert (await review.desk.drafts.get(second.id)).archived_at is None
        assert review.toasts[-1] == "Undid archiving of “Two of three newsletters lose readers a…” · Ctrl+R redo"
        await review.press("u")
        assert await review.get_status(first.id) is first.status
        # The row may have been loaded again before the undo; then it follows with the next check for changes.
        await review.wait_for(lambda: review.find_row(first.id).status is first.status)
        await review.press("ctrl+r")
        assert await review.get_status(first.id) is Status.APPROVED
        await review.wait_for(lambda: review.find_row(first.id).status is Status.APPROVED)
        assert review.toasts[-1] == "Redid approval of “A postmortem that names no culprit.” · u undo"


async def test_page_that_hides_the_queue_shows_its_progress(tmp_path: Path) -> None:
    async with open_review(tmp_path, size=(80, 24)) as review:
        await review.press("enter")
        assert "─ Draft · J next draft" in review.text
        await review.press("a", "r", "enter")
        assert "─ Draft · 2 of 5 done · J next draft" in review.text
        await review.press("u")
        assert "─ Draft · 1 of 5 done · J next draft" in review.text


async def test_title_counts_the_decisions_of_the_sitting(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        assert "of 5 done" not in review.text
        await review.press("a", "x", "full_stop")
        assert "Queue · 3 · 2 of 5 done" in review.text
        await review.press("u", "full_stop")
        assert "Queue · 4 · 1 of 5 done" in review.text
        await review.press("asterisk", "a", "full_stop")
        assert "5 of 5 done" in review.text
        await review.press("u", "full_stop")
        assert "Queue · 4 · 1 of 5 done" in review.text


async def test_undo_removes_the_result_of_the_bulk_action(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("asterisk", "a")
        assert review.toasts == ["5 approved · u undo"]
        await review.press("u")
        assert review.toasts == ["Undid approval of 5 drafts · Ctrl+R redo"]


async def test_bulk_undo_and_redo_show_their_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("review", "undo"):
        monkeypatch.setattr(f"copydesk.desk.drafts.{module}.MAX_IDS", 2)
    shown: list[str] = []
    monkeypatch.setattr(TopLine, "show_work", lambda _, text: shown.append(text))
    async with open_review(tmp_path) as review:
        shown.clear()
        await review.press("asterisk", "a", "u", "ctrl+r", "2", "u")
        counts = ("2/5", "4/5", "5/5")
        words = ("Approving", "Undoing", "Redoing", "Undoing")
        assert shown == [text for word in words for text in (*(f"{word} {count}" for count in counts), "")]


async def test_single_undo_shows_no_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(TopLine, "show_work", lambda _, text: shown.append(text))
    async with open_review(tmp_path) as review:
        shown.clear()
        await review.press("a", "u", "ctrl+r")
        assert shown == []


@pytest.mark.parametrize("keys", [(), ("slash", *"that", "enter")], ids=["tab", "search"])
async def test_undo_shows_a_draft_that_had_left_the_list(tmp_path: Path, keys: tuple[str, ...]) -> None:
    async with open_review(tmp_path) as review:
        await review.press(*keys, "g")
        first, window = review.current, review.screen.queue.window
        await review.press("a", "full_stop")
        total = len(review.screen.queue.window)
        assert total == len(window) - 1
        await review.press("u")
        await review.wait_for(lambda: len(review.screen.queue.window) == total + 1)
        assert review.current.id == first.id


async def test_undo_of_a_bulk_shows_the_drafts_that_had_left_the_list(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("space", "space", "a", "full_stop")
        cursor = review.current
        assert len(review.screen.queue.window) == len(TEXTS) - 2
        await review.press("u")
        await review.wait_for(lambda: len(review.screen.queue.window) == len(TEXTS))
        assert review.current.id == cursor.id


async def test_undo_without_changes_shows_message(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("u")
        assert review.toasts == ["Nothing to undo."]


async def test_fast_keys_are_applied_in_order(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        for key in ("a", "a", "u", "a"):
            review.app.simulate_key(key)
        await review.wait()
        counts = await review.desk.drafts.counts()
        assert counts.by_status[Status.APPROVED] == 2
        assert await review.get_status(first.id) is Status.APPROVED


async def test_consecutive_decisions_share_one_toast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(action_runner, "TOAST_INTERVAL", 600)
    async with open_review(tmp_path) as review:
        messages, notify = [], review.app.notify_latest
        monkeypatch.setattr(review.app, "notify_latest", lambda text: (messages.append(text), notify(text)))
        for key in ("a", "a", "x"):
            review.app.simulate_key(key)
        await review.wait_for(lambda: review.screen.review_actions.runner._recent_actions.total() == 3)
        assert messages == ["Approved · u undo"]
        review.screen.review_actions.runner._notify_rest()  # as the timer does
        await review.wait_for(lambda: review.toasts == ["2 approved, 1 archived · u undo"])


async def test_reject_prompts_and_offers_earlier_reasons(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("r", *"Old", "enter")
        second = review.current
        assert (await review.desk.drafts.get(first.id)).rejection_feedback == "Old"
        await review.press("r")
        assert "1 Old" in review.text
        assert "“Two of three newsletters lose readers a…”" in [line.strip() for line in review.lines]
        await review.press("1")
        assert (await review.desk.drafts.get(second.id)).status is second.status
        await review.press("enter", "r", "enter")
        assert (await review.desk.drafts.get(second.id)).rejection_feedback == "Old"
        assert (await review.desk.drafts.counts()).by_status[Status.REJECTED] == 3


async def test_reason_may_begin_with_the_number_of_an_earlier_one(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("r", *"Old", "enter")
        second = review.current
        await review.press("r", *"1 source only", "enter")
        assert (await review.desk.drafts.get(second.id)).rejection_feedback == "1 source only"
        third = review.current
        # Deleted and typed again, the number selects the earlier reason again.
        await review.press("r", "2", "backspace", "2", "enter")
        assert (await review.desk.drafts.get(third.id)).rejection_feedback == "Old"


async def test_cancelled_rejection_changes_nothing(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("r", *"No", "escape", "y")
        assert review.current == first
        assert await review.get_status(first.id) is first.status


async def test_bulk_reports_failures_and_keeps_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_review(tmp_path) as review:
        ids = [row.id for row in (await review.desk.drafts.list()).items]
        await review.desk.drafts.archive(ids[1])
        failed_ids: list[tuple[str, ...]] = []
        selection = select_ids(ids)._replace(on_finish=lambda remaining: failed_ids.append(tuple(remaining)))
        monkeypatch.setattr(review.screen.queue_pane, "selection", lambda: selection)
        await review.press("a")
        assert (await review.desk.drafts.counts()).by_status[Status.APPROVED] == 4
        assert failed_ids == [(ids[1],)]
        assert review.toasts == ["4 approved, 1 skipped: 1 archived · u undo"]
        await review.press("u")
        assert (await review.desk.drafts.counts()).by_status[Status.APPROVED] == 0


async def make_mixed(review: ReviewDriver) -> list[str]:
    """Approve two drafts, schedule a third one, archive a fourth; return the ids of all five."""
    ids = [row.id for row in (await review.desk.drafts.list()).items]
    await review.desk.drafts.bulk({"action": "approve", "ids": ids[:3]})
    await review.desk.drafts.schedule(ids[2], NOW + timedelta(days=1))
    await review.desk.drafts.archive(ids[3])
    return ids


async def test_skipped_drafts_are_grouped_by_reason_and_listed_in_the_log(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        review.select(*await make_mixed(review))
        await review.press("a")
        toast = "1 approved, 4 skipped: 2 already approved, 1 scheduled, 1 archived · Ctrl+L lists them · u undo"
        assert review.toasts == [toast]
        listed = review.app.notification_log[-1].text.splitlines()
        assert sorted(line.rsplit(": ", 1)[1] for line in listed) == [
            "already approved",
            "already approved",
            "archived",
            "scheduled",
        ]


async def test_nothing_is_asked_about_drafts_that_all_refuse(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        ids = await make_mixed(review)
        review.select(*ids[:4])
        await review.press("R")
        assert len(review.app.screen_stack) == 1
        assert review.toasts == ["None regenerating, 4 skipped: 2 approved, 1 scheduled, 1 archived"]


async def test_drafts_that_lack_approval_name_its_key(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        review.select(*(row.id for row in review.screen.queue.rows[:2]))
        await review.press("s")
        assert review.toasts == ["None scheduled, 2 skipped: 2 not approved. a approves them."]


async def test_prompt_says_which_drafts_it_skips(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        review.select(*await make_mixed(review))
        await review.press("r")
        assert "Reject 3 drafts: reason (optional)" in review.text
        assert "2 skipped: 1 scheduled, 1 archived" in review.text


async def test_bulk_time_schedules_and_reschedules_as_one(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        ids = await make_mixed(review)
        before = [await review.desk.drafts.get(draft_id) for draft_id in ids]
        review.select(*ids)
        await review.press("S", *"in 2 hours", "enter")
        after = [await review.desk.drafts.get(draft_id) for draft_id in ids]
        assert [draft.scheduled_at for draft in after[:3]] == [NOW + timedelta(hours=2)] * 3
        (toast,) = [message for message in review.toasts if "2 scheduled, 1 rescheduled for " in message]
        assert "2 skipped: 1 archived, 1 not approved" in toast
        await review.press("u")
        undone = [await review.desk.drafts.get(draft_id) for draft_id in ids]
        assert [(draft.status, draft.scheduled_at) for draft in undone] == [
            (draft.status, draft.scheduled_at) for draft in before
        ]


async def test_bulk_time_of_scheduled_drafts_says_rescheduled(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        review.select(*(row.id for row in review.screen.queue.rows[:2]))
        await review.press("a", "S", *"in 2 hours", "enter")
        assert review.toasts[-1].startswith("2 scheduled for ")
        await review.press("S", *"in 3 hours", "enter")
        assert review.toasts[-1].startswith("2 rescheduled for ")


async def test_bulk_without_a_time_says_nothing_of_rescheduling(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        review.select(*(row.id for row in review.screen.queue.rows[:2]))
        await review.press("a", "S", *"in 2 hours", "enter", "T")
        assert review.toasts[-1] == "2 unscheduled · u undo"


async def test_draft_that_refuses_is_not_asked_about(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("a", "k", "R")
        assert len(review.app.screen_stack) == 1
        assert any(message.startswith("Cannot regenerate a draft with the status “app") for message in review.toasts)


async def test_unapprove_and_unschedule_have_keys(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("a", "k", "S", *"in 2 hours", "enter")
        assert await review.get_status(first.id) is Status.SCHEDULED
        review.select(first.id)
        await review.press("T")
        assert await review.get_status(first.id) is Status.APPROVED
        await review.press("U")
        assert await review.get_status(first.id) is Status.AWAITING_REVIEW
        await review.press("u", "u")
        assert await review.get_status(first.id) is Status.SCHEDULED


async def test_text_typed_for_a_failed_action_is_offered_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_review(tmp_path) as review:

        async def fail(self: object, *args: object, **kwargs: object) -> object:
            raise StoreFullError

        with monkeypatch.context() as patch:
            patch.setattr(DeskReview, "apply", fail)
            await review.press("r", *"Old news", "enter")
        assert "Your text is kept: r offers it again." in review.toasts
        await review.press("r")
        assert "1 Old news" in review.text
        # Also after a look at the draft.
        await review.press("escape", "r")
        assert "1 Old news" in review.text


async def test_keys_that_do_nothing_are_dimmed(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        key_line = review.screen.query_one(KeyLine)
        assert not key_line._refused_words()
        commands = {command.title: command.refusal for command in list_commands(review.app)}
        assert commands["Mark as posted, if the outcome is unknown"] == "No delivery has an unknown outcome."
        await review.press("a", "k")
        assert key_line._refused_words() == {"approve"}
        commands = {command.title: command.refusal for command in list_commands(review.app)}
        assert commands["Approve"].startswith("Already approved.")
        assert not commands["Reject, with an optional reason"]
        await review.press("space")
        assert not key_line._refused_words()


async def test_decision_is_saved_when_user_quits(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        review.app.simulate_key("a")
        await review.wait_for(lambda: review.current.id != first.id)
        review.app.exit()
    async with open_desk_at(tmp_path) as desk:
        assert (await desk.drafts.get(first.id)).status is Status.APPROVED


@pytest.mark.usefixtures("no_key_waiting")
async def test_quit_during_bulk_reports_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.desk.drafts.review.MAX_IDS", 2)
    monkeypatch.setattr("copydesk.tui.runtime.desk_tasks.BULK_STOP_DELAY", 0)
    proceed = asyncio.Event()
    async with open_review(tmp_path) as review:
        review.select(*(row.id for row in (await review.desk.drafts.list()).items))

        async def earlier_write(_: object) -> None:
            await proceed.wait()

        review.app.enqueue_write(earlier_write)
        review.app.simulate_key("a")
        review.app.simulate_key("q")
        try:
            await review.wait_for(lambda: "Saving your changes…" in review.text)
            review.app.simulate_key("x")
            await review.wait_for(lambda: review.app.stopping and not review.app.type_ahead.is_busy)
        finally:
            proceed.set()
        await review.wait_for(lambda: review.app._exit)
        assert review.app.exit_message.startswith("2 approved, 3 not processed.")
        assert review.app.return_code == 0
    async with open_desk_at(tmp_path) as desk:
        counts = (await desk.drafts.counts()).by_status
        assert (counts[Status.APPROVED], counts[Status.AWAITING_REVIEW]) == (2, 3)


@pytest.mark.usefixtures("no_key_waiting")
async def test_quit_during_undo_reports_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.desk.drafts.undo.MAX_IDS", 2)
    monkeypatch.setattr("copydesk.tui.runtime.desk_tasks.BULK_STOP_DELAY", 0)
    proceed = asyncio.Event()
    async with open_review(tmp_path) as review:
        review.select(*(row.id for row in (await review.desk.drafts.list()).items))
        await review.press("a")

        async def earlier_write(_: object) -> None:
            await proceed.wait()

        review.app.enqueue_write(earlier_write)
        review.app.simulate_key("u")
        review.app.simulate_key("q")
        try:
            await review.wait_for(lambda: review.app.stopping and not review.app.type_ahead.is_busy)
        finally:
            proceed.set()
        await review.wait_for(lambda: review.app._exit)
        message = "Undid approval of 2 drafts. Run `copydesk draft undo` for the remaining 3."
        assert review.app.exit_message == message
    async with open_desk_at(tmp_path) as desk:
        counts = (await desk.drafts.counts()).by_status
        assert (counts[Status.APPROVED], counts[Status.AWAITING_REVIEW]) == (3, 2)


async def test_history_and_copy(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("a", "K", "H")
        assert "History · q close" in review.text
        assert "you approved it (needs review → approved)" in review.text
        assert "awaiting_review" not in review.text
        await review.press("q", "y")
        assert review.app.clipboard == first.text
        await review.press("Y")
        assert review.toasts[-1] == "The source has no link."


async def test_new_version_is_announced_and_diffed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = FakeWriter()
    writer.answers = ["A postmortem without culprits."]
    monkeypatch.setattr("copydesk.drafting.writer.get_writer", lambda: writer)
    async with open_review(tmp_path) as review:
        await review.press("d")
        assert "There is no other version of" in review.toasts[-1]
        assert "and it is not edited" in review.toasts[-1]
        first = review.current
        await review.press("R", *"Shorter", "enter")
        await review.wait_for(lambda: any("New version of" in message for message in review.toasts))
        assert review.current.id != first.id
        await review.press("d")
        assert "Changes · q" not in review.text
        assert "There is no other version of" in review.toasts[-1]
        # One key leads to the new version, wherever the cursor is.
        assert review.toasts[-2].endswith("· . shows it")
        await review.press("J", "full_stop")
        assert review.current.text == "A postmortem without culprits."
        await review.press("d")
        assert "Changes · q close · “A postmortem without culprits" in review.text
        assert "{+without culprits+}" in review.text


async def test_new_version_is_shown_on_the_open_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = FakeWriter()
    writer.answers = ["A postmortem without culprits."]
    monkeypatch.setattr("copydesk.drafting.writer.get_writer", lambda: writer)
    async with open_review(tmp_path, size=(80, 24)) as review:
        await review.press("enter", "R", "enter")
        await review.wait_for(lambda: any("New version of" in message for message in review.toasts))
        await review.press("full_stop")
        assert "─ Draft · 1 of 6 done · J next draft" in review.text
        assert "A postmortem without culprits." in review.text


async def test_difference_shows_the_users_own_edit(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.desk.drafts.edit(review.current.id, "A postmortem that names two culprits.")
        await review.press("full_stop", "d")
        assert re.search(r"\[-no culprit-\]\. +│ .*\{\+two culprits\+\}\.", review.text)
        await review.press("q")
        await review.desk.drafts.undo(review.current.id)
        await review.press("full_stop", "d")
        assert "and it is not edited" in review.toasts[-1]


async def test_draft_archived_elsewhere_stays_archived(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        async with open_desk_at(tmp_path) as other:
            await other.drafts.archive(first.id)
        await review.press("a")
        assert (await review.desk.drafts.get(first.id)).archived_at is not None
        assert any("archived" in message for message in review.toasts)


async def test_cleared_answer_is_not_offered_again(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        answers = PromptAutosave()
        answers.attach(desk)
        save = answers.autosave_for("reject")
        await save("Too much praise")
        assert await PromptAutosave().load(desk) == ("reject",)
        await save("")
        assert await PromptAutosave().load(desk) == ()


async def test_answer_that_cannot_be_deleted_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Autosave, "delete", fail)
    async with open_review(tmp_path) as review:
        await review.press("r", "escape")
        assert review.toasts == ["Autosave not deleted: Permission denied. Its text is offered again."]


async def test_reject_prompt_uses_singular_and_plural(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("r")
        assert "Reject: reason (optional)" in review.text
        assert "“A postmortem that names no culprit.”" in review.text
        await review.press("escape", "asterisk", "r")
        assert "Reject 5 drafts: reason (optional)" in review.text


def test_error_of_the_database_is_said_once() -> None:
    full = str(StoreFullError())
    outcome = Outcome("approve", ("a",), {"b": "No.", "c": full, "d": full}, names={"b": "“B”"})
    assert format_failures(outcome) == f"2× {full} 1× No."
    assert describe_bulk(outcome) == f"1 approved, 3 failed: 2× {full} 1× No. · Ctrl+L lists them · u undo"


def test_one_restored_draft_of_several_is_counted() -> None:
    outcome = Outcome(labels.RESTORE, ("a",), {}, names={"a": "“A”"}, skipped={"b": labels.IS_NOT_ARCHIVED})
    assert describe_restored(outcome) == "1 restored, 1 skipped: 1 not archived · u undo"


@pytest.mark.parametrize(("undo", "word"), [(True, "archived"), (False, "restored")])
def test_interrupted_restoring_says_what_was_done(*, undo: bool, word: str) -> None:
    interrupted = UndoResult(labels.RESTORE, None, ("a", "b"), (), 3)
    assert describe_interrupted_undo(interrupted, undo=undo) == f"2 {word}, 3 not processed."


def test_log_lists_failures_before_skipped_drafts() -> None:
    """The list is cut, and names are loaded in the same order."""
    skipped = {f"s{number}": "already approved" for number in range(MAX_LOGGED)}
    lines = list_unchanged(Outcome("approve", (), {"f": "No."}, skipped=skipped, names={"f": "“F”"})).splitlines()
    assert lines[0] == "“F”: No."
    assert lines[-1] == "And 1 more."


async def test_interrupted_bulk_is_said_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bulk = InterruptedBulk(id="1", kind=EventKind.CHANGE, action="approve", started_at=NOW, changed=2, total=3)

    async def list_one(_: object) -> tuple[InterruptedBulk, ...]:
        return (bulk,)

    monkeypatch.setattr(Drafts, "interrupted_bulks", list_one)
    async with open_review(tmp_path) as review:
        await review.wait_for(lambda: review.toasts)
        assert review.toasts == [bulk.summary]


async def test_archived_drafts_are_not_marked_with_their_list(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        archived = review.current
        await review.press("x", "asterisk")
        assert review.screen.queue.marked_count == 4
        await review.press("escape", "g", "space")
        assert review.current.id != archived.id
        assert not review.screen.queue.marked_count
        await review.press("g", "v", "G", "v")
        assert review.screen.queue.marked_count == 4


async def test_archived_row_and_page_say_so(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        archived = review.current
        await review.press("x", "k")
        assert review.current.id == archived.id
        assert review.current.archived_at is not None
        assert "archived · Z restores it as needs review" in review.text
        await review.press("left_square_bracket")
        assert review.screen.queue_pane.tab == "archived"
        assert review.current.id == archived.id
        await review.press("Z")
        assert review.toasts[-1] == "Restored “A postmortem that names no culprit.” · u undo"
        assert (await review.desk.drafts.get(archived.id)).archived_at is None


async def test_undo_takes_back_restoring(tmp_path: Path) -> None:
    """Not the archiving of another draft, which was the last change before."""

    async def is_archived(draft_id: str) -> bool:
        return (await review.desk.drafts.get(draft_id)).archived_at is not None

    async with open_review(tmp_path) as review:
        first = review.current.id
        await review.press("x")
        other = review.current.id
        await review.press("x", "left_square_bracket")
        review.screen.queue_pane.move_cursor_to(first)
        await review.press("Z")
        assert not await is_archived(first)
        await review.press("u")
        assert review.toasts[-1] == "Undid restore of “A postmortem that names no culprit.” · Ctrl+R redo"
        assert await is_archived(first)
        assert review.current.id == first
        assert review.current.archived_at is not None
        await review.press("ctrl+r")
        assert review.toasts[-1] == "Redid restore of “A postmortem that names no culprit.” · u undo"
        assert not await is_archived(first)
        await review.press("u", "u", "u")
        assert not await is_archived(first)
        assert not await is_archived(other)


async def test_undo_of_restoring_is_refused_while_the_draft_is_sent(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("x", "left_square_bracket", "Z")
        execute_sql(tmp_path, "UPDATE draft SET status = 'posting'")
        await review.press("u")
        assert review.toasts[-1].startswith("Cannot archive a draft with the status “posting”.")
        assert review.toasts[-1].endswith("u undoes the change before it.")


async def test_restoring_that_restores_nothing_is_no_step_to_undo(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("a", "asterisk", "Z", "u")
        assert review.toasts[-1].startswith("Undid approval of ")


async def test_drafts_that_are_not_restored_are_listed_in_the_log(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("asterisk", "Z")
        assert sum(entry.text.count(labels.IS_NOT_ARCHIVED) for entry in review.app.read_log()[1:]) == 5


async def test_restoring_skips_drafts_that_are_not_archived(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("asterisk", "Z")
        assert review.toasts[-1] == "None restored, 5 skipped: 5 not archived"
        assert review.screen.queue.marked_count == 5
        await review.press("escape", "x", "x", "left_square_bracket", "asterisk", "Z")
        assert review.toasts[-1] == "2 restored · u undo"
        await review.press("u")
        assert review.toasts[-1] == "Undid restore of 2 drafts · Ctrl+R redo"
        assert len((await review.desk.drafts.list(archived="only")).items) == 2


async def test_time_from_showing_a_draft_to_the_decision_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("copydesk.tui.review.local_changes.monotonic", lambda: now)
    async with open_review(tmp_path) as review:
        await review.press("j")
        now += 4.0
        await review.press("a")
        now += 8.0
        await review.press("x")
        assert (await review.desk.drafts.decision_stats()).median_seconds == 6.0
        await review.press("percent_sign")
        assert "6.0 s (2 decisions)" in review.text
        assert "0 of 1 (0.0%)" in review.text


async def test_regeneration_suggests_all_that_the_offline_writer_understands(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("R")
        shown = " ".join(review.text.split())
        assert [request for request in FeedbackRequest if request not in shown] == []
        assert "8 with the link" in shown
    assert set(labels.REGENERATE_SUGGESTIONS) == set(FeedbackRequest)


async def test_failed_regeneration_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = FakeWriter()
    writer.fail("Offline.")
    monkeypatch.setattr("copydesk.drafting.writer.get_writer", lambda: writer)
    async with open_review(tmp_path) as review:
        draft_id = review.current.id
        before = await review.desk.drafts.get(draft_id)
        await review.press("R", "enter")
        await review.wait_for(lambda: any("u restores it as it was." in toast for toast in review.toasts))
        assert (await review.desk.drafts.get(draft_id)).status is Status.GENERATION_FAILED
        await review.press("u")
        restored = await review.desk.drafts.get(draft_id)
        assert (restored.status, restored.text, restored.last_error) == (before.status, before.text, None)
        assert review.current.id == draft_id


async def test_refused_instructions_name_the_draft_and_the_reason(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("R", *"funnier", "enter")
        await review.wait_for(lambda: review.toasts)
        assert "”: The offline writer does not understand “funnier”. It can do: shorter" in review.toasts[0]
