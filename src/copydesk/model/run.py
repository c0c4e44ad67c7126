"""A run of the pipeline: its stages, its funnel, its times."""

from datetime import datetime
from enum import StrEnum

import msgspec

from copydesk.model.wire import Struct


class RunStatus(StrEnum):
    """Where a run is."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    """The process died; found at the next start."""


class Stage(StrEnum):
    """The four steps of a run, in their order."""

    INGEST = "ingest"
    FILTER = "filter"
    RANK = "rank"
    DRAFT = "draft"


class RunStats(Struct, frozen=True):
    """A funnel: each figure is not less than the one below it.

    `items_ingested` are the items that the run took in: those it stored (`items_new`) and those stored before
    that still wait for a draft (`items_waiting`), so that nothing is lost when many entries come at once.
    """

    items_ingested: int = 0
    items_filtered: int = 0
    """Left after the filters and the duplicates' merging: stories."""
    items_ranked: int = 0
    drafts_created: int = 0
    stage_timing: dict[Stage, float] = {}
    """Seconds."""
    items_new: int = 0
    items_waiting: int = 0
    sources_fetched: int = 0
    sources_unchanged: int = 0
    """Nothing new: not modified, or the same body again. Part of `sources_fetched`."""
    sources_failed: int = 0
    drafts_failed: int = 0


class Run(Struct, frozen=True):
    """A pipeline run as the interface shows it."""

    id: str
    status: RunStatus
    stage: Stage | None
    started_at: datetime
    """When it was queued, until it is running."""
    ended_at: datetime | None
    duration: float | None
    """Seconds; None until it ended."""
    stats: RunStats
    error: str | None


class RunRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What a run is asked to do."""

    source_ids: tuple[str, ...] | None = None
    """Only these; None for every enabled source."""
    formats: tuple[str, ...] | None = None
    max_drafts: int | None = None
    """At most so many new drafts; None for the setting."""
    due: bool = False
    """Only the sources whose time has come, as a clock would ask; else all are asked, as a person would."""


class Progress(Struct, frozen=True):
    """How far a run is in its stage; `total` is None while it is not known."""

    run_id: str
    stage: Stage
    done: int
    total: int | None
    note: str = ""
    """What is being done, for a line on the screen."""


class ErrorCount(Struct, frozen=True):
    """How often runs ended with one kind of error."""

    category: str
    count: int


class LatelyRun(Struct, frozen=True):
    """What runs came to in a stretch of time."""

    runs: int
    items: int
    drafts: int


class RunStatistics(Struct, frozen=True):
    """How the user's runs went, as the interface shows it. Averages are over the runs that have ended.

    Items are those that a run stored: one that waits through several runs counts once.
    """

    total_runs: int
    """Also those that wait or are under way."""
    success_rate: float
    """0 to 1: those that succeeded by those that ended, in whichever way; 0 where none has ended."""
    average_duration: float | None
    """Seconds; None where none has ended."""
    average_items_per_run: float
    average_drafts_per_run: float
    top_errors: tuple[ErrorCount, ...]
    """Why runs failed or were broken off, the most frequent first; a run that the user cancelled is no error."""
    last30_days: LatelyRun = msgspec.field(name="last30Days")
    """The runs that began in these days, or wait."""
    ended_runs: int = 0
