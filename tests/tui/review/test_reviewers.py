"""Tests for several reviewers of one desk, as one of them sees the others in the console."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from console_driver import make_draft
from copydesk.desk import Desk
from copydesk.model.activity import Approval, Comment, DraftActivity, ReviewedDraft, Viewer
from copydesk.model.draft import Status
from copydesk.model.role import Role
from copydesk.tui.layout import lay_out_blocks
from copydesk.tui.review.comments import completions
from copydesk.tui.review.pages import DraftDetails, draft_page
from desk_fixtures import NOW, open_desk_at
from posting_fixtures import connect_account
from review_driver import ReviewDriver, open_review

MINUTE = timedelta(minutes=1)


def as_ben(home: Path) -> AbstractAsyncContextManager[Desk]:
    """Open the desk as another reviewer would on a console of their own."""
    return open_desk_at(home, console__reviewer="ben")


@asynccontextmanager
async def open_team(home: Path, approvals: int = 2) -> AsyncIterator[tuple[ReviewDriver, Desk]]:
    """Open Anna's console, and Ben's desk, whose account asks for this number of approvals."""
    async with as_ben(home) as ben:
        await connect_account(ben, platform="mastodon")
        await ben.accounts.require_approvals("mastodon", approvals)
        async with open_review(home, console__reviewer="anna") as review:
            await review.wait_for(lambda: review.app.needs_approvals is (approvals > 1))
            yield review, ben


async def approvers(desk: Desk, draft_id: str) -> list[str]:
    """Return who has approved the draft."""
    return [approval.reviewer for approval in (await desk.drafts.activity.get(draft_id)).approvals]


def page_text(reviewed: ReviewedDraft, width: int = 80, **values: object) -> str:
    """Return the page of a draft in this state."""
    draft = make_draft(**values)
    lines = lay_out_blocks(draft_page(draft, NOW, details=DraftDetails(reviewed=reviewed)), width)
    return "\n".join(line.plain.rstrip() for line in lines)


def reviewed_draft(
    *, required: int = 1, comments: tuple[Comment, ...] = (), **values: tuple[object, ...]
) -> ReviewedDraft:
    """Return what Anna sees of the others."""
    activity = DraftActivity(**({"viewers": (), "editing": None, "unsaved": ()} | values))  # type: ignore[arg-type]
    return ReviewedDraft("anna", activity, comments, required)


def approved_by(*names: str) -> tuple[Approval, ...]:
    return tuple(Approval(reviewer=name, at=NOW) for name in names)


def make_comment(**values: object) -> Comment:
    fields = {"id": "c", "draft_id": "d", "reviewer": "ben", "at": NOW - 5 * MINUTE, "text": "Which one?"}
    return Comment(**(fields | values))  # type: ignore[arg-type]


def test_page_names_the_others_until_they_have_left() -> None:
    ben, cleo = (Viewer(reviewer=name, until=NOW + MINUTE) for name in ("ben", "cleo"))
    editing = Viewer(reviewer="ben", until=NOW + MINUTE, since=NOW)
    assert "ben is editing · cleo is viewing" in page_text(reviewed_draft(viewers=(ben, cleo), editing=editing))
    gone = Viewer(reviewer="ben", until=NOW)
    assert "ben" not in page_text(reviewed_draft(viewers=(gone,), editing=gone))


@pytest.mark.parametrize(
    ("names", "status", "line"),
    [
        ((), Status.PENDING_REVIEW, "0 of 2 approvals"),
        (("ben",), Status.APPROVED, "1 of 2 approvals (ben) · a approves it, too"),
        (("anna",), Status.SCHEDULED, "1 of 2 approvals (anna) · another reviewer has to approve it, too"),
        (("anna", "ben"), Status.APPROVED, "2 of 2 approvals (anna, ben)"),
    ],
)
def test_page_counts_approvals(names: tuple[str, ...], status: Status, line: str) -> None:
    found = page_text(reviewed_draft(required=2, approvals=approved_by(*names)), status=status)
    assert line in found.split("\n")


def test_page_of_one_approval_counts_none() -> None:
    assert "approvals" not in page_text(reviewed_draft(approvals=approved_by("anna")), status=Status.APPROVED)
    assert "approvals" not in page_text(reviewed_draft(required=2), status=Status.REJECTED)


def test_comments_are_below_the_text_and_mark_their_words() -> None:
    comments = (
        make_comment(quote="missing index", start=2),
        make_comment(text="Gone.", quote="a ferry", start=None),
        make_comment(text="Done.", resolved_at=NOW, resolved_by="anna"),
    )
    draft = make_draft()
    details = DraftDetails(reviewed=reviewed_draft(comments=comments))
    lines = lay_out_blocks(draft_page(draft, NOW, details=details), 80)
    text = "\n".join(line.plain.rstrip() for line in lines)
    assert "Comments  2 open, 1 resolved · @ shows them" in text
    assert "ben  5 min ago  “missing index”\n  Which one?" in text
    assert "“a ferry”  no longer in the text" in text
    assert "Done." not in text
    marked = {line.plain[span.start : span.end] for line in lines for span in line.spans if span.style == "mark-accent"}
    assert "missing index" in marked


def test_hostile_names_and_comments_are_shown_as_text() -> None:
    comment = make_comment(reviewer="\x1b[2Jben", text="a\x1b[31mb\nc", quote="\u202eindex", start=None)
    found = page_text(reviewed_draft(comments=(comment,), required=2, approvals=approved_by("\x1b]0;x\x07ben")))
    assert not any(character in found for character in "\x1b\x07\u202e")


def test_words_are_completed_to_the_end_of_their_sentence() -> None:
    found = completions("The ferry sails. It is late!")
    assert found[:4] == ["The ferry sails.", "ferry sails.", "sails.", "It is late!"]


async def test_others_are_seen_while_they_are_on_the_draft(tmp_path: Path) -> None:
    async with open_team(tmp_path, 1) as (review, ben):
        first = review.current
        await ben.drafts.activity.view(first.id)
        await review.wait_for(lambda: "ben is viewing" in review.text)
        await ben.drafts.activity.start_edit(first.id)
        await review.wait_for(lambda: "ben is editing since " in review.text)
        await ben.drafts.activity.end_edit(first.id)
        await ben.drafts.activity.leave(first.id)
        await review.wait_for(lambda: "ben is" not in review.text)


async def test_console_tells_which_draft_it_shows(tmp_path: Path) -> None:
    async with open_team(tmp_path, 1) as (review, ben):
        presence, first = review.screen.review_actions.presence, review.current

        async def seen(draft_id: str) -> list[str]:
            await review.wait()
            return [viewer.reviewer for viewer in (await ben.drafts.activity.get(draft_id)).viewers]

        # Nobody has pressed a key yet.
        presence.update()
        presence.update()
        assert await seen(first.id) == []
        await review.press("j", "k")
        presence.update()
        assert await seen(first.id) == []
        presence.update()
        assert await seen(first.id) == ["anna"]

        # Nobody else is there, so moving on writes nothing until the record expires.
        await review.press("j")
        second = review.current
        presence.update()
        presence.update()
        assert await seen(second.id) == []

        await ben.drafts.activity.view(first.id)
        await review.wait_for(lambda: review.screen.preview_pane.is_shared)
        presence.update()
        presence.update()
        assert (await seen(second.id), await seen(first.id)) == (["anna"], [])


async def test_quitting_is_seen_at_once(tmp_path: Path) -> None:
    async with as_ben(tmp_path) as ben:
        async with open_team(tmp_path, 1) as (review, _):
            first = review.current
            await review.press("j", "k")
            for _ in range(2):
                review.screen.review_actions.presence.update()
            await review.wait()
            assert [viewer.reviewer for viewer in (await ben.drafts.activity.get(first.id)).viewers] == ["anna"]
        assert (await ben.drafts.activity.get(first.id)).viewers == ()


async def test_exit_does_not_wait_for_a_database_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.tui.desk_app.EXIT_WORK_TIMEOUT", 0.01)
    async with open_team(tmp_path, 1) as (review, _):
        stopped = []

        async def wait_for_ever(_: Desk) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(True)

        review.app.exit_work.add(wait_for_ever)
    assert stopped == [True]


@pytest.mark.parametrize(
    ("keys", "refusal"),
    [
        (("a",), "“Approve” needs the role reviewer; yours is writer."),
        (("r",), "“Reject” needs the role reviewer; yours is writer."),
        (("S",), "“Schedule at a time” needs the role publisher; yours is writer."),
        (("p",), "“Post now” needs the role publisher; yours is writer."),
        (("3", "A"), "“Add a source” needs the role reviewer; yours is writer."),
        (("2", "A"), "“Add a weekly slot” needs the role publisher; yours is writer."),
        (("5", "m"), "“Record metrics by hand” needs the role reviewer; yours is writer."),
    ],
)
async def test_key_beyond_the_role_says_so_and_opens_nothing(
    tmp_path: Path, keys: tuple[str, ...], refusal: str
) -> None:
    async with open_as_writer(tmp_path) as review:
        first = review.current
        await review.press(*keys)
        assert review.toasts == [refusal]
        assert len(review.app.screen_stack) == 1
        assert await review.get_status(first.id) is first.status


@asynccontextmanager
async def open_as_writer(home: Path) -> AsyncIterator[ReviewDriver]:
    """Open the console of a writer, once it knows the role."""
    async with as_ben(home) as ben:
        await ben.reviewers.set_role("anna", Role.WRITER)
    async with open_review(home, console__reviewer="anna") as review:
        await review.wait_for(lambda: review.app.role is Role.WRITER)
        yield review


async def test_writer_edits_and_comments_but_not_what_is_approved(tmp_path: Path) -> None:
    async with open_as_writer(tmp_path) as review, as_ben(tmp_path) as ben:
        first = review.current
        await review.press("e", "ctrl+end", "z", "ctrl+s")
        assert (await ben.drafts.get(first.id)).text == f"{first.text}z"
        await review.press("u")
        assert (await ben.drafts.get(first.id)).text == first.text
        await ben.drafts.approve(first.id)
        await review.press("right_square_bracket")
        assert review.current.id == first.id
        await review.press("e")
        assert review.toasts[-1] == "“Edit here” needs the role reviewer; yours is writer."
        assert len(review.app.screen_stack) == 1


async def test_reviewer_connects_no_account(tmp_path: Path) -> None:
    async with as_ben(tmp_path) as ben:
        await ben.reviewers.set_role("anna", Role.REVIEWER)
    async with open_review(tmp_path, console__reviewer="anna") as review:
        await review.wait_for(lambda: review.app.role is Role.REVIEWER)
        await review.press("6", "A")
        assert "needs the role publisher; yours is reviewer" in review.toasts[-1]
        assert len(review.app.screen_stack) == 1


async def test_change_of_the_role_reaches_the_console(tmp_path: Path) -> None:
    async with open_as_writer(tmp_path) as review, as_ben(tmp_path) as ben:
        first = review.current
        await ben.reviewers.set_role("anna", Role.REVIEWER)
        await review.wait_for(lambda: review.app.role is Role.REVIEWER)
        await review.press("a")
        assert await review.get_status(first.id) is Status.APPROVED


async def test_comment_is_added_on_words_resolved_and_deleted(tmp_path: Path) -> None:
    async with open_team(tmp_path, 1) as (review, ben):
        first = review.current
        await review.press("at")
        assert "No comments. A adds one." in review.text
        await review.press("A", *"Which one?", "tab", *first.text[:5], "right", "enter")
        (comment,) = await ben.drafts.comments.list(first.id)
        assert (comment.reviewer, comment.text, comment.quote) == ("anna", "Which one?", first.text)
        assert "[ ] anna, " in review.text

        await review.press("space")
        assert (await ben.drafts.comments.list(first.id))[0].resolved_by == "anna"
        assert "[x] anna, " in review.text
        await review.press("D", "n")
        assert len(await ben.drafts.comments.list(first.id)) == 1
        await review.press("D", "y")
        assert await ben.drafts.comments.list(first.id) == ()
        await review.press("escape")
        # The draft shows it once it notices the change.
        await review.wait_for(lambda: "Comments" not in review.text)


async def test_comment_on_missing_words_keeps_the_form(tmp_path: Path) -> None:
    async with open_team(tmp_path, 1) as (review, _):
        await review.press("at", "A", *"Why?", "tab", *"zzz", "enter")
        assert "is not in the text of the draft" in " ".join(review.text.split())
        assert "zzz" in review.text


async def test_second_approval_is_given_by_the_same_key_and_undone(tmp_path: Path) -> None:
    async with open_team(tmp_path) as (review, ben):
        first, second = review.current, review.screen.queue.rows[1]
        await ben.drafts.approve(first.id)
        await ben.drafts.approve(second.id)
        await review.wait_for(lambda: "1 of 2 approvals (ben) · a approves it, too" in review.text)
        await review.press("a")
        assert await approvers(ben, first.id) == ["anna", "ben"]
        assert review.toasts[-1] == "Countersigned (2 of 2 approvals) · u undo"
        assert review.current.id == second.id

        await review.press("u")
        assert await approvers(ben, first.id) == ["ben"]
        assert review.toasts[-1].startswith("Undid second approval of “")


async def test_first_approval_says_that_another_is_needed_and_twice_why_not(tmp_path: Path) -> None:
    async with open_team(tmp_path) as (review, ben):
        first = review.current
        await review.press("a")
        assert review.toasts[-1] == "Approved (1 of 2 approvals) · u undo"
        await review.press("k", "a")
        assert "anna has approved this draft already; nothing changed. Ask somebody else." in review.toasts[-1]
        assert await approvers(ben, first.id) == ["anna"]


async def test_marked_drafts_get_their_second_approval(tmp_path: Path) -> None:
    async with open_team(tmp_path) as (review, ben):
        rows = review.screen.queue.rows
        by_ben, by_anna, new = (row.id for row in rows[:3])
        await ben.drafts.approve(by_ben)
        await review.desk.drafts.approve(by_anna)
        review.select(by_ben, by_anna, new)
        await review.press("a")
        assert await approvers(ben, by_ben) == ["anna", "ben"]
        assert await approvers(ben, by_anna) == ["anna"]
        assert "1 countersigned, 1 skipped: 1 approved by you, another reviewer has to · u undo" in review.toasts
        assert any(toast.startswith("1 approved, 1 skipped: 1 approved by you") for toast in review.toasts)


@pytest.mark.usefixtures("quick_check")
async def test_scheduled_draft_warns_of_the_approval_and_needs_you(tmp_path: Path) -> None:
    async with open_team(tmp_path) as (review, ben):
        first = review.current
        await review.press("S", *"tomorrow 9", "enter")
        await review.wait_for(
            lambda: any("This draft waits until another reviewer approves it, too." in toast for toast in review.toasts)
        )
        await review.wait_for(lambda: review.app.needs_user == 1)
        await review.press("0")
        assert "1 of 2 approvals" in review.text
        assert "It is scheduled, and will wait for another approval" in " ".join(review.text.split())
        await review.press("m")
        assert "an approval is missing" in review.toasts[-1]
        await ben.drafts.activity.countersign(first.id)
        await review.wait_for(lambda: "Nothing needs you" in review.text)


async def test_post_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    async with open_team(tmp_path) as (review, _):
        await review.press("p")
        assert "cannot be posted yet: 1 of 2 approvals (anna)" in " ".join(review.text.split())
        await review.press("y")
        assert (await review.desk.drafts.get(review.current.id)).status is Status.AWAITING_REVIEW
