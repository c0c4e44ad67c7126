"""The pictures of a draft are looked at: what is kept is shown small, what is not is said, nothing is fetched."""

from pathlib import Path

import pytest

from copydesk.desk import Desk, viewing
from copydesk.model.draft import DraftImage
from copydesk.model.picture import Look
from copydesk.pictures.keep import keep
from copydesk.pictures.look import LONGEST_SIDE, look
from desk_fixtures import Web, open_at
from some_pictures import PLACE, bomb, drawing, frames_of, moving, photo, told_everywhere, where

URL = "https://pictures.example/a.jpg"


async def images(desk: Desk, *urls: str, source: str = "UPLOAD") -> tuple[DraftImage, ...]:
    asked = [{"url": url, "source": source, "alt": "A boat."} for url in urls]
    made = await desk.drafts.create({"text": "The harbour opens.", "images": asked})
    return (await desk.drafts.get(made.drafts[0].id)).images


async def test_a_kept_picture_is_shown_small_with_its_own_figures(tmp_path: Path) -> None:
    content = photo(1600, 1200)
    async with open_at(tmp_path) as desk:
        url = keep(desk.settings.pictures_folder, content)
        (seen,) = await desk.drafts.look_at(await images(desk, url))
    assert (seen.width, seen.height, seen.weight, seen.says) == (1600, 1200, len(content), "")
    shown = frames_of(seen.content)
    assert (shown.format, shown.size) == ("JPEG", (LONGEST_SIDE, 480))


async def test_nothing_is_fetched_for_it_until_a_post_has_read_it(tmp_path: Path) -> None:
    web = Web()
    web.put(URL, photo(), content_type="image/jpeg")
    async with open_at(tmp_path, web) as desk:
        (asked,) = await images(desk, URL, source="OG")
        assert await desk.drafts.look_at([asked]) == (viewing.ON_THE_WEB,)
        assert not web.asked


async def test_one_that_is_lost_damaged_or_a_bomb_says_so_and_the_others_are_shown(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        folder = desk.settings.pictures_folder
        lost, hurt, huge, well = (keep(folder, each) for each in (drawing(9, 9), photo(90, 9), bomb(), drawing()))
        (folder / lost[-64:]).unlink()
        (folder / hurt[-64:]).write_bytes(b"\xff\xd8\xff no more")
        looks = await desk.drafts.look_at(await images_unchecked(desk, lost, hurt, huge, well))
    assert [each.says for each in looks] == [
        "It is not kept any more.",
        "What was kept of it is damaged.",
        "It has more than 33 million pixels, or takes as long to unpack.",
        "",
    ]
    assert [bool(each.content) for each in looks] == [False, False, False, True]


async def images_unchecked(desk: Desk, *urls: str) -> list[DraftImage]:
    """Pictures of a draft that was made when they were still there."""
    (like,) = await images(desk, urls[-1])
    return [DraftImage(id="", url=url, alt=None, position=0, source=like.source) for url in urls]


async def test_a_slow_disk_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewing, "PATIENCE", 0)
    async with open_at(tmp_path) as desk:
        url = keep(desk.settings.pictures_folder, drawing())
        (seen,) = await desk.drafts.look_at(await images(desk, url))
    assert seen == Look(says="It takes too long to read.")


async def test_a_file_is_looked_at_before_it_is_kept(tmp_path: Path) -> None:
    (tmp_path / "boat.png").write_bytes(drawing(40, 30))
    (tmp_path / "moves.gif").write_bytes(moving())
    async with open_at(tmp_path / "home") as desk:
        seen = await desk.drafts.look_at_file(tmp_path / "boat.png")
        assert (seen.width, seen.height) == (40, 30)
        assert "moves" in (await desk.drafts.look_at_file(tmp_path / "moves.gif")).says
        assert "cannot be read" in (await desk.drafts.look_at_file(tmp_path / "none.png")).says
        assert "is no file" in (await desk.drafts.look_at_file(tmp_path)).says
        assert not desk.settings.pictures_folder.exists()


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP"])
def test_what_hides_in_a_file_is_not_in_what_is_shown(format: str) -> None:
    assert PLACE.encode() not in look(told_everywhere(format)).content


def test_a_picture_that_lies_on_its_side_has_the_figures_of_one_that_stands() -> None:
    seen = look(photo(80, 60, exif=where(6)))
    assert (seen.width, seen.height, frames_of(seen.content).size) == (60, 80, (60, 80))
