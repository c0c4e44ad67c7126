"""Tests for deciding and editing in a real terminal, with a real editor process."""

import sys
from pathlib import Path

from tmux_terminal import open_terminal

EDITOR = "import sys, time, pathlib\ntime.sleep(1)\npathlib.Path(sys.argv[1]).write_text('From the editor.')\n"


def test_editor_gets_terminal_and_unread_keys_are_dropped(tmp_path: Path) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text(EDITOR)
    with open_terminal((120, 40), VISUAL=f"{sys.executable} {editor}") as terminal:
        terminal.start_console(tmp_path / "home")
        terminal.wait_for(r"Queue · \d+[\s\S]*▌ ")
        terminal.press("a")
        terminal.wait_for("Approved · u undo")
        terminal.press("E")
        terminal.press("a", "a", "x")
        terminal.wait_for("Edited · u undo")
        terminal.wait_for("From the editor.")
        terminal.wait_for(r"Approved 2 ")
        terminal.press("u")
        terminal.wait_for("Undid edit")
        terminal.quit_console()


def test_console_takes_the_terminal_back_if_the_editor_cannot_be_started(tmp_path: Path) -> None:
    with open_terminal((120, 40), VISUAL=str(tmp_path / "missing")) as terminal:
        terminal.start_console(tmp_path / "home")
        terminal.wait_for(r"Queue · \d+[\s\S]*▌ ")
        terminal.press("E")
        terminal.wait_for("Cannot start .*missing")
        terminal.press("a")
        terminal.wait_for("Approved · u undo")
        terminal.quit_console()
