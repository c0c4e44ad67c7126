"""A draft takes the images that its own user stored, and nobody learns which ones others have."""

import pytest

from copydesk.errors import InvalidError
from desk_fixtures import Watch
from desks_fixtures import open_desks_at
from image_samples import drawing


def with_image(url: str) -> dict[str, object]:
    return {"text": "The harbour is open.", "images": [{"url": url, "source": "UPLOAD"}]}


async def problem_of(desk, url: str) -> str:
    with pytest.raises(InvalidError) as refusal:
        await desk.drafts.create(with_image(url))
    return str(refusal.value)


async def test_image_of_another_user_is_refused_like_an_unknown_one(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        owner, other = await desks.get(desks.owner), await desks.get(await desks.users.add("anna"))
        url = await owner.drafts.images.save_content(drawing())
        await owner.drafts.create(with_image(url))

        assert await problem_of(other, url) == await problem_of(other, f"copydesk:picture/{'0' * 64}")

        assert await other.drafts.images.save_content(drawing()) == url
        assert (await other.drafts.create(with_image(url))).drafts[0].images[0].url == url


async def test_stored_image_is_known_after_a_restart(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        url = await (await desks.get(desks.owner)).drafts.images.save_content(drawing())
    async with open_desks_at(tmp_path) as desks:
        assert (await (await desks.get(desks.owner)).drafts.create(with_image(url))).drafts


async def test_image_of_an_own_draft_may_be_used_again_after_its_upload_is_forgotten(tmp_path):
    clock = Watch()
    async with open_desks_at(tmp_path, clock=clock) as desks:
        desk = await desks.get(desks.owner)
        used = await desk.drafts.images.save_content(drawing())
        unused = await desk.drafts.images.save_content(drawing(40, 30))
        await desk.drafts.create(with_image(used))
        clock.advance(400 * 86_400)
        await desk.retention.prune()

        assert (await desk.drafts.create(with_image(used))).drafts
        await problem_of(desk, unused)
