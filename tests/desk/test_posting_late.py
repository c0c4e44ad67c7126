"""What waits too long to go out does not go out by itself."""

from datetime import timedelta
from pathlib import Path

from copydesk.posting.fake import FakeServer, Fault
from desk_fixtures import NOW, Watch
from posting_fixtures import ME, approved, connect, fake, open_posting, status_of

MINUTE = timedelta(minutes=1)


async def test_a_post_that_waits_for_a_login_is_given_up_after_its_grace(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LOGIN)
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        assert (await desk.posting.post(draft)).under_way == (ME,)
        watch.now = NOW + 30 * MINUTE
        await desk.schedule.picking_up.miss()
        assert await status_of(desk, draft) == "posting"
        watch.now += MINUTE
        assert (await desk.work.outlook()).late
        await desk.schedule.picking_up.miss()
        shown = await desk.drafts.get(draft)
        assert (shown.status, server.posts) == ("approved", ())
        assert "It was late by more than 30 minutes; nothing was sent." in (shown.last_error or "")
        await connect(desk)
        assert await desk.posting.send_due() == ()


async def test_what_was_begun_in_time_is_tried_for_another_hour(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.NO_CONNECTION)
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.posting.post(draft, wait=0.5)
        watch.now = NOW + 80 * MINUTE
        await desk.schedule.picking_up.miss()
        assert len(await desk.posting.send_due()) == 1
        assert await status_of(desk, draft) == "posted"


async def test_a_platform_that_wants_to_be_asked_tomorrow_is_not_asked_by_itself(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.NO_CONNECTION)
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.posting.post(draft, wait=0.5)
        watch.now = NOW + 91 * MINUTE
        await desk.posting.send_due()
        assert (await status_of(desk, draft), server.posts) == ("approved", ())


async def test_a_thread_that_is_partly_there_is_gone_on_with_however_late(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.extend([None, Fault.NO_CONNECTION])
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk, "One.\n\n---\n\nTwo.", "THREAD")
        await desk.posting.post(draft, wait=0.5)
        watch.now = NOW + timedelta(days=1)
        await desk.schedule.picking_up.miss()
        await desk.posting.send_due()
        assert await status_of(desk, draft) == "posted"
    assert [post.text for post in server.posts] == ["One.", "Two."]
