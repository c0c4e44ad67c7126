"""Background jobs and their state."""

from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from copydesk.model.serialization import Struct


class JobName(StrEnum):
    """The jobs, in the order in which they are started when several are due."""

    ZONES = "zones"
    """Moves scheduled times after a change of the time zone database."""
    MISSED = "missed"
    """Marks drafts that are past their grace period."""
    DUE = "due"
    """Starts posting the drafts whose time has come."""
    POSTING = "posting"
    """Sends pending deliveries and looks up those with an unknown outcome."""
    WEBHOOKS = "webhooks"
    """Sends events to webhooks."""
    METRICS = "figures"
    """Collects the metrics of posts."""
    GENERATION = "generation"
    """Writes the drafts that wait for their text."""
    CONFIDENCE = "confidence"
    """Computes the confidence of drafts again after more decisions."""
    PIPELINE = "pipeline"
    """Fetches the sources that are due."""
    BACKUP = "backup"
    """Backs up the database."""
    RETENTION = "retention"
    """Deletes old data."""


class JobState(Struct, frozen=True):
    """The current owner of a job and its last outcome."""

    name: str
    owner: str | None
    """The process that is running it; None if it is idle."""
    lease_until: datetime | None
    began_at: datetime | None
    ended_at: datetime | None
    """Before `began_at` if it is running, or was interrupted."""
    failed_at: datetime | None
    """When it last failed, or when it began after its process had died while it ran."""
    error: str | None
    """The last error, until the job succeeds."""

    @property
    def is_unfinished(self) -> bool:
        """It is running, or was interrupted."""
        return self.began_at is not None and (self.ended_at is None or self.ended_at < self.began_at)


class JobLease(Struct, frozen=True):
    """A lease on a job."""

    id: str
    job: str
    owner: str
    """The process, as identified by `desk.leases`."""
    lease_until: datetime


class DueWork(Struct, frozen=True):
    """The work that is due now, and the time of the next scheduled draft."""

    next_draft: datetime | None
    """When the next scheduled draft is due."""
    due: bool
    """True if a scheduled draft is due."""
    late: bool
    """True if a draft is past its grace period."""
    connected: bool
    """True if an account is connected. Once it is, drafts may go out that waited for one."""
    to_send: bool
    """True if a delivery can be sent or looked up."""
    to_measure: bool
    """True if the metrics of a post are due."""
    to_write: bool
    """True if a draft waits for its text."""
    to_estimate: bool
    """True if the confidences of drafts are out of date."""
    to_fetch: bool
    """True if a source is due."""
    to_notify: bool
    """True if an event can be sent to a webhook."""
    jobs: tuple[JobState, ...]
    running: frozenset[str] = frozenset()
    """Names of the jobs whose leases live processes hold."""


class DueDraftsCheck(Struct, frozen=True):
    """The result of a check of the drafts whose time has come."""

    can_dispatch: bool = False
    """True if one can be dispatched now: it waits for no account, no approval and no earlier post."""
    waiting_for_account: tuple[str, ...] = ()
    """Ids of those that no connected account would post, oldest first; none that will be missed."""


class ClockWarning(Struct, frozen=True):
    """The wall clock jumped, or is earlier than a recorded event."""

    since: datetime
    """When it was noticed, by the suspect clock."""
    seconds: float
    """Size of the jump; positive is forward."""

    advice: ClassVar[str] = "Correct the clock, or accept it: copydesk schedule clock --accept"


class Pruned(Struct, frozen=True):
    """The number of rows that were cleared or deleted, and of files."""

    items: int
    runs: int
    readings: int
    undone: int
    """Events of changes that were undone, and of their undos."""
    images: int
    idempotency_keys: int
    """Keys of requests to the HTTP service, with their responses."""
    events: int
