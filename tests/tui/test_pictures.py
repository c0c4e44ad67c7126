"""The pictures of a draft on the review: drawn where the terminal can, else said in lines."""

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
    """A draft with pictures, which are kept as they are, and be they bombs."""
    folder = desk.settings.pictures_folder
    urls = [each if isinstance(each, str) else keep(folder, each) for each in pictures]
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
    """A desk with one draft, which has a picture."""
    async with open_at(tmp_path) as desk:
        await add(desk, "The harbour opens.", photo(400, 300))
    return tmp_path


@pytest.fixture
def kitty(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is sent to a terminal that draws pictures, beside what is on the screen."""
    for name, value in {"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1", "COLORTERM": "truecolor"}.items():
        monkeypatch.setenv(name, value)
    for name in ("TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    sent: list[str] = []
    monkeypatch.setattr(Console, "send", lambda _, sequence: sent.append(sequence) if sequence else None)
    return sent


async def test_a_terminal_that_cannot_draw_says_what_there_is(boat: Path) -> None:
    async with on_review(boat) as seen:
        await seen.until(lambda: "picture 1  400x300, " in seen.text)
        assert "kB  “A boat in the harbour.”" in seen.text
        assert CELL not in seen.text


async def test_coloured_cells_stand_below_the_line_of_the_picture_where_they_are_asked_for(boat: Path) -> None:
    async with on_review(boat, **ALWAYS) as seen:
        await seen.until(lambda: CELL in seen.text)
        first = next(at for at, line in enumerate(seen.lines) if CELL in line)
        assert "picture 1  400x300" in seen.lines[first - 1]
        assert sum(CELL in line for line in seen.lines) == 12
        assert max(line.count(CELL) for line in seen.lines) == 32


async def test_without_the_extra_there_are_lines(boat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing_of, "find_spec", lambda name: None)
    async with on_review(boat, **ALWAYS) as seen:
        await seen.until(lambda: "picture 1  400x300" in seen.text)
        assert CELL not in seen.text
        assert not seen.toasts


async def test_never_is_never(boat: Path, kitty: list[str]) -> None:
    async with on_review(boat, console__images="never") as seen:
        await seen.until(lambda: "picture 1  400x300" in seen.text)
        assert PLACEHOLDER not in seen.text
    assert not kitty


async def test_another_draft_leaves_nothing_of_the_picture(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await add(desk, "Without a picture.")
        await add(desk, "The harbour opens.", photo(400, 300))
    async with on_review(tmp_path, **ALWAYS) as seen:
        for _ in range(4):
            has_one = "opens" in seen.current.text
            await seen.until(lambda shown=has_one: (CELL in seen.text) is shown)
            await seen.press("k" if seen.screen.rows.cursor else "j")


def widest(seen: Review) -> int:
    """Cells of a picture in one line of the screen."""
    return max(line.count(CELL) for line in seen.lines)


async def test_another_width_is_another_drawing(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await add(desk, "The harbour opens.", photo(800, 200))
    async with on_review(tmp_path, **ALWAYS) as seen:
        await seen.until(lambda: widest(seen) > 40)
        await seen.resize(40, 24)
        await seen.press("enter", "G")
        await seen.until(lambda: 30 < widest(seen) < 40)
        await seen.resize(*WIDE)
        await seen.until(lambda: widest(seen) > 40)


async def test_kitty_gets_each_picture_once_and_forgets_all_of_them_in_the_end(
    tmp_path: Path, kitty: list[str]
) -> None:
    async with open_at(tmp_path) as desk:
        for number in range(3):
            await add(desk, f"The harbour {number} opens.", photo(400, 300 + 10 * number))
    async with on_review(tmp_path) as seen:
        for key in "jjkkjj":
            await seen.until(lambda: PLACEHOLDER in seen.text)
            await seen.press(key)
        await seen.until(lambda: PLACEHOLDER in seen.text)
        placed = re.findall(r"a=p,U=1,i=(\d+)", "".join(kitty))
        assert len(placed) == 3
        assert not re.search("a=d", "".join(kitty))
        assert seen.app.gallery is not None
    assert sorted(re.findall(r"a=d,d=I,i=(\d+)", "".join(kitty))) == sorted(placed)


async def test_no_more_pictures_lie_in_the_terminal_than_are_kept(
    tmp_path: Path, kitty: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydesk.tui.gallery.KEPT", 1)
    async with open_at(tmp_path) as desk:
        for number in range(2):
            await add(desk, f"The harbour {number} opens.", photo(400, 300 + 10 * number))
    async with on_review(tmp_path) as seen:
        await seen.until(lambda: PLACEHOLDER in seen.text)
        (first,) = re.findall(r"a=p,U=1,i=(\d+)", "".join(kitty))
        await seen.press("j")
        await seen.until(lambda: PLACEHOLDER in seen.text)
        assert re.findall(r"a=d,d=I,i=(\d+)", "".join(kitty)) == [first]


async def test_one_that_cannot_be_seen_says_why_and_the_others_are_drawn(tmp_path: Path) -> None:
    lost = drawing(30, 30)
    async with open_at(tmp_path) as desk:
        hurt = photo(200, 100)[:900]
        await add(desk, "Four.", bomb(), hurt, lost, "https://pictures.example/a.png")
        await add(desk, "One more.", photo(200, 100))
        for path in desk.settings.pictures_folder.iterdir():
            if path.read_bytes() == lost:
                path.unlink()
    async with on_review(tmp_path, **ALWAYS) as seen:
        if "Four" not in seen.current.text:
            await seen.press("j")
        await seen.until(lambda: "million pixels" in seen.text)
        for says in ("million pixels", "damaged or cut off", "It is not kept any more.", "fetched when it is posted"):
            assert says in seen.text
        assert CELL not in seen.text
        await seen.press("k" if seen.screen.rows.cursor else "j")
        await seen.until(lambda: CELL in seen.text)


async def test_a_picture_without_a_description_says_so(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        await add(desk, "The harbour opens.", drawing(), alt=None)
    async with on_review(tmp_path) as seen:
        await seen.until(lambda: "picture 1  64x48, " in seen.text)
        assert "no description" in seen.text


def test_a_draft_with_a_picture(tmp_path: Path, snap_compare: Callable[..., bool]) -> None:
    async def furnish() -> None:
        async with open_at(tmp_path) as desk:
            # Without grain, which other versions of a decoder would place elsewhere.
            await add(desk, "The harbour opens.", packed(smooth(64, 48).resize((400, 300)), "PNG"))

    asyncio.run(furnish())

    async def shown(pilot: Pilot[int]) -> None:
        await settled(pilot)
        assert isinstance(pilot.app, Console)
        review = Review(pilot.app, pilot)
        await review.until(lambda: CELL in review.text)

    assert snap_compare(open_console(tmp_path, **ALWAYS), terminal_size=(130, 36), run_before=shown)
