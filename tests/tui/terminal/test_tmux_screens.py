"""Tests for the console's screens in real terminals of several sizes and kinds."""

import re
from pathlib import Path

import pytest

from sample_desks import SAMPLE_DRAFTS
from tmux_terminal import Terminal, open_terminal

SCREENS = (
    ("2", r"─ Mon \d+ "),
    ("3", r"─ Sources · 10[\s\S]*The Lighthouse"),
    ("4", "No experiments yet"),
    ("5", "No posts yet"),
    ("6", r"Accounts[\s\S]*fake:you"),
    ("1", rf"─ Queue · {SAMPLE_DRAFTS} ─"),
)
"""The keys of all screens, and a pattern that each matches."""
GREYS = {0, 7, 8, 15, 16, 59, 102, 145, 188, 231, *range(232, 256)}
"""Those of the 256 terminal colours that are grey."""


def open_console(terminal: Terminal, home: Path) -> None:
    """Open the console and wait for its rows."""
    terminal.start_console(home)
    terminal.wait_for(rf"─ Queue · {SAMPLE_DRAFTS} ─[\s\S]*▌ ")


@pytest.mark.parametrize(
    ("size", "term"), [((80, 24), "screen-256color"), ((200, 60), "xterm-256color")], ids=["80x24", "200x60"]
)
def test_screens_open_by_number(sample_home: Path, size: tuple[int, int], term: str) -> None:
    with open_terminal(size, term=term) as terminal:
        open_console(terminal, sample_home)
        for key, pattern in SCREENS:
            terminal.press(key)
            lines = terminal.wait_for(pattern).rstrip("\n").split("\n")
            assert len(lines) == size[1]
            assert "quit" in lines[-1]
        assert "Traceback" not in terminal.quit_console()


def test_colourless_terminal_works(sample_home: Path) -> None:
    with open_terminal((80, 24), NO_COLOR="1") as terminal:
        open_console(terminal, sample_home)
        terminal.press("a")
        terminal.wait_for(r"Approved 1 [\s\S]*  A .*Quarrystone")
        colours_used = re.findall(r"[34]8;5;(\d+)", "".join(terminal.styles))
        assert not {int(colour) for colour in colours_used} - GREYS
        terminal.press("2")
        terminal.wait_for("1 approved draft")


def test_resize_and_too_small_terminal(sample_home: Path) -> None:
    with open_terminal((120, 40)) as terminal:
        open_console(terminal, sample_home)
        terminal.press("j", "j")
        terminal.wait_for(r"▌ .*Tidegate")
        terminal.resize(20, 5)
        terminal.wait_for(r"Copydesk needs 40")
        terminal.resize(80, 24)
        assert "─ Draft" not in terminal.wait_for(rf"Queue · {SAMPLE_DRAFTS} ─[\s\S]*▌ .*Tidegate[\s\S]*q quit")
        terminal.resize(200, 60)
        assert re.search(rf"Queue · {SAMPLE_DRAFTS} ─+ Draft ─", terminal.wait_for(r"─ Draft ─[\s\S]*q quit"))
        terminal.press("2")
        terminal.wait_for(r"─ Mon \d+ [\s\S]*23:00")
        terminal.resize(40, 10)
        terminal.wait_for(r"^.{0,40}\n[\s\S]*\d\d:00")
        assert "Traceback" not in terminal.quit_console()


def test_source_is_deleted_and_readded(sample_home: Path) -> None:
    with open_terminal((120, 40)) as terminal:
        open_console(terminal, sample_home)
        terminal.press("3")
        terminal.wait_for("▌H feed .*The Lighthouse")
        terminal.press("D")
        terminal.wait_for(r"y delete · n cancel")
        terminal.press("y")
        terminal.wait_for(r"Sources · 9 ")
        terminal.press("A")
        terminal.wait_for("Enter a URL")
        terminal.type_text("https://lighthouse.example/feed.xml")
        terminal.press("Enter")
        terminal.wait_for(r"Enter save ·[\s\S]*7 entries found")
        terminal.press("Enter")
        terminal.wait_for(r"Sources · 10 [\s\S]*The Lighthouse")
        terminal.press("P")
        terminal.wait_for(r"new drafts? · ")
        assert "Traceback" not in terminal.quit_console()


def test_week_is_scheduled_from_plan(sample_home: Path) -> None:
    with open_terminal((120, 40), TZ="UTC") as terminal:
        open_console(terminal, sample_home)
        terminal.press("a", "a", "a")
        terminal.wait_for("3 approved · u undo")
        # Six days from now at midnight: these weekly slots do not recur any sooner. The row of the hour shows the time.
        terminal.press("2")
        terminal.wait_for(r"─ Mon \d+ [\s\S]*3 approved drafts")
        terminal.press("]")
        terminal.wait_for("in 7 days")
        terminal.press("h", "g")
        terminal.wait_for("00:00–00:59")
        for hour in ("00", "01", "02"):
            terminal.press("A")
            terminal.wait_for(f"Weekly slots: {hour}:30")
            terminal.press("Enter")
            terminal.wait_for(rf"{hour}:00 free slot · every")
            terminal.press("j")
        terminal.press("Q")
        terminal.wait_for(
            r"Schedule 3 drafts · Enter confirm · Esc cancel[\s\S]* 0?0:00 .*\n[\s\S]* 0?1:00 .*\n[\s\S]* 0?2:00 "
        )
        terminal.press("Enter")
        terminal.wait_for("Scheduled 3 drafts · u undo")
        terminal.wait_for(r"00:\d\d .*▌?:00 S [\s\S]*01:\d\d .*:00 S [\s\S]*02:\d\d .*:00 S ")
        terminal.press("u")
        terminal.wait_for(r"00:\d\d .*\[:00 ")
        terminal.press("1")
        terminal.wait_for("Approved 3  Scheduled  Posted")
