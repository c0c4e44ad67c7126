"""Tests for the terminal writer: output arrives complete, however slow the terminal."""

import os
import pty
import select
import tty
from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import pytest
from textual.app import App
from textual.drivers._writer_thread import WriterThread

from copydesk.tui.terminal.driver import TerminalDriver, TerminalFile

DEADLINE = 60


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Yield (master, slave) of a raw pseudo-terminal with a non-blocking slave."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    os.set_blocking(slave, False)
    yield master, slave
    os.close(master)
    os.close(slave)


def test_blocked_output_is_written_later(terminal: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = terminal
    blocked, real_select = Event(), select.select

    def recording_select(*args: Any) -> Any:
        blocked.set()
        return real_select(*args)

    monkeypatch.setattr(select, "select", recording_select)
    text = "\x1b[1;31mabc\x1b[0m" * 20_000
    written_counts: list[int] = []
    writing = Thread(target=lambda: written_counts.append(TerminalFile(slave, "utf-8").write(text)), daemon=True)
    writing.start()
    assert blocked.wait(DEADLINE)
    received = b""
    while len(received) < len(text):
        assert real_select((master,), (), (), DEADLINE)[0]
        received += os.read(master, 65_536)
    writing.join(DEADLINE)
    assert received == text.encode()
    assert written_counts == [len(text)]


def test_closed_terminal_discards_output() -> None:
    master, slave = pty.openpty()
    os.close(master)
    assert TerminalFile(slave, "utf-8").write("\x1b[0m") == 0
    os.close(slave)


async def test_frames_drawn_while_an_editor_owns_the_terminal_are_dropped(terminal: tuple[int, int]) -> None:
    master, slave = terminal
    driver = TerminalDriver(App())
    driver._writer_thread = WriterThread(TerminalFile(slave, "utf-8"))  # type: ignore[arg-type]  # as Textual starts it
    driver._writer_thread.start()
    driver.suspend_application_mode()
    os.read(master, 65_536)
    # More than Textual's queue holds.
    drawing = Thread(target=lambda: [driver.write("frame") for _ in range(100)], daemon=True)
    drawing.start()
    drawing.join(5)
    assert not drawing.is_alive()
    assert not select.select((master,), (), (), 0)[0]
