"""Tests for posts that are late: given up after their grace period, or continued."""

from datetime import timedelta
from pathlib import Path

from copydesk.posting.fake import FakeServer, Fault
from desk_fixtures import NOW, Watch
from posting_fixtures import ME, connect_account, create_approved_draft, draft_status, fake_platforms, open_posting_desk

MINUTE = timedelta(minutes=1)


async def test_post_waiting_for_login_expires(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LOGIN)
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        assert (await desk.posting.post(draft_id)).under_way == (ME,)
        watch.now = NOW + 30 * MINUTE
        await desk.schedule.due_drafts.mark_missed()
        assert await draft_status(desk, draft_id) == "posting"
        watch.now += MINUTE
        assert (await desk.job_leases.due_work()).late
        await desk.schedule.due_drafts.mark_missed()
        expired = await desk.drafts.get(draft_id)
        assert (expired.status, server.posts) == ("approved", ())
        assert "Missed: more than 30 minutes late. Nothing was sent." in (expired.last_error or "")
        await connect_account(desk)
        assert await desk.posting.send_due() == ()


async def test_started_post_is_retried_for_another_hour(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.NO_CONNECTION)
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id, wait=0.5)
        watch.now = NOW + 80 * MINUTE
        await desk.schedule.due_drafts.mark_missed()
        assert len(await desk.posting.send_due()) == 1
        assert await draft_status(desk, draft_id) == "posted"


async def test_post_is_given_up_after_retry_window(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.NO_CONNECTION)
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id, wait=0.5)
        watch.now = NOW + 91 * MINUTE
        await desk.posting.send_due()
        assert (await draft_status(desk, draft_id), server.posts) == ("approved", ())


async def test_partly_posted_thread_is_always_continued(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.extend([None, Fault.NO_CONNECTION])
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk, "One.\n\n---\n\nTwo.", "THREAD")
        await desk.posting.post(draft_id, wait=0.5)
        watch.now = NOW + timedelta(days=1)
        await desk.schedule.due_drafts.mark_missed()
        await desk.posting.send_due()
        assert await draft_status(desk, draft_id) == "posted"
    assert [post.text for post in server.posts] == ["One.", "Two."]
