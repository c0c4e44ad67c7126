"""What is done without being asked, and how that went."""

from datetime import datetime
from enum import StrEnum

from copydesk.model.wire import Struct


class JobName(StrEnum):
    """The jobs, in the order in which they are begun where several are due."""

    ZONES = "zones"
    """Moves what is scheduled after the time zone database."""
    MISSED = "missed"
    """Marks the drafts that are too late."""
    DUE = "due"
    """Picks up the drafts whose time has come."""
    POSTING = "posting"
    """Sends what is on its way to an account, and looks for what may have arrived."""
    FIGURES = "figures"
    """Reads what the platforms report of posts."""
    GENERATION = "generation"
    """Writes the drafts that wait for their text."""
    PIPELINE = "pipeline"
    """Reads the sources whose time has come."""


class JobState(Struct, frozen=True):
    """Who is at a job, and how it last went."""

    name: str
    owner: str | None
    """The process that is at it; None where nobody is."""
    lease_until: datetime | None
    began_at: datetime | None
    ended_at: datetime | None
    failed_at: datetime | None
    error: str | None
    """The last error, until the job ends well."""


class Claim(Struct, frozen=True):
    """The right to do a job, for as long as the lease."""

    id: str
    job: str
    owner: str
    """The process, as `desk.process` signs it."""
    lease_until: datetime


class Outlook(Struct, frozen=True):
    """What is due now, and when the next draft is."""

    next_draft: datetime | None
    """When the next scheduled draft goes out."""
    due: bool
    """Whether a draft's time has come."""
    late: bool
    """Whether a draft is late by more than its grace period."""
    connected: bool
    """Whether there is an account that something can go to."""
    to_send: bool
    """Whether something can be done about a delivery."""
    to_measure: bool
    """Whether the figures of a post are to be read."""
    to_write: bool
    """Whether a draft waits for its text."""
    to_read: bool
    """Whether a source's time has come."""
    jobs: tuple[JobState, ...]


class ClockDoubt(Struct, frozen=True):
    """The wall clock jumped, or is before what is known to have happened."""

    since: datetime
    """When that was noticed, by the doubtful clock."""
    seconds: float
    """By how much: positive is forward."""
