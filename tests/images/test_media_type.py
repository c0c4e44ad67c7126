"""Tests for detecting the media type from the content."""

import pytest

from copydesk.errors import ImageError
from copydesk.images.media_type import MAX_BYTES, ImageFormat, sniff, validate_format
from image_samples import animation, drawing, parameter_id, photo

SVG = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (photo(), ImageFormat.JPEG),
        (drawing(), ImageFormat.PNG),
        (animation(), ImageFormat.GIF),
        (animation("WEBP"), ImageFormat.WEBP),
    ],
    ids=parameter_id,
)
def test_image_type_is_detected(content, kind):
    assert sniff(content) is validate_format(content) is kind


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "file is empty"),
        (b"\x00\x00\x00\x1cftypavif\x00\x00\x00\x00avifmif1", "format AVIF"),
        (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "format HEIC"),
        (b"\x00\x00\x00\x18ftypisom\x00\x00\x00\x00", "not a readable image|web page, not an image"),
        (SVG, "do not accept SVG"),
        (b"\xef\xbb\xbf\n<!DOCTYPE html><html><img src=a.png>", "web page"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "not a readable image|web page, not an image"),
        (b"BM\x00\x00", "not a readable image|web page, not an image"),
        (b"%PDF-1.7", "not a readable image|web page, not an image"),
        (b"\xff\xd8", "not a readable image|web page, not an image"),
        (b"\x89PNG", "not a readable image|web page, not an image"),
        # An HTML page that contains an image is a page: browsers would treat it as one.
        (b"<html><script>1</script>" + drawing(), "web page"),
    ],
    ids=parameter_id,
)
def test_unsupported_file_is_refused_by_name(content, message):
    with pytest.raises(ImageError, match=message) as refused:
        validate_format(content)
    assert refused.value.hint
    assert not refused.value.is_temporary


def test_oversized_file_is_refused():
    assert validate_format(photo().ljust(MAX_BYTES, b"\0")) is ImageFormat.JPEG
    with pytest.raises(ImageError, match="larger than 20 MB"):
        validate_format(photo().ljust(MAX_BYTES + 1, b"\0"))
