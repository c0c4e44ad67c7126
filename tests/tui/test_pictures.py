"""Tests for a draft's images on the review: drawn where the terminal can, else described in text."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from copydesk.desk import Desk
from copydesk.pictures.keep import keep
from copydesk.tui import drawing as drawing_of
from copydesk.tui.app import Console
from deciding_fixtures import Review
from desk_fixtures import NOW, open_at
from some_pictures import bomb, drawing, packed, photo, smooth
from tui_fixtures import settled

WIDE = (160, 44)
ALWAYS = {"console__images": "always"}
CELL = "▀"
PLACEHOLDER = "\U0010eeee"


async def add(desk: Desk, text: str, *pictures: bytes | str, alt: str | None = "A boat in the harbour.") -> None:
    """Create a draft with images, stored unchecked: they may be decompression bombs."""
    folder = desk.settings.pictures_folder
    urls = [image if isinstance(image, str) else keep(folder, image) for image in pictures]
    await desk.drafts.create({"text": text, "images": [{"url": url, "source": "UPLOAD", "alt": alt} for url in urls]})


def open_console(home: Path, **named: str) -> Console:
    return Console(lambda: open_at(home, **named), clock=lambda: NOW)


@asynccontextmanager
async def on_review(home: Path, size: tuple[int, int] = WIDE, **named: str) -> AsyncIterator[Review]:
    app = open_console(home, **named)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        yield Review(app, pilot)


@pytest.fixture
async def boat(tmp_path: Path) -> Path:
    """Return the home of a desk with one draft, which has an image."""
    async with open_at(tmp_path) as desk:
        await add(desk, "The harbour opens.", photo(400, 300))
    return tmp_path


@pytest.fixture
def kitty(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pose as Kitty; return the list of sequences sent beside the screen's content."""
    for name, value in {"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1", "COLORTERM": "truecolor"}.items():
        monkeypatch.setenv(name, value)
    for name in ("TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    sent: list[str] = []
    monkeypatch.setattr(Console, "send", lambda _, sequence: sent.append(sequence) if sequence else None)
    return sent


async def test_undrawable_image_is_described(boat: Path) -> None:
    async with on_review(boat) as ui:
        await ui.until(lambda: "picture 1  400x300, " in ui.text)
        assert "kB  “A boat in the harbour.”" in ui.text
        assert CELL not in ui.text


async def test_image_is_drawn_as_coloured_cells(boat: Path) -> None:
    async with on_review(boat, **ALWAYS) as ui:
        await ui.until(lambda: CELL in ui.text)
        top = next(row for row, line in enumerate(ui.lines) if CELL in line)
        assert "picture 1  400x300" in ui.lines[top - 1]
        assert sum(CELL in line for line in ui.lines) == 12
        assert max(line.count(CELL) for line in ui.lines) == 32


async def test_missing_extra_falls_back_to_text(boat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing_of, "find_spec", lambda name: None)
    async with on_review(boat, **ALWAYS) as ui:
        await ui.until(lambda: "picture 1  400x300" in ui.text)
        assert CELL not in ui.text
        assert not ui.toasts


async def test_setting_never_disables_drawing(boat: Path, kitty: list[str]) -> None:
    async with on_review(boat, console__images="never") as ui:
        await ui.until(lambda: "picture 1  400x300" in ui.text)
        assert PLACEHOLDER not in ui.text
    assert not kitty


async def test_switching_draft_removes_image(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await add(desk, "Without a picture.")
        await add(desk, "The harbour opens.", photo(400, 300))
    async with on_review(tmp_path, **ALWAYS) as ui:
        for _ in range(4):
            has_image = "opens" in ui.current.text
            await ui.until(lambda expected=has_image: (CELL in ui.text) is expected)
            await ui.press("k" if ui.screen.rows.cursor else "j")


def widest(seen: Review) -> int:
    """Return the most image cells in one line of the screen."""
    return max(line.count(CELL) for line in seen.lines)


async def test_resize_redraws_image(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await add(desk, "The harbour opens.", photo(800, 200))
    async with on_review(tmp_path, **ALWAYS) as ui:
        await ui.until(lambda: widest(ui) > 40)
        await ui.resize(40, 24)
        await ui.press("enter", "G")
        await ui.until(lambda: 30 < widest(ui) < 40)
        await ui.resize(*WIDE)
        await ui.until(lambda: widest(ui) > 40)


async def test_kitty_receives_images_once_and_deletes_all(tmp_path: Path, kitty: list[str]) -> None:
    async with open_at(tmp_path) as desk:
        for number in range(3):
            await add(desk, f"The harbour {number} opens.", photo(400, 300 + 10 * number))
    async with on_review(tmp_path) as ui:
        for key in "jjkkjj":
            await ui.until(lambda: PLACEHOLDER in ui.text)
            await ui.press(key)
        await ui.until(lambda: PLACEHOLDER in ui.text)
        image_ids = re.findall(r"a=p,U=1,i=(\d+)", "".join(kitty))
        assert len(image_ids) == 3
        assert not re.search("a=d", "".join(kitty))
        assert ui.app.gallery is not None
    assert sorted(re.findall(r"a=d,d=I,i=(\d+)", "".join(kitty))) == sorted(image_ids)


async def test_least_recent_image_is_deleted_from_terminal(
    tmp_path: Path, kitty: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydesk.tui.gallery.KEPT", 1)
    async with open_at(tmp_path) as desk:
        for number in range(2):
            await add(desk, f"The harbour {number} opens.", photo(400, 300 + 10 * number))
    async with on_review(tmp_path) as ui:
        await ui.until(lambda: PLACEHOLDER in ui.text)
        (first,) = re.findall(r"a=p,U=1,i=(\d+)", "".join(kitty))
        await ui.press("j")
        await ui.until(lambda: PLACEHOLDER in ui.text)
        assert re.findall(r"a=d,d=I,i=(\d+)", "".join(kitty)) == [first]


async def test_undrawable_images_give_reasons(tmp_path: Path) -> None:
    """The other images of the queue are still drawn."""
    missing_image = drawing(30, 30)
    async with open_at(tmp_path) as desk:
        truncated_image = photo(200, 100)[:900]
        await add(desk, "Four.", bomb(), truncated_image, missing_image, "https://pictures.example/a.png")
        await add(desk, "One more.", photo(200, 100))
        for path in desk.settings.pictures_folder.iterdir():
            if path.read_bytes() == missing_image:
                path.unlink()
    async with on_review(tmp_path, **ALWAYS) as ui:
        if "Four" not in ui.current.text:
            await ui.press("j")
        await ui.until(lambda: "million pixels" in ui.text)
        for reason in ("million pixels", "damaged or cut off", "It is not kept any more.", "fetched when it is posted"):
            assert reason in ui.text
        assert CELL not in ui.text
        await ui.press("k" if ui.screen.rows.cursor else "j")
        await ui.until(lambda: CELL in ui.text)


async def test_missing_description_is_reported(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await add(desk, "The harbour opens.", drawing(), alt=None)
    async with on_review(tmp_path) as ui:
        await ui.until(lambda: "picture 1  64x48, " in ui.text)
        assert "no description" in ui.text


def test_snapshot_of_draft_with_image(tmp_path: Path, snap_compare: Callable[..., bool]) -> None:
    async def furnish() -> None:
        async with open_at(tmp_path) as desk:
            # Without grain: versions of the decoder differ in it.
            await add(desk, "The harbour opens.", packed(smooth(64, 48).resize((400, 300)), "PNG"))

    asyncio.run(furnish())

    async def wait_for_image(pilot: Pilot[int]) -> None:
        await settled(pilot)
        assert isinstance(pilot.app, Console)
        review = Review(pilot.app, pilot)
        await review.until(lambda: CELL in review.text)

    assert snap_compare(open_console(tmp_path, **ALWAYS), terminal_size=(130, 36), run_before=wait_for_image)
