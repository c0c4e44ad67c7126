"""Test for the mouse as a real terminal reports it."""

from pathlib import Path

from sample_desks import SAMPLE_DRAFTS
from tmux_terminal import Terminal, open_terminal


def send_mouse(terminal: Terminal, button: int, text: str, *, times: int = 1) -> None:
    """Send the sequence of a mouse button over the first cell of `text`."""
    lines = terminal.screen.split("\n")
    row = next(y for y, line in enumerate(lines) if text in line)
    position = f"{button};{lines[row].index(text) + 1};{row + 1}"
    presses = f"\x1b[<{position}M" + (f"\x1b[<{position}m" if button == 0 else "")
    terminal.tmux("send-keys", "-H", *(f"{byte:02x}" for byte in (presses * times).encode()))


def test_mouse_alone_reviews_drafts(sample_home: Path) -> None:
    with open_terminal((120, 30)) as terminal:
        terminal.start_console(sample_home)
        terminal.wait_for(rf"─ Queue · {SAMPLE_DRAFTS} ─[\s\S]*▌ [\s\S]*confidence ")
        send_mouse(terminal, 0, "14 cron jobs")
        terminal.wait_for(r"▌ .*14 cron jobs")
        send_mouse(terminal, 0, "approve")
        terminal.wait_for(r"Approved 1 ")
        send_mouse(terminal, 0, "Approved 1")
        terminal.wait_for(r"─ Queue · 1 ─[\s\S]*▌ .*14 cron jobs")
        send_mouse(terminal, 0, "2 Schedule")
        terminal.wait_for(r"─ Mon \d+ ")
        send_mouse(terminal, 0, "3 Sources")
        terminal.wait_for("─ Sources · 10")
        send_mouse(terminal, 0, "Paper Trail")
        terminal.wait_for(r"▌.*Paper Trail")
        send_mouse(terminal, 0, "1 Review")
        terminal.wait_for("─ Queue · 1 ─")
        send_mouse(terminal, 0, f"To review {SAMPLE_DRAFTS - 1}")
        terminal.wait_for(f"─ Queue · {SAMPLE_DRAFTS - 1} · 1 of {SAMPLE_DRAFTS} done ─")
        send_mouse(terminal, 65, "Readers who", times=9)
        terminal.wait_for(rf"─ Queue · {SAMPLE_DRAFTS - 1} · 1 of {SAMPLE_DRAFTS} done ─(?![\s\S]*Readers who come)")
        send_mouse(terminal, 0, "quit")
        terminal.wait_for("ended=0")
