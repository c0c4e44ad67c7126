"""Tests for ending the console from outside: the terminal is restored, and no text or decision is lost."""

import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from processes import is_running
from sample_desks import SAMPLE_DRAFTS
from tmux_terminal import TIMEOUT, Terminal, open_terminal

WAITING_EDITOR = """
import pathlib, sys, time
pathlib.Path(sys.argv[1]).write_text("Half a sentence")
print("EDITOR HERE", flush=True)
time.sleep(600)
"""


def open_console(terminal: Terminal, home: Path) -> None:
    """Open the console and wait for its rows."""
    terminal.start_console(home)
    terminal.wait_for(rf"─ Queue · {SAMPLE_DRAFTS} ─[\s\S]*▌ ")


def wait_until(condition: Callable[[], object], failure_message: str) -> None:
    """Poll until the condition holds; fail with the message after PATIENCE seconds."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, failure_message
        time.sleep(0.02)


def terminal_modes(terminal: Terminal) -> str:
    """Return the flags "alternate screen, mouse reporting, cursor visible" as tmux prints them."""
    return terminal.tmux("display-message", "-p", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}").strip()


def end_console(terminal: Terminal, how: str) -> None:
    """End the console by a signal or by closing its terminal; check that the terminal is restored."""
    process = terminal.process_id
    if how == "closed":
        terminal.respawn_shell()
    else:
        os.kill(process, getattr(signal, how))
    wait_until(lambda: not is_running(process), f"{how} did not end it")
    if how == "SIGTERM":
        terminal.wait_for("ended=143")
        assert terminal_modes(terminal) == "0 0 1"
        assert "Traceback" not in terminal.screen
    if how == "SIGKILL":
        terminal.respawn_shell()


def autosaved(home: Path, folder: str, text: str) -> Callable[[], bool]:
    """Return a function that tells if the text is in a file of that folder."""
    return lambda: any(text in file.read_text(encoding="utf-8") for file in (home / "sample" / folder).glob("*.md"))


def write_and_restart(terminal: Terminal, home: Path, folder: str, text: str, how: str) -> None:
    """Type the text, end the console, and reopen it. Before SIGKILL, wait for the autosave."""
    terminal.type_text(text)
    terminal.wait_for(text)
    if how == "SIGKILL":
        wait_until(autosaved(home, folder, text), "it was not kept")
    end_console(terminal, how)
    open_console(terminal, home)


ENDS = pytest.mark.parametrize("how", ["SIGTERM", "closed", "SIGKILL"])


@ENDS
def test_edited_text_is_restored(sample_home: Path, how: str) -> None:
    with open_terminal((100, 30)) as terminal:
        open_console(terminal, sample_home)
        terminal.press("e")
        terminal.wait_for(r"Ctrl\+S save")
        terminal.press("C-End")
        terminal.type_text(" ")
        write_and_restart(terminal, sample_home, "typed", "and a word more", how)
        terminal.wait_for(r"Unsaved edit of[\s\S]*Press e on it")
        terminal.press("e")
        terminal.wait_for(r"and a word more[\s\S]*Restored unsaved text")


@ENDS
def test_composed_text_is_restored(sample_home: Path, how: str) -> None:
    with open_terminal((100, 30)) as terminal:
        open_console(terminal, sample_home)
        terminal.press("c")
        terminal.wait_for(r"Ctrl\+S create")
        write_and_restart(terminal, sample_home, "composed", "A draft of my own", how)
        terminal.wait_for(r"Unsaved new draft. Press c")
        terminal.press("c")
        terminal.wait_for(r"A draft of my own[\s\S]*Restored unsaved draft")


@ENDS
def test_typed_reason_is_restored(sample_home: Path, how: str) -> None:
    with open_terminal((100, 30)) as terminal:
        open_console(terminal, sample_home)
        terminal.press("r")
        terminal.wait_for(r"Reject: reason")
        write_and_restart(terminal, sample_home, "answers", "Too much prai", how)
        terminal.wait_for("Restored what you typed for reject")
        terminal.press("r")
        terminal.wait_for(r"\b1 Too much prai")
        terminal.press("1", "Enter")
        terminal.wait_for("Rejected 1 ")
        wait_until(lambda: not list((sample_home / "sample" / "answers").glob("*.md")), "it is offered for ever")


@pytest.mark.parametrize("how", ["SIGTERM", "closed"])
def test_pending_decisions_are_saved(sample_home: Path, how: str) -> None:
    with open_terminal((100, 30)) as terminal:
        open_console(terminal, sample_home)
        terminal.press(*["a"] * 12)
        terminal.wait_for(r"\n  A[\s\S]*\n  A[\s\S]*\n  A")
        decision_count = len(re.findall(r"\n  A", terminal.screen))
        end_console(terminal, how)
        terminal.start_console(sample_home)
        screen = terminal.wait_for(r"To review \d+  Approved \d+")
        counts = re.search(r"To review (\d+)  Approved (\d+)", screen)
        assert counts
        assert int(counts[2]) >= decision_count
        assert int(counts[1]) + int(counts[2]) == SAMPLE_DRAFTS


def test_running_editor_ends_with_console(sample_home: Path, tmp_path: Path) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text(WAITING_EDITOR)
    with open_terminal((100, 30), VISUAL=f"{sys.executable} {editor}") as terminal:
        open_console(terminal, sample_home)
        terminal.press("E")
        terminal.wait_for("EDITOR HERE")
        console = terminal.process_id
        (child,) = Path(f"/proc/{console}/task/{console}/children").read_text(encoding="ascii").split()
        end_console(terminal, "SIGTERM")
        wait_until(lambda: not is_running(int(child)), "the editor was left alone")
        open_console(terminal, sample_home)
        terminal.press("e")
        terminal.wait_for("Half a sentence")


def test_killed_editor_leaves_console_and_text(sample_home: Path, tmp_path: Path) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text(WAITING_EDITOR)
    with open_terminal((100, 30), VISUAL=f"{sys.executable} {editor}") as terminal:
        open_console(terminal, sample_home)
        terminal.press("E")
        terminal.wait_for("EDITOR HERE")
        console = terminal.process_id
        (child,) = Path(f"/proc/{console}/task/{console}/children").read_text(encoding="ascii").split()
        os.kill(int(child), signal.SIGKILL)
        terminal.wait_for(rf"─ Queue · {SAMPLE_DRAFTS} ─")
        # Its message goes after a few seconds; the log has it.
        terminal.press("C-l")
        terminal.wait_for(r"─ Log[\s\S]*killed[\s\S]*by[\s\S]*signal")  # words may wrap
        terminal.press("q", "e")
        terminal.wait_for("Half a sentence")


def test_console_is_suspended_and_resumed(sample_home: Path) -> None:
    with open_terminal((100, 30)) as terminal:
        terminal.tmux("respawn-pane", "-k", "bash --norc -i")
        open_console(terminal, sample_home)
        terminal.press("j", "C-z")
        terminal.wait_for("Stopped")
        assert terminal_modes(terminal) == "0 0 1"
        terminal.type_text("fg")
        terminal.press("Enter")
        terminal.wait_for(rf"─ Queue · {SAMPLE_DRAFTS} ─[\s\S]*\n▌ ")
        terminal.press("a")
        terminal.wait_for("Approved 1 ")
        process = terminal.process_id
        terminal.respawn_shell()
        wait_until(lambda: not is_running(process), "it lives on without a terminal")
