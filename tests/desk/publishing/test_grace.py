"""Tests for posts that are late: given up after their grace period, or continued."""

from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.model.delivery import StepResult
from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import NotSentError
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
        await desk.posting.give_up_late()
        assert await draft_status(desk, draft_id) == "posting"
        watch.now += MINUTE
        assert (await desk.job_leases.due_work()).late
        await desk.posting.give_up_late()
        expired = await desk.drafts.get(draft_id)
        assert (expired.status, server.posts) == ("approved", ())
        assert "Missed: more than 30 minutes late. Nothing was posted." in (expired.last_error or "")
        await connect_account(desk)
        assert await desk.posting.send_due() == ()


async def test_started_post_is_retried_for_another_hour(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.NO_CONNECTION)
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id, wait=0.5)
        await desk.posting.drain()
        watch.now = NOW + 80 * MINUTE
        await desk.posting.give_up_late()
        assert len(await desk.posting.send_due()) == 1
        assert await draft_status(desk, draft_id) == "posted"


async def test_post_is_given_up_after_retry_window(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.NO_CONNECTION)
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id, wait=0.5)
        await desk.posting.drain()
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
        await desk.posting.drain()
        watch.now = NOW + timedelta(days=1)
        await desk.posting.give_up_late()
        await desk.posting.send_due()
        assert await draft_status(desk, draft_id) == "posted"
    assert [post.text for post in server.posts] == ["One.", "Two."]


class ThrottlingPlatform(FakePlatform):
    """A platform that asks to come back in 25 hours."""

    async def send(self, *_: object) -> StepResult:
        raise NotSentError("Too many requests.", retry_after=self.server.clock() + timedelta(seconds=90_000))


def throttling_platforms(watch: Watch) -> dict[str, FakePlatform]:
    server = FakeServer()
    server.clock = watch
    return {"fake": ThrottlingPlatform(server)}


async def test_retry_after_the_grace_period_gives_up_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    watch = Watch()
    async with open_posting_desk(tmp_path, throttling_platforms(watch), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        result = await desk.posting.post(draft_id)
        message = (
            "Too many requests. The next attempt would be in 25 hours, after the grace period of 30 minutes. "
            "Nothing was posted."
        )
        assert (result.failed, result.under_way, result.draft.status) == ((ME,), (), "approved")
        assert result.draft.last_error == f"{ME}: {message}"
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.says == f"Given up: {message} Post or schedule the draft again."
    assert f"Gave up {draft_id} to {ME}: {message}" in caplog.text


async def test_retry_after_within_the_grace_period_is_waited_for(tmp_path: Path) -> None:
    watch = Watch()
    async with open_posting_desk(tmp_path, throttling_platforms(watch), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk, "# Long\n\nText.", "BLOG")
        assert (await desk.posting.post(draft_id)).under_way == (ME,)


async def test_delivery_given_up_for_being_late_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LOGIN)
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        watch.now = NOW + 31 * MINUTE
        (report,) = await desk.posting.give_up_late()
        assert (report.situation, report.next_by) == ("given_up", "user")
        assert await desk.posting.give_up_late() == ()
    assert caplog.text.count(f"Gave up {draft_id} to {ME}: Missed") == 1
