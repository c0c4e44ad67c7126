"""Tests for accounts that ask for the approvals of two reviewers."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from copydesk.desk import Desk
from copydesk.errors import ConflictError, InvalidError, NotFoundError
from copydesk.model.draft import Status
from copydesk.model.job import DueDraftsCheck
from copydesk.model.schedule import Slot
from copydesk.posting.fake import FakeServer, Fault
from desk_fixtures import NOW, Watch
from posting_fixtures import connect_account, create_approved_draft, fake_platforms, open_posting_desk

HOUR = timedelta(hours=1)


class Team:
    """Two reviewers of one desk, whose account asks for two approvals."""

    def __init__(self, anna: Desk, ben: Desk, server: FakeServer, watch: Watch) -> None:
        self.anna, self.ben, self.server, self.watch = anna, ben, server, watch

    @property
    def posts(self) -> int:
        """The number of posts on the account."""
        return len(self.server.posts)

    async def tick(self) -> tuple[int, int]:
        """Dispatch what is due; return the number of drafts that were dispatched, and that were missed."""
        due = self.anna.schedule.due_drafts
        return len(await due.dispatch_due()), len(await due.mark_missed())


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[Team]:
    watch, server = Watch(), FakeServer()
    platforms = fake_platforms(server)
    async with (
        open_posting_desk(tmp_path, platforms, clock=watch, COPYDESK_CONSOLE__REVIEWER="anna") as anna,
        open_posting_desk(tmp_path, platforms, clock=watch, COPYDESK_CONSOLE__REVIEWER="ben") as ben,
    ):
        await connect_account(anna)
        await anna.accounts.require_approvals("fake:me", 2)
        yield Team(anna, ben, server, watch)


async def test_post_needs_both_approvals(team: Team) -> None:
    draft_id = await create_approved_draft(team.anna)

    with pytest.raises(ConflictError, match="asks for 2 approvals, and only anna approved this draft") as refused:
        await team.anna.posting.post(draft_id)
    assert f"copydesk draft countersign {draft_id[-6:]}" in refused.value.hint
    assert ((await team.anna.drafts.get(draft_id)).status, team.posts) == (Status.APPROVED, 0)

    await team.ben.drafts.activity.countersign(draft_id)
    await team.anna.posting.post(draft_id)
    assert team.posts == 1


async def test_account_where_it_is_posted_asks_for_no_further_approval(team: Team) -> None:
    await team.anna.accounts.require_approvals("fake:me", 1)
    draft_id = await create_approved_draft(team.anna)
    await team.anna.posting.post(draft_id)
    await team.anna.accounts.require_approvals("fake:me", 2)

    with pytest.raises(ConflictError, match="Already posted to fake:me; nothing"):
        await team.anna.posting.post(draft_id)

    await connect_account(team.anna, "you")
    assert (await team.anna.posting.post(draft_id)).posted == ("fake:you",)


async def test_scheduled_draft_waits_for_the_second_approval(team: Team) -> None:
    draft_id = await create_approved_draft(team.anna)
    await team.anna.drafts.change(draft_id, {"action": "schedule", "scheduledAt": NOW + HOUR})
    team.watch.now += HOUR

    assert await team.tick() == (0, 0)
    # It has an account, so none is reported as missing.
    assert await team.anna.schedule.due_drafts.check() == DueDraftsCheck()

    await team.ben.drafts.activity.countersign(draft_id)
    assert await team.tick() == (1, 0)


async def test_scheduled_draft_without_the_second_approval_is_missed(team: Team) -> None:
    draft_id = await create_approved_draft(team.anna)
    await team.anna.drafts.change(draft_id, {"action": "schedule", "scheduledAt": NOW + HOUR})
    team.watch.now += 2 * HOUR

    assert await team.tick() == (0, 1)

    draft = await team.anna.drafts.get(draft_id)
    assert (draft.status, draft.last_error) == (
        Status.MISSED,
        "Too few reviewers had approved it when it was due; nothing was sent.",
    )


async def test_edit_after_both_approvals_needs_another_one(team: Team) -> None:
    draft_id = await create_approved_draft(team.anna)
    await team.ben.drafts.activity.countersign(draft_id)
    await team.anna.drafts.edit(draft_id, "Other words.")

    with pytest.raises(ConflictError, match="only anna approved"):
        await team.anna.posting.post(draft_id)


async def approvers(desk: Desk, draft_id: str) -> list[str]:
    """Return who has approved the draft."""
    return [approval.reviewer for approval in (await desk.drafts.activity.get(draft_id)).approvals]


async def test_undo_takes_back_one_approval_at_a_time(team: Team) -> None:
    draft_id = await create_approved_draft(team.anna)
    await team.ben.drafts.activity.countersign(draft_id)

    undone = await team.ben.drafts.undo(draft_id)
    assert (undone.action, await approvers(team.anna, draft_id)) == ("countersign", ["anna"])
    await team.ben.drafts.redo(draft_id)
    assert await approvers(team.anna, draft_id) == ["anna", "ben"]

    await team.ben.drafts.undo(draft_id)
    await team.anna.drafts.undo(draft_id)
    assert (await approvers(team.anna, draft_id), (await team.anna.drafts.get(draft_id)).status) == (
        [],
        Status.AWAITING_REVIEW,
    )
    await team.anna.drafts.redo(draft_id)
    assert await approvers(team.anna, draft_id) == ["anna"]


@pytest.mark.parametrize("change", [{"text": "Other words."}, {"action": "unapprove"}, {"action": "reject"}])
async def test_undo_of_what_ended_approvals_restores_them(team: Team, change: dict[str, str]) -> None:
    draft_id = await create_approved_draft(team.anna)
    await team.ben.drafts.activity.countersign(draft_id)
    before = (await team.anna.drafts.activity.get(draft_id)).approvals

    await team.ben.drafts.change(draft_id, change)
    assert await approvers(team.anna, draft_id) == (["ben"] if "text" in change else [])
    await team.ben.drafts.undo(draft_id)

    assert (await team.anna.drafts.activity.get(draft_id)).approvals == before
    await team.anna.posting.post(draft_id)
    assert team.posts == 1


async def test_undo_of_a_time_leaves_approvals(team: Team) -> None:
    draft_id = await create_approved_draft(team.anna)
    await team.ben.drafts.activity.countersign(draft_id)
    await team.anna.drafts.schedule(draft_id, NOW + HOUR)
    await team.anna.drafts.undo(draft_id)
    assert await approvers(team.anna, draft_id) == ["anna", "ben"]


async def test_history_names_the_second_approval(team: Team) -> None:
    draft_id = await create_approved_draft(team.anna)
    await team.ben.drafts.activity.countersign(draft_id)
    event = (await team.anna.drafts.history(draft_id))[-1]
    assert event.action == "countersign"
    assert [approval.reviewer for approval in event.after["approvals"]] == ["anna", "ben"]
    assert "countersigned it" in (await team.anna.drafts.describe_history(draft_id)).lines[-1]
    await team.ben.drafts.undo(draft_id)
    assert "undid countersigning it" in (await team.anna.drafts.describe_history(draft_id)).lines[-1]


async def test_draft_edited_while_it_is_dispatched_waits_for_approvals(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft_id = await create_approved_draft(team.anna)
    await team.ben.drafts.activity.countersign(draft_id)
    await team.anna.drafts.change(draft_id, {"action": "schedule", "scheduledAt": NOW + HOUR})
    team.watch.now += HOUR
    due = team.anna.schedule.due_drafts
    apply_in_batches = due._apply_in_batches

    async def edit_first(*args: Any) -> object:
        # Between the reading of what is due and the transaction.
        await team.ben.drafts.change(draft_id, {"text": "Another thing worth saying."})
        return await apply_in_batches(*args)

    with monkeypatch.context() as patch:
        patch.setattr(due, "_apply_in_batches", edit_first)
        assert await due.dispatch_due() == ()
    assert (await team.anna.drafts.get(draft_id)).status is Status.SCHEDULED


async def test_text_edited_after_a_rejection_is_not_sent_again_with_too_few_approvals(team: Team) -> None:
    draft_id = await create_approved_draft(team.anna)
    await team.ben.drafts.activity.countersign(draft_id)
    team.server.faults.append(Fault.REFUSED)
    await team.anna.posting.post(draft_id)
    (delivery,) = await team.anna.posting.list_deliveries(draft_id)
    await team.anna.drafts.edit(draft_id, "Other words.")

    with pytest.raises(ConflictError, match="asks for 2 approvals, and only anna approved this draft"):
        await team.anna.posting.resend(delivery.id)
    assert ((await team.anna.drafts.get(draft_id)).status, team.posts) == (Status.APPROVED, 0)

    await team.ben.drafts.activity.countersign(draft_id)
    await team.anna.posting.resend(delivery.id)
    assert team.posts == 1


async def test_text_with_too_few_approvals_is_not_sent_again_while_it_is_posted_elsewhere(team: Team) -> None:
    await connect_account(team.anna, "you")
    draft_id = await create_approved_draft(team.anna)
    await team.ben.drafts.activity.countersign(draft_id)
    team.server.faults.append(Fault.REFUSED)
    await team.anna.posting.post(draft_id, ["fake:me"])
    (refused,) = await team.anna.posting.list_deliveries(draft_id)
    await team.anna.drafts.edit(draft_id, "Other words.")
    team.server.faults.append(Fault.THROTTLED)
    await team.anna.posting.post(draft_id, ["fake:you"])
    assert (await team.anna.drafts.get(draft_id)).status is Status.POSTING

    with pytest.raises(ConflictError, match="asks for 2 approvals, and only anna approved this draft"):
        await team.anna.posting.resend(refused.id)
    assert team.posts == 0


async def test_countersign_all_signs_what_lacks_it_and_is_undone_as_one(team: Team) -> None:
    first, second, own = [await create_approved_draft(team.anna, f"Draft {number}.") for number in range(3)]
    await team.ben.drafts.activity.countersign(own)
    mine = await create_approved_draft(team.ben, "By Ben.")

    signed = await team.ben.drafts.activity.countersign_all([first, second, own, mine])

    assert signed.succeeded == (first, second)
    assert list(signed.failed) == [mine]
    assert "ben has approved this draft already" in signed.failed[mine]
    assert set((await team.ben.drafts.undo()).succeeded) == {first, second}
    assert await approvers(team.anna, first) == ["anna"]


async def test_scheduled_draft_that_lacks_an_approval_needs_you(team: Team) -> None:
    draft_id = await create_approved_draft(team.anna)
    assert (await team.ben.posting.needs_you()).approvals == ()
    await team.anna.schedule.set_slots([Slot(day_of_week=day, hour=9, minute=0) for day in range(7)])
    assert (await team.anna.schedule.auto_schedule([draft_id], dry_run=True)).lacking_approvals == 1
    await team.anna.drafts.schedule(draft_id, NOW + HOUR)

    (question,) = (await team.ben.posting.needs_you()).approvals
    assert (question.draft_id, question.approved_by, question.required, question.is_due) == (
        draft_id,
        ("anna",),
        2,
        False,
    )
    assert question.known.startswith("It is scheduled, and will wait for another approval: only anna approved")
    assert (await team.ben.status()).needing_user == 1
    team.watch.now += HOUR
    assert (await team.ben.posting.needs_you()).approvals[0].is_due

    await team.ben.drafts.activity.countersign(draft_id)
    assert ((await team.ben.posting.needs_you()).approvals, (await team.ben.status()).needing_user) == ((), 0)


async def test_account_asks_for_one_approval_again(team: Team) -> None:
    (account,) = await team.anna.accounts.list()
    assert account.approvals == 2
    changed = await team.anna.accounts.require_approvals(account.label, 1)

    assert (changed.approvals, (await team.ben.accounts.list())[0].approvals) == (1, 1)
    await team.anna.posting.post(await create_approved_draft(team.anna))
    assert team.posts == 1


async def test_account_that_signs_in_again_asks_for_two_approvals_until_it_is_removed(team: Team) -> None:
    await connect_account(team.anna)
    assert [account.approvals for account in await team.anna.accounts.list()] == [2]
    await team.anna.accounts.remove("fake:me")
    await connect_account(team.anna)
    assert [account.approvals for account in await team.anna.accounts.list()] == [1]


@pytest.mark.parametrize("count", [0, 3])
async def test_other_numbers_of_approvals_are_refused(team: Team, count: int) -> None:
    with pytest.raises(InvalidError):
        await team.anna.accounts.require_approvals("fake", count)
    with pytest.raises(NotFoundError):
        await team.anna.accounts.require_approvals("mastodon", 2)
