"""Tests for collecting metrics on request."""

from datetime import timedelta
from pathlib import Path

import msgspec

from copydesk.model.delivery import PostMetrics, StepResult
from copydesk.posting.fake import FakePlatform, FakeServer
from desk_fixtures import Watch, query_db
from posting_fixtures import connect_account, create_approved_draft, fake_platforms, open_posting_desk


async def test_metrics_are_read_now_and_when_due(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        refreshed, other = await create_approved_draft(desk), await create_approved_draft(desk, "Another thing.")
        for draft_id in (refreshed, other):
            post_id = (await desk.posting.post(draft_id)).draft.post_id
            server.metrics[post_id or ""] = PostMetrics(likes=3)

        assert await desk.posting.refresh_metrics([refreshed]) == 1
        (refreshed_post, other_post) = await desk.engagement.top_posts()
        assert (refreshed_post.draft_id, refreshed_post.likes, refreshed_post.account) == (refreshed, 3, "me")
        assert (other_post.draft_id, other_post.likes) == (other, None)
        assert await desk.posting.collect_metrics() == 0
        watch.now += timedelta(hours=1)
        assert await desk.posting.collect_metrics() == 2


async def test_metrics_can_be_read_after_last_scheduled_reading(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        post_id = (await desk.posting.post(draft_id)).draft.post_id
        watch.now += timedelta(days=60)
        await desk.posting.collect_metrics()
        server.metrics[post_id or ""] = PostMetrics(likes=9)

        assert await desk.posting.refresh_metrics([draft_id]) == 1
        assert (await desk.engagement.top_posts())[0].likes == 9


async def test_unsent_draft_is_not_read(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        draft_id = await create_approved_draft(desk)
        await desk.engagement.record({"draftId": draft_id, "platform": "x", "likes": 1})

        assert await desk.posting.refresh_metrics([draft_id]) == 0


async def test_post_without_id_is_read_once(tmp_path: Path) -> None:
    """A webhook need not name what it created; without a name its post has no metrics."""

    class AnonymousPlatform(FakePlatform):
        async def send(self, *args: object) -> StepResult:
            return msgspec.structs.replace(await super().send(*args), ids=())

    watch = Watch()
    async with open_posting_desk(tmp_path, {"fake": AnonymousPlatform(FakeServer())}, clock=watch) as desk:
        await connect_account(desk)
        await desk.posting.post(await create_approved_draft(desk))
        watch.now += timedelta(hours=1)
        assert await desk.posting.collect_metrics() == 0
    assert query_db(tmp_path, "SELECT figures_at FROM delivery") == [(None,)]


async def test_deleted_post_is_not_reread(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        server.remove((await desk.posting.post(draft_id)).draft.post_id or "")

        assert await desk.posting.refresh_metrics([draft_id]) == 1
        assert await desk.posting.refresh_metrics([draft_id]) == 0
