"""Tests for an account that was removed and connected again: its deliveries are the account's own again."""

from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.errors import ConflictError
from copydesk.model.delivery import Account, PostMetrics
from copydesk.posting.fake import FakeServer, Fault
from copydesk.posting.platform import ConnectResult
from desk_fixtures import NOW, Watch
from posting_fixtures import ME, connect_account, create_approved_draft, draft_status, fake_platforms, open_posting_desk

HOUR = timedelta(hours=1)


async def sign_in(desk: Desk, name: str = "me", *, server: str = "https://fake.example", handle: str = "") -> None:
    """Connect an account as signing in does."""
    details = Account(platform="fake", server=server, id=name, name=handle or name)
    await desk.accounts._save(ConnectResult(account=details, credentials={}))


async def test_new_handle_is_the_same_account(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await sign_in(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        await desk.accounts.remove(ME)
        await sign_in(desk, handle="me.new")
        with pytest.raises(ConflictError, match="Already posted there"):
            await desk.posting.post(draft_id)
    assert len(server.posts) == 1


async def test_new_handle_connected_by_an_earlier_version_is_the_same_account(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await sign_in(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        await desk.accounts.remove(ME)
        # Without assigning its deliveries to it.
        await connect_account(desk, display_name="me.new")
        with pytest.raises(ConflictError, match="Already posted there"):
            await desk.posting.post(draft_id)
    assert len(server.posts) == 1


async def test_account_whose_name_was_taken_is_the_same_account(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await sign_in(desk, "one", handle="me")
        await sign_in(desk, "two", handle="me")
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        _, second = await desk.accounts.list()
        await desk.accounts.remove(second.id)
        await sign_in(desk, second.details.id, handle="me")
        with pytest.raises(ConflictError, match="Already posted there"):
            await desk.posting.post(draft_id)
    assert len(server.posts) == 2


async def test_delivery_in_doubt_stays_in_doubt_and_can_be_resent(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LATE)
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await sign_in(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id, wait=0)
        await desk.posting.drain()
        (report,) = await desk.posting.list_deliveries(draft_id)
        await desk.posting.give_up(report.id)
        await desk.accounts.remove(ME)
        with pytest.raises(ConflictError, match="The account was removed"):
            await desk.posting.resend(report.id)
        await sign_in(desk)
        with pytest.raises(ConflictError, match=r"It may already be posted there.* copydesk delivery resend"):
            await desk.posting.post(draft_id)
        assert server.posts == ()
        watch.now += HOUR
        assert (await desk.posting.resend(report.id)).state == "sent"
    assert len(server.posts) == 1


async def test_same_text_is_not_sent_again_after_reconnecting(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await sign_in(desk)
        first_id, second_id = [await create_approved_draft(desk) for _ in range(2)]
        await desk.posting.post(first_id)
        await desk.accounts.remove(ME)
        await sign_in(desk)
        assert [blocker.message for blocker in await desk.posting.blockers(second_id)] == [
            "The same text was posted there on 10 February."
        ]
        assert (await desk.posting.post(second_id)).failed == (ME,)
    assert len(server.posts) == 1


async def test_metrics_are_read_again(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await sign_in(desk)
        result = await desk.posting.post(await create_approved_draft(desk))
        server.metrics[result.draft.post_id or ""] = PostMetrics(likes=3)
        await desk.accounts.remove(ME)
        watch.now += HOUR
        assert await desk.posting.collect_metrics() == 0
        await sign_in(desk)
        watch.now += 5 * HOUR
        assert await desk.posting.collect_metrics() == 1


async def test_scheduled_draft_goes_to_the_reconnected_account_once(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await sign_in(desk)
        draft_id = await create_approved_draft(desk, targetPlatforms=["fake"])
        await desk.drafts.schedule(draft_id, NOW + HOUR)
        await desk.accounts.remove(ME)
        watch.now += HOUR
        assert await desk.schedule.due_drafts.dispatch_due() == ()
        assert [missing.due for missing in await desk.posting.list_missing_accounts()] == [1]
        await sign_in(desk, handle="me.new")
        assert len(await desk.schedule.due_drafts.dispatch_due()) == 1
        await desk.posting.send_due()
        assert await draft_status(desk, draft_id) == "posted"
        assert await desk.schedule.due_drafts.dispatch_due() == ()
    assert len(server.posts) == 1


async def test_other_account_takes_nothing_over(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await sign_in(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
        await desk.accounts.remove(ME)
        await sign_in(desk, server="https://other.example")
        with pytest.raises(ConflictError, match="The account was removed"):
            await desk.posting.resend(report.id)
    assert server.posts == ()


async def test_posted_draft_names_the_target_that_was_not_connected(tmp_path: Path) -> None:
    watch = Watch()
    async with open_posting_desk(tmp_path, fake_platforms(), clock=watch) as desk:
        await sign_in(desk), await sign_in(desk, "you")
        draft_id = await create_approved_draft(desk, targetPlatforms=["fake:me", "fake:you"])
        await desk.drafts.schedule(draft_id, NOW + HOUR)
        await desk.accounts.remove("fake:you")
        watch.now += HOUR
        await desk.schedule.due_drafts.dispatch_due()
        await desk.posting.send_due()
        draft = await desk.drafts.get(draft_id)
        assert (draft.status, draft.last_error) == (
            "posted",
            "fake:you: Not posted there, because it was not connected. Connect it and post the draft.",
        )
