"""Figures that are asked for now, whenever they are due."""

from datetime import timedelta
from pathlib import Path

from copydesk.model.delivery import Figures
from copydesk.posting.fake import FakeServer
from desk_fixtures import Watch
from posting_fixtures import approved, connect, fake, open_posting


async def test_a_draft_s_figures_are_read_at_once_and_again_when_they_are_due(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        shown, other = await approved(desk), await approved(desk, "Another thing.")
        for draft_id in (shown, other):
            post_id = (await desk.posting.post(draft_id)).draft.post_id
            server.figures[post_id or ""] = Figures(likes=3)

        assert await desk.posting.refresh_figures([shown]) == 1
        (known, unknown) = await desk.engagement.posts()
        assert (known.draft_id, known.likes, known.account) == (shown, 3, "me")
        assert (unknown.draft_id, unknown.likes) == (other, None)
        assert await desk.posting.read_figures() == 0
        watch.now += timedelta(hours=1)
        assert await desk.posting.read_figures() == 2


async def test_after_the_last_reading_they_can_still_be_asked_for(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft_id = await approved(desk)
        post_id = (await desk.posting.post(draft_id)).draft.post_id
        watch.now += timedelta(days=60)
        await desk.posting.read_figures()
        server.figures[post_id or ""] = Figures(likes=9)

        assert await desk.posting.refresh_figures([draft_id]) == 1
        assert (await desk.engagement.posts())[0].likes == 9


async def test_what_was_never_sent_is_not_asked_for(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake()) as desk:
        draft_id = await approved(desk)
        await desk.engagement.record({"draftId": draft_id, "platform": "x", "likes": 1})

        assert await desk.posting.refresh_figures([draft_id]) == 0


async def test_a_post_that_was_noticed_to_be_gone_is_not_asked_for_again(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk)
        draft_id = await approved(desk)
        server.remove((await desk.posting.post(draft_id)).draft.post_id or "")

        assert await desk.posting.refresh_figures([draft_id]) == 1
        assert await desk.posting.refresh_figures([draft_id]) == 0
