"""Tests for thumbnails of a draft's images: made from stored files only, with a message where there is none."""

from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.desk.images import service as viewing
from copydesk.images.resize import MAX_THUMBNAIL_SIDE, thumbnail
from copydesk.images.storage import save
from copydesk.model.draft import DraftImage, Thumbnail
from desk_fixtures import FakeWeb, open_desk_at
from image_samples import LOCATION_MARKER, animation, decode, drawing, gps_exif, image_with_metadata, photo, png_bomb

URL = "https://pictures.example/a.jpg"


async def create_images(desk: Desk, *urls: str, source: str = "UPLOAD") -> tuple[DraftImage, ...]:
    requests = [{"url": url, "source": source, "alt": "A boat."} for url in urls]
    created = await desk.drafts.create({"text": "The harbour opens.", "images": requests})
    return (await desk.drafts.get(created.drafts[0].id)).images


async def test_thumbnail_of_stored_image(tmp_path: Path) -> None:
    content = photo(1600, 1200)
    async with open_desk_at(tmp_path) as desk:
        url = await desk.drafts.images.save_content(content)
        (thumbnail,) = await desk.drafts.images.thumbnails(await create_images(desk, url))
    assert (thumbnail.width, thumbnail.height, thumbnail.size, thumbnail.message) == (1600, 1200, len(content), "")
    preview = decode(thumbnail.content)
    assert (preview.format, preview.size) == ("JPEG", (MAX_THUMBNAIL_SIDE, 480))


async def test_unstored_image_is_not_fetched(tmp_path: Path) -> None:
    web = FakeWeb()
    web.put(URL, photo(), content_type="image/jpeg")
    async with open_desk_at(tmp_path, web) as desk:
        (image,) = await create_images(desk, URL, source="OG")
        assert await desk.drafts.images.thumbnails([image]) == (viewing.NOT_DOWNLOADED,)
        assert not web.requests


async def test_unusable_images_are_reported(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        folder = desk.settings.images_folder
        lost_url, damaged_url, bomb_url, intact_url = (
            save(folder, content) for content in (drawing(9, 9), photo(90, 9), png_bomb(), drawing())
        )
        (folder / lost_url[-64:]).unlink()
        (folder / damaged_url[-64:]).write_bytes(b"\xff\xd8\xff no more")
        thumbnails = await desk.drafts.images.thumbnails(
            await images_without_validation(desk, lost_url, damaged_url, bomb_url, intact_url)
        )
    assert [content.message for content in thumbnails] == [
        "It is no longer stored.",
        "The stored file is damaged.",
        "It has more than 33 million pixels.",
        "",
    ]
    assert [bool(content.content) for content in thumbnails] == [False, False, False, True]


async def images_without_validation(desk: Desk, *urls: str) -> list[DraftImage]:
    """Return image records as of a draft created while the files still existed."""
    (template,) = await create_images(desk, URL)
    return [DraftImage(id="", url=url, alt=None, position=0, source=template.source) for url in urls]


async def test_slow_disk_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewing, "RENDER_TIMEOUT", 0)
    async with open_desk_at(tmp_path) as desk:
        url = await desk.drafts.images.save_content(drawing())
        (thumbnail,) = await desk.drafts.images.thumbnails(await create_images(desk, url))
    assert thumbnail == Thumbnail(message="Reading it takes too long.")


async def test_file_is_checked_before_it_is_stored(tmp_path: Path) -> None:
    (tmp_path / "boat.png").write_bytes(drawing(40, 30))
    (tmp_path / "moves.gif").write_bytes(animation())
    async with open_desk_at(tmp_path / "home") as desk:
        thumbnail = await desk.drafts.images.file_thumbnail(tmp_path / "boat.png")
        assert (thumbnail.width, thumbnail.height) == (40, 30)
        assert "animated" in (await desk.drafts.images.file_thumbnail(tmp_path / "moves.gif")).message
        assert "Cannot read" in (await desk.drafts.images.file_thumbnail(tmp_path / "none.png")).message
        assert "is not a file" in (await desk.drafts.images.file_thumbnail(tmp_path)).message
        assert not desk.settings.images_folder.exists()


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP"])
def test_thumbnail_contains_no_metadata(format: str) -> None:
    assert LOCATION_MARKER.encode() not in thumbnail(image_with_metadata(format)).content


def test_orientation_swaps_dimensions() -> None:
    result = thumbnail(photo(80, 60, exif=gps_exif(6)))
    assert (result.width, result.height, decode(result.content).size) == (60, 80, (60, 80))
