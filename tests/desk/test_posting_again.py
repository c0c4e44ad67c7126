"""Tests for retries: nothing is posted twice, and nothing that is not approved."""

from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from copydesk.errors import ConflictError
from copydesk.model.delivery import Account, Intent, Step
from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import Post
from desk_fixtures import NOW, Watch
from posting_fixtures import ME, YOU, approved, connect, fake, open_posting, status_of

MINUTE = timedelta(minutes=1)


async def test_reconnected_account_is_the_same_account(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk), await connect(desk, "you")
        draft_id = await approved(desk)
        assert (await desk.posting.post(draft_id, [ME])).posted == (ME,)
        await desk.accounts.remove(ME)
        await connect(desk)
        with pytest.raises(ConflictError, match="It is live there already"):
            await desk.posting.post(draft_id, [ME])
        assert (await desk.posting.post(draft_id)).posted == (YOU,)
    assert [post.account for post in server.posts] == ["me", "you"]


async def test_failed_delivery_is_retried_on_reconnected_account(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk)
        draft_id = await approved(desk)
        assert (await desk.posting.post(draft_id)).failed == (ME,)
        await desk.accounts.remove(ME)
        await connect(desk)
        assert (await desk.posting.post(draft_id)).posted == (ME,)
    assert len(server.posts) == 1


async def test_two_accounts_with_one_name_get_the_post(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk)
        await connect(desk, "other", called="me")
        result = await desk.posting.post(await approved(desk))
        assert (len(result.posted), result.failed) == (2, ())
    assert sorted(post.account for post in server.posts) == ["me", "other"]


async def test_rejected_draft_is_not_resent(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk)
        draft_id = await approved(desk)
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.deliveries(draft_id)
        await desk.drafts.reject(draft_id, "Not this one.")
        with pytest.raises(ConflictError):
            await desk.posting.send_again(report.id)
        assert await status_of(desk, draft_id) == "rejected"
    assert server.posts == ()


async def test_archived_draft_is_not_resent(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk)
        draft_id = await approved(desk)
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.deliveries(draft_id)
        await desk.drafts.archive(draft_id)
        with pytest.raises(ConflictError):
            await desk.posting.send_again(report.id)
    assert server.posts == ()


async def test_abandoned_unknown_delivery_needs_explicit_resend(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LATE)
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft_id = await approved(desk)
        await desk.posting.post(draft_id, wait=0)
        await desk.posting.finish()
        (report,) = await desk.posting.deliveries(draft_id)
        assert report.state == "unknown"
        abandoned = await desk.posting.give_up(report.id)
        assert abandoned.says.startswith("Given up: It is not known whether it was posted.")
        assert [blocker.message for blocker in await desk.posting.stops(draft_id)] == [abandoned.says]
        with pytest.raises(ConflictError, match="Nobody knows whether it is there already"):
            await desk.posting.post(draft_id)
        with pytest.raises(ConflictError, match="The last request may arrive yet"):
            await desk.posting.send_again(report.id)
        await desk.drafts.schedule(draft_id, NOW + 10 * MINUTE)
        watch.now += 10 * MINUTE
        assert len(await desk.schedule.picking_up.pick_up()) == 1
        assert await status_of(desk, draft_id) == "approved"
        assert await desk.posting.send_due() == ()
        assert server.posts == ()
        assert (await desk.posting.send_again(report.id)).state == "sent"
    assert len(server.posts) == 1


async def test_lookup_sends_nothing_when_clock_jumps(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.extend([Fault.LATE, Fault.CUT_BEFORE])
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft_id = await approved(desk)
        await desk.posting.post(draft_id, wait=0)
        await desk.posting.finish()
        (report,) = await desk.posting.deliveries(draft_id)
        reading = desk.schedule.clock.steady()
        desk.schedule.clock.steady = lambda: reading
        for _ in range(3):
            watch.now += timedelta(hours=1)
            assert (await desk.posting.look(report.id)).state == "unknown"
    assert server.posts == ()


async def test_draft_stays_scheduled_when_accounts_are_removed(tmp_path: Path) -> None:
    watch = Watch()
    async with open_posting(tmp_path, fake(), clock=watch) as desk:
        await connect(desk)
        draft_id = await approved(desk)
        await desk.drafts.schedule(draft_id, NOW + MINUTE)
        watch.now += MINUTE
        due_drafts = desk.schedule.picking_up
        due = await due_drafts._due(watch.now)
        await desk.accounts.remove(ME)

        async def stale_due(_: object) -> object:
            return due

        due_drafts._due = stale_due
        assert await due_drafts.pick_up() == ()
        assert await status_of(desk, draft_id) == "scheduled"


class Drafting(FakePlatform):
    """As some blogs do: create a hidden post first, then publish it by its id."""

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        (create_step,) = super().render(post, account, seed).steps
        publish_step = Step(keys=(f"{create_step.keys[0]}-shown",), body={"text": "published"})
        return Intent(steps=(msgspec.structs.replace(create_step, hidden=True), publish_step), at=post.at)


async def test_edited_text_replaces_hidden_post(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.extend([None, Fault.REFUSED])
    async with open_posting(tmp_path, {"fake": Drafting(server)}) as desk:
        await connect(desk)
        draft_id = await approved(desk, "It is wrnog.")
        assert (await desk.posting.post(draft_id)).failed == (ME,)
        await desk.drafts.edit(draft_id, "It is right.")
        assert (await desk.posting.post(draft_id)).posted == (ME,)
    assert [(post.text, post.parent) for post in server.posts][1:] == [("It is right.", None), ("published", "2")]


async def test_hidden_post_is_not_live(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.extend([None, Fault.REFUSED])
    async with open_posting(tmp_path, {"fake": Drafting(server)}) as desk:
        await connect(desk)
        draft_id = await approved(desk)
        await desk.posting.post(draft_id)
        await desk.drafts.edit(draft_id, "x" * 600)
        result = await desk.posting.post(draft_id)
        assert (result.failed, result.draft.status, result.draft.post_id) == ((ME,), "approved", None)
