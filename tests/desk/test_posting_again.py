"""What is asked for once more: nothing goes out a second time by it, and nothing that was not approved."""

from pathlib import Path

import pytest

from copydesk.errors import ConflictError
from copydesk.posting.fake import FakeServer, Fault
from posting_fixtures import ME, YOU, approved, connect, fake, open_posting, status_of


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
