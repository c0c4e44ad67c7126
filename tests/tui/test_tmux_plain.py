"""The console in terminals that can little, and without one."""

from pathlib import Path

import pytest

from real_terminal import Terminal, real_terminal

SCREENS = ("Mon ", "Sources", "Experiments", "Figures", "Accounts")
"""What is on the screens behind 2 to 6."""


def every_screen(terminal: Terminal, line: str) -> list[str]:
    """Look at all of them, and decide on a draft; `line` is what the lines over the panes are drawn with."""
    terminal.wait_for(rf"{line} Queue . 24 {line}[\s\S]*. N .*\d+ ")
    shown = [terminal.screen]
    terminal.press("a")
    shown.append(terminal.wait_for(r"Approved 1[\s\S]*Approved . u undo"))
    for number, words in enumerate(SCREENS, 2):
        terminal.press(str(number))
        shown.append(terminal.wait_for(rf"{line} .*{words}"))
    terminal.press("?")
    shown.append(terminal.wait_for("Keys . q closes"))
    terminal.press("q", "1")
    shown.append(terminal.wait_for(r"Approved 1"))
    return shown


def test_without_utf_8_everything_is_drawn_in_ascii(sample_home: Path) -> None:
    with real_terminal((80, 24), LC_ALL="C") as terminal:
        terminal.console(sample_home)
        shown = every_screen(terminal, "-")
        assert "\n> N" in shown[0]
        assert [screen for screen in shown if not screen.isascii()] == []
        assert "Traceback" not in terminal.leave()


@pytest.mark.parametrize("term", ["linux", "vt100", "ansi", "unknown"])
def test_a_terminal_of_another_kind_is_as_good(sample_home: Path, term: str) -> None:
    with real_terminal((80, 24), PYTHONIOENCODING="ascii") as terminal:
        terminal.write(f"TERM={term}")
        terminal.press("Enter")
        terminal.console(sample_home)
        every_screen(terminal, "─")
        assert "Traceback" not in terminal.leave()


def test_what_goes_wrong_may_go_into_a_file(sample_home: Path, tmp_path: Path) -> None:
    with real_terminal((80, 24)) as terminal:
        terminal.write(f"exec 2>{tmp_path}/errors")
        terminal.press("Enter")
        terminal.console(sample_home)
        terminal.wait_for(r"─ Queue · 24 ─")
        terminal.press("q")
        terminal.wait_for("ended=0")
    assert "Queue" not in (tmp_path / "errors").read_text()


def test_a_terminal_that_moves_no_cursor_is_refused_in_words(tmp_path: Path) -> None:
    with real_terminal((120, 24)) as terminal:
        terminal.write("TERM=dumb")
        terminal.press("Enter")
        terminal.copydesk("--home", str(tmp_path))
        shown = terminal.wait_for("ended=2")
        assert "The console needs a terminal (TERM is dumb" in shown
        assert "Traceback" not in shown
