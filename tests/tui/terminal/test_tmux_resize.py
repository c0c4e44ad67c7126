"""Tests for resizing a real terminal while keys are pressed."""

from pathlib import Path

from sample_desks import SAMPLE_DRAFTS
from tmux_terminal import open_terminal

SIZES = ((20, 5), (200, 60), (40, 12), (80, 24), (20, 5), (120, 40), (40, 10), (80, 24))


def test_keys_during_resizes_are_handled(sample_home: Path) -> None:
    with open_terminal((80, 24)) as terminal:
        terminal.start_console(sample_home)
        terminal.wait_for(rf"─ Queue · {SAMPLE_DRAFTS} ─[\s\S]*▌ ")
        for width, height in SIZES * 2:
            terminal.resize(width, height)
            terminal.press("j")
        terminal.wait_for(r"▌ .*A small press")
        terminal.press("g", "a", "a")
        lines = terminal.wait_for(r"Approved 2 [\s\S]*q quit").rstrip("\n").split("\n")
        assert len(lines) == 24
        assert max(map(len, lines)) <= 80
        assert "Traceback" not in terminal.quit_console()


def test_screens_are_readable_in_40_columns(sample_home: Path) -> None:
    with open_terminal((40, 12)) as terminal:
        terminal.start_console(sample_home)
        terminal.wait_for(rf"─ Queue · {SAMPLE_DRAFTS} ─[\s\S]*▌ ")
        for key, pattern in (
            ("2", r"00–\d\d:59|\d\d:00"),
            ("3", "─ Sources · 10"),
            ("4", "No experiment"),
            ("5", "No posts yet"),
            ("6", "─ Setup|Accounts"),
        ):
            terminal.press(key)
            lines = terminal.wait_for(pattern).split("\n")
            assert max(map(len, lines)) <= 40
        terminal.resize(20, 5)
        terminal.wait_for("Copydesk needs 40")
        terminal.resize(40, 12)
        terminal.wait_for("─ Setup|Accounts")
        assert "Traceback" not in terminal.quit_console()
