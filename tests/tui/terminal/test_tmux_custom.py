"""Tests for the user's own tabs and commands in a real terminal."""

from pathlib import Path

import pytest

from sample_desks import SAMPLE_DRAFTS
from tmux_terminal import open_terminal

SETTINGS = r"""
[tabs.Threads]
format = "THREAD"
[tabs.Search]
search = "the"
[commands.first]
key = "f6"
label = "First words"
run = "grep -o '\"format\":\"[A-Z]*\"'"
[commands.keys]
key = "f7"
label = "Type here"
run = "printf 'type a word: '; read word; grep -c . \"$COPYDESK_DRAFT_FILE\"; echo word=$word; sleep 1; exit 4"
output = "suspend"
[commands.own]
key = "f8"
label = "Reject"
run = 'copydesk draft reject "$COPYDESK_DRAFT_ID" --feedback "by a command"'
"""


@pytest.fixture
def home(sample_home: Path) -> Path:
    """Return a sample desk whose settings have tabs and commands."""
    (sample_home / "sample" / "settings.toml").write_text(SETTINGS, encoding="utf-8")
    return sample_home


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_filter_is_saved_as_tab_and_stays(home: Path, size: tuple[int, int]) -> None:
    with open_terminal(size) as terminal:
        terminal.start_console(home)
        terminal.wait_for(rf"Thre[\s\S]*Queue · {SAMPLE_DRAFTS} ─[\s\S]*▌ ")
        terminal.press("f")
        terminal.wait_for(r"Filter · Space toggle")
        terminal.press("Space", "C-s")
        terminal.wait_for("Save these filters as a tab named")
        terminal.type_text("Brief")
        terminal.press("Enter")
        terminal.wait_for(r"Brief \d[\s\S]*Queue · \d+ · short ─")
        terminal.press("[")
        terminal.wait_for(r"Search[\s\S]*Queue · \d+ · the ─")
        terminal.quit_console()
        terminal.start_console(home)
        terminal.wait_for(rf"Brie[\s\S]*Queue · {SAMPLE_DRAFTS} ─[\s\S]*▌ ")
        assert "Traceback" not in terminal.quit_console()


def test_commands_run_in_background_and_on_the_terminal(home: Path) -> None:
    with open_terminal((120, 40)) as terminal:
        terminal.start_console(home)
        terminal.wait_for(rf"Queue · {SAMPLE_DRAFTS} ─[\s\S]*▌ ")
        terminal.press("F6")
        terminal.wait_for(r'First words: "format":"SHORT"')
        terminal.press("F7")
        terminal.wait_for("type a word:")
        terminal.type_text("aaa")
        terminal.press("Enter")
        terminal.wait_for("word=aaa")
        terminal.wait_for(rf"Queue · {SAMPLE_DRAFTS} ─[\s\S]*Type here failed with exit code 4")
        # The program finds the same desk, whose folder no variable of this shell names.
        terminal.press("F8")
        terminal.wait_for(rf"To review {SAMPLE_DRAFTS - 1} .* Rejected 1 ")
        assert "Traceback" not in terminal.quit_console()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_letters_jump_to_a_row_and_a_screen(sample_home: Path, size: tuple[int, int]) -> None:
    with open_terminal(size) as terminal:
        terminal.start_console(sample_home)
        terminal.wait_for(rf"Queue · {SAMPLE_DRAFTS} ─[\s\S]*▌ ")
        # To tmux, a semicolon alone separates commands.
        terminal.press(r"\;")
        screen = terminal.wait_for("Esc cancel")
        # The second row, of one line or two.
        row = screen.split("\n")[3 + (2 if size[0] >= 100 else 1)]
        terminal.type_text(row.split()[0])
        moved = terminal.wait_for("q quit").split("\n")
        assert moved[3 + (2 if size[0] >= 100 else 1)].startswith("▌")
        terminal.press(r"\;")
        line = terminal.wait_for("Esc cancel").split("\n")[0]
        terminal.type_text(line[line.index("3 Sources") - 2])
        terminal.wait_for("─ Sources · 10")
        assert "Traceback" not in terminal.quit_console()


def test_wrong_command_stops_the_start_with_its_reason(home: Path) -> None:
    text = SETTINGS.replace('key = "f6"', 'key = "a"')
    (home / "sample" / "settings.toml").write_text(text, encoding="utf-8")
    reason = "a is both review.approve"
    with open_terminal((120, 40)) as terminal:
        terminal.start_console(home)
        terminal.wait_for(rf"{reason}[\s\S]*ended=2")
        terminal.start_copydesk("--home", str(home), "--sample", "doctor")
        # Its line is longer than the terminal's.
        terminal.wait_for(r"ERROR +settings[\s\S]*ended=1")
