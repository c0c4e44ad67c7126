"""Labels for states, times and numbers in the console."""

from datetime import datetime
from typing import NamedTuple

from copydesk.model.draft import MANUAL, Format, Severity, Status
from copydesk.model.source import SourceType

BAR = 10
"""Cells of a progress bar in a text."""


class Sign(NamedTuple):
    """A letter and a colour: always together, so that each is sufficient alone."""

    letter: str
    role: str
    words: str


STATUS = {
    Status.PENDING_GENERATION: Sign("W", "dim", "being written"),
    Status.GENERATION_FAILED: Sign("F", "bad", "could not be written"),
    Status.PENDING_REVIEW: Sign("N", "accent", "new"),
    Status.AWAITING_REVIEW: Sign("L", "accent", "look again"),
    Status.CHANGES_REQUESTED: Sign("C", "warn", "changes requested"),
    Status.PENDING_REGENERATION: Sign("W", "dim", "being rewritten"),
    Status.APPROVED: Sign("A", "good", "approved"),
    Status.REJECTED: Sign("R", "dim", "rejected"),
    Status.SCHEDULED: Sign("S", "good", "scheduled"),
    Status.POSTING: Sign("O", "warn", "going out"),
    Status.MISSED: Sign("M", "bad", "missed its time"),
    Status.POSTED: Sign("P", "dim", "posted"),
}
SEVERITY = {
    Severity.ERROR: Sign("E", "bad", "error"),
    Severity.WARNING: Sign("W", "warn", "warning"),
    Severity.INFO: Sign("i", "dim", "note"),
}
FLAG = {
    Severity.ERROR: Sign("!", "bad", "a check found an error"),
    Severity.WARNING: Sign("~", "warn", "a check warns"),
}
"""The most severe check result, in a row of the queue."""
FORMAT = {
    Format.SHORT: Sign("s", "dim", "a short post"),
    Format.THREAD: Sign("t", "dim", "a thread"),
    Format.BLOG: Sign("b", "dim", "a blog post"),
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


def age(moment: datetime, now: datetime) -> str:
    """Return the time since `instant` in at most three characters if it is under two years: `5m`, `3h`, `2d`, `40w`."""
    seconds = (now - moment).total_seconds()
    for unit, length in _UNITS:
        if seconds >= length:
            return f"{int(seconds // length)}{unit}"
    return "now"


def ago(moment: datetime, now: datetime) -> str:
    """Return the time since `instant` in words."""
    short = age(moment, now)
    return "just now" if short == "now" else f"{short} ago"


def exact(moment: datetime) -> str:
    """Format as UTC to the minute."""
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def bar(share: float, width: int = BAR) -> tuple[str, str]:
    """Return the full and the empty part of a bar; `share` is clamped to 0 to 1."""
    full = round(width * min(max(share, 0.0), 1.0))
    return "━" * full, "╌" * (width - full)


def plural(number: int, one: str) -> str:
    """Return the number and its noun, with a plural s where needed."""
    return f"{number} {one}" if number == 1 else f"{number} {one}s"
