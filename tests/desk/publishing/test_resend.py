"""Tests for retries: nothing is posted twice, and nothing that is not approved."""

import re
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from copydesk.errors import ConflictError
from copydesk.model.delivery import Account, DeliveryStep, Intent
from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import Post
from desk_fixtures import NOW, Watch
from posting_fixtures import (
    ME,
    YOU,
    connect_account,
    create_approved_draft,
    draft_status,
    fake_platforms,
    open_posting_desk,
)

MINUTE = timedelta(minutes=1)


async def test_reconnected_account_is_the_same_account(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk), await connect_account(desk, "you")
        draft_id = await create_approved_draft(desk)
        assert (await desk.posting.post(draft_id, [ME])).posted == (ME,)
        await desk.accounts.remove(ME)
        await connect_account(desk)
        with pytest.raises(ConflictError, match="Already posted to fake:me; nothing"):
            await desk.posting.post(draft_id, [ME])
        assert (await desk.posting.post(draft_id)).posted == (YOU,)
    assert [post.account for post in server.posts] == ["me", "you"]


async def test_failed_delivery_is_retried_on_reconnected_account(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        assert (await desk.posting.post(draft_id)).failed == (ME,)
        await desk.accounts.remove(ME)
        await connect_account(desk)
        assert (await desk.posting.post(draft_id)).posted == (ME,)
    assert len(server.posts) == 1


async def test_two_accounts_with_one_name_get_the_post(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        await connect_account(desk, "other", display_name="me")
        result = await desk.posting.post(await create_approved_draft(desk))
        assert (len(result.posted), result.failed) == (2, ())
    assert sorted(post.account for post in server.posts) == ["me", "other"]


async def test_rejected_draft_is_not_resent(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
        await desk.drafts.reject(draft_id, "Not this one.")
        with pytest.raises(ConflictError):
            await desk.posting.resend(report.id)
        assert await draft_status(desk, draft_id) == "rejected"
    assert server.posts == ()


async def test_archived_draft_is_not_resent(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
        await desk.drafts.archive(draft_id)
        with pytest.raises(ConflictError):
            await desk.posting.resend(report.id)
    assert server.posts == ()


async def test_abandoned_unknown_delivery_needs_explicit_resend(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LATE)
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id, wait=0)
        await desk.posting.drain()
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.state == "unknown"
        abandoned = await desk.posting.give_up(report.id)
        assert abandoned.says.startswith("Given up by you. It is unknown whether it was posted.")
        assert re.search(r"copydesk delivery posted \w+, or copydesk delivery resend \w+", abandoned.says)
        assert [blocker.message for blocker in await desk.posting.blockers(draft_id)] == [abandoned.says]
        with pytest.raises(ConflictError, match="It may already be posted to fake:me; nothing"):
            await desk.posting.post(draft_id)
        with pytest.raises(ConflictError, match=r"The last request may still arrive.* Try again in 2 minutes\."):
            await desk.posting.resend(report.id)
        watch.now += MINUTE
        with pytest.raises(ConflictError, match=r"Try again in 1 minute\."):
            await desk.posting.resend(report.id)
        await desk.drafts.schedule(draft_id, NOW + 10 * MINUTE)
        watch.now += 10 * MINUTE
        assert len(await desk.schedule.due_drafts.dispatch_due()) == 1
        assert await draft_status(desk, draft_id) == "approved"
        assert await desk.posting.send_due() == ()
        assert server.posts == ()
        assert (await desk.posting.resend(report.id)).state == "sent"
    assert len(server.posts) == 1


async def test_lookup_sends_nothing_when_clock_jumps(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.extend([Fault.LATE, Fault.CUT_BEFORE])
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id, wait=0)
        await desk.posting.drain()
        (report,) = await desk.posting.list_deliveries(draft_id)
        reading = desk.schedule._clock_guard.monotonic()
        desk.schedule._clock_guard.monotonic = lambda: reading
        for _ in range(3):
            watch.now += timedelta(hours=1)
            assert (await desk.posting.check_delivery(report.id)).state == "unknown"
    assert server.posts == ()


async def test_draft_stays_scheduled_when_accounts_are_removed(tmp_path: Path) -> None:
    watch = Watch()
    async with open_posting_desk(tmp_path, fake_platforms(), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.drafts.schedule(draft_id, NOW + MINUTE)
        watch.now += MINUTE
        due_drafts = desk.schedule.due_drafts
        due = await due_drafts._load_due_drafts(watch.now)
        await desk.accounts.remove(ME)

        async def stale_due(_: object) -> object:
            return due

        due_drafts._load_due_drafts = stale_due
        assert await due_drafts.dispatch_due() == ()
        assert await draft_status(desk, draft_id) == "scheduled"


class DraftThenPublishPlatform(FakePlatform):
    """As some blogs do: create a hidden post first, then publish it by its id."""

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        (create_step,) = super().render(post, account, seed).steps
        publish_step = DeliveryStep(keys=(f"{create_step.keys[0]}-shown",), body={"text": "published"})
        return Intent(steps=(msgspec.structs.replace(create_step, hidden=True), publish_step), at=post.at)


async def test_edited_text_replaces_hidden_post(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.extend([None, Fault.REFUSED])
    async with open_posting_desk(tmp_path, {"fake": DraftThenPublishPlatform(server)}) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk, "It is wrnog.")
        assert (await desk.posting.post(draft_id)).failed == (ME,)
        await desk.drafts.edit(draft_id, "It is right.")
        assert (await desk.posting.post(draft_id)).posted == (ME,)
    assert [(post.text, post.parent) for post in server.posts][1:] == [("It is right.", None), ("published", "2")]


async def test_hidden_post_is_not_live(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.extend([None, Fault.REFUSED])
    async with open_posting_desk(tmp_path, {"fake": DraftThenPublishPlatform(server)}) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        await desk.drafts.edit(draft_id, "x" * 600)
        result = await desk.posting.post(draft_id)
        assert (result.failed, result.draft.status, result.draft.post_id) == ((ME,), "approved", None)


class ShorteningPlatform(FakePlatform):
    """A platform that renders a thread in one post less each time, as another version may."""

    renderings = 0

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        intent = super().render(post, account, seed)
        self.renderings += 1
        return msgspec.structs.replace(intent, steps=intent.steps[: 3 - self.renderings])


async def test_nothing_is_sent_if_all_posts_are_online(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.extend([None, Fault.REFUSED])
    async with open_posting_desk(tmp_path, {"fake": ShorteningPlatform(server)}) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk, "One.\n\n---\n\nTwo.", "THREAD")
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
        resent = await desk.posting.resend(report.id)
        message = "Some posts are online. Not posted: All of its posts are already online; nothing was sent."
        assert resent.says.startswith(message)
    assert [post.text for post in server.posts] == ["One."]
