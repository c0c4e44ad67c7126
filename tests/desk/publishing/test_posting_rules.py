"""Tests for the user's own posting rules: checked before posting and on every post."""

import pytest

from copydesk.desk.publishing.payload import rule_violations
from copydesk.model.draft import Format
from copydesk.posting.fake import FakeServer
from copydesk.posting.platform import Post
from copydesk.settings import Posting
from desk_fixtures import NOW, FakeWeb
from image_samples import drawing
from posting_fixtures import ME, connect_account, create_approved_draft, draft_status, fake_platforms, open_posting_desk

REQUIRE_ALT = Posting(require_alt=True)
MESSAGE = "Image 2 has no alt text, required by the setting posting.require_alt."
REQUIRED = {"COPYDESK_POSTING__REQUIRE_ALT": "true"}
PICTURE = "https://pictures.example/a.png"


def post(*alts: str) -> Post:
    return Post(format=Format.SHORT, parts=("The quay.",), at=NOW, alts=alts)


@pytest.mark.parametrize(
    ("alts", "blockers"),
    [
        ((), ()),
        (("A quay", "A crane"), ()),
        (("A quay", ""), (MESSAGE,)),
        (("A quay", " \n"), (MESSAGE,)),
        (("", "A quay", ""), (MESSAGE.replace("Image 2 has", "Images 1, 3 have"),)),
    ],
)
def test_images_without_alt_are_listed(alts, blockers):
    assert rule_violations(post(*alts), REQUIRE_ALT) == blockers
    assert rule_violations(post(*alts), Posting()) == ()


@pytest.mark.parametrize("format", [Format.SHORT, Format.THREAD])
async def test_blank_text_is_stored_and_not_sent(tmp_path, format):
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk, text=" \n", format=format.value)
        assert [blocker.message for blocker in await desk.posting.blockers(draft_id)][-1:] == ["The text is empty."]

        result = await desk.posting.post(draft_id)
        assert result.failed == (ME,)
        assert server.posts == ()


@pytest.fixture
def web():
    web = FakeWeb()
    web.put(PICTURE, drawing())
    return web


def image_fields(*alts: str | None) -> dict[str, object]:
    return {"images": [{"url": PICTURE, "source": "UPLOAD", "alt": alt} for alt in alts]}


async def test_violation_is_reported_and_nothing_is_sent(tmp_path, web):
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server), **REQUIRED) as desk:
        desk._context.transport = web
        await connect_account(desk)
        draft_id = await create_approved_draft(desk, **image_fields("A quay", None))
        assert [blocker.message for blocker in await desk.posting.blockers(draft_id)] == [MESSAGE]

        result = await desk.posting.post(draft_id)
        assert (result.failed, result.draft.last_error) == ((ME,), f"{ME}: {MESSAGE}")
        assert await draft_status(desk, draft_id) == "approved"
    assert server.posts == ()


async def test_post_that_meets_rules_is_sent(tmp_path, web):
    server = FakeServer()
    for settings, alts in ((REQUIRED, ("A quay", "A crane")), ({}, ("A quay", None))):
        async with open_posting_desk(tmp_path, fake_platforms(server), **settings) as desk:
            desk._context.transport = web
            await connect_account(desk)
            draft_id = await create_approved_draft(desk, f"Two pictures, {alts[1]}.", **image_fields(*alts))
            assert await desk.posting.blockers(draft_id) == ()
            assert (await desk.posting.post(draft_id)).posted == (ME,)
    assert len(server.posts) == 2


@pytest.mark.parametrize(
    ("text", "format", "part"),
    [("x" * 501, "SHORT", None), (f"One.\n\n---\n\n{'x' * 501}", "THREAD", 1)],
)
async def test_blocker_of_thread_names_its_part(tmp_path, text, format, part):
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk, text, format)
        (blocker,) = await desk.posting.blockers(draft_id)
        assert (blocker.message, blocker.part) == ("Longer than 500 characters.", part)
