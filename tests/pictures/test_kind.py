"""Tests for detecting the media type from the content."""

import pytest

from copydesk.pictures.errors import PictureError
from copydesk.pictures.kind import MOST_BYTES, Kind, checked_kind, kind_of
from some_pictures import drawing, moving, named, photo

SVG = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.mark.parametrize(
    ("content", "kind"),
    [(photo(), Kind.JPEG), (drawing(), Kind.PNG), (moving(), Kind.GIF), (moving("WEBP"), Kind.WEBP)],
    ids=named,
)
def test_image_type_is_detected(content, kind):
    assert kind_of(content) is checked_kind(content) is kind


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty file"),
        (b"\x00\x00\x00\x1cftypavif\x00\x00\x00\x00avifmif1", "format AVIF"),
        (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "format HEIC"),
        (b"\x00\x00\x00\x18ftypisom\x00\x00\x00\x00", "no picture"),
        (SVG, "SVG drawing"),
        (b"\xef\xbb\xbf\n<!DOCTYPE html><html><img src=a.png>", "web page"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "no picture"),
        (b"BM\x00\x00", "no picture"),
        (b"%PDF-1.7", "no picture"),
        (b"\xff\xd8", "no picture"),
        (b"\x89PNG", "no picture"),
        # An HTML page that contains an image is a page: browsers would treat it as one.
        (b"<html><script>1</script>" + drawing(), "web page"),
    ],
    ids=named,
)
def test_unsupported_file_is_refused_by_name(content, says):
    with pytest.raises(PictureError, match=says) as refused:
        checked_kind(content)
    assert refused.value.hint
    assert not refused.value.later


def test_oversized_file_is_refused():
    assert checked_kind(photo().ljust(MOST_BYTES, b"\0")) is Kind.JPEG
    with pytest.raises(PictureError, match="larger than 20 MB"):
        checked_kind(photo().ljust(MOST_BYTES + 1, b"\0"))
