"""Pipeline runs: status, stages, statistics."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from copydesk.errors import DeclineReason
from copydesk.model.draft import Format
from copydesk.model.serialization import Struct
from copydesk.model.validation import MAX_ID_LENGTH, FieldReader, Id
from copydesk.text.formatting import plural

MAX_SOURCE_IDS: Final = 10_000
MAX_DRAFTS: Final = 1_000_000
"""Upper bound of a run's drafts; far above what any run writes."""

_DECLINED = {
    DeclineReason.NOTHING_TO_QUOTE: "had nothing to quote",
    DeclineReason.TOO_LITTLE_TEXT: "had too little text for the format",
    DeclineReason.AVOIDED_WORDS: "had avoided words in every sentence",
    DeclineReason.TOO_LONG: "had nothing that fits the length limit",
    DeclineReason.FAILED_CHECKS: "had only texts that fail a check",
    DeclineReason.TOO_FEW_SOURCES: "had too few sources for a round-up",
}

FormatName = Annotated[str, Meta(extra_json_schema={"enum": [member.value for member in Format]})]


class RunStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    """The process died; detected at the next start."""


class Stage(StrEnum):
    """The stages of a run, in order."""

    INGEST = "ingest"
    FILTER = "filter"
    RANK = "rank"
    DRAFT = "draft"


class RunStats(Struct, frozen=True):
    """A funnel: `items_considered`, `items_filtered`, `items_ranked` and `drafts_created` each include the next one.

    Considered are the new items and those of earlier runs that still wait for a draft, so that nothing is lost when
    many entries arrive at once.
    """

    items_ingested: int = 0
    """New items that this run stored."""
    items_filtered: int = 0
    """Stories that remain after filtering and merging duplicates."""
    items_ranked: int = 0
    drafts_created: int = 0
    stage_timing: dict[Stage, float] = {}
    """Seconds."""
    items_new: int = 0
    """The same as `items_ingested`; the totals of all runs are summed from it."""
    items_waiting: int = 0
    """Items of earlier runs that still waited for a draft."""
    items_considered: int = 0
    """New and waiting items."""
    items_too_old: int = 0
    """New items that are not drafted, because they were old when their source was first fetched
    (`pipeline.first_fetch_hours`)."""
    sources_fetched: int = 0
    sources_unchanged: int = 0
    """Not modified, or the same body again. Included in `sources_fetched`."""
    sources_failed: int = 0
    skipped_sources: tuple[str, ...] = ()
    """Names of the sources that the request named but that were not fetched: their site asked to wait, or they were not
    due."""
    drafts_failed: int = 0
    items_declined: dict[DeclineReason, int] = {}
    """Items that the writer declined in at least one format, by reason. Not included in `drafts_failed`."""


def describe_declined(stats: RunStats) -> tuple[str, ...]:
    """Return why items were not drafted, such as "12 items had nothing to quote", most frequent first."""
    counts = [(count, _DECLINED[reason]) for reason, count in stats.items_declined.items()]
    if stats.items_too_old:
        were, their = ("was", "its") if stats.items_too_old == 1 else ("were", "their")
        counts.append((stats.items_too_old, f"{were} too old when {their} source was first fetched"))
    return tuple(f"{plural(count, 'item')} {why}" for count, why in sorted(counts, key=lambda pair: -pair[0]))


class Run(Struct, frozen=True):
    """A pipeline run as the interface returns it."""

    id: str
    status: RunStatus
    stage: Stage | None
    started_at: datetime
    """When it was queued, until it is running."""
    ended_at: datetime | None
    duration: float | None
    """Seconds; None until it has ended."""
    stats: RunStats
    error: str | None


class RunRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a run."""

    source_ids: Annotated[tuple[Id, ...], Meta(max_length=MAX_SOURCE_IDS)] | None = None
    """None selects every enabled source."""
    formats: Annotated[tuple[FormatName, ...], Meta(min_length=1, max_length=len(Format))] | None = None
    """Formats to write, without duplicates; None uses the setting."""
    max_drafts: Annotated[int, Meta(ge=0, le=MAX_DRAFTS)] | None = None
    """None uses the setting."""
    due: bool = False
    """Fetch only the sources that are due, as the scheduler does. Otherwise all of them, as for a user's request."""


def validate_run(request: RunRequest | Mapping[str, object]) -> RunRequest:
    """Return the validated request. Raise InvalidError with every invalid field."""
    reader = FieldReader(RunRequest, request)
    source_ids = reader.texts("sourceIds", MAX_SOURCE_IDS, MAX_ID_LENGTH)
    formats = reader.choices("formats", Format, len(Format))
    run = RunRequest(
        # An empty list selects nothing, null everything.
        source_ids=source_ids if reader.has("sourceIds") else None,
        formats=formats or None,
        max_drafts=reader.number("maxDrafts", 0, MAX_DRAFTS),
        due=reader.flag("due"),
    )
    reader.raise_if_invalid()
    return run


class Progress(Struct, frozen=True):
    """Progress within a stage; `total` is None while unknown."""

    run_id: str
    stage: Stage
    done: int
    total: int | None
    note: str = ""
    """The current activity, for a line on the screen."""


class ErrorCount(Struct, frozen=True):
    """Number of runs that ended with one category of error."""

    category: str
    count: int


class PeriodTotals(Struct, frozen=True):
    """Totals of runs in a period."""

    runs: int
    items: int
    drafts: int


class RunStatistics(Struct, frozen=True):
    """Statistics of the user's runs, as the interface returns them. Averages are over the runs that have ended.

    Items are counted in the run that stored them, so one that waits through several runs counts once.
    """

    total_runs: int
    """Including queued and running ones."""
    success_rate: float
    """0 to 1: succeeded / ended in any way; 0 if none has ended."""
    average_duration: float | None
    """Seconds; None if none has ended."""
    average_items_per_run: float
    average_drafts_per_run: float
    top_errors: tuple[ErrorCount, ...]
    """Why runs failed or were interrupted, most frequent first. Cancellation by the user is no error."""
    last30_days: PeriodTotals = msgspec.field(name="last30Days")
    """Runs that began in this period or are queued."""
    ended_runs: int = 0
