"""Tests for database failures while the console runs: it reports them, keeps typed text, and recovers."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from sample_desks import SAMPLE_DRAFTS
from tmux_terminal import Terminal, open_terminal


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Hold the database's write lock."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.rollback()


@contextmanager
def moved(database: Path) -> Iterator[None]:
    """Move the database away, and back at the end."""
    away = database.with_suffix(".away")
    database.rename(away)
    yield
    away.rename(database)


@contextmanager
def replaced(database: Path) -> Iterator[None]:
    """Put another database in its place until the end."""
    # Created under another name: SQLite would apply the first database's WAL to it.
    other_file = database.with_name("other.db")
    with closing(sqlite3.connect(other_file)) as connection:
        connection.execute("CREATE TABLE recipe (name TEXT)")
    with moved(database):
        other_file.rename(database)
        yield
        database.unlink()


def open_edited_draft(terminal: Terminal) -> None:
    """Open the edit form and type into it."""
    terminal.press("e")
    terminal.wait_for(r"Ctrl\+S save")
    terminal.type_text(" Mine.")
    terminal.wait_for("Mine")


@pytest.mark.parametrize(
    ("break_database", "message"),
    [(locked, "Another process has locked"), (moved, "was moved"), (replaced, "was moved")],
    ids=["locked", "moved", "replaced"],
)
def test_failed_edit_and_decision_can_be_retried(
    sample_home: Path, break_database: Callable[[Path], AbstractContextManager[None]], message: str
) -> None:
    with open_terminal((120, 30), COPYDESK_DATABASE__BUSY_TIMEOUT="0.2") as terminal:
        terminal.start_console(sample_home)
        terminal.wait_for(rf"─ Queue · {SAMPLE_DRAFTS} ─[\s\S]*▌ [\s\S]*confidence ")
        database = sample_home / "sample" / "copydesk.db"
        open_edited_draft(terminal)
        with break_database(database):
            terminal.press("C-s")
            terminal.wait_for(rf"(?s)Mine.*{message}.*Ctrl\+S save")
        terminal.press("C-s")
        # Pressed before the refused save has ended, it is discarded, and the console says so.
        if "Discarded, typed" in terminal.wait_for(r"Edited · u undo|Discarded, typed"):
            terminal.press("C-s")
            terminal.wait_for(r"Edited · u undo")
        with break_database(database):
            terminal.press("a")
            terminal.wait_for(
                rf"(?s){SAMPLE_DRAFTS} ─[^\n]*\n {{5}}Quarrystone 3[^\n]*\n {{5}}The Lighthouse[^\n]*\n▌.*{message}"
            )
        terminal.press("g", "a")
        terminal.wait_for("Approved 1 ")
        assert "Traceback" not in terminal.quit_console()
    with closing(sqlite3.connect(database)) as desk:
        assert desk.execute("SELECT count(*) FROM draft WHERE text LIKE '% Mine.%'").fetchone() == (1,)
        assert desk.execute("SELECT count(*) FROM draft WHERE status = 'approved'").fetchone() == (1,)


def test_full_disk_is_reported_and_console_continues(sample_home: Path) -> None:
    with open_terminal((120, 30)) as terminal:
        # Limit files to 72 blocks of 512 bytes: enough for the WAL's index, too few for a decision.
        terminal.type_text("ulimit -f 72; trap '' XFSZ")
        terminal.press("Enter")
        terminal.start_console(sample_home)
        terminal.wait_for(rf"─ Queue · {SAMPLE_DRAFTS} ─[\s\S]*▌ ")
        terminal.press("a")
        terminal.wait_for(r"(?s)\n {5}Quarrystone 3[^\n]*\n {5}The Lighthouse.*(full|could not be)")
        terminal.press("j", "j")
        terminal.wait_for(r"▌ .*Open Harb")
        assert "Traceback" not in terminal.quit_console()
