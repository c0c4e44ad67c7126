"""Tests for the user's own posting rules: checked before posting and on every post."""

import pytest

from copydesk.desk.stopping import broken_rules
from copydesk.model.draft import Format
from copydesk.posting.fake import FakeServer
from copydesk.posting.platform import Post
from copydesk.settings import Posting
from desk_fixtures import NOW, Web
from posting_fixtures import ME, approved, connect, fake, open_posting, status_of
from some_pictures import drawing

ASKED = Posting(require_alt=True)
SAYS = "Picture 2 has no description, which posting.require_alt in the settings asks for."
REQUIRED = {"COPYDESK_POSTING__REQUIRE_ALT": "true"}
PICTURE = "https://pictures.example/a.png"


def post(*alts: str) -> Post:
    return Post(format=Format.SHORT, parts=("The quay.",), at=NOW, alts=alts)


@pytest.mark.parametrize(
    ("alts", "says"),
    [
        ((), ()),
        (("A quay", "A crane"), ()),
        (("A quay", ""), (SAYS,)),
        (("A quay", " \n"), (SAYS,)),
        (("", "A quay", ""), (SAYS.replace("Picture 2 has", "Pictures 1, 3 have"),)),
    ],
)
def test_images_without_alt_are_listed(alts, says):
    assert broken_rules(post(*alts), ASKED) == says
    assert broken_rules(post(*alts), Posting()) == ()


@pytest.fixture
def web():
    web = Web()
    web.put(PICTURE, drawing())
    return web


def pictures(*alts: str | None) -> dict[str, object]:
    return {"images": [{"url": PICTURE, "source": "UPLOAD", "alt": alt} for alt in alts]}


async def test_violation_is_reported_and_nothing_is_sent(tmp_path, web):
    server = FakeServer()
    async with open_posting(tmp_path, fake(server), **REQUIRED) as desk:
        desk.ground.transport = web
        await connect(desk)
        draft_id = await approved(desk, **pictures("A quay", None))
        assert [blocker.message for blocker in await desk.posting.stops(draft_id)] == [SAYS]

        result = await desk.posting.post(draft_id)
        assert (result.failed, result.draft.last_error) == ((ME,), f"{ME}: {SAYS}")
        assert await status_of(desk, draft_id) == "approved"
    assert server.posts == ()


async def test_post_that_meets_rules_is_sent(tmp_path, web):
    server = FakeServer()
    for settings, alts in ((REQUIRED, ("A quay", "A crane")), ({}, ("A quay", None))):
        async with open_posting(tmp_path, fake(server), **settings) as desk:
            desk.ground.transport = web
            await connect(desk)
            draft_id = await approved(desk, f"Two pictures, {alts[1]}.", **pictures(*alts))
            assert await desk.posting.stops(draft_id) == ()
            assert (await desk.posting.post(draft_id)).posted == (ME,)
    assert len(server.posts) == 2
