"""Tests for reviewing drafts in a real terminal."""

import os
import signal
import sqlite3
from pathlib import Path

import pytest

from sample_desks import SAMPLE_DRAFTS
from tmux_terminal import Terminal, open_terminal


@pytest.fixture
def home(sample_home: Path) -> Path:
    """Return the home of a sample desk with drafts to review."""
    return sample_home


def open_console(terminal: Terminal, home: Path) -> None:
    """Open the console and wait for its rows."""
    terminal.start_console(home)
    terminal.wait_for(rf"To review {SAMPLE_DRAFTS}[\s\S]*▌ ")


def count_by_status(home: Path) -> dict[str, int]:
    """Return the number of unarchived drafts by status, from the database."""
    with sqlite3.connect(home / "sample" / "copydesk.db") as database:
        return dict(database.execute("SELECT status, count(*) FROM draft WHERE archived_at IS NULL GROUP BY status"))


def test_drafts_are_reviewed_at_typing_speed(home: Path) -> None:
    with open_terminal() as terminal:
        open_console(terminal, home)
        terminal.press(*["a"] * 8)
        terminal.wait_for(r"Approved 8 ")
        terminal.press("r")
        terminal.wait_for("Reject: reason")
        terminal.type_text("Old news")
        terminal.press("Enter")
        terminal.wait_for(r"[Rr]ejected · u undo")
        terminal.press(*["x"] * 4)
        terminal.wait_for(rf"To review {SAMPLE_DRAFTS - 13}  Approved 8 .* Rejected 1 ")
        terminal.press("u")
        terminal.wait_for("Undid archiving of")
        terminal.press("r")
        terminal.wait_for(r"\b1 Old news")
        terminal.type_text("1 source")
        terminal.press("Enter")
        terminal.wait_for(r"Rejected 2")
        terminal.press("u", "r")
        # The reason before the newest one, which the undo leaves in the history.
        terminal.wait_for(r"\b2 Old news")
        terminal.press("2", "Enter")
        terminal.wait_for(r"Rejected 2")
        terminal.press(*["a"] * 4)
        terminal.wait_for(rf"To review {SAMPLE_DRAFTS - 17}  Approved 12 .* Rejected 2")
        assert "Traceback" not in terminal.quit_console()
    assert count_by_status(home) == {"pending_review": SAMPLE_DRAFTS - 17, "approved": 12, "rejected": 2}


def test_reason_may_be_typed_before_prompt_opens(home: Path) -> None:
    with open_terminal((80, 24)) as terminal:
        open_console(terminal, home)
        terminal.press("r", "a", "a", "x", "Enter")
        terminal.wait_for(rf"To review {SAMPLE_DRAFTS - 1} .* Rejected 1 ")
        terminal.press("u")
        terminal.wait_for(rf"To review {SAMPLE_DRAFTS} ")
    assert count_by_status(home) == {"pending_review": SAMPLE_DRAFTS}


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)], ids=str)
def test_joined_characters_are_kept(home: Path, size: tuple[int, int]) -> None:
    text = "👩\u200d👩\u200d👧 می\u200cخواهم"
    with open_terminal(size) as terminal:
        open_console(terminal, home)
        terminal.press("c")
        terminal.wait_for("New draft")
        terminal.type_text(text)
        terminal.tmux("set-buffer", f" {text}")
        terminal.tmux("paste-buffer", "-p")
        terminal.press("C-s")
        terminal.wait_for(rf"To review {SAMPLE_DRAFTS + 1}")
    with sqlite3.connect(home / "sample" / "copydesk.db") as database:
        assert database.execute("SELECT count(*) FROM draft WHERE text = ?", [f"{text} {text}"]).fetchone() == (1,)


def test_bulk_names_failure_and_keeps_its_mark(home: Path) -> None:
    with open_terminal() as terminal:
        open_console(terminal, home)
        terminal.press("a")
        terminal.wait_for("Approved · u undo")
        terminal.press(*["]"] * 7)
        terminal.wait_for(r"▌ .*\n[\s\S]*\n  A.* Quarrystone 3.0")
        terminal.press("*", "a")
        terminal.wait_for(rf"{SAMPLE_DRAFTS - 1} approved, 1 skipped: 1 already approved")
        terminal.wait_for("1 marked")
        terminal.wait_for("●A")
        terminal.press("u")
        terminal.wait_for(rf"To review {SAMPLE_DRAFTS - 1}  Approved 1")
        terminal.press("Escape")
        terminal.wait_for(rf"─ Queue · {SAMPLE_DRAFTS} ─")
        terminal.press("g", "Space", "Space", "Space")
        terminal.wait_for("3 marked")
        terminal.press("x")
        terminal.wait_for("3 archived · u undo")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
def test_archived_drafts_have_their_own_tab(home: Path, size: tuple[int, int]) -> None:
    with open_terminal(size) as terminal:
        open_console(terminal, home)
        terminal.press("a", "x", "x")
        terminal.wait_for(r"Archived 2[\s\S]*\n  X")
        terminal.press(*["]"] * 7)
        terminal.wait_for(rf"Queue · {SAMPLE_DRAFTS - 2} ")
        terminal.press("*")
        terminal.wait_for(rf"{SAMPLE_DRAFTS - 2} marked")
        terminal.press("Escape", "]")
        terminal.wait_for(r"Queue · 2 [\s\S]*▌ X")
        terminal.press("a")
        terminal.wait_for("Cannot")
        terminal.press("Z")
        terminal.wait_for("Restored “")
        terminal.wait_for("Archived 1")
        terminal.press("*", "Z")
        terminal.wait_for(rf"To review {SAMPLE_DRAFTS - 1}  Approved 1 ")
        assert "Traceback" not in terminal.quit_console()
    assert count_by_status(home) == {"pending_review": SAMPLE_DRAFTS - 1, "approved": 1}


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=str)
def test_decisions_survive_sigkill(home: Path, size: tuple[int, int]) -> None:
    with open_terminal(size) as terminal:
        open_console(terminal, home)
        terminal.press("a", "a", "x")
        terminal.wait_for(rf"To review {SAMPLE_DRAFTS - 3}  Approved 2 ")
        os.kill(terminal.process_id, signal.SIGKILL)
        terminal.wait_for("Killed|ended=137")
        terminal.respawn_shell()
        terminal.start_console(home)
        terminal.wait_for(rf"To review {SAMPLE_DRAFTS - 3}  Approved 2 ")
        terminal.press("u")
        terminal.wait_for("Undid archiving of")
        terminal.wait_for(rf"To review {SAMPLE_DRAFTS - 2}  Approved 2 ")
        assert "Traceback" not in terminal.quit_console()


def test_posted_draft_is_listed_on_engagement(home: Path) -> None:
    with open_terminal() as terminal:
        open_console(terminal, home)
        terminal.press("p")
        terminal.wait_for(r"now to fake:you\?[\s\S]*y post · n cancel")
        terminal.press("Enter")
        terminal.wait_for(r"\A(?![\s\S]*y post)")
        terminal.press("p")
        terminal.wait_for(r"now to fake:you\?[\s\S]*y post · n cancel")
        terminal.press("y")
        terminal.wait_for(r"fake:you: Posted: https://fake.example/you/1")
        terminal.wait_for("Posted 1")
        terminal.press("5")
        terminal.wait_for(r"Posts · 1[\s\S]*https://fake.example/you/1")
        assert "Traceback" not in terminal.quit_console()
    assert len((home / "sample" / "posted.jsonl").read_text(encoding="utf-8").splitlines()) >= 1
