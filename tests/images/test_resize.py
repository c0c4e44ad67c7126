"""Tests for converting an image to a platform's limits and removing its metadata."""

import subprocess
import sys
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from copydesk.errors import ImageError
from copydesk.images.resize import MAX_PIXELS, ImageBounds, ResizedImage, fit_to_bounds
from image_samples import (
    LOCATION_MARKER,
    animation,
    decode,
    drawing,
    encode,
    gps_exif,
    image_with_metadata,
    make_png,
    noise_image,
    parameter_id,
    photo,
    photo_like_image,
    png_bomb,
    png_chunk,
    srgb_profile,
    webp_header,
)
from sampling import sample_size

BLUESKY = ImageBounds(bytes=2_000_000, types=("image/jpeg", "image/png", "image/webp"))
X = ImageBounds(bytes=5 * 1024 * 1024)
SMALL = ImageBounds(bytes=60_000)
JPEG_ONLY, PNG_ONLY = ImageBounds(types=("image/jpeg",)), ImageBounds(types=("image/png",))


def pixel_color(fitted: ResizedImage, x: int, y: int) -> tuple[int, ...]:
    found = decode(fitted.content).convert("RGB").getpixel((x, y))
    assert isinstance(found, tuple)
    return found


def is_near(color: tuple[int, ...], expected: tuple[int, ...], tolerance: int = 12) -> bool:
    return all(abs(value - expected_value) <= tolerance for value, expected_value in zip(color, expected, strict=True))


class TestWithinBounds:
    @pytest.mark.parametrize(
        "bounds", [BLUESKY, X, SMALL, ImageBounds(bytes=2_000), JPEG_ONLY, ImageBounds(max_side=100)]
    )
    @pytest.mark.parametrize(
        "content",
        [photo(900, 600), encode(photo_like_image(500, 700), "PNG"), encode(noise_image(300, 300), "WEBP")],
        ids=parameter_id,
    )
    def test_image_is_within_bounds(self, content, bounds):
        fitted = fit_to_bounds(content, bounds)
        decoded_image = decode(fitted.content)

        assert len(fitted.content) <= bounds.bytes
        assert fitted.media_type in bounds.types
        assert decoded_image.get_format_mimetype() == fitted.media_type
        assert decoded_image.size == (fitted.width, fitted.height)
        assert max(decoded_image.size) <= bounds.max_side
        original = decode(content)
        assert abs(fitted.width / fitted.height - original.width / original.height) < 0.1

    def test_fitting_image_keeps_its_size(self):
        fitted = fit_to_bounds(photo(900, 600), X)

        assert (fitted.media_type, fitted.width, fitted.height) == ("image/jpeg", 900, 600)

    def test_drawing_stays_png(self):
        fitted = fit_to_bounds(drawing(300, 200), X)

        assert fitted.media_type == "image/png"
        assert decode(fitted.content).tobytes() == decode(drawing(300, 200)).tobytes()

    def test_png_is_scaled_down_until_it_fits(self):
        fitted = fit_to_bounds(photo(400, 300), ImageBounds(types=("image/png",), bytes=50_000))

        assert fitted.media_type == "image/png"
        assert 50 < fitted.width < 400

    def test_narrow_strip_keeps_a_width(self):
        fitted = fit_to_bounds(encode(noise_image(2, 900), "PNG"), ImageBounds(max_side=100))

        assert (fitted.width, fitted.height) == (1, 100)

    def test_impossible_bounds_are_reported(self):
        with pytest.raises(ImageError, match="cannot be reduced to 100 bytes"):
            fit_to_bounds(photo(), ImageBounds(bytes=100))
        with pytest.raises(ImageError, match="neither JPEG nor PNG"):
            fit_to_bounds(photo(), ImageBounds(types=("image/webp",)))

    @settings(max_examples=sample_size(25), deadline=None)
    @given(
        st.integers(1, 300), st.integers(1, 300), st.sampled_from(["JPEG", "PNG", "WEBP"]), st.integers(1_500, 90_000)
    )
    def test_any_size_fits_deterministically(self, width, height, format, room):
        content = encode(noise_image(width, height), format)
        fitted = fit_to_bounds(content, ImageBounds(bytes=room))

        assert len(fitted.content) <= room
        assert fitted == fit_to_bounds(content, ImageBounds(bytes=room))


class TestDeterminism:
    @pytest.mark.parametrize(
        "content", [photo(500, 400, exif=gps_exif(6)), drawing(), image_with_metadata("WEBP")], ids=parameter_id
    )
    def test_result_is_same_in_another_process(self, content):
        program = (
            "import sys, hashlib; from copydesk.images.resize import ImageBounds, fit_to_bounds;"
            "fitted = fit_to_bounds(sys.stdin.buffer.read(), ImageBounds(bytes=60_000));"
            "print(hashlib.sha256(fitted.content).hexdigest())"
        )
        digests = [
            subprocess.run(
                [sys.executable, "-c", program], input=content, capture_output=True, check=True, timeout=60
            ).stdout
            for _ in range(2)
        ]
        assert digests[0] == digests[1]

    def test_earlier_calls_do_not_matter(self):
        first = fit_to_bounds(photo(300, 200), SMALL)
        fit_to_bounds(drawing(), PNG_ONLY)
        assert fit_to_bounds(photo(300, 200), SMALL) == first


class TestMetadataRemoval:
    @pytest.mark.parametrize("bounds", [X, JPEG_ONLY, PNG_ONLY, ImageBounds(bytes=1_500)])
    @pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "GIF"])
    def test_metadata_is_removed(self, format, bounds):
        content = image_with_metadata(format)
        assert content.count(LOCATION_MARKER.encode()) >= 2
        fitted = fit_to_bounds(content, bounds)

        assert LOCATION_MARKER.encode() not in fitted.content
        assert not {b"Exif", b"eXIf", b"xmp", b"XMP", b"ICC_PROFILE", b"iCCP", b"tEXt", b"zTXt", b"iTXt", b"GPS"} & {
            marker
            for marker in (b"Exif", b"eXIf", b"xmp", b"XMP", b"ICC_PROFILE", b"iCCP", b"tEXt", b"zTXt", b"iTXt", b"GPS")
            if marker in fitted.content
        }
        decoded_image = decode(fitted.content)
        assert dict(decoded_image.getexif()) == {}
        assert set(decoded_image.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}

    def test_trailing_data_is_removed(self):
        page = b"<html><script>alert(1)</script></html>"
        fitted = fit_to_bounds(make_png(30, 30, bytes(31 * 30), png_chunk(b"tEXt", b"x\0" + page)) + page, X)

        assert b"script" not in fitted.content
        assert fitted.content.endswith(b"IEND\xaeB`\x82")

    def test_erased_pixels_are_removed(self):
        secret = noise_image(40, 40)
        erased = secret.copy()
        erased.putalpha(Image.new("L", (40, 40), 0))
        erased.putpixel((0, 0), (1, 2, 3, 255))
        decoded_image = decode(fit_to_bounds(encode(erased, "PNG"), X).content)

        assert decoded_image.mode == "RGBA"
        assert decoded_image.getpixel((0, 0)) == (1, 2, 3, 255)
        assert decoded_image.convert("RGB").crop((1, 0, 40, 40)).getextrema() == ((0, 0),) * 3


class TestAppearance:
    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_exif_orientation_is_applied(self, orientation):
        upright = Image.new("RGB", (60, 40), "white")
        upright.paste("red", (0, 0, 20, 20))
        flip = Image.Transpose
        # The camera stores the inverse of the orientation.
        stored_as = {
            2: flip.FLIP_LEFT_RIGHT, 3: flip.ROTATE_180, 4: flip.FLIP_TOP_BOTTOM, 5: flip.TRANSPOSE,
            6: flip.ROTATE_90, 7: flip.TRANSVERSE, 8: flip.ROTATE_270,
        }.get(orientation)  # fmt: skip
        stored = upright if stored_as is None else upright.transpose(stored_as)
        for kind in ("JPEG", "PNG", "WEBP"):
            fitted = fit_to_bounds(encode(stored, kind, exif=gps_exif(orientation)), X)

            assert (fitted.width, fitted.height) == (60, 40)
            assert is_near(pixel_color(fitted, 8, 8), (255, 0, 0), 30)
            assert is_near(pixel_color(fitted, 50, 30), (255, 255, 255))

    @pytest.mark.parametrize(
        "exif", [b"Exif\0\0MM\0*\0\0\0\x08\xff\xff", b"Exif\0\0garbage", b"Exif\0\0II*\0\xff\xff\xff\xff"]
    )
    def test_damaged_metadata_is_ignored(self, exif):
        assert fit_to_bounds(photo(exif=exif), X).width == 64

    def test_color_profile_is_applied(self):
        swapped = srgb_profile().replace(b"rXYZ", b"tXYZ").replace(b"gXYZ", b"rXYZ").replace(b"tXYZ", b"gXYZ")
        fitted = fit_to_bounds(encode(Image.new("RGB", (20, 20), (255, 0, 0)), "PNG", icc_profile=swapped), X)

        assert is_near(pixel_color(fitted, 5, 5), (0, 255, 0), 40)

    @pytest.mark.parametrize(
        "bad", [b"no profile", srgb_profile()[:200], b"\0" * 128, b"x" * 2**21], ids=["words", "part", "zeros", "large"]
    )
    def test_invalid_color_profile_is_ignored(self, bad):
        fitted = fit_to_bounds(encode(Image.new("RGB", (20, 20), (255, 0, 0)), "JPEG", icc_profile=bad), X)

        assert is_near(pixel_color(fitted, 5, 5), (255, 0, 0))

    def test_transparency_becomes_white_in_jpeg(self):
        half = Image.new("RGBA", (20, 20), (0, 0, 0, 0))
        half.paste((255, 0, 0, 255), (0, 0, 10, 20))
        fitted = fit_to_bounds(encode(half, "PNG"), JPEG_ONLY)

        assert is_near(pixel_color(fitted, 3, 10), (255, 0, 0), 20)
        assert is_near(pixel_color(fitted, 16, 10), (255, 255, 255))

    @pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
    def test_png_mode_is_read(self, mode):
        grey = Image.new("L", (20, 20), 128)
        picture = Image.new("I;16", (20, 20), 128 * 257) if mode == "I;16" else grey.convert(mode)
        fitted = fit_to_bounds(encode(picture, "PNG"), X)

        assert is_near(pixel_color(fitted, 5, 5), (128, 128, 128), 128 if mode == "1" else 3)

    def test_cmyk_jpeg_is_read(self):
        fitted = fit_to_bounds(encode(Image.new("CMYK", (20, 20), (0, 255, 255, 0)), "JPEG"), X)

        assert is_near(pixel_color(fitted, 5, 5), (255, 0, 0), 40)


class TestAnimation:
    @pytest.mark.parametrize("format", ["GIF", "WEBP", "PNG"])
    def test_animation_is_refused_unless_first_frame_suffices(self, format):
        with pytest.raises(ImageError, match="It is animated"):
            fit_to_bounds(animation(format), X)
        assert is_near(pixel_color(fit_to_bounds(animation(format), X, first_frame=True), 10, 10), (255, 0, 0), 30)

    def test_single_frame_gif_is_accepted(self):
        assert fit_to_bounds(encode(Image.new("P", (20, 20), 3), "GIF"), X).media_type == "image/png"


class TestHostile:
    @pytest.mark.parametrize(
        ("content", "megapixels"),
        [
            (png_bomb(), 33),
            (make_png(60_000, 60_000), 33),
            (make_png(7_000, 5_000), 33),
            (make_png(2**31 - 1, 2**31 - 1), 33),
            (b"GIF89a" + b"\xff\xff\xff\xff\0\0\0" + b",\0\0\0\0\xff\xff\xff\xff\0\x08\0;", 33),
            (webp_header(16_384, 16_384), 33),
            (photo().replace(b"\xff\xc0\x00\x11\x08\x00\x30\x00\x40", b"\xff\xc0\x00\x11\x08\xff\xff\xff\xff"), 67),
        ],
        ids=["bomb", "header", "just", "greatest", "gif", "webp", "jpeg"],
    )
    def test_decompression_bomb_is_refused_before_decoding(self, content, megapixels, monkeypatch):
        monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda *_: pytest.fail("it was unpacked"))
        with pytest.raises(ImageError, match=f"more than {megapixels} million pixels"):
            fit_to_bounds(content, X)

    def test_jpeg_with_many_scans_is_refused(self):
        scan = b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00"
        with pytest.raises(ImageError, match="million pixels"):
            fit_to_bounds(photo()[:-2] + scan * 200 + b"\xff\xd9", X)

    def test_scan_markers_in_the_video_of_a_motion_photo_do_not_count(self):
        assert fit_to_bounds(photo() + b"\xff\xda\x5c\x1e" * 200, X) == fit_to_bounds(photo(), X)

    @pytest.mark.parametrize("part", [0.3, 0.7, 0.95])
    @pytest.mark.parametrize(
        "content",
        [
            photo(300, 200),
            encode(noise_image(90, 90), "PNG"),
            encode(noise_image(90, 90), "WEBP"),
            encode(noise_image(90, 90).quantize(), "GIF"),
        ],
        ids=["jpeg", "png", "webp", "gif"],
    )
    def test_truncated_image_is_refused(self, content, part):
        with pytest.raises(ImageError, match="damaged or incomplete"):
            fit_to_bounds(content[: int(len(content) * part)], X)

    @pytest.mark.parametrize(
        "content",
        [
            photo().ljust(21 * 2**20, b"\0"),
            b"\xff\xd8" + (b"\xff\xe1\xff\xff" + bytes(65_533)) * 400,
            make_png(20, 20, bytes(21 * 20), png_chunk(b"tEXt", b"x" * 21 * 2**20)),
        ],
        ids=["behind", "segments", "chunk"],
    )
    def test_oversized_header_is_refused(self, content):
        with pytest.raises(ImageError, match="larger than 20 MB"):
            fit_to_bounds(content, X)

    @pytest.mark.parametrize(
        "extra",
        [
            png_chunk(b"zTXt", b"x\0\0" + zlib.compress(bytes(30_000_000))),
            png_chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(30_000_000))),
            b"\x64\x00\x00\x00tEXt",
        ],
        ids=["text", "profile", "length"],
    )
    def test_compressed_metadata_is_not_expanded(self, extra):
        with pytest.raises(ImageError, match="damaged or incomplete"):
            fit_to_bounds(make_png(20, 20, bytes(21 * 20), extra), X)

    @pytest.mark.parametrize(
        "content", [b"", b"<svg/>", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", webp_header(9, 9)]
    )
    def test_file_header_alone_is_refused(self, content):
        with pytest.raises(ImageError):
            fit_to_bounds(content, X)

    @settings(max_examples=sample_size(150), deadline=None)
    @given(st.sampled_from([photo(), drawing(), animation(), image_with_metadata("WEBP")]), st.data())
    def test_corrupted_file_is_converted_or_refused(self, content, data):
        broken = bytearray(content)
        for _ in range(data.draw(st.integers(1, 6))):
            broken[data.draw(st.integers(6, len(broken) - 1))] = data.draw(st.integers(0, 255))
        try:
            fitted = fit_to_bounds(bytes(broken), ImageBounds(bytes=200_000, max_side=64), first_frame=True)
        except ImageError:
            return
        assert max(fitted.width, fitted.height) <= 64

    def test_webp_is_refused_before_decoder_allocates(self, monkeypatch):
        monkeypatch.setattr("PIL.Image.open", lambda *_, **__: pytest.fail("it was opened"))
        with pytest.raises(ImageError, match="33 million pixels"):
            fit_to_bounds(webp_header(7_000, 5_000), X)

    @pytest.mark.parametrize(
        ("content", "decoder"),
        [(photo(), "JPEG"), (drawing(), "PNG"), (animation(), "GIF"), (animation("WEBP"), "WEBP")],
        ids=parameter_id,
    )
    def test_only_the_detected_formats_decoder_is_used(self, content, decoder, monkeypatch):
        # Pillow knows formats that run programs (EPS); their decoders must never be tried.
        requested_formats, original_open = [], Image.open
        monkeypatch.setattr(
            Image,
            "open",
            lambda file, formats: requested_formats.append(formats) or original_open(file, formats=formats),
        )
        fit_to_bounds(content, X, first_frame=True)
        assert requested_formats == [(decoder,)]


def test_missing_pillow_is_reported_with_hint(monkeypatch):
    content = drawing()
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ImageError, match="pip install pillow"):
        fit_to_bounds(content, X)


def test_pillow_settings_are_unchanged():
    before = Image.MAX_IMAGE_PIXELS
    fit_to_bounds(drawing(), X)
    assert before == Image.MAX_IMAGE_PIXELS
    assert before > max(MAX_PIXELS.values())
