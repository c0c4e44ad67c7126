"""Every text a user sees in the console."""

from typing import NamedTuple

from copydesk.desk.catalog import get_source_type
from copydesk.model.draft import MANUAL, Format, Severity, Status


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
MANUAL_SOURCE = "yours"


def source_type_label(name: str) -> str:
    """Return the label of the source type `name`, or of MANUAL."""
    return MANUAL_SOURCE if name == MANUAL else get_source_type(name).label


# App, header, palette and dialogs


# Review


# Compose


# Schedule


# Sources


# Experiments


# Engagement


# Setup


# Help
