"""Tests for the console in limited terminals, and with redirected errors."""

import re
from pathlib import Path

import pytest

from sample_desks import SAMPLE_DRAFTS
from tmux_terminal import Terminal, open_terminal

SCREENS = ("Mon ", "Sources", "Experiments", "Metrics", "Accounts")
"""A text of each of the screens 2 to 6."""


def visit_screens(terminal: Terminal, line: str) -> list[str]:
    """Approve a draft and visit all screens; `line` is the character of the panes' borders. Return the screens."""
    terminal.wait_for(rf"{line} Queue . {SAMPLE_DRAFTS} {line}[\s\S]*\n. +\d+h The Lighthouse +Quarrystone 3")
    screens = [terminal.screen]
    terminal.press("a")
    screens.append(terminal.wait_for(r"Approved 1[\s\S]*Approved . u undo"))
    for number, text in enumerate(SCREENS, 2):
        terminal.press(str(number))
        screens.append(terminal.wait_for(rf"{line} .*{text}"))
    terminal.press("?")
    screens.append(terminal.wait_for("Keys . q close"))
    terminal.press("q", "1")
    screens.append(terminal.wait_for(r"Approved 1"))
    return screens


def test_non_utf8_locale_draws_ascii(sample_home: Path) -> None:
    with open_terminal((80, 24), LC_ALL="C") as terminal:
        terminal.start_console(sample_home)
        screens = visit_screens(terminal, "-")
        assert re.search(r"\n> +\d+h The Lighthouse", screens[0])
        assert [screen for screen in screens if not screen.isascii()] == []
        assert "Traceback" not in terminal.quit_console()


@pytest.mark.parametrize("term", ["linux", "vt100", "ansi", "unknown"])
def test_unusual_terminals_work(sample_home: Path, term: str) -> None:
    with open_terminal((80, 24), PYTHONIOENCODING="ascii") as terminal:
        terminal.type_text(f"TERM={term}")
        terminal.press("Enter")
        terminal.start_console(sample_home)
        visit_screens(terminal, "─")
        assert "Traceback" not in terminal.quit_console()


def test_stderr_may_be_redirected(sample_home: Path, tmp_path: Path) -> None:
    with open_terminal((80, 24)) as terminal:
        terminal.type_text(f"exec 2>{tmp_path}/errors")
        terminal.press("Enter")
        terminal.start_console(sample_home)
        terminal.wait_for(rf"─ Queue · {SAMPLE_DRAFTS} ─")
        terminal.press("q")
        terminal.wait_for("ended=0")
    assert "Queue" not in (tmp_path / "errors").read_text()


def test_dumb_terminal_is_refused(tmp_path: Path) -> None:
    with open_terminal((120, 24)) as terminal:
        terminal.type_text("TERM=dumb")
        terminal.press("Enter")
        terminal.start_copydesk("--home", str(tmp_path))
        screen = terminal.wait_for("ended=2")
        assert 'The console needs a terminal (TERM is "dumb"' in screen
        assert "Traceback" not in screen
