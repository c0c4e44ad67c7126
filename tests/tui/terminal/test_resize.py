"""Tests for what is drawn while the terminal changes its size."""

from typing import Any

import pytest
from rich.console import Console
from rich.segment import Segment
from textual._compositor import CompositorUpdate, LayoutUpdate
from textual.events import Resize
from textual.geometry import Region, Size
from textual.strip import Strip

from console_driver import FakeDesk, open_console, record_frames
from copydesk.tui.terminal.driver import TerminalDriver
from copydesk.tui.terminal.web_driver import ConsoleDriver as WebConsoleDriver

SIZE = Size(120, 32)


@pytest.mark.parametrize("sizes", [[SIZE], [Size(40, 10), SIZE]], ids=["only the last is noticed", "all are noticed"])
async def test_terminal_back_at_known_size_is_repainted(sizes: list[Size]) -> None:
    async with open_console(FakeDesk(5)) as ui:
        frames = record_frames(ui)
        for size in sizes:
            ui.app.post_message(Resize(size, size))
        await ui.wait()
        assert [frame.region for frame in frames if isinstance(frame, LayoutUpdate)] == [SIZE.region]


async def test_terminal_of_another_size_is_painted_once() -> None:
    async with open_console(FakeDesk(5)) as ui:
        frames = record_frames(ui)
        await ui.resize(100, 30)
        assert [frame.region for frame in frames if isinstance(frame, LayoutUpdate)] == [Region(0, 0, 100, 30)]


@pytest.fixture
def frame() -> str:
    """What Textual writes for three rows."""
    rows = [[Strip([Segment(f"row {number}")])] for number in range(3)]
    update: CompositorUpdate = LayoutUpdate(rows, Region(0, 0, 5, 3))
    text = update.render_segments(Console())
    assert "\n" in text
    return text


class _Writer:
    """Takes the place of the thread that writes to the terminal."""

    def __init__(self) -> None:
        self.written = ""

    def write(self, text: str) -> None:
        self.written += text


def test_frame_for_larger_terminal_does_not_scroll(frame: str) -> None:
    driver: Any = TerminalDriver.__new__(TerminalDriver)
    driver._writer_thread, driver._encoding, driver._is_suspended = _Writer(), "utf-8", False
    driver.write(frame)
    assert driver._writer_thread.written == "\x1b[1;1Hrow 0\x1b[2;1Hrow 1\x1b[3;1Hrow 2"


def test_frame_for_larger_page_does_not_scroll(frame: str) -> None:
    driver: Any = WebConsoleDriver.__new__(WebConsoleDriver)
    packets: list[bytes] = []
    driver._write = packets.append
    driver.write(frame)
    assert [packet[5:] for packet in packets] == [b"\x1b[1;1Hrow 0\x1b[2;1Hrow 1\x1b[3;1Hrow 2"]
