"""Tests for drawing images: the method chosen for a terminal, sizes, and the Kitty protocol."""

import os
import pty
import re
import subprocess
import sys
from base64 import b64decode
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from textual.color import Color

from copydesk.tui.terminal.images import (
    MAX_COLUMNS,
    MAX_ROWS,
    Drawing,
    ImageProtocol,
    choose_image_protocol,
    draw_image,
    fit_size,
)
from image_samples import drawing, encode, photo

KITTY = {"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1", "COLORTERM": "truecolor"}
GHOSTTY = {"TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty", "COLORTERM": "truecolor"}
XTERM = {"TERM": "xterm-256color"}


@pytest.mark.parametrize(
    ("environ", "auto", "always"),
    [
        (KITTY, ImageProtocol.KITTY, ImageProtocol.KITTY),
        (GHOSTTY, ImageProtocol.KITTY, ImageProtocol.KITTY),
        (XTERM, None, ImageProtocol.CELLS),
        ({}, None, ImageProtocol.CELLS),
        (XTERM | {"TERM_PROGRAM": "WezTerm", "COLORTERM": "truecolor"}, None, ImageProtocol.CELLS),
        # A multiplexer does not pass images on, whatever terminal it runs in.
        (KITTY | {"TERM": "tmux-256color", "TMUX": "/run/tmux,1,0"}, None, ImageProtocol.CELLS),
        (KITTY | {"TERM": "screen", "STY": "1.pts"}, None, ImageProtocol.CELLS),
        # The image's id is written as a 24-bit colour.
        (KITTY | {"COLORTERM": ""}, None, ImageProtocol.CELLS),
        (KITTY | {"NO_COLOR": "1"}, None, None),
        (KITTY | {"LC_ALL": "de_DE.ISO-8859-1"}, None, None),
        (KITTY | {"TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"}, None, None),
    ],
)
def test_environment_selects_drawing_method(
    environ: dict[str, str], auto: ImageProtocol | None, always: ImageProtocol | None
) -> None:
    assert choose_image_protocol("auto", environ) is auto
    assert choose_image_protocol("always", environ) is always
    assert choose_image_protocol("never", environ) is None


@pytest.mark.parametrize(
    ("size", "room", "cells"),
    [
        ((640, 320), 40, (40, 10)),
        ((640, 427), 200, (36, 12)),
        ((100, 100), 200, (10, 5)),  # images are never enlarged
        ((1, 1), 200, (1, 1)),
        ((640, 1), 200, (60, 1)),
        ((1, 640), 200, (1, 12)),
        ((640, 427), 1, (1, 1)),
    ],
)
def test_image_keeps_aspect_ratio(size: tuple[int, int], room: int, cells: tuple[int, int]) -> None:
    assert fit_size(size, room) == cells


def test_cell_has_two_image_colours() -> None:
    halves = Image.new("RGB", (40, 40), (255, 0, 0))
    halves.paste((0, 0, 255), (0, 20, 40, 40))
    drawn = draw_image(encode(halves, "PNG"), ImageProtocol.CELLS, 40)
    assert [line.plain for line in drawn.lines] == ["▀▀▀▀", "▀▀▀▀"]
    above, below = (line.spans[0].style for line in drawn.lines)
    assert (above.foreground, below.background) == (Color(255, 0, 0), Color(0, 0, 255))  # type: ignore[union-attr]
    assert (drawn.setup, drawn.cleanup) == ("", "")


def image_ids(drawn: Drawing) -> set[str]:
    """Return the ids of the images sent to the terminal."""
    return set(re.findall(r"\bi=(\d+)", drawn.setup + drawn.cleanup))


def test_kitty_receives_image_once_as_placeholders() -> None:
    drawn = draw_image(photo(640, 320), ImageProtocol.KITTY, 40)
    assert {(line.cell_length, line.plain.count("\U0010eeee")) for line in drawn.lines} == {(40, 40)}
    commands = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", drawn.setup)
    assert "".join(f"\x1b_G{keys};{payload}\x1b\\" for keys, payload in commands) == drawn.setup
    *chunks, (placement, _) = commands
    assert [keys.endswith("m=1") for keys, _ in chunks] == [True] * (len(chunks) - 1) + [False]
    assert all("q=2" in keys for keys, _ in commands)  # quiet: a reply would be read as keys
    assert max(len(payload) for _, payload in chunks) <= 4096
    sent = Image.open(BytesIO(b64decode("".join(payload for _, payload in chunks))))
    assert (sent.format, sent.size) == ("PNG", (400, 200))
    assert "c=40,r=10" in placement
    assert "U=1" in placement


def test_kitty_image_id_is_cell_colour_and_deleted() -> None:
    first, second = (draw_image(drawing(), ImageProtocol.KITTY, 40) for _ in range(2))
    (image_id,) = image_ids(first)
    assert image_ids(first) != image_ids(second)
    assert first.cleanup == f"\x1b_Ga=d,d=I,i={image_id},q=2;\x1b\\"
    foreground = first.lines[0].spans[0].style.foreground  # type: ignore[union-attr]
    assert foreground is not None
    assert foreground.r << 16 | foreground.g << 8 | foreground.b == int(image_id) & 0xFFFFFF


def test_large_terminal_does_not_enlarge_image() -> None:
    drawn = draw_image(photo(1280, 1280), ImageProtocol.CELLS, 500)
    assert (drawn.width, len(drawn.lines)) == (24, MAX_ROWS)
    assert draw_image(photo(1280, 64), ImageProtocol.CELLS, 500).width == MAX_COLUMNS


DRAW_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from image_samples import drawing
from copydesk.tui.terminal.images import ImageProtocol, draw_image
lines = [len(draw_image(drawing(), protocol, 40).lines) for protocol in ImageProtocol]
assert sys.__stdout__.isatty() and sys.stdin.isatty()
print(lines)
"""


def test_drawing_sends_no_queries_to_terminal() -> None:
    """A reply would arrive between the keys, and reading it would swallow keys."""
    terminal, child_side = pty.openpty()
    try:
        os.write(terminal, b"jjj\n")
        command = [sys.executable, "-c", DRAW_PROGRAM, str(Path(__file__).parents[2] / "support")]
        completed = subprocess.run(
            command, stdin=child_side, stdout=child_side, stderr=subprocess.PIPE, timeout=60, check=True
        )
        output = os.read(terminal, 10_000).replace(b"jjj\r\n", b"")
        assert (output, completed.stderr) == (b"[3, 3]\r\n", b"")
        assert os.read(child_side, 100) == b"jjj\n"
    finally:
        os.close(child_side)
        os.close(terminal)


def test_image_libraries_are_imported_lazily() -> None:
    program = (
        "import sys, copydesk.tui.app, copydesk.tui.review.screen, copydesk.tui.review.pages\n"
        "loaded = {'PIL', 'textual_image', 'copydesk.tui.terminal.images'} & set(sys.modules)\n"
        "print(sorted(loaded))"
    )
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert completed.stdout == "[]\n"
