"""Tests for the images of sources: proposed, attached or left out, and attached by the user."""

import pytest

from copydesk.errors import ConflictError, InvalidError, NotFoundError
from copydesk.model.draft import ImageSource
from copydesk.model.source import ImagePolicy
from desk_fixtures import URL_ONE, FakeWeb, create_source, entry, feed, list_drafts, open_desk_at

PICTURE = "https://one.example/ferry.jpg"


async def run_with_image(desk, web: FakeWeb, image: str = PICTURE, **config):
    body = feed(entry(1)).decode().replace("</item>", f'<enclosure url="{image}" type="image/jpeg"/></item>')
    web.put(URL_ONE, body)
    await create_source(desk, URL_ONE, **config)
    await desk.pipeline.run()
    (draft,) = await list_drafts(desk)
    return draft


@pytest.mark.parametrize(
    ("config", "attached", "proposed"),
    [
        ({}, [], [PICTURE]),
        ({"images": "propose"}, [], [PICTURE]),
        ({"images": "attach"}, [PICTURE], []),
        ({"images": "never"}, [], []),
    ],
)
async def test_setting_of_the_source_decides(tmp_path, config, attached, proposed) -> None:
    web = FakeWeb()
    async with open_desk_at(tmp_path, web) as desk:
        draft = await run_with_image(desk, web, **config)
        assert [image.url for image in draft.images] == attached
        assert [image.url for image in draft.proposed_images] == proposed


async def test_decoration_is_not_proposed(tmp_path) -> None:
    web = FakeWeb()
    async with open_desk_at(tmp_path, web) as desk:
        draft = await run_with_image(desk, web, "https://one.example/logo.png", images=ImagePolicy.ATTACH.value)
        assert draft.images == draft.proposed_images == ()


async def test_proposed_image_is_attached_and_put_back(tmp_path) -> None:
    web = FakeWeb()
    async with open_desk_at(tmp_path, web) as desk:
        draft = await run_with_image(desk, web)
        changed = await desk.drafts.images.attach(draft.id, {"alt": " A ferry "})
        assert [(image.url, image.alt, image.source) for image in changed.images] == [
            (PICTURE, "A ferry", ImageSource.OG)
        ]
        assert changed.proposed_images == ()

        removed = await desk.drafts.images.describe(draft.id, None)
        assert removed.images == ()
        assert [(image.url, image.alt) for image in removed.proposed_images] == [(PICTURE, "A ferry")]


async def test_attached_image_comes_after_the_users_own(tmp_path) -> None:
    web = FakeWeb()
    async with open_desk_at(tmp_path, web) as desk:
        draft = await run_with_image(desk, web)
        await desk.drafts.images.attach(draft.id, {})
        assert [image.position for image in (await desk.drafts.get(draft.id)).images] == [0]


async def test_new_version_keeps_what_was_decided(tmp_path) -> None:
    web = FakeWeb()
    async with open_desk_at(tmp_path, web) as desk:
        draft = await run_with_image(desk, web)
        await desk.drafts.regenerate(draft.id)
        await desk.generation.drain()
        newest = max(await list_drafts(desk), key=lambda draft: draft.id)
        assert (newest.images, [image.url for image in newest.proposed_images]) == ((), [PICTURE])


@pytest.mark.parametrize(
    ("request_fields", "field"),
    [({"image": 2}, "image"), ({"image": 0}, "image"), ({"alt": "x" * 2001}, "alt"), ({"picture": 1}, "picture")],
)
async def test_invalid_request_changes_nothing(tmp_path, request_fields, field) -> None:
    web = FakeWeb()
    async with open_desk_at(tmp_path, web) as desk:
        draft = await run_with_image(desk, web)
        with pytest.raises(InvalidError) as caught:
            await desk.drafts.images.attach(draft.id, request_fields)
        assert [error.field for error in caught.value.errors] == [field]
        assert (await desk.drafts.get(draft.id)).images == ()


async def test_rejected_and_unknown_drafts_take_no_image(tmp_path) -> None:
    web = FakeWeb()
    async with open_desk_at(tmp_path, web) as desk:
        draft = await run_with_image(desk, web)
        await desk.drafts.reject(draft.id)
        with pytest.raises(ConflictError):
            await desk.drafts.images.attach(draft.id, {})
        with pytest.raises(NotFoundError):
            await desk.drafts.images.attach("019a5b2e-6c1f-7d3a-9b47-3f0c2a91e5d8", {})


async def test_photograph_of_an_agency_is_warned_of(tmp_path) -> None:
    web = FakeWeb()
    async with open_desk_at(tmp_path, web) as desk:
        url = "https://one.example/GettyImages-1234567890.jpg"
        draft = await run_with_image(desk, web, url, images="attach")
        assert draft.images[0].agency == "Getty Images"
        (finding,) = [finding for finding in draft.checks.findings if finding.rule == "agency"]
        assert finding.message == "Image 1 seems to be from Getty Images: posting it may need a licence."
