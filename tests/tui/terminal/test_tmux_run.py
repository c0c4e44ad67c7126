"""Test for the sample desk in a real terminal."""

from pathlib import Path

import pytest

from tmux_terminal import open_terminal


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_sample_run_in_real_terminal(size: tuple[int, int], tmp_path: Path) -> None:
    with open_terminal(size) as terminal:
        terminal.start_console(tmp_path)
        terminal.wait_for(r"0 Needs you \(1\)")
        terminal.wait_for("Sample desk, all fictional")
        terminal.wait_for(r"Queue · \d+[\s\S]*▌ ")
        terminal.press("P")
        terminal.wait_for("0 new drafts")
        terminal.press("Escape")
        terminal.wait_for(r"Queue · \d+[\s\S]*▌ ")
        terminal.press("Enter")
        terminal.wait_for("confidence")
        terminal.press("?")
        terminal.wait_for("Keys · q close")
        terminal.press("q")
        terminal.wait_for("confidence")
        remaining_screen = terminal.quit_console()
        assert "Copydesk  Review" not in remaining_screen
        assert "Traceback" not in remaining_screen
