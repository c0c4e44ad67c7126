"""Tests for several reviewers on one draft: presence, leases of edits, comments."""

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.errors import ConflictError, InvalidError, NotFoundError
from copydesk.model.activity import EDIT_DURATION, MAX_COMMENT_LENGTH, VIEW_DURATION, DraftActivity, find_quote
from copydesk.model.draft import Status
from copydesk.model.ids import IdKind
from copydesk.store import activity
from copydesk.store.ids import creation_time
from desk_fixtures import Watch, open_desk_at
from sampling import sample_size

SECOND = timedelta(seconds=1)
TEXT = "The ferry sails again. The ferry is late."


class Reviewers:
    """Two people at two consoles of one desk, and a draft."""

    def __init__(self, anna: Desk, ben: Desk, watch: Watch, draft_id: str) -> None:
        self.anna, self.ben, self.watch, self.draft_id = anna, ben, watch, draft_id

    async def editor(self) -> str | None:
        """Return who edits the draft."""
        editing = (await self.anna.drafts.activity.get(self.draft_id)).editing
        return editing.reviewer if editing else None

    async def short_id(self) -> str:
        """Return the draft's short id."""
        return (await self.anna.ids.shorten(IdKind.DRAFT, [self.draft_id]))[self.draft_id]

    async def text(self) -> str:
        """Return the draft's text."""
        return (await self.anna.drafts.get(self.draft_id)).text

    async def unsaved(self) -> list[tuple[str, str]]:
        """Return the reviewers and texts of edits that were taken over."""
        return [(edit.reviewer, edit.text) for edit in (await self.anna.drafts.activity.get(self.draft_id)).unsaved]


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[Reviewers]:
    watch = Watch()
    async with (
        open_desk_at(tmp_path, clock=watch, console__reviewer="anna") as anna,
        open_desk_at(tmp_path, clock=watch, console__reviewer="ben") as ben,
    ):
        draft = (await anna.drafts.create({"text": TEXT})).drafts[0]
        yield Reviewers(anna, ben, watch, draft.id)


async def test_reviewers_see_who_else_has_a_draft_open(both: Reviewers) -> None:
    assert (await both.anna.drafts.activity.view(both.draft_id)).viewers == ()

    others = (await both.ben.drafts.activity.view(both.draft_id)).viewers

    assert [(viewer.reviewer, viewer.until) for viewer in others] == [("anna", both.watch() + VIEW_DURATION)]
    assert [viewer.reviewer for viewer in (await both.anna.drafts.activity.view(both.draft_id)).viewers] == ["ben"]
    await both.ben.drafts.activity.leave(both.draft_id)
    assert (await both.anna.drafts.activity.get(both.draft_id)).viewers == ()


async def test_overview_is_empty_for_who_is_alone(both: Reviewers) -> None:
    await both.anna.drafts.activity.view(both.draft_id)
    found = await both.anna.drafts.activity.overview(both.draft_id)
    assert (found.reviewer, found.activity, found.comments, found.required, found.is_shared) == (
        "anna",
        DraftActivity(viewers=(), editing=None, unsaved=()),
        (),
        1,
        False,
    )
    with pytest.raises(NotFoundError):
        await both.anna.drafts.activity.overview("none")


async def test_overview_has_everything_about_the_others(both: Reviewers) -> None:
    other = (await both.anna.drafts.create({"text": "Another one."})).drafts[0]
    await both.ben.drafts.activity.view(both.draft_id)
    await both.ben.drafts.activity.view(other.id, instead_of=both.draft_id)
    assert (await both.anna.drafts.activity.overview(both.draft_id)).activity.viewers == ()
    assert (await both.anna.drafts.activity.overview(both.draft_id)).is_shared

    lease = await both.ben.drafts.activity.start_edit(both.draft_id)
    comment = await both.ben.drafts.comments.add(both.draft_id, "Which one?", "The ferry", 23)
    found = await both.anna.drafts.activity.overview(both.draft_id)

    editing = found.activity.editing
    assert editing is not None
    assert (editing.reviewer, editing.since) == ("ben", creation_time(lease.id))
    assert found.comments == (comment,)


async def test_presence_expires_unless_it_is_renewed(both: Reviewers) -> None:
    await both.anna.drafts.activity.view(both.draft_id)
    both.watch.now += VIEW_DURATION - SECOND
    await both.anna.drafts.activity.view(both.draft_id)
    both.watch.now += VIEW_DURATION - SECOND
    assert len((await both.ben.drafts.activity.get(both.draft_id)).viewers) == 1

    both.watch.now += SECOND

    assert (await both.ben.drafts.activity.get(both.draft_id)).viewers == ()


async def test_edit_keeps_others_from_saving(both: Reviewers) -> None:
    await both.anna.drafts.activity.start_edit(both.draft_id)

    assert await both.editor() == "anna"
    for edit in (both.ben.drafts.activity.start_edit(both.draft_id), both.ben.drafts.edit(both.draft_id, "Mine.")):
        with pytest.raises(ConflictError, match="anna is editing this draft") as refused:
            await edit
        assert refused.value.hint.endswith(f"copydesk draft edit {await both.short_id()} --take-over")
    assert await both.text() == TEXT


async def test_decisions_do_not_wait_for_an_edit(both: Reviewers) -> None:
    await both.anna.drafts.activity.start_edit(both.draft_id)

    await both.ben.drafts.approve(both.draft_id)

    assert (await both.anna.drafts.edit(both.draft_id, "Hers.")).status is Status.APPROVED


async def test_post_with_a_text_waits_for_an_edit(both: Reviewers) -> None:
    await both.anna.drafts.approve(both.draft_id)
    await both.anna.drafts.activity.start_edit(both.draft_id)

    with pytest.raises(ConflictError, match="anna is editing"):
        await both.ben.drafts.change(both.draft_id, {"action": "post", "text": "Mine."})


async def test_saving_ends_the_own_edit(both: Reviewers) -> None:
    lease = await both.anna.drafts.activity.start_edit(both.draft_id)
    await both.anna.drafts.activity.renew_edit(both.draft_id, lease.id, "Hers.")

    await both.anna.drafts.edit(both.draft_id, "Hers.")

    await both.ben.drafts.edit(both.draft_id, "His.")
    assert (await both.text(), await both.unsaved()) == ("His.", [])


async def test_ended_edit_lets_others_save(both: Reviewers) -> None:
    await both.anna.drafts.activity.start_edit(both.draft_id)

    await both.anna.drafts.activity.end_edit(both.draft_id)

    await both.ben.drafts.edit(both.draft_id, "His.")
    # One that somebody else has begun since is not ended.
    await both.ben.drafts.activity.start_edit(both.draft_id)
    await both.anna.drafts.activity.end_edit(both.draft_id)
    assert await both.editor() == "ben"


async def test_lease_lasts_as_long_as_it_is_renewed(both: Reviewers) -> None:
    lease = await both.anna.drafts.activity.start_edit(both.draft_id)
    for _ in range(3):
        both.watch.now += EDIT_DURATION - SECOND
        await both.anna.drafts.activity.renew_edit(both.draft_id, lease.id, "Typed.")
        with pytest.raises(ConflictError):
            await both.ben.drafts.activity.start_edit(both.draft_id)

    both.watch.now += EDIT_DURATION

    assert await both.editor() is None
    await both.ben.drafts.edit(both.draft_id, "His.")
    # What was typed is not lost with the lease.
    assert (await both.text(), await both.unsaved()) == ("His.", [("anna", "Typed.")])


async def test_expired_edit_goes_on_if_nobody_has_begun_another(both: Reviewers) -> None:
    lease = await both.anna.drafts.activity.start_edit(both.draft_id)
    both.watch.now += EDIT_DURATION

    renewed = await both.anna.drafts.activity.renew_edit(both.draft_id, lease.id, "Typed.")

    assert (renewed.until, await both.editor()) == (both.watch() + EDIT_DURATION, "anna")


async def test_takeover_keeps_both_texts(both: Reviewers) -> None:
    lease = await both.anna.drafts.activity.start_edit(both.draft_id)
    await both.anna.drafts.activity.renew_edit(both.draft_id, lease.id, "The ferry sails.")

    await both.ben.drafts.activity.start_edit(both.draft_id, take_over=True)

    assert await both.editor() == "ben"
    # Also what she has typed before she learnt of it.
    with pytest.raises(ConflictError, match="ben took over this edit; your text is kept"):
        await both.anna.drafts.activity.renew_edit(both.draft_id, lease.id, "The ferry sails today.")
    await both.ben.drafts.edit(both.draft_id, "The ferry sails tomorrow.")
    assert await both.unsaved() == [("anna", "The ferry sails today.")]
    difference = await both.anna.drafts.activity.compare_unsaved(lease.id)
    pieces = [(piece.kind.value, piece.text) for piece in difference.pieces]
    assert pieces == [("same", "The ferry sails "), ("removed", "tomorrow"), ("added", "today"), ("same", ".")]


async def test_text_typed_after_a_takeover_is_kept(both: Reviewers) -> None:
    lease = await both.anna.drafts.activity.start_edit(both.draft_id)
    await both.ben.drafts.activity.start_edit(both.draft_id, take_over=True)

    with pytest.raises(ConflictError):
        await both.anna.drafts.activity.renew_edit(both.draft_id, lease.id, "Only now.")

    assert await both.unsaved() == [("anna", "Only now.")]


async def test_unsaved_text_is_discarded(both: Reviewers) -> None:
    lease = await both.anna.drafts.activity.start_edit(both.draft_id)
    await both.ben.drafts.activity.start_edit(both.draft_id, take_over=True)

    await both.anna.drafts.activity.discard_unsaved(lease.id)

    assert await both.unsaved() == []
    for missing in (
        both.anna.drafts.activity.discard_unsaved(lease.id),
        both.anna.drafts.activity.compare_unsaved(lease.id),
    ):
        with pytest.raises(NotFoundError):
            await missing


async def test_text_that_no_database_stores_is_refused_while_it_is_typed(both: Reviewers) -> None:
    lease = await both.anna.drafts.activity.start_edit(both.draft_id)
    with pytest.raises(InvalidError, match="text: contains a NUL character"):
        await both.anna.drafts.activity.renew_edit(both.draft_id, lease.id, "NUL: \0")


async def test_own_edit_begins_again_without_a_question(both: Reviewers) -> None:
    lease = await both.anna.drafts.activity.start_edit(both.draft_id)
    await both.anna.drafts.activity.renew_edit(both.draft_id, lease.id, "Typed before a crash.")

    again = await both.anna.drafts.activity.start_edit(both.draft_id)

    assert again.id != lease.id
    assert await both.unsaved() == [("anna", "Typed before a crash.")]


async def test_draft_that_cannot_be_edited_gets_no_lease(both: Reviewers) -> None:
    await both.anna.drafts.reject(both.draft_id)
    with pytest.raises(ConflictError, match="rejected"):
        await both.anna.drafts.activity.start_edit(both.draft_id)
    with pytest.raises(NotFoundError):
        await both.anna.drafts.activity.start_edit("unknown")


async def test_of_two_who_begin_at_once_one_gets_the_lease(both: Reviewers) -> None:
    outcomes = await asyncio.gather(
        *(desk.drafts.activity.start_edit(both.draft_id) for desk in (both.anna, both.ben)), return_exceptions=True
    )

    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["EditLease", "EditedByOtherError"]


@pytest.mark.parametrize("seed", range(sample_size(24)))
async def test_no_typed_text_is_lost(both: Reviewers, seed: int) -> None:
    """Two reviewers type, save, take over and let leases expire at random: each text is somewhere in the end."""
    rng, typed, leases = random.Random(seed), dict[str, str](), dict[str, str]()
    for number in range(60):
        name = rng.choice(["anna", "ben"])
        desk: Desk = getattr(both, name)
        both.watch.now += timedelta(seconds=rng.choice([1, 5, 200]))
        try:
            if name not in leases or rng.random() < 0.2:
                take_over = rng.random() < 0.5
                leases[name] = (await desk.drafts.activity.start_edit(both.draft_id, take_over=take_over)).id
            elif rng.random() < 0.6:
                text = f"{name} typed {number}."
                typed[leases[name]] = text
                await desk.drafts.activity.renew_edit(both.draft_id, leases[name], text)
            else:
                # As a console: what was typed is what is saved.
                text = typed.get(leases[name], f"{name} saved {number}.")
                await desk.drafts.edit(both.draft_id, text)
                typed.pop(leases.pop(name), None)
        except ConflictError:
            pass
    kept = {text for _, text in await both.unsaved()} | {await both.text()}
    edit = await both.anna._context.read(activity.get_edit, both.draft_id)
    kept |= {edit.text} if edit and edit.text else set()
    events = await both.anna.drafts.history(both.draft_id)
    kept |= {event.after["text"] for event in events if "text" in event.after}
    assert set(typed.values()) <= kept


async def test_comment_is_anchored_to_words(both: Reviewers) -> None:
    whole = await both.anna.drafts.comments.add(both.draft_id, "Shorter?")
    first = await both.ben.drafts.comments.add(both.draft_id, "Which one?", "The ferry")
    second = await both.ben.drafts.comments.add(both.draft_id, "Again?", "The ferry", 30)

    assert [(comment.reviewer, comment.start) for comment in (whole, first, second)] == [
        ("anna", None),
        ("ben", 0),
        ("ben", 23),
    ]
    assert await both.anna.drafts.comments.list(both.draft_id) == (whole, first, second)


async def test_comment_follows_its_words(both: Reviewers) -> None:
    await both.ben.drafts.comments.add(both.draft_id, "Late?", "is late")
    await both.ben.drafts.comments.add(both.draft_id, "Again?", "again")

    await both.anna.drafts.edit(both.draft_id, f"News: {TEXT.replace('again', 'today')}")

    moved, gone = await both.anna.drafts.comments.list(both.draft_id)
    assert moved.start == TEXT.index("is late") + len("News: ")
    assert (gone.quote, gone.start) == ("again", None)


async def test_comment_is_resolved_opened_and_deleted(both: Reviewers) -> None:
    comment = await both.ben.drafts.comments.add(both.draft_id, "Shorter?")

    resolved = await both.anna.drafts.comments.resolve(comment.id)

    assert (resolved.resolved_by, resolved.resolved_at) == ("anna", both.watch())
    assert await both.anna.drafts.comments.resolve(comment.id, resolved=False) == comment
    await both.anna.drafts.comments.remove(comment.id)
    assert await both.anna.drafts.comments.list(both.draft_id) == ()
    for missing in (
        both.anna.drafts.comments.remove(comment.id),
        both.anna.drafts.comments.resolve(comment.id),
    ):
        with pytest.raises(NotFoundError):
            await missing


@pytest.mark.parametrize(
    ("text", "quote", "field"),
    [
        (" ", "", "text"),
        ("x" * (MAX_COMMENT_LENGTH + 1), "", "text"),
        ("NUL: \0", "", "text"),
        ("Red: \x1b[31m", "", "text"),
        ("Why?", "a bus", "quote"),
    ],
)
async def test_invalid_comment_is_refused(both: Reviewers, text: str, quote: str, field: str) -> None:
    with pytest.raises(InvalidError) as refused:
        await both.anna.drafts.comments.add(both.draft_id, text, quote)
    assert [error.field for error in refused.value.errors] == [field]


@pytest.mark.parametrize(
    ("text", "quote", "start", "found"),
    [("a b a b a", "a", 5, 4), ("a b a b a", "a", 99, 8), ("aaa", "aa", 1, 1), ("a", "b", 0, None), ("a", "", 0, None)],
)
def test_closest_words_are_found(text: str, quote: str, start: int, found: int | None) -> None:
    assert find_quote(text, quote, start) == found


async def approvers(both: Reviewers) -> list[str]:
    """Return who has approved the draft with its present text."""
    return [approval.reviewer for approval in (await both.anna.drafts.activity.get(both.draft_id)).approvals]


async def test_two_reviewers_approve_a_draft(both: Reviewers) -> None:
    await both.anna.drafts.approve(both.draft_id)

    countersigned = await both.ben.drafts.activity.countersign(both.draft_id)

    assert [approval.reviewer for approval in countersigned.approvals] == ["anna", "ben"]
    with pytest.raises(ConflictError, match="ben has approved this draft already"):
        await both.ben.drafts.activity.countersign(both.draft_id)


async def test_draft_that_nobody_approved_is_not_countersigned(both: Reviewers) -> None:
    with pytest.raises(ConflictError, match="Cannot countersign a draft with the status “needs review”") as refused:
        await both.ben.drafts.activity.countersign(both.draft_id)
    assert refused.value.hint == f"Approve it: copydesk draft approve {await both.short_id()}"
    assert await approvers(both) == []


async def test_edit_leaves_the_approval_of_its_author(both: Reviewers) -> None:
    await both.anna.drafts.approve(both.draft_id)

    await both.ben.drafts.edit(both.draft_id, "His.")

    assert await approvers(both) == ["ben"]
    await both.ben.drafts.undo(both.draft_id)
    assert await approvers(both) == ["anna"]


@pytest.mark.parametrize("end", ["undo", "unapprove", "reject"])
async def test_approval_that_is_taken_back_does_not_count(both: Reviewers, end: str) -> None:
    await both.anna.drafts.approve(both.draft_id)
    if end == "undo":
        await both.anna.drafts.undo(both.draft_id)
    else:
        await both.anna.drafts.change(both.draft_id, {"action": end})

    await both.ben.drafts.approve(both.draft_id)

    assert await approvers(both) == ["ben"]


async def test_bulk_approval_counts(both: Reviewers) -> None:
    await both.ben.drafts.bulk({"action": "approve", "ids": [both.draft_id]})
    assert await approvers(both) == ["ben"]


async def test_scheduling_keeps_the_approvals(both: Reviewers) -> None:
    await both.anna.drafts.approve(both.draft_id)
    await both.anna.drafts.change(
        both.draft_id, {"action": "schedule", "scheduledAt": both.watch() + timedelta(hours=1)}
    )
    await both.anna.drafts.change(both.draft_id, {"action": "cancel_schedule"})

    assert await approvers(both) == ["anna"]
