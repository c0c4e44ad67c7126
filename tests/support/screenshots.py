"""Create the images in screenshots/: `make screenshots`.

The console draws the sample desk at a fixed time. A screen becomes a PNG where resvg-py is installed (`pip install
--group screenshots`) and the machine has a monospaced font, else an SVG: browsers load no font for an embedded SVG, so
the README uses the PNG. The recording is an animated SVG.
"""

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

from textual.widgets import Input

from console_driver import pass_round, wait_until_idle
from copydesk.desk.context import DeskContext
from copydesk.desk.pipeline import progress
from copydesk.sample.desk import open_sample, sample_settings
from copydesk.settings import Settings, load
from copydesk.store.ids import new_id
from copydesk.tui.app import Console
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.themes import DARK, LIGHT
from recording import Frame, animate
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


README_SCREENS = {
    "review": ("j", "j"),
    "schedule": ("2", "j", "l", "k", "k"),
    "sources": ("3",),
    "experiments": ("4", "j"),
    "engagement": ("5", "tab"),
    "needs-you": ("0",),
}
"""The six screens in the README, each in the dark and the light theme, and the keys that lead there."""
SCREENSHOTS = (
    *(
        Screenshot(f"{name}{suffix}", WIDE, keys, theme=theme, setup=furnish)
        for name, keys in README_SCREENS.items()
        for suffix, theme in (("", DARK.name), ("-light", LIGHT.name))
    ),
    Screenshot("review-narrow", (80, 24), ("j", "enter")),
    Screenshot("review-run", WIDE, ("P",), setup=leave_empty),
)
RECORDING_SIZE = (100, 30)
RECORDING = (
    ((), 2.0),
    (("j",), 1.2),
    (("a",), 1.5),
    (("a",), 1.3),
    (("r",), 1.0),
    (tuple("old news"), 1.2),
    (("enter",), 1.4),
    (("u",), 1.4),
    (("s",), 1.6),
    (("2",), 2.2),
    (("5",), 2.2),
    (("0",), 2.2),
)
"""Keys, and the seconds for which their result is shown: twenty in all."""


@contextmanager
def repeatable() -> Iterator[None]:
    """Remove what makes a desk differ from run to run, besides the clock.

    Ids seed the assignment to the variants of an experiment, which decides what is written; jitter moves the next
    fetches; the stages of a run are timed; the cursor of a field blinks; and a terminal may have few colours.
    """
    bits = Random(17).getrandbits
    seconds = count()
    with (
        patch.dict(os.environ, TERM="xterm-256color"),
        patch.multiple(new_id, _random_bits=bits, _steps=bits, _last_millisecond=-1),
        patch.object(DeskContext, "jitter", lambda _: 0.0),
        patch.object(progress, "monotonic", lambda: next(seconds) / 5),
        patch.object(Input.cursor_blink, "_default", False),
    ):
        yield


async def record() -> str:
    """Return a review as an animated SVG."""
    with TemporaryDirectory() as home, repeatable():
        settings = sample_settings(load({}, Path(home)))
        await furnish(settings)
        app = Console(lambda: open_sample(settings, clock=lambda: NOW), clock=lambda: NOW)
        app.theme = DARK.name
        frames: list[Frame] = []
        async with app.run_test(size=RECORDING_SIZE) as pilot:
            while not app.needs_user:  # the header shows it once the desk has been polled
                await pass_round(app)
            for keys, seconds in RECORDING:
                await pilot.press(*keys)
                await wait_until_idle(pilot)
                await app.desk_tasks.wait_for_writes()
                # The console shows what was written when it next polls the desk, twice a second: whether a frame comes
                # before or after that must not be left to chance.
                screen = app.screen_stack[0]
                assert isinstance(screen, DeskScreen)
                screen.refresh_data()
                await wait_until_idle(pilot)
                frames.append(Frame(app.export_screenshot(title=" ", simplify=True), seconds))
            background = app.theme_variables["background"]
        return animate(frames, RECORDING_SIZE, background, ", ".join(FONTS))


async def render(screenshot: Screenshot) -> str:
    """Return the screenshot as SVG."""
    with TemporaryDirectory() as home, repeatable():
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
    """Return the image as PNG; None without resvg-py."""
    try:
        import resvg_py  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=1.2, monospace_family="DejaVu Sans Mono"))


def main() -> None:
    """Create all screenshots, or those named as arguments."""
    FOLDER.mkdir(exist_ok=True)
    selected = [picture for picture in SCREENSHOTS if not sys.argv[1:] or picture.name in sys.argv[1:]]
    for picture in selected:
        svg = asyncio.run(render(picture))
        png = to_png(svg)
        file = FOLDER / f"{picture.name}.{'png' if png else 'svg'}"
        file.write_bytes(png or svg.encode())
        print(f"screenshots/{file.name}")
    if not sys.argv[1:] or "recording" in sys.argv[1:]:
        (FOLDER / "recording.svg").write_text(asyncio.run(record()), encoding="utf-8")
        print("screenshots/recording.svg")


if __name__ == "__main__":
    main()
