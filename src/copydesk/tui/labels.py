"""Labels for states, times and numbers in the console."""

from datetime import datetime
from typing import NamedTuple

from copydesk.model.draft import MANUAL, Format, Severity, Status
from copydesk.model.source import SourceType

BAR_WIDTH = 10
"""Cells of a progress bar in a text."""


class Badge(NamedTuple):
    """A letter and a colour: always together, so that each is sufficient alone."""

    letter: str
    role: str
    text: str


STATUS = {
    Status.PENDING_GENERATION: Badge("W", "dim", "being written"),
    Status.GENERATION_FAILED: Badge("F", "bad", "could not be written"),
    Status.PENDING_REVIEW: Badge("N", "accent", "new"),
    Status.AWAITING_REVIEW: Badge("L", "accent", "look again"),
    Status.CHANGES_REQUESTED: Badge("C", "warn", "changes requested"),
    Status.PENDING_REGENERATION: Badge("W", "dim", "being rewritten"),
    Status.APPROVED: Badge("A", "good", "approved"),
    Status.REJECTED: Badge("R", "dim", "rejected"),
    Status.SCHEDULED: Badge("S", "good", "scheduled"),
    Status.POSTING: Badge("O", "warn", "going out"),
    Status.MISSED: Badge("M", "bad", "missed its time"),
    Status.POSTED: Badge("P", "dim", "posted"),
}
SEVERITY = {
    Severity.ERROR: Badge("E", "bad", "error"),
    Severity.WARNING: Badge("W", "warn", "warning"),
    Severity.INFO: Badge("i", "dim", "note"),
}
FLAG = {
    Severity.ERROR: Badge("!", "bad", "a check found an error"),
    Severity.WARNING: Badge("~", "warn", "a check warns"),
}
"""The most severe check result, in a row of the queue."""
FORMAT = {
    Format.SHORT: Badge("s", "dim", "a short post"),
    Format.THREAD: Badge("t", "dim", "a thread"),
    Format.BLOG: Badge("b", "dim", "a blog post"),
}
SOURCE: dict[str, str] = {
    SourceType.RSS: "feed",
    SourceType.TWITTER: "X",
    SourceType.REDDIT: "Reddit",
    SourceType.HACKERNEWS: "Hacker News",
    SourceType.GOOGLE_NEWS: "Google News",
    SourceType.SUBSTACK: "Substack",
    MANUAL: "yours",
}
# No months: `m` means minutes.
_UNITS = (("w", 7 * 24 * 3600), ("d", 24 * 3600), ("h", 3600), ("m", 60))


def format_age(instant: datetime, now: datetime) -> str:
    """Return the time since `instant` in at most three characters if it is under two years: `5m`, `3h`, `2d`, `40w`."""
    seconds = (now - instant).total_seconds()
    for unit, length in _UNITS:
        if seconds >= length:
            return f"{int(seconds // length)}{unit}"
    return "now"


def format_ago(instant: datetime, now: datetime) -> str:
    """Return the time since `instant` in words."""
    short = format_age(instant, now)
    return "just now" if short == "now" else f"{short} ago"


def format_utc(instant: datetime) -> str:
    """Format as UTC to the minute."""
    return instant.strftime("%Y-%m-%d %H:%M UTC")


def progress_bar(share: float, width: int = BAR_WIDTH) -> tuple[str, str]:
    """Return the full and the empty part of a bar; `share` is clamped to 0 to 1."""
    full = round(width * min(max(share, 0.0), 1.0))
    return "━" * full, "╌" * (width - full)


def plural(number: int, noun: str) -> str:
    """Return the number and its noun, with a plural s where needed."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# App, header, palette and dialogs


# Review


# Compose


# Schedule


# Sources


# Experiments


# Engagement


# Setup


# Help
