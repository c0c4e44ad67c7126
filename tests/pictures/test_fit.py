"""A picture from outside becomes one that a platform takes, and tells nothing but what it shows."""

import subprocess
import sys
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from copydesk.pictures import decoded
from copydesk.pictures.errors import PictureError
from copydesk.pictures.fit import Bounds, Fitted, fit
from some_pictures import (
    PLACE,
    bomb,
    chunk,
    drawing,
    frames_of,
    moving,
    named,
    noise,
    packed,
    photo,
    png,
    profile,
    smooth,
    told_everywhere,
    webp_header,
    where,
)

BLUESKY = Bounds(bytes=2_000_000, types=("image/jpeg", "image/png", "image/webp"))
X = Bounds(bytes=5 * 1024 * 1024)
SMALL = Bounds(bytes=60_000)
JPEG_ONLY, PNG_ONLY = Bounds(types=("image/jpeg",)), Bounds(types=("image/png",))


def colour(fitted: Fitted, x: int, y: int) -> tuple[int, ...]:
    found = frames_of(fitted.content).convert("RGB").getpixel((x, y))
    assert isinstance(found, tuple)
    return found


def near(found: tuple[int, ...], wanted: tuple[int, ...], by: int = 12) -> bool:
    return all(abs(one - other) <= by for one, other in zip(found, wanted, strict=True))


class TestWithinBounds:
    @pytest.mark.parametrize("bounds", [BLUESKY, X, SMALL, Bounds(bytes=2_000), JPEG_ONLY, Bounds(longest_side=100)])
    @pytest.mark.parametrize(
        "content", [photo(900, 600), packed(smooth(500, 700), "PNG"), packed(noise(300, 300), "WEBP")], ids=named
    )
    def test_every_picture_is_within_what_the_platform_takes(self, content, bounds):
        made = fit(content, bounds)
        shown = frames_of(made.content)

        assert len(made.content) <= bounds.bytes
        assert made.media_type in bounds.types
        assert shown.get_format_mimetype() == made.media_type
        assert shown.size == (made.width, made.height)
        assert max(shown.size) <= bounds.longest_side
        before = frames_of(content)
        assert abs(made.width / made.height - before.width / before.height) < 0.1

    def test_a_picture_that_fits_keeps_its_size(self):
        made = fit(photo(900, 600), X)

        assert (made.media_type, made.width, made.height) == ("image/jpeg", 900, 600)

    def test_a_drawing_stays_sharp(self):
        made = fit(drawing(300, 200), X)

        assert made.media_type == "image/png"
        assert frames_of(made.content).tobytes() == frames_of(drawing(300, 200)).tobytes()

    def test_where_only_png_is_taken_it_is_made_smaller_until_it_fits(self):
        made = fit(photo(400, 300), Bounds(types=("image/png",), bytes=50_000))

        assert made.media_type == "image/png"
        assert 50 < made.width < 400

    def test_a_strip_of_pixels_keeps_a_width(self):
        made = fit(packed(noise(2, 900), "PNG"), Bounds(longest_side=100))

        assert (made.width, made.height) == (1, 100)

    def test_bounds_that_nothing_fits_into_are_said(self):
        with pytest.raises(PictureError, match="does not fit into 100 bytes"):
            fit(photo(), Bounds(bytes=100))
        with pytest.raises(PictureError, match="Neither JPEG nor PNG"):
            fit(photo(), Bounds(types=("image/webp",)))

    @settings(max_examples=25, deadline=None)
    @given(
        st.integers(1, 300), st.integers(1, 300), st.sampled_from(["JPEG", "PNG", "WEBP"]), st.integers(1_500, 90_000)
    )
    def test_any_size_fits_any_room_and_comes_out_the_same_each_time(self, width, height, format, room):
        content = packed(noise(width, height), format)
        made = fit(content, Bounds(bytes=room))

        assert len(made.content) <= room
        assert made == fit(content, Bounds(bytes=room))


class TestTheSameEachTime:
    @pytest.mark.parametrize("content", [photo(500, 400, exif=where(6)), drawing(), told_everywhere("WEBP")], ids=named)
    def test_in_another_process(self, content):
        ask = (
            "import sys, hashlib; from copydesk.pictures.fit import Bounds, fit;"
            "print(hashlib.sha256(fit(sys.stdin.buffer.read(), Bounds(bytes=60_000)).content).hexdigest())"
        )
        each = [
            subprocess.run(
                [sys.executable, "-c", ask], input=content, capture_output=True, check=True, timeout=60
            ).stdout
            for _ in range(2)
        ]
        assert each[0] == each[1]

    def test_and_what_was_fitted_before_does_not_matter(self):
        first = fit(photo(300, 200), SMALL)
        fit(drawing(), PNG_ONLY)
        assert fit(photo(300, 200), SMALL) == first


class TestNothingElseIsTold:
    @pytest.mark.parametrize("bounds", [X, JPEG_ONLY, PNG_ONLY, Bounds(bytes=1_500)])
    @pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "GIF"])
    def test_no_metadata_comes_along(self, format, bounds):
        content = told_everywhere(format)
        assert content.count(PLACE.encode()) >= 2
        made = fit(content, bounds)

        assert PLACE.encode() not in made.content
        assert not {b"Exif", b"eXIf", b"xmp", b"XMP", b"ICC_PROFILE", b"iCCP", b"tEXt", b"zTXt", b"iTXt", b"GPS"} & {
            word
            for word in (b"Exif", b"eXIf", b"xmp", b"XMP", b"ICC_PROFILE", b"iCCP", b"tEXt", b"zTXt", b"iTXt", b"GPS")
            if word in made.content
        }
        shown = frames_of(made.content)
        assert dict(shown.getexif()) == {}
        assert set(shown.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}

    def test_a_page_behind_the_pixels_is_gone(self):
        page = b"<html><script>alert(1)</script></html>"
        made = fit(png(30, 30, bytes(31 * 30), chunk(b"tEXt", b"x\0" + page)) + page, X)

        assert b"script" not in made.content
        assert made.content.endswith(b"IEND\xaeB`\x82")

    def test_what_was_erased_is_gone(self):
        secret = noise(40, 40)
        erased = secret.copy()
        erased.putalpha(Image.new("L", (40, 40), 0))
        erased.putpixel((0, 0), (1, 2, 3, 255))
        shown = frames_of(fit(packed(erased, "PNG"), X).content)

        assert shown.mode == "RGBA"
        assert shown.getpixel((0, 0)) == (1, 2, 3, 255)
        assert shown.convert("RGB").crop((1, 0, 40, 40)).getextrema() == ((0, 0),) * 3


class TestItLooksAsBefore:
    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_it_is_turned_as_the_camera_was_held(self, orientation):
        upright = Image.new("RGB", (60, 40), "white")
        upright.paste("red", (0, 0, 20, 20))
        turn = Image.Transpose
        # What a camera stores that is held so: the way back.
        laid = {
            2: turn.FLIP_LEFT_RIGHT, 3: turn.ROTATE_180, 4: turn.FLIP_TOP_BOTTOM, 5: turn.TRANSPOSE,
            6: turn.ROTATE_90, 7: turn.TRANSVERSE, 8: turn.ROTATE_270,
        }.get(orientation)  # fmt: skip
        stored = upright if laid is None else upright.transpose(laid)
        for kind in ("JPEG", "PNG", "WEBP"):
            made = fit(packed(stored, kind, exif=where(orientation)), X)

            assert (made.width, made.height) == (60, 40)
            assert near(colour(made, 8, 8), (255, 0, 0), 30)
            assert near(colour(made, 50, 30), (255, 255, 255))

    @pytest.mark.parametrize(
        "exif", [b"Exif\0\0MM\0*\0\0\0\x08\xff\xff", b"Exif\0\0garbage", b"Exif\0\0II*\0\xff\xff\xff\xff"]
    )
    def test_metadata_that_is_damaged_does_no_harm(self, exif):
        assert fit(photo(exif=exif), X).width == 64

    def test_colours_are_brought_from_their_profile(self):
        swapped = profile().replace(b"rXYZ", b"tXYZ").replace(b"gXYZ", b"rXYZ").replace(b"tXYZ", b"gXYZ")
        made = fit(packed(Image.new("RGB", (20, 20), (255, 0, 0)), "PNG", icc_profile=swapped), X)

        assert near(colour(made, 5, 5), (0, 255, 0), 40)

    @pytest.mark.parametrize(
        "bad", [b"no profile", profile()[:200], b"\0" * 128, b"x" * 2**21], ids=["words", "part", "zeros", "large"]
    )
    def test_a_profile_that_is_none_counts_for_nothing(self, bad):
        made = fit(packed(Image.new("RGB", (20, 20), (255, 0, 0)), "JPEG", icc_profile=bad), X)

        assert near(colour(made, 5, 5), (255, 0, 0))

    def test_it_is_put_on_white_where_seeing_through_is_not_possible(self):
        half = Image.new("RGBA", (20, 20), (0, 0, 0, 0))
        half.paste((255, 0, 0, 255), (0, 0, 10, 20))
        made = fit(packed(half, "PNG"), JPEG_ONLY)

        assert near(colour(made, 3, 10), (255, 0, 0), 20)
        assert near(colour(made, 16, 10), (255, 255, 255))

    @pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
    def test_every_kind_of_png_is_read(self, mode):
        grey = Image.new("L", (20, 20), 128)
        picture = Image.new("I;16", (20, 20), 128 * 257) if mode == "I;16" else grey.convert(mode)
        made = fit(packed(picture, "PNG"), X)

        assert near(colour(made, 5, 5), (128, 128, 128), 128 if mode == "1" else 3)

    def test_a_printers_jpeg_is_read(self):
        made = fit(packed(Image.new("CMYK", (20, 20), (0, 255, 255, 0)), "JPEG"), X)

        assert near(colour(made, 5, 5), (255, 0, 0), 40)


class TestMoving:
    @pytest.mark.parametrize("format", ["GIF", "WEBP", "PNG"])
    def test_one_that_moves_is_refused_unless_its_first_frame_will_do(self, format):
        with pytest.raises(PictureError, match="It moves"):
            fit(moving(format), X)
        assert near(colour(fit(moving(format), X, first_frame=True), 10, 10), (255, 0, 0), 30)

    def test_a_gif_of_one_frame_is_a_picture(self):
        assert fit(packed(Image.new("P", (20, 20), 3), "GIF"), X).media_type == "image/png"


class TestHostile:
    @pytest.mark.parametrize(
        "content",
        [
            bomb(),
            png(60_000, 60_000),
            png(7_000, 5_000),
            png(2**31 - 1, 2**31 - 1),
            b"GIF89a" + b"\xff\xff\xff\xff\0\0\0" + b",\0\0\0\0\xff\xff\xff\xff\0\x08\0;",
            webp_header(16_384, 16_384),
            photo().replace(b"\xff\xc0\x00\x11\x08\x00\x30\x00\x40", b"\xff\xc0\x00\x11\x08\xff\xff\xff\xff"),
        ],
        ids=["bomb", "header", "just", "greatest", "gif", "webp", "jpeg"],
    )
    def test_a_bomb_is_refused_before_it_is_unpacked(self, content, monkeypatch):
        monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda *_: pytest.fail("it was unpacked"))
        with pytest.raises(PictureError, match=r"(33|67) million pixels"):
            fit(content, X)

    def test_a_jpeg_of_endless_scans_is_refused(self):
        scan = b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00"
        with pytest.raises(PictureError, match="as long to unpack"):
            fit(photo()[:-2] + scan * 200 + b"\xff\xd9", X)

    @pytest.mark.parametrize("part", [0.3, 0.7, 0.95])
    @pytest.mark.parametrize(
        "content",
        [
            photo(300, 200),
            packed(noise(90, 90), "PNG"),
            packed(noise(90, 90), "WEBP"),
            packed(noise(90, 90).quantize(), "GIF"),
        ],
        ids=["jpeg", "png", "webp", "gif"],
    )
    def test_one_that_is_cut_off_is_refused(self, content, part):
        with pytest.raises(PictureError, match="damaged or cut off"):
            fit(content[: int(len(content) * part)], X)

    @pytest.mark.parametrize(
        "content",
        [
            photo().ljust(21 * 2**20, b"\0"),
            b"\xff\xd8" + (b"\xff\xe1\xff\xff" + bytes(65_533)) * 400,
            png(20, 20, bytes(21 * 20), chunk(b"tEXt", b"x" * 21 * 2**20)),
        ],
        ids=["behind", "segments", "chunk"],
    )
    def test_one_with_an_endless_header_is_refused_by_its_size(self, content):
        with pytest.raises(PictureError, match="larger than 20 MB"):
            fit(content, X)

    @pytest.mark.parametrize(
        "extra",
        [
            chunk(b"zTXt", b"x\0\0" + zlib.compress(bytes(30_000_000))),
            chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(30_000_000))),
            b"\x64\x00\x00\x00tEXt",
        ],
        ids=["text", "profile", "length"],
    )
    def test_what_is_packed_into_a_header_is_not_unpacked_without_end(self, extra):
        with pytest.raises(PictureError, match="damaged or cut off"):
            fit(png(20, 20, bytes(21 * 20), extra), X)

    @pytest.mark.parametrize(
        "content", [b"", b"<svg/>", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", webp_header(9, 9)]
    )
    def test_beginnings_are_no_pictures(self, content):
        with pytest.raises(PictureError):
            fit(content, X)

    @settings(max_examples=150, deadline=None)
    @given(st.sampled_from([photo(), drawing(), moving(), told_everywhere("WEBP")]), st.data())
    def test_whatever_is_done_to_a_file_it_is_a_picture_or_an_error_of_ours(self, content, data):
        broken = bytearray(content)
        for _ in range(data.draw(st.integers(1, 6))):
            broken[data.draw(st.integers(6, len(broken) - 1))] = data.draw(st.integers(0, 255))
        try:
            made = fit(bytes(broken), Bounds(bytes=200_000, longest_side=64), first_frame=True)
        except PictureError:
            return
        assert max(made.width, made.height) <= 64

    def test_a_webp_is_refused_before_its_decoder_takes_the_memory(self, monkeypatch):
        monkeypatch.setattr("PIL.Image.open", lambda *_, **__: pytest.fail("it was opened"))
        with pytest.raises(PictureError, match="33 million pixels"):
            fit(webp_header(7_000, 5_000), X)

    @pytest.mark.parametrize(
        ("content", "decoder"),
        [(photo(), "JPEG"), (drawing(), "PNG"), (moving(), "GIF"), (moving("WEBP"), "WEBP")],
        ids=named,
    )
    def test_only_the_decoder_of_its_own_kind_is_asked(self, content, decoder, monkeypatch):
        # Pillow knows formats that run programs (EPS); they do not come to their turn.
        asked, really = [], Image.open
        monkeypatch.setattr(Image, "open", lambda file, formats: asked.append(formats) or really(file, formats=formats))
        fit(content, X, first_frame=True)
        assert asked == [(decoder,)]


def test_without_pillow_it_is_said_how_to_get_it(monkeypatch):
    content = drawing()
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(PictureError, match="pip install pillow"):
        fit(content, X)


def test_settings_of_pillow_are_left_alone():
    before = Image.MAX_IMAGE_PIXELS
    fit(drawing(), X)
    assert before == Image.MAX_IMAGE_PIXELS
    assert before > max(decoded.MOST_PIXELS.values())
