"""The pictures in screenshots/: `make screenshots`.

The sample desk at a fixed hour, drawn by the console itself: an SVG of each screen, and a PNG where resvg-py is
installed (`pip install --group screenshots`) and the machine has a monospaced font. A page that shows the SVG loads
no font for it, so the PNG is what the README uses.
"""

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from copydesk.sample.desk import open_sample, sample_settings
from copydesk.settings import Settings, load
from copydesk.tui.app import Console
from copydesk.tui.themes import DARK, LIGHT
from sample_history import NOW, new, ran, used
from tui_fixtures import settled

WIDE = (132, 38)
FOLDER = Path(__file__).resolve().parents[1] / "screenshots"
FONTS = ("Fira Code", "DejaVu Sans Mono", "Liberation Mono", "Menlo", "Consolas")
_FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_FAMILY = re.compile(r"font-family: (?:Fira Code|arial)[^;]*;")


class Picture(NamedTuple):
    """One picture: its file's name, the terminal, the keys to press, and after which run."""

    name: str
    size: tuple[int, int]
    keys: tuple[str, ...] = ()
    theme: str = DARK.name
    desk: Callable[[Settings], Awaitable[None]] = ran
    """What the desk has behind it."""


PICTURES = (
    Picture("review", WIDE, ("j", "j"), desk=used),
    Picture("review-light", WIDE, ("j", "j"), theme=LIGHT.name, desk=used),
    Picture("review-narrow", (80, 24), ("j", "enter")),
    Picture("review-run", WIDE, ("P",), desk=new),
    Picture("schedule", WIDE, ("2", "j", "l", "k", "k"), desk=used),
    Picture("sources", WIDE, ("3",), desk=used),
    Picture("experiments", WIDE, ("4",), desk=used),
    Picture("engagement", WIDE, ("5", "tab"), desk=used),
)


async def take(picture: Picture) -> str:
    """The picture as SVG."""
    with TemporaryDirectory() as home:
        settings = sample_settings(load({}, Path(home)))
        await picture.desk(settings)
        app = Console(lambda: open_sample(settings, clock=lambda: NOW), clock=lambda: NOW)
        app.theme = picture.theme
        async with app.run_test(size=picture.size) as pilot:
            await settled(pilot)
            for key in picture.keys:
                await pilot.press(key)
                await settled(pilot)
            return _own_fonts(app.export_screenshot(title=" ", simplify=True))


def _own_fonts(svg: str) -> str:
    """Without the address that Textual wants its font from: a picture asks nobody for anything."""
    families = ", ".join(FONTS)
    return _FAMILY.sub(f"font-family: {families}, monospace;", _FONT_FACE.sub("", svg))


def to_png(svg: str) -> bytes | None:
    """The picture as PNG, sharp enough for a dense screen; None without resvg-py."""
    try:
        import resvg_py  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=1.5, monospace_family="DejaVu Sans Mono"))


def main() -> None:
    """Draw them all, or those that are named."""
    FOLDER.mkdir(exist_ok=True)
    wanted = [picture for picture in PICTURES if not sys.argv[1:] or picture.name in sys.argv[1:]]
    for picture in wanted:
        svg = asyncio.run(take(picture))
        (FOLDER / f"{picture.name}.svg").write_text(svg, encoding="utf-8")
        png = to_png(svg)
        if png is not None:
            (FOLDER / f"{picture.name}.png").write_bytes(png)
        print(f"screenshots/{picture.name}.{'svg, .png' if png else 'svg'}")


if __name__ == "__main__":
    main()
