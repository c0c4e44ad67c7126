"""What is asked for once more: nothing goes out a second time by it, and nothing that was not approved."""

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


async def test_an_account_that_was_removed_and_connected_again_is_the_same_one(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk), await connect(desk, "you")
        draft = await approved(desk)
        assert (await desk.posting.post(draft, [ME])).posted == (ME,)
        await desk.accounts.remove(ME)
        await connect(desk)
        with pytest.raises(ConflictError, match="It is live there already"):
            await desk.posting.post(draft, [ME])
        assert (await desk.posting.post(draft)).posted == (YOU,)
    assert [post.account for post in server.posts] == ["me", "you"]


async def test_what_came_to_nothing_goes_to_the_account_that_was_connected_again(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk)
        draft = await approved(desk)
        assert (await desk.posting.post(draft)).failed == (ME,)
        await desk.accounts.remove(ME)
        await connect(desk)
        assert (await desk.posting.post(draft)).posted == (ME,)
    assert len(server.posts) == 1


async def test_two_accounts_of_one_name_both_get_it(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk)
        await connect(desk, "other", called="me")
        result = await desk.posting.post(await approved(desk))
        assert (len(result.posted), result.failed) == (2, ())
    assert sorted(post.account for post in server.posts) == ["me", "other"]


async def test_a_draft_that_was_turned_down_since_is_not_sent_again(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.posting.post(draft)
        (report,) = await desk.posting.deliveries(draft)
        await desk.drafts.reject(draft, "Not this one.")
        with pytest.raises(ConflictError):
            await desk.posting.send_again(report.id)
        assert await status_of(desk, draft) == "rejected"
    assert server.posts == ()


async def test_an_archived_draft_is_not_sent_again(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.posting.post(draft)
        (report,) = await desk.posting.deliveries(draft)
        await desk.drafts.archive(draft)
        with pytest.raises(ConflictError):
            await desk.posting.send_again(report.id)
    assert server.posts == ()


async def test_what_was_given_up_in_doubt_goes_out_again_only_by_its_own_command(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LATE)
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.posting.post(draft, wait=0)
        await desk.posting.finish()
        (report,) = await desk.posting.deliveries(draft)
        assert report.state == "unknown"
        given_up = await desk.posting.give_up(report.id)
        assert given_up.says.startswith("Given up: It is not known whether it was posted.")
        assert [stop.message for stop in await desk.posting.stops(draft)] == [given_up.says]
        with pytest.raises(ConflictError, match="Nobody knows whether it is there already"):
            await desk.posting.post(draft)
        with pytest.raises(ConflictError, match="The last request may arrive yet"):
            await desk.posting.send_again(report.id)
        await desk.drafts.schedule(draft, NOW + 10 * MINUTE)
        watch.now += 10 * MINUTE
        assert len(await desk.schedule.picking_up.pick_up()) == 1
        assert await status_of(desk, draft) == "approved"
        assert await desk.posting.send_due() == ()
        assert server.posts == ()
        assert (await desk.posting.send_again(report.id)).state == "sent"
    assert len(server.posts) == 1


async def test_a_look_that_is_asked_for_sends_nothing_by_a_clock_that_jumped(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.extend([Fault.LATE, Fault.CUT_BEFORE])
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.posting.post(draft, wait=0)
        await desk.posting.finish()
        (report,) = await desk.posting.deliveries(draft)
        steady = desk.schedule.clock.steady()
        desk.schedule.clock.steady = lambda: steady
        for _ in range(3):
            watch.now += timedelta(hours=1)
            assert (await desk.posting.look(report.id)).state == "unknown"
    assert server.posts == ()


async def test_a_draft_whose_accounts_were_removed_as_it_was_picked_up_stays_scheduled(tmp_path: Path) -> None:
    watch = Watch()
    async with open_posting(tmp_path, fake(), clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.drafts.schedule(draft, NOW + MINUTE)
        watch.now += MINUTE
        picking_up = desk.schedule.picking_up
        due = await picking_up._due(watch.now)
        await desk.accounts.remove(ME)

        async def before(_: object) -> object:
            return due

        picking_up._due = before
        assert await picking_up.pick_up() == ()
        assert await status_of(desk, draft) == "scheduled"


class Drafting(FakePlatform):
    """As a blog: what nobody sees is made first, and then published by its id."""

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        (step,) = super().render(post, account, seed).steps
        shown = Step(keys=(f"{step.keys[0]}-shown",), body={"text": "published"})
        return Intent(steps=(msgspec.structs.replace(step, hidden=True), shown), at=post.at)


async def test_a_text_that_was_mended_does_not_go_out_as_it_was_hidden_on_the_platform(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.extend([None, Fault.REFUSED])
    async with open_posting(tmp_path, {"fake": Drafting(server)}) as desk:
        await connect(desk)
        draft = await approved(desk, "It is wrnog.")
        assert (await desk.posting.post(draft)).failed == (ME,)
        await desk.drafts.edit(draft, "It is right.")
        assert (await desk.posting.post(draft)).posted == (ME,)
    assert [(post.text, post.parent) for post in server.posts][1:] == [("It is right.", None), ("published", "2")]


async def test_what_nobody_sees_is_not_live(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.extend([None, Fault.REFUSED])
    async with open_posting(tmp_path, {"fake": Drafting(server)}) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.posting.post(draft)
        await desk.drafts.edit(draft, "x" * 600)
        result = await desk.posting.post(draft)
        assert (result.failed, result.draft.status, result.draft.post_id) == ((ME,), "approved", None)
