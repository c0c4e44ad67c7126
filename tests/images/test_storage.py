"""Tests for stored images and their media types."""

import hashlib
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from copydesk.errors import ImageError
from copydesk.images import storage as module
from copydesk.images.storage import MAX_BYTES, ImageFormat, is_stored, load, read_file, save, sniff, validate_format
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


PICTURE = drawing()
DIGEST = hashlib.sha256(PICTURE).hexdigest()
URL = f"copydesk:picture/{DIGEST}"


def file_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_stored_image_is_read_back(tmp_path):
    folder = tmp_path / "home" / "pictures"
    assert save(folder, PICTURE) == save(folder, PICTURE) == URL

    assert load(folder, URL) == PICTURE
    assert is_stored(folder, URL)
    assert file_names(folder) == [DIGEST]


def test_stored_file_is_private(tmp_path):
    before = os.umask(0)
    try:
        save(tmp_path / "pictures", PICTURE)
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "pictures").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "pictures" / DIGEST).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "url",
    [
        "",
        "copydesk:picture/",
        f"copydesk:picture/{DIGEST}\n",
        f"copydesk:picture/{DIGEST.upper()}",
        "copydesk:picture/../../../etc/passwd",
        f"copydesk:picture/{'.' * 64}",
        f"copydesk:picture/{'/' * 64}",
        f"file:///{DIGEST}",
        f"{URL}/..",
        f" {URL}",
    ],
)
def test_invalid_url_never_becomes_a_path(tmp_path, url, monkeypatch):
    save(tmp_path, PICTURE)
    monkeypatch.setattr(module.os, "open", lambda *_: pytest.fail("a file was opened"))

    assert not is_stored(tmp_path, url)
    with pytest.raises(ImageError, match="not an image stored by Copydesk"):
        load(tmp_path, url)


def test_symlink_is_not_followed(tmp_path):
    (tmp_path / "secret").write_bytes(PICTURE)
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / DIGEST).symlink_to(tmp_path / "secret")

    with pytest.raises(ImageError, match="no longer stored"):
        load(folder, URL)
    # Saved again, it is a regular file, and the link's target is unchanged.
    (tmp_path / "secret").write_bytes(b"other")
    save(folder, PICTURE)
    assert not (folder / DIGEST).is_symlink()
    assert (tmp_path / "secret").read_bytes() == b"other"


def test_damaged_file_is_refused_and_repaired_by_saving(tmp_path):
    save(tmp_path, PICTURE)
    (tmp_path / DIGEST).write_bytes(PICTURE[:-1] + b"x")

    with pytest.raises(ImageError, match="damaged"):
        load(tmp_path, URL)
    save(tmp_path, PICTURE)
    assert load(tmp_path, URL) == PICTURE


def test_missing_image_is_reported(tmp_path):
    with pytest.raises(ImageError, match="no longer stored") as caught:
        load(tmp_path / "nowhere", URL)
    assert not caught.value.is_temporary


@pytest.mark.parametrize("content", [b"", b"<html>", b"MZ\x90\x00"])
def test_only_images_are_stored(tmp_path, content):
    with pytest.raises(ImageError):
        save(tmp_path / "pictures", content)
    assert not (tmp_path / "pictures").exists()


def test_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail_with_full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "fsync", fail_with_full_disk)
    with pytest.raises(ImageError, match="Cannot store it: no space left") as refused:
        save(tmp_path, PICTURE)
    assert refused.value.is_temporary
    assert file_names(tmp_path) == []


def test_concurrent_saves_store_one_file(tmp_path):
    with ThreadPoolExecutor(8) as threads:
        urls = list(threads.map(lambda _: save(tmp_path / "pictures", PICTURE), range(40)))

    assert set(urls) == {URL}
    assert file_names(tmp_path / "pictures") == [DIGEST]


class TestReadFile:
    def test_file_is_read_whatever_its_name(self, tmp_path):
        (tmp_path / "holiday.txt").write_bytes(PICTURE)
        (tmp_path / "link").symlink_to("holiday.txt")

        assert read_file(tmp_path / "holiday.txt") == read_file(tmp_path / "link") == PICTURE

    def test_invalid_file_is_reported(self, tmp_path):
        (tmp_path / "a.png").write_text("<html>hello</html>")
        with pytest.raises(ImageError, match=r"a\.png: It is a web page"):
            read_file(tmp_path / "a.png")
        with pytest.raises(ImageError, match=r"Cannot read .*b\.png: no such file"):
            read_file(tmp_path / "b.png")
        with pytest.raises(ImageError, match=r"^Cannot read "):
            read_file(Path("a\0b"))

    def test_special_files_are_refused(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
            with pytest.raises(ImageError, match="is not a file"):
                read_file(path)

    def test_large_file_is_not_read_completely(self, tmp_path):
        (tmp_path / "large.jpg").write_bytes(photo())
        os.truncate(tmp_path / "large.jpg", 2**40)
        with pytest.raises(ImageError, match="larger than 20 MB"):
            read_file(tmp_path / "large.jpg")
