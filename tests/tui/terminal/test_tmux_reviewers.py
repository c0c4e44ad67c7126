"""Tests for two reviewers, each on a console in a terminal of their own, on one desk."""

import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from copydesk.model.activity import VIEW_DURATION
from tmux_terminal import TIMEOUT, Terminal, open_terminal


def open_first_draft(terminal: Terminal, home: Path) -> None:
    """Start the console, and rest on the first draft after a key."""
    terminal.start_console(home)
    terminal.wait_for(r"─ Queue · \d+ [\s\S]*▌ [\s\S]*confidence ")
    terminal.press("j", "k")


def test_reviewers_see_each_other_and_take_an_edit_over(sample_home: Path) -> None:
    with (
        open_terminal((120, 40), COPYDESK_CONSOLE__REVIEWER="ada") as ada,
        open_terminal((120, 40), COPYDESK_CONSOLE__REVIEWER="ben") as ben,
    ):
        open_first_draft(ada, sample_home)
        open_first_draft(ben, sample_home)
        ada.wait_for("ben is viewing")
        ben.wait_for("ada is viewing")

        ben.press("e")
        ben.wait_for(r"Ctrl\+S save")
        ben.press("C-End")
        ben.type_text(" By Ben.")
        ada.wait_for(r"ben is editing since \d\d:\d\d")
        wait_for_typed_text(sample_home, " By Ben.")
        ada.press("e")
        ada.wait_for(r"Ctrl\+S save")
        ada.press("C-End")
        ada.type_text(" By Ada.")
        ada.press("C-s")
        ada.wait_for(r"Take the edit over\?")
        ada.press("y")
        ada.wait_for(r"Typed by ben, not saved[\s\S]* By \[-Ada-\]\. +│ .* By \{\+Ben\+\}\.")

        # It saves nothing over the other text unasked.
        ben.press("C-s")
        ben.wait_for("overwrites it with your text")


def wait_for_typed_text(home: Path, end: str) -> None:
    """Wait until the text that is stored with the lease of an edit ends so."""
    deadline = time.monotonic() + TIMEOUT
    with closing(sqlite3.connect(home / "sample" / "copydesk.db")) as desk:
        while not any(text.endswith(end) for (text,) in desk.execute("SELECT text FROM draft_edit")):
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.parametrize("how", ["quit", "SIGTERM", "SIGHUP"])
def test_console_that_exits_is_not_seen_any_more(sample_home: Path, how: str) -> None:
    with (
        open_terminal((120, 40), COPYDESK_CONSOLE__REVIEWER="ada") as ada,
        open_terminal((120, 40), COPYDESK_CONSOLE__REVIEWER="ben") as ben,
    ):
        open_first_draft(ada, sample_home)
        open_first_draft(ben, sample_home)
        ada.wait_for("ben is viewing")
        started = time.monotonic()
        if how == "quit":
            ben.quit_console()
        else:
            os.kill(ben.process_id, getattr(signal, how))
        ada.wait_for(r"^(?![\s\S]*ben is viewing)")
        # Not because the record expired, which takes a minute.
        assert time.monotonic() - started < VIEW_DURATION.total_seconds() / 2


def test_comment_reaches_the_other_console_at_80_columns(sample_home: Path) -> None:
    with (
        open_terminal((80, 24), COPYDESK_CONSOLE__REVIEWER="ada") as ada,
        open_terminal((80, 24), COPYDESK_CONSOLE__REVIEWER="ben") as ben,
    ):
        for terminal in (ada, ben):
            terminal.start_console(sample_home)
            terminal.wait_for(r"─ Queue · \d+ [\s\S]*▌ ")
        ben.press("Enter")
        ben.wait_for("Checks  ")
        ada.press("@")
        ada.wait_for(r"No comments\. A adds one\.")
        ada.press("A")
        ada.wait_for("On the words")
        ada.type_text("Which one?")
        ada.press("Enter")
        ada.wait_for(r"\[ \] ada, .*Which one\?")
        ben.wait_for(r"Comments  1 open · @ shows them\s+ada  [\s\S]*Which one\?")
        ada.press("Space")
        ada.wait_for(r"\[x\] ada")
        ben.wait_for("Comments  1 resolved")
