"""Create the images in screenshots/: `make screenshots`.

The console draws the sample desk at a fixed time: an SVG of each screen, and a PNG where resvg-py is installed (`pip
install --group screenshots`) and the machine has a monospaced font. Browsers load no font for an embedded SVG, so the
README uses the PNG.
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
    """One screenshot: file name, terminal size, keys to press, theme and desk."""

    name: str
    size: tuple[int, int]
    keys: tuple[str, ...] = ()
    theme: str = DARK.name
    desk: Callable[[Settings], Awaitable[None]] = ran
    """Prepares the desk."""


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
    """Return the screenshot as SVG."""
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
            return _use_local_fonts(app.export_screenshot(title=" ", simplify=True))


def _use_local_fonts(svg: str) -> str:
    """Replace the web font that Textual refers to: an image must not load anything."""
    families = ", ".join(FONTS)
    return _FAMILY.sub(f"font-family: {families}, monospace;", _FONT_FACE.sub("", svg))


def to_png(svg: str) -> bytes | None:
    """Return the image as PNG at 1.5 times its size; None without resvg-py."""
    try:
        import resvg_py  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=1.5, monospace_family="DejaVu Sans Mono"))


def main() -> None:
    """Create all screenshots, or those named as arguments."""
    FOLDER.mkdir(exist_ok=True)
    selected = [picture for picture in PICTURES if not sys.argv[1:] or picture.name in sys.argv[1:]]
    for picture in selected:
        svg = asyncio.run(take(picture))
        (FOLDER / f"{picture.name}.svg").write_text(svg, encoding="utf-8")
        png = to_png(svg)
        if png is not None:
            (FOLDER / f"{picture.name}.png").write_bytes(png)
        print(f"screenshots/{picture.name}.{'svg, .png' if png else 'svg'}")


if __name__ == "__main__":
    main()
