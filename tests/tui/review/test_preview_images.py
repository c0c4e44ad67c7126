"""Tests for a draft's images on the review: drawn where the terminal can, else described in text."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from console_driver import wait_until_idle
from copydesk.desk import Desk
from copydesk.tui.app import Console
from copydesk.tui.terminal import images as drawing_of
from desk_fixtures import NOW, open_desk_at
from image_samples import drawing, encode, photo, photo_like_image, png_bomb, store_image
from review_driver import ReviewDriver

WIDE = (160, 44)
ALWAYS = {"console__images": "always"}
CELL = "▀"
PLACEHOLDER = "\U0010eeee"


async def add_draft(desk: Desk, text: str, *images: bytes | str, alt: str | None = "A boat in the harbour.") -> None:
    """Create a draft with images, stored unchecked: they may be decompression bombs."""
    urls = [image if isinstance(image, str) else await store_image(desk, image) for image in images]
    await desk.drafts.create({"text": text, "images": [{"url": url, "source": "UPLOAD", "alt": alt} for url in urls]})


def open_console(home: Path, **settings: str) -> Console:
    return Console(lambda: open_desk_at(home, **settings), clock=lambda: NOW)


@asynccontextmanager
async def on_review(home: Path, size: tuple[int, int] = WIDE, **settings: str) -> AsyncIterator[ReviewDriver]:
    app = open_console(home, **settings)
    async with app.run_test(size=size, notifications=True) as pilot:
        await wait_until_idle(pilot)
        yield ReviewDriver(app, pilot)


@pytest.fixture
async def home_with_image(tmp_path: Path) -> Path:
    """Return the home of a desk with one draft, which has an image."""
    async with open_desk_at(tmp_path) as desk:
        await add_draft(desk, "The harbour opens.", photo(400, 300))
    return tmp_path


@pytest.fixture
def kitty_output(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pose as Kitty; return the list of sequences sent beside the screen's content."""
    for name, value in {"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1", "COLORTERM": "truecolor"}.items():
        monkeypatch.setenv(name, value)
    for name in ("TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    sent: list[str] = []
    monkeypatch.setattr(Console, "write_terminal", lambda _, sequence: sent.append(sequence) if sequence else None)
    return sent


async def test_undrawable_image_is_described(home_with_image: Path) -> None:
    async with on_review(home_with_image) as ui:
        await ui.wait_for(lambda: "Image 1  400x300, " in ui.text)
        assert "kB  “A boat in the harbour.”" in ui.text
        assert CELL not in ui.text


async def test_image_is_drawn_as_coloured_cells(home_with_image: Path) -> None:
    async with on_review(home_with_image, **ALWAYS) as ui:
        await ui.wait_for(lambda: CELL in ui.text)
        top = next(row for row, line in enumerate(ui.lines) if CELL in line)
        assert "Image 1  400x300" in ui.lines[top - 1]
        assert sum(CELL in line for line in ui.lines) == 12
        assert max(line.count(CELL) for line in ui.lines) == 32


async def test_missing_extra_falls_back_to_text(home_with_image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing_of, "find_spec", lambda name: None)
    async with on_review(home_with_image, **ALWAYS) as ui:
        await ui.wait_for(lambda: "Image 1  400x300" in ui.text)
        assert CELL not in ui.text
        assert not ui.toasts


async def test_setting_never_disables_drawing(home_with_image: Path, kitty_output: list[str]) -> None:
    async with on_review(home_with_image, console__images="never") as ui:
        await ui.wait_for(lambda: "Image 1  400x300" in ui.text)
        assert PLACEHOLDER not in ui.text
    assert not kitty_output


async def test_switching_draft_removes_image(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await add_draft(desk, "Without an image.")
        await add_draft(desk, "The harbour opens.", photo(400, 300))
    async with on_review(tmp_path, **ALWAYS) as ui:
        for _ in range(4):
            has_image = "opens" in ui.current.text
            await ui.wait_for(lambda expected=has_image: (CELL in ui.text) is expected)
            await ui.press("k" if ui.screen.queue.cursor else "j")


def widest_image_line(ui: ReviewDriver) -> int:
    """Return the most image cells in one line of the screen."""
    return max(line.count(CELL) for line in ui.lines)


async def test_resize_redraws_image(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await add_draft(desk, "The harbour opens.", photo(800, 200))
    async with on_review(tmp_path, **ALWAYS) as ui:
        await ui.wait_for(lambda: widest_image_line(ui) > 40)
        await ui.resize(40, 24)
        await ui.press("enter", "G")
        await ui.wait_for(lambda: 30 < widest_image_line(ui) < 40)
        await ui.resize(*WIDE)
        await ui.wait_for(lambda: widest_image_line(ui) > 40)


async def test_kitty_receives_images_once_and_deletes_all(tmp_path: Path, kitty_output: list[str]) -> None:
    async with open_desk_at(tmp_path) as desk:
        for number in range(3):
            await add_draft(desk, f"The harbour {number} opens.", photo(400, 300 + 10 * number))
    async with on_review(tmp_path) as ui:
        for key in "jjkkjj":
            await ui.wait_for(lambda: PLACEHOLDER in ui.text)
            await ui.press(key)
        await ui.wait_for(lambda: PLACEHOLDER in ui.text)
        image_ids = re.findall(r"a=p,U=1,i=(\d+)", "".join(kitty_output))
        assert len(image_ids) == 3
        assert not re.search("a=d", "".join(kitty_output))
        assert ui.app.image_cache is not None
    assert sorted(re.findall(r"a=d,d=I,i=(\d+)", "".join(kitty_output))) == sorted(image_ids)


async def test_least_recent_image_is_deleted_from_terminal(
    tmp_path: Path, kitty_output: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydesk.tui.terminal.images.MAX_DRAWINGS", 1)
    async with open_desk_at(tmp_path) as desk:
        for number in range(2):
            await add_draft(desk, f"The harbour {number} opens.", photo(400, 300 + 10 * number))
    async with on_review(tmp_path) as ui:
        await ui.wait_for(lambda: PLACEHOLDER in ui.text)
        (first,) = re.findall(r"a=p,U=1,i=(\d+)", "".join(kitty_output))
        await ui.press("j")
        await ui.wait_for(lambda: PLACEHOLDER in ui.text)
        assert re.findall(r"a=d,d=I,i=(\d+)", "".join(kitty_output)) == [first]


async def test_undrawable_images_give_reasons(tmp_path: Path) -> None:
    """The other images of the queue are still drawn."""
    missing_image = drawing(30, 30)
    async with open_desk_at(tmp_path) as desk:
        truncated_image = photo(200, 100)[:900]
        await add_draft(desk, "Four.", png_bomb(), truncated_image, missing_image, "https://pictures.example/a.png")
        await add_draft(desk, "One more.", photo(200, 100))
        for path in desk.settings.images_folder.iterdir():
            if path.read_bytes() == missing_image:
                path.unlink()
    async with on_review(tmp_path, **ALWAYS) as ui:
        if "Four" not in ui.current.text:
            await ui.press("j")
        await ui.wait_for(lambda: "million pixels" in ui.text)
        for reason in ("million pixels", "damaged or incomplete", "It is no longer stored.", "Downloaded when posted"):
            assert reason in ui.text
        assert CELL not in ui.text
        await ui.press("k" if ui.screen.queue.cursor else "j")
        await ui.wait_for(lambda: CELL in ui.text)


async def test_missing_description_is_reported(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await add_draft(desk, "The harbour opens.", drawing(), alt=None)
    async with on_review(tmp_path) as ui:
        await ui.wait_for(lambda: "Image 1  64x48, " in ui.text)
        assert "no alt text" in ui.text


def test_snapshot_of_draft_with_image(tmp_path: Path, snap_compare: Callable[..., bool]) -> None:
    async def furnish() -> None:
        async with open_desk_at(tmp_path) as desk:
            # Without grain: versions of the decoder differ in it.
            await add_draft(desk, "The harbour opens.", encode(photo_like_image(64, 48).resize((400, 300)), "PNG"))

    asyncio.run(furnish())

    async def wait_for_image(pilot: Pilot[int]) -> None:
        await wait_until_idle(pilot)
        assert isinstance(pilot.app, Console)
        review = ReviewDriver(pilot.app, pilot)
        await review.wait_for(lambda: CELL in review.text)

    assert snap_compare(open_console(tmp_path, **ALWAYS), terminal_size=(130, 36), run_before=wait_for_image)
