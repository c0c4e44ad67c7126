"""Tests for the images of a draft: stored once, identical for every attempt, all or none."""

import asyncio
import base64
import json

import httpx
import msgspec
import pytest

from copydesk.desk.images.draft_images import load_images
from copydesk.errors import ConflictError, ImageError, InvalidError, StaleVersionError
from copydesk.model.draft import DraftImage, ImageSource
from copydesk.posting.bluesky import Bluesky
from copydesk.posting.fake import FakePlatform
from copydesk.posting.linkedin import LinkedIn
from copydesk.posting.mastodon import Mastodon
from copydesk.posting.platform import Limits
from copydesk.posting.x.platform import X
from desk_fixtures import URL_ONE as FEED
from desk_fixtures import FakeWeb, create_source, entry, feed, list_drafts, open_desk_at, query_db
from image_samples import LOCATION_MARKER, animation, decode, drawing, encode, gps_exif, noise_image, photo

ONE, TWO = "https://pictures.example/1.jpg", "https://pictures.example/2.png"
LIMITS = Limits(formats=frozenset(), max_images=4, max_image_bytes=100_000)


@pytest.fixture
def web():
    web = FakeWeb()
    web.put(ONE, photo(200, 150, exif=gps_exif()))
    web.put(TWO, drawing())
    return web


@pytest.fixture
async def desk(tmp_path, web):
    async with open_desk_at(tmp_path, web) as desk:
        yield desk


async def create_images(desk, *urls, source="OG", alt=None):
    """Create a draft with these image URLs and return its images."""
    requests = [{"url": url, "source": source, "alt": alt} for url in urls]
    created = await desk.drafts.create({"text": "The harbour opens.", "images": requests})
    return (await desk.drafts.get(created.drafts[0].id)).images


def stored_files(home):
    return sorted(path.name for path in (home / "pictures").iterdir()) if (home / "pictures").exists() else []


def write_image(folder, content, name="a.png"):
    path = folder / name
    path.write_bytes(content)
    return path


class TestPreparedForPlatform:
    async def test_order_and_alt_text(self, desk):
        first, second = await load_images(desk._context, await create_images(desk, ONE, TWO, alt="A crane"), LIMITS)

        assert (first.media_type, first.width, first.height, first.alt) == ("image/jpeg", 200, 150, "A crane")
        assert (second.media_type, second.width, second.height) == ("image/png", 64, 48)
        assert decode(first.content).size == (200, 150)
        assert LOCATION_MARKER.encode() not in first.content

    async def test_missing_alt_text_is_empty(self, desk):
        (image,) = await load_images(desk._context, await create_images(desk, ONE), LIMITS)
        assert image.alt == ""

    @pytest.mark.parametrize(
        "limits", [platform.info.limits for platform in (Bluesky, Mastodon, X, LinkedIn, FakePlatform)]
    )
    async def test_platform_limits_are_met(self, desk, web, limits):
        web.put(ONE, encode(noise_image(1_600, 1_400), "JPEG", quality=95))
        assert len(web._pages[ONE][1]) > 2_000_000
        for image in await load_images(desk._context, await create_images(desk, ONE, TWO), limits):
            assert len(image.content) <= limits.max_image_bytes
            assert image.media_type in limits.image_types

    async def test_too_many_images_are_refused_without_fetching(self, desk, web):
        draft_images = await create_images(desk, ONE, TWO)
        with pytest.raises(ImageError, match="2 images; the platform allows at most 1 "):
            await load_images(desk._context, draft_images, msgspec.structs.replace(LIMITS, max_images=1))
        with pytest.raises(ImageError, match="the platform allows none per post"):
            await load_images(desk._context, draft_images, Limits(formats=frozenset()))
        assert web.requested_urls == []

    async def test_no_images(self, desk):
        assert await load_images(desk._context, (), Limits(formats=frozenset())) == ()


class TestIdenticalForAllAttempts:
    async def test_image_is_fetched_once(self, desk, web, tmp_path):
        draft_images = await create_images(desk, ONE)
        first = await load_images(desk._context, draft_images, LIMITS)
        web.put(ONE, drawing())

        assert await load_images(desk._context, draft_images, LIMITS) == first
        assert web.requested_urls == [ONE]
        (digest,) = stored_files(tmp_path)
        assert query_db(tmp_path, "SELECT stored FROM draft_image") == [(f"copydesk:picture/{digest}",)]

    async def test_image_survives_restart(self, tmp_path, web):
        async with open_desk_at(tmp_path, web) as desk:
            draft_images = await create_images(desk, ONE)
            first = await load_images(desk._context, draft_images, LIMITS)
        async with open_desk_at(tmp_path, FakeWeb()) as desk:
            assert await load_images(desk._context, draft_images, LIMITS) == first

    async def test_concurrent_fetches_send_the_same_image(self, tmp_path, web):
        class ChangingWeb(FakeWeb):
            """Answers every time with another picture."""

            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                self.requests.append(request)
                content = drawing(60 + len(self.requests))
                # The first response waits for the request of the other desk, which would find a stored image.
                if len(self.requests) > 1:
                    both_sent.set()
                await both_sent.wait()
                return httpx.Response(200, stream=httpx.ByteStream(content))

        web, both_sent = ChangingWeb(), asyncio.Event()
        async with open_desk_at(tmp_path, web) as desk, open_desk_at(tmp_path, web) as other, asyncio.timeout(60):
            draft_images = await create_images(desk, ONE)
            tasks = [load_images(sender._context, draft_images, LIMITS) for sender in (desk, other, desk, other)]
            results = await asyncio.gather(*tasks)

            assert len(web.requests) > 1
            assert [images_sent == results[0] for images_sent in results] == [True] * 4
            assert await load_images(desk._context, draft_images, LIMITS) == results[0]

    async def test_lost_file_is_refetched_only_if_identical(self, desk, web, tmp_path):
        draft_images = await create_images(desk, ONE)
        first = await load_images(desk._context, draft_images, LIMITS)
        (digest,) = stored_files(tmp_path)
        (tmp_path / "pictures" / digest).unlink()
        assert await load_images(desk._context, draft_images, LIMITS) == first

        (tmp_path / "pictures" / digest).unlink()
        web.put(ONE, drawing())
        with pytest.raises(ImageError, match="Image 1: It is no longer stored"):
            await load_images(desk._context, draft_images, LIMITS)

    async def test_new_draft_refetches_image(self, desk, web, tmp_path):
        await load_images(desk._context, await create_images(desk, ONE), LIMITS)
        web.put(ONE, drawing())
        (image,) = await load_images(desk._context, await create_images(desk, ONE), LIMITS)

        assert image.media_type == "image/png"
        assert len(stored_files(tmp_path)) == 2


class TestAllOrNone:
    @pytest.mark.parametrize(
        ("content", "message", "retryable"),
        [
            (b"<html>gone", "Image 2: It is a web page", False),
            (photo()[:400], "Image 2: It is damaged or incomplete", False),
            (None, "Image 2: pictures.example does not have it", False),
            (503, "Image 2: pictures.example answered with status 503", True),
        ],
        ids=["page", "cut", "missing", "later"],
    )
    async def test_unusable_image_reports_position(self, desk, web, content, message, retryable):
        if isinstance(content, bytes):
            web.put(TWO, content)
        else:
            web.fail(TWO, content or 404, retry_after="90")
        with pytest.raises(ImageError, match=message) as refused:
            await load_images(desk._context, await create_images(desk, ONE, TWO), LIMITS)

        assert refused.value.hint
        assert (refused.value.is_temporary, refused.value.retry_after) == (retryable, 90 if retryable else None)

    async def test_fetched_images_survive_failure(self, desk, web):
        web.disconnect(TWO)
        draft_images = await create_images(desk, ONE, TWO)
        with pytest.raises(ImageError, match="Image 2") as refused:
            await load_images(desk._context, draft_images, LIMITS)
        assert refused.value.is_temporary

        web.put(TWO, drawing())
        assert len(await load_images(desk._context, draft_images, LIMITS)) == 2
        assert web.requested_urls == [ONE, TWO, TWO]

    async def test_animated_upload_is_refused(self, desk, web):
        web.put(ONE, animation())
        (og,) = await load_images(desk._context, await create_images(desk, ONE), LIMITS)
        assert og.media_type == "image/png"
        with pytest.raises(ImageError, match="Image 1: It is animated"):
            await load_images(desk._context, await create_images(desk, ONE, source="UPLOAD"), LIMITS)

    async def test_private_address_is_refused(self, tmp_path):
        async with open_desk_at(tmp_path) as desk:
            draft_images = await create_images(desk, "http://127.0.0.1:9/a.png")
            with pytest.raises(ImageError, match=r"Image 1: 127\.0\.0\.1 is not a public address"):
                await load_images(desk._context, draft_images, LIMITS)


@pytest.mark.parametrize(("source_alt", "alt"), [("Two cranes", "Two cranes"), ("1.jpg", None)])
async def test_run_uses_alt_text_of_source(desk, web, source_alt, alt):
    web.put(FEED, feed(entry(1, text=f'<img src="{ONE}" alt="{source_alt}"><p>The ferry opens on Monday.</p>')))
    await create_source(desk, FEED)
    await desk.pipeline.run()
    (draft,) = await list_drafts(desk)

    assert [(image.url, image.alt, image.source) for image in draft.proposed_images] == [(ONE, alt, ImageSource.OG)]


class TestUploadedFiles:
    async def test_uploaded_file_is_stored_at_once(self, desk, web, tmp_path):
        path = write_image(tmp_path, photo(80, 60, exif=gps_exif()))
        url = await desk.drafts.images.save(path)
        path.unlink()
        (image,) = await load_images(
            desk._context, await create_images(desk, url, source="UPLOAD", alt="A quay"), LIMITS
        )

        assert url == f"copydesk:picture/{stored_files(tmp_path)[0]}"
        assert (image.width, image.height, image.alt) == (80, 60, "A quay")
        assert web.requested_urls == []

    @pytest.mark.parametrize(
        ("content", "message"),
        [(b"", "empty"), (b"<html>", "web page"), (photo()[:400], "damaged"), (animation(), "It is animated")],
        ids=["empty", "page", "cut", "moving"],
    )
    async def test_unusable_file_is_refused_at_once(self, desk, tmp_path, content, message):
        with pytest.raises(ImageError, match=rf"a\.png: .*{message}"):
            await desk.drafts.images.save(write_image(tmp_path, content))
        assert stored_files(tmp_path) == []

    async def test_unknown_stored_image_names_field(self, desk, tmp_path):
        with pytest.raises(InvalidError, match=r"images\[1\]\.url: refers to an image that is not stored here"):
            await create_images(desk, ONE, "copydesk:picture/" + "0" * 64)
        assert query_db(tmp_path, "SELECT count(*) FROM draft") == [(0,)]

    @pytest.mark.parametrize(
        "url", ["copydesk:picture/../copydesk.db", "copydesk:picture/", "file:///etc/passwd", "a.png"]
    )
    async def test_invalid_url_is_refused(self, desk, url):
        with pytest.raises(InvalidError, match=r"images\[0\]\.url"):
            await create_images(desk, url)

    async def test_lost_upload_is_reported(self, desk, tmp_path):
        draft_images = await create_images(
            desk, await desk.drafts.images.save(write_image(tmp_path, drawing())), source="UPLOAD"
        )
        (tmp_path / "pictures" / stored_files(tmp_path)[0]).unlink()
        with pytest.raises(ImageError, match="Image 1: It is no longer stored"):
            await load_images(desk._context, draft_images, LIMITS)


class TestGeneratedImages:
    SETTINGS = {
        "images_a__base_url": "https://ai.example/v1", "images_a__model": "painter", "images_a__key": "sk-planted",
        "images_b__base_url": "https://b.example", "images_b__model": "brush", "images_b__size": "512x512",
    }  # fmt: skip

    async def test_providers_use_their_settings(self, tmp_path):
        web = FakeWeb()
        response_body = json.dumps({"data": [{"b64_json": base64.b64encode(drawing()).decode()}]})
        for base in ("https://ai.example/v1", "https://b.example"):
            web.put(f"{base}/images/generations", response_body, etag=False)
        async with open_desk_at(tmp_path, web, **self.SETTINGS) as desk:
            first_url = await desk.drafts.images.generate("A crane", ImageSource.AI_PROVIDER_A)
            second_url = await desk.drafts.images.generate("A crane", ImageSource.AI_PROVIDER_B)
            draft_images = await create_images(desk, first_url, source="AI_PROVIDER_A", alt="A crane")
            (image,) = await load_images(desk._context, draft_images, LIMITS)

        assert first_url == second_url == f"copydesk:picture/{stored_files(tmp_path)[0]}"
        assert image.media_type == "image/png"
        requests = [(request.headers.get("authorization"), json.loads(request.content)) for request in web.requests]
        assert [(key, body["model"], body["size"]) for key, body in requests] == [
            ("Bearer sk-planted", "painter", "1024x1024"),
            (None, "brush", "512x512"),
        ]

    async def test_missing_settings_are_reported(self, desk):
        with pytest.raises(ImageError, match=r"images_b\.base_url is not set") as refused:
            await desk.drafts.images.generate("A crane", ImageSource.AI_PROVIDER_B)
        assert "COPYDESK_IMAGES_B__KEY" in refused.value.hint
        with pytest.raises(ImageError, match="UPLOAD does not generate images"):
            await desk.drafts.images.generate("A crane", ImageSource.UPLOAD)

    async def test_api_key_is_not_stored(self, tmp_path):
        web = FakeWeb()
        web.fail("https://ai.example/v1/images/generations", 401)
        async with open_desk_at(tmp_path, web, **self.SETTINGS) as desk:
            with pytest.raises(ImageError, match="rejected the key"):
                await desk.drafts.images.generate("A crane", ImageSource.AI_PROVIDER_A)

        assert all(b"sk-planted" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


async def test_image_of_deleted_draft_is_prepared(desk):
    image = DraftImage(id="0", url=ONE, alt=None, position=0, source=ImageSource.OG)
    (prepared,) = await load_images(desk._context, (image,), LIMITS)
    assert prepared.width == 200


async def test_alt_text_and_image_can_be_edited(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        image = {"url": "https://one.example/a.png", "source": "OG"}
        created = await desk.drafts.create({"text": "With an image.", "images": [image]})
        draft_id = created.drafts[0].id
        described = await desk.drafts.images.describe(draft_id, " Two bars ")
        assert [described_image.alt for described_image in described.images] == ["Two bars"]
        with pytest.raises(InvalidError, match="image: must be the number of one of the draft's images, not 2"):
            await desk.drafts.images.describe(draft_id, "x", position=2)
        with pytest.raises(InvalidError, match="alt"):
            await desk.drafts.images.describe(draft_id, " ")
        assert (await desk.drafts.images.describe(draft_id, None)).images == ()
        await desk.drafts.reject(draft_id)
        with pytest.raises(ConflictError):
            await desk.drafts.images.describe(draft_id, "x")


async def test_image_of_a_draft_approved_meanwhile_stays(tmp_path, monkeypatch):
    async with open_desk_at(tmp_path) as desk:
        image = {"url": "https://one.example/a.png", "source": "OG"}
        created = await desk.drafts.create({"text": "With an image.", "images": [image]})
        draft_id, write = created.drafts[0].id, desk._context.write_durable

        async def write_after_approval(*work):
            monkeypatch.setattr(desk._context, "write_durable", write)
            await desk.drafts.approve(draft_id)
            return await write(*work)

        monkeypatch.setattr(desk._context, "write_durable", write_after_approval)
        with pytest.raises(StaleVersionError):
            await desk.drafts.images.describe(draft_id, None)
        assert len((await desk.drafts.get(draft_id)).images) == 1
