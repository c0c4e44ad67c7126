"""What is written to a terminal arrives whole, however slowly that takes it."""

import os
import pty
import select
import tty
from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import pytest

from copydesk.tui.terminal_driver import Lasting

DEADLINE = 60


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """(the terminal's own end, ours), which does not wait for it."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    os.set_blocking(slave, False)
    yield master, slave
    os.close(master)
    os.close(slave)


def test_what_a_terminal_does_not_take_at_once_is_written_later(
    terminal: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    master, slave = terminal
    full, really = Event(), select.select

    def noticed(*given: Any) -> Any:
        full.set()
        return really(*given)

    monkeypatch.setattr(select, "select", noticed)
    text = "\x1b[1;31mabc\x1b[0m" * 20_000
    taken: list[int] = []
    writing = Thread(target=lambda: taken.append(Lasting(slave, "utf-8").write(text)), daemon=True)
    writing.start()
    assert full.wait(DEADLINE)
    came = b""
    while len(came) < len(text):
        assert really((master,), (), (), DEADLINE)[0]
        came += os.read(master, 65_536)
    writing.join(DEADLINE)
    assert came == text.encode()
    assert taken == [len(text)]


def test_a_terminal_that_was_closed_takes_everything() -> None:
    master, slave = pty.openpty()
    os.close(master)
    assert Lasting(slave, "utf-8").write("\x1b[0m") == 0
    os.close(slave)
