"""Test for the mouse as a real terminal reports it."""

from pathlib import Path

from real_terminal import Terminal, real_terminal


def report(terminal: Terminal, button: int, words: str, *, times: int = 1) -> None:
    """Send the sequence of a mouse button over the first cell of `text`."""
    lines = terminal.screen.split("\n")
    row = next(y for y, line in enumerate(lines) if words in line)
    position = f"{button};{lines[row].index(words) + 1};{row + 1}"
    presses = f"\x1b[<{position}M" + (f"\x1b[<{position}m" if button == 0 else "")
    terminal.tmux("send-keys", "-H", *(f"{byte:02x}" for byte in (presses * times).encode()))


def test_mouse_alone_reviews_drafts(sample_home: Path) -> None:
    with real_terminal((120, 20)) as terminal:
        terminal.console(sample_home)
        terminal.wait_for(r"─ Queue · 24 ─[\s\S]*▌ N[\s\S]*by its checks")
        report(terminal, 0, "Show HN")
        terminal.wait_for(r"▌ N.*Show HN")
        report(terminal, 0, "approve")
        terminal.wait_for(r"Approved 1 ")
        report(terminal, 0, "Approved 1")
        terminal.wait_for(r"─ Queue · 1 ─[\s\S]*▌ A.*Show HN")
        report(terminal, 0, "2 Schedule")
        terminal.wait_for(r"─ Mon \d+ ")
        report(terminal, 0, "3 Sources")
        terminal.wait_for("─ Sources · 10")
        report(terminal, 0, "Paper Trail")
        terminal.wait_for(r"▌.*Paper Trail")
        report(terminal, 0, "1 Review")
        terminal.wait_for("─ Queue · 1 ─")
        report(terminal, 0, "To review 23")
        terminal.wait_for("─ Queue · 24 ─")
        report(terminal, 65, "Readers who", times=9)
        terminal.wait_for(r"─ Queue · 24 ─(?![\s\S]*Readers who come)")
        report(terminal, 0, "quit")
        terminal.wait_for("ended=0")
