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

from console_driver import wait_until_idle
from copydesk.sample.desk import open_sample, sample_settings
from copydesk.settings import Settings, load
from copydesk.tui.app import Console
from copydesk.tui.themes import DARK, LIGHT
from sample_desks import NOW, furnish, leave_empty, run_pipeline

WIDE = (132, 38)
FOLDER = Path(__file__).resolve().parents[2] / "screenshots"
FONTS = ("Fira Code", "DejaVu Sans Mono", "Liberation Mono", "Menlo", "Consolas")
_FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_FAMILY = re.compile(r"font-family: (?:Fira Code|arial)[^;]*;")


class Screenshot(NamedTuple):
    """One screenshot: file name, terminal size, keys to press, theme and desk."""

    name: str
    size: tuple[int, int]
    keys: tuple[str, ...] = ()
    theme: str = DARK.name
    setup: Callable[[Settings], Awaitable[None]] = run_pipeline
    """Prepares the desk."""


SCREENSHOTS = (
    Screenshot("review", WIDE, ("j", "j"), setup=furnish),
    Screenshot("review-light", WIDE, ("j", "j"), theme=LIGHT.name, setup=furnish),
    Screenshot("review-narrow", (80, 24), ("j", "enter")),
    Screenshot("review-run", WIDE, ("P",), setup=leave_empty),
    Screenshot("schedule", WIDE, ("2", "j", "l", "k", "k"), setup=furnish),
    Screenshot("sources", WIDE, ("3",), setup=furnish),
    Screenshot("experiments", WIDE, ("4", "j"), setup=furnish),
    Screenshot("engagement", WIDE, ("5", "tab"), setup=furnish),
)


async def render(screenshot: Screenshot) -> str:
    """Return the screenshot as SVG."""
    with TemporaryDirectory() as home:
        settings = sample_settings(load({}, Path(home)))
        await screenshot.setup(settings)
        app = Console(lambda: open_sample(settings, clock=lambda: NOW), clock=lambda: NOW)
        app.theme = screenshot.theme
        async with app.run_test(size=screenshot.size) as pilot:
            await wait_until_idle(pilot)
            for key in screenshot.keys:
                await pilot.press(key)
                await wait_until_idle(pilot)
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
    selected = [picture for picture in SCREENSHOTS if not sys.argv[1:] or picture.name in sys.argv[1:]]
    for picture in selected:
        svg = asyncio.run(render(picture))
        (FOLDER / f"{picture.name}.svg").write_text(svg, encoding="utf-8")
        png = to_png(svg)
        if png is not None:
            (FOLDER / f"{picture.name}.png").write_bytes(png)
        print(f"screenshots/{picture.name}.{'svg, .png' if png else 'svg'}")


if __name__ == "__main__":
    main()
