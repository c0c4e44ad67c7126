"""The pictures of a draft: kept once, the same for every attempt, and all of them or none."""

import asyncio
import base64
import json

import httpx
import msgspec
import pytest

from copydesk.desk.pictures import pictures_of
from copydesk.errors import ConflictError, InvalidError
from copydesk.model.draft import DraftImage, ImageSource
from copydesk.pictures.errors import PictureError
from copydesk.posting.bluesky import Bluesky
from copydesk.posting.fake import FakePlatform
from copydesk.posting.linkedin import LinkedIn
from copydesk.posting.mastodon import Mastodon
from copydesk.posting.platform import Limits
from copydesk.posting.x import X
from desk_fixtures import ONE as FEED
from desk_fixtures import Web, add, drafts_of, entry, feed, open_at, rows
from some_pictures import PLACE, drawing, frames_of, moving, noise, packed, photo, where

ONE, TWO = "https://pictures.example/1.jpg", "https://pictures.example/2.png"
LIMITS = Limits(formats=frozenset(), pictures=4, picture_bytes=100_000)


@pytest.fixture
def web():
    web = Web()
    web.put(ONE, photo(200, 150, exif=where()))
    web.put(TWO, drawing())
    return web


@pytest.fixture
async def desk(tmp_path, web):
    async with open_at(tmp_path, web) as desk:
        yield desk


async def images(desk, *urls, source="OG", alt=None):
    """The pictures of a new draft."""
    asked = [{"url": url, "source": source, "alt": alt} for url in urls]
    made = await desk.drafts.create({"text": "The harbour opens.", "images": asked})
    return (await desk.drafts.get(made.drafts[0].id)).images


def kept(home):
    return sorted(path.name for path in (home / "pictures").iterdir()) if (home / "pictures").exists() else []


def file(folder, content, name="a.png"):
    path = folder / name
    path.write_bytes(content)
    return path


class TestReadyForAPlatform:
    async def test_they_come_in_their_order_with_their_descriptions(self, desk):
        one, two = await pictures_of(desk.ground, await images(desk, ONE, TWO, alt="A crane"), LIMITS)

        assert (one.media_type, one.width, one.height, one.alt) == ("image/jpeg", 200, 150, "A crane")
        assert (two.media_type, two.width, two.height) == ("image/png", 64, 48)
        assert frames_of(one.content).size == (200, 150)
        assert PLACE.encode() not in one.content

    async def test_a_description_that_nobody_wrote_is_empty(self, desk):
        (one,) = await pictures_of(desk.ground, await images(desk, ONE), LIMITS)
        assert one.alt == ""

    @pytest.mark.parametrize("limits", [kind.limits for kind in (Bluesky, Mastodon, X, LinkedIn, FakePlatform)])
    async def test_each_platform_gets_what_it_takes(self, desk, web, limits):
        web.put(ONE, packed(noise(1_600, 1_400), "JPEG", quality=95))
        assert len(web._pages[ONE][1]) > 2_000_000
        for made in await pictures_of(desk.ground, await images(desk, ONE, TWO), limits):
            assert len(made.content) <= limits.picture_bytes
            assert made.media_type in limits.picture_types

    async def test_more_than_the_platform_takes_are_an_error_and_nothing_is_fetched(self, desk, web):
        found = await images(desk, ONE, TWO)
        with pytest.raises(PictureError, match="2 pictures, and the platform takes at most 1 "):
            await pictures_of(desk.ground, found, msgspec.structs.replace(LIMITS, pictures=1))
        with pytest.raises(PictureError, match="takes no pictures"):
            await pictures_of(desk.ground, found, Limits(formats=frozenset()))
        assert web.urls == []

    async def test_without_pictures_there_is_nothing_to_do(self, desk):
        assert await pictures_of(desk.ground, (), Limits(formats=frozenset())) == ()


class TestTheSameForEveryAttempt:
    async def test_a_picture_is_fetched_once_and_kept(self, desk, web, tmp_path):
        found = await images(desk, ONE)
        first = await pictures_of(desk.ground, found, LIMITS)
        web.put(ONE, drawing())

        assert await pictures_of(desk.ground, found, LIMITS) == first
        assert web.urls == [ONE]
        (digest,) = kept(tmp_path)
        assert rows(tmp_path, "SELECT stored FROM draft_image") == [(f"copydesk:picture/{digest}",)]

    async def test_and_so_it_is_after_a_restart(self, tmp_path, web):
        async with open_at(tmp_path, web) as desk:
            found = await images(desk, ONE)
            first = await pictures_of(desk.ground, found, LIMITS)
        async with open_at(tmp_path, Web()) as desk:
            assert await pictures_of(desk.ground, found, LIMITS) == first

    async def test_two_who_fetch_it_at_once_send_the_same(self, tmp_path, web):
        class Changing(Web):
            """Answers every time with another picture."""

            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                self.asked.append(request)
                content = drawing(60 + len(self.asked))
                await asyncio.sleep(0)
                return httpx.Response(200, stream=httpx.ByteStream(content))

        web = Changing()
        async with open_at(tmp_path, web) as desk, open_at(tmp_path, web) as other:
            found = await images(desk, ONE)
            each = [pictures_of(one.ground, found, LIMITS) for one in (desk, other, desk, other)]
            made = await asyncio.gather(*each)

            assert len(web.asked) > 1
            assert [one == made[0] for one in made] == [True] * 4
            assert await pictures_of(desk.ground, found, LIMITS) == made[0]

    async def test_what_was_kept_and_is_lost_comes_back_only_if_it_is_the_same(self, desk, web, tmp_path):
        found = await images(desk, ONE)
        first = await pictures_of(desk.ground, found, LIMITS)
        (digest,) = kept(tmp_path)
        (tmp_path / "pictures" / digest).unlink()
        assert await pictures_of(desk.ground, found, LIMITS) == first

        (tmp_path / "pictures" / digest).unlink()
        web.put(ONE, drawing())
        with pytest.raises(PictureError, match="Picture 1: It is not kept any more"):
            await pictures_of(desk.ground, found, LIMITS)

    async def test_a_new_version_of_a_draft_reads_its_pictures_anew(self, desk, web, tmp_path):
        await pictures_of(desk.ground, await images(desk, ONE), LIMITS)
        web.put(ONE, drawing())
        (made,) = await pictures_of(desk.ground, await images(desk, ONE), LIMITS)

        assert made.media_type == "image/png"
        assert len(kept(tmp_path)) == 2


class TestAllOrNone:
    @pytest.mark.parametrize(
        ("content", "says", "later"),
        [
            (b"<html>gone", "Picture 2: It is a web page", False),
            (photo()[:400], "Picture 2: It is damaged or cut off", False),
            (None, "Picture 2: pictures.example does not have it", False),
            (503, "Picture 2: pictures.example answered with status 503", True),
        ],
        ids=["page", "cut", "missing", "later"],
    )
    async def test_one_that_cannot_be_had_is_named_by_its_place(self, desk, web, content, says, later):
        if isinstance(content, bytes):
            web.put(TWO, content)
        else:
            web.fail(TWO, content or 404, retry_after="90")
        with pytest.raises(PictureError, match=says) as refused:
            await pictures_of(desk.ground, await images(desk, ONE, TWO), LIMITS)

        assert refused.value.hint
        assert (refused.value.later, refused.value.retry_after) == (later, 90 if later else None)

    async def test_after_a_failure_what_was_read_is_not_read_again(self, desk, web):
        web.cut(TWO)
        found = await images(desk, ONE, TWO)
        with pytest.raises(PictureError, match="Picture 2") as refused:
            await pictures_of(desk.ground, found, LIMITS)
        assert refused.value.later

        web.put(TWO, drawing())
        assert len(await pictures_of(desk.ground, found, LIMITS)) == 2
        assert web.urls == [ONE, TWO, TWO]

    async def test_what_the_user_chose_is_not_posted_without_its_movement(self, desk, web):
        web.put(ONE, moving())
        (og,) = await pictures_of(desk.ground, await images(desk, ONE), LIMITS)
        assert og.media_type == "image/png"
        with pytest.raises(PictureError, match="Picture 1: It moves"):
            await pictures_of(desk.ground, await images(desk, ONE, source="UPLOAD"), LIMITS)

    async def test_private_addresses_are_not_asked(self, tmp_path):
        async with open_at(tmp_path) as desk:
            found = await images(desk, "http://127.0.0.1:9/a.png")
            with pytest.raises(PictureError, match=r"Picture 1: 127\.0\.0\.1 is not a public address"):
                await pictures_of(desk.ground, found, LIMITS)


@pytest.mark.parametrize(("says", "alt"), [("Two cranes", "Two cranes"), ("1.jpg", None)])
async def test_a_run_takes_the_words_of_the_source_for_its_picture_or_none(desk, web, says, alt):
    web.put(FEED, feed(entry(1, text=f'<img src="{ONE}" alt="{says}"><p>The ferry opens on Monday.</p>')))
    await add(desk, FEED)
    await desk.pipeline.run()
    (draft,) = await drafts_of(desk)

    assert [(image.url, image.alt, image.source) for image in draft.images] == [(ONE, alt, ImageSource.OG)]


class TestFilesOfTheUser:
    async def test_a_file_is_kept_at_once_and_need_not_be_there_later(self, desk, web, tmp_path):
        path = file(tmp_path, photo(80, 60, exif=where()))
        url = await desk.drafts.keep_picture(path)
        path.unlink()
        (made,) = await pictures_of(desk.ground, await images(desk, url, source="UPLOAD", alt="A quay"), LIMITS)

        assert url == f"copydesk:picture/{kept(tmp_path)[0]}"
        assert (made.width, made.height, made.alt) == (80, 60, "A quay")
        assert web.urls == []

    @pytest.mark.parametrize(
        ("content", "says"),
        [(b"", "empty"), (b"<html>", "web page"), (photo()[:400], "damaged"), (moving(), "It moves")],
        ids=["empty", "page", "cut", "moving"],
    )
    async def test_one_that_cannot_be_posted_is_refused_at_once(self, desk, tmp_path, content, says):
        with pytest.raises(PictureError, match=rf"a\.png: .*{says}"):
            await desk.drafts.keep_picture(file(tmp_path, content))
        assert kept(tmp_path) == []

    async def test_a_picture_that_is_not_kept_is_refused_by_its_field(self, desk, tmp_path):
        with pytest.raises(InvalidError, match=r"images\[1\]\.url: names a picture that is not kept here"):
            await images(desk, ONE, "copydesk:picture/" + "0" * 64)
        assert rows(tmp_path, "SELECT count(*) FROM draft") == [(0,)]

    @pytest.mark.parametrize(
        "url", ["copydesk:picture/../copydesk.db", "copydesk:picture/", "file:///etc/passwd", "a.png"]
    )
    async def test_no_other_address_of_ours_is_taken(self, desk, url):
        with pytest.raises(InvalidError, match=r"images\[0\]\.url"):
            await images(desk, url)

    async def test_one_that_was_kept_and_is_gone_is_said(self, desk, tmp_path):
        found = await images(desk, await desk.drafts.keep_picture(file(tmp_path, drawing())), source="UPLOAD")
        (tmp_path / "pictures" / kept(tmp_path)[0]).unlink()
        with pytest.raises(PictureError, match="Picture 1: It is not kept any more"):
            await pictures_of(desk.ground, found, LIMITS)


class TestMadeOnRequest:
    KEYS = {
        "images_a__base_url": "https://ai.example/v1", "images_a__model": "painter", "images_a__key": "sk-planted",
        "images_b__base_url": "https://b.example", "images_b__model": "brush", "images_b__size": "512x512",
    }  # fmt: skip

    async def test_each_generator_is_asked_as_the_settings_say(self, tmp_path):
        web = Web()
        answer = json.dumps({"data": [{"b64_json": base64.b64encode(drawing()).decode()}]})
        for base in ("https://ai.example/v1", "https://b.example"):
            web.put(f"{base}/images/generations", answer, etag=False)
        async with open_at(tmp_path, web, **self.KEYS) as desk:
            one = await desk.drafts.make_picture("A crane", ImageSource.AI_PROVIDER_A)
            two = await desk.drafts.make_picture("A crane", ImageSource.AI_PROVIDER_B)
            found = await images(desk, one, source="AI_PROVIDER_A", alt="A crane")
            (made,) = await pictures_of(desk.ground, found, LIMITS)

        assert one == two == f"copydesk:picture/{kept(tmp_path)[0]}"
        assert made.media_type == "image/png"
        asked = [(request.headers.get("authorization"), json.loads(request.content)) for request in web.asked]
        assert [(key, body["model"], body["size"]) for key, body in asked] == [
            ("Bearer sk-planted", "painter", "1024x1024"),
            (None, "brush", "512x512"),
        ]

    async def test_without_settings_it_is_said_which(self, desk):
        with pytest.raises(PictureError, match=r"images_b\.base_url is not set") as refused:
            await desk.drafts.make_picture("A crane", ImageSource.AI_PROVIDER_B)
        assert "COPYDESK_IMAGES_B__KEY" in refused.value.hint
        with pytest.raises(PictureError, match="UPLOAD makes no pictures"):
            await desk.drafts.make_picture("A crane", ImageSource.UPLOAD)

    async def test_the_key_is_nowhere_on_the_disk(self, tmp_path):
        web = Web()
        web.fail("https://ai.example/v1/images/generations", 401)
        async with open_at(tmp_path, web, **self.KEYS) as desk:
            with pytest.raises(PictureError, match="does not take the key"):
                await desk.drafts.make_picture("A crane", ImageSource.AI_PROVIDER_A)

        assert all(b"sk-planted" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


async def test_a_picture_whose_draft_is_gone_is_still_had(desk):
    image = DraftImage(id="0", url=ONE, alt=None, position=0, source=ImageSource.OG)
    (made,) = await pictures_of(desk.ground, (image,), LIMITS)
    assert made.width == 200


async def test_a_picture_is_described_and_taken_off_while_its_draft_can_be_edited(tmp_path):
    async with open_at(tmp_path) as desk:
        image = {"url": "https://one.example/a.png", "source": "OG"}
        made = await desk.drafts.create({"text": "With a picture.", "images": [image]})
        draft_id = made.drafts[0].id
        described = await desk.drafts.describe(draft_id, " Two bars ")
        assert [each.alt for each in described.images] == ["Two bars"]
        with pytest.raises(InvalidError, match="picture: is none of the draft's"):
            await desk.drafts.describe(draft_id, "x", picture=2)
        with pytest.raises(InvalidError, match="alt"):
            await desk.drafts.describe(draft_id, " ")
        assert (await desk.drafts.describe(draft_id, None)).images == ()
        await desk.drafts.reject(draft_id)
        with pytest.raises(ConflictError):
            await desk.drafts.describe(draft_id, "x")
