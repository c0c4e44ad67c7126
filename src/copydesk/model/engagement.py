"""Engagement records: a draft's delivery to a platform, and the metrics of the post."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from copydesk.model.asked import Asked
from copydesk.model.change import LONGEST_ID, LONGEST_PLATFORM
from copydesk.model.draft import Format
from copydesk.model.wire import Struct

LONGEST_POST_ID = 500
LONGEST_ERROR = 2_000
LARGEST_FIGURE = 10**12
"""No post comes near it, and the sum over two million such posts still fits into 64 bits."""

FIGURES = ("likes", "replies", "reposts", "impressions", "clicks")
INTERACTIONS = ("likes", "replies", "reposts", "clicks")


class DeliveryStatus(StrEnum):
    """Status of one delivery."""

    PENDING = "pending"
    POSTED = "posted"
    FAILED = "failed"
    ABANDONED = "abandoned"


class EngagementRecord(Struct, frozen=True):
    """One draft on one account of a platform. A metric that the platform does not report is None, not zero."""

    id: str
    draft_id: str
    platform: str
    post_id: str | None
    status: DeliveryStatus
    retry_count: int
    retry_after: datetime | None
    error_message: str | None
    failed_at: datetime | None
    likes: int | None
    replies: int | None
    reposts: int | None
    impressions: int | None
    clicks: int | None
    engagement_rate: float | None
    measured_at: datetime | None
    created_at: datetime
    account: str = ""
    """The account's name; "" if the record was added manually for a platform."""


class RecordEngagement(Struct, frozen=True, forbid_unknown_fields=True):
    """New data about a draft on a platform; None leaves a field unchanged."""

    draft_id: str
    platform: str
    post_id: str | None = None
    status: DeliveryStatus | None = None
    error_message: str | None = None
    likes: int | None = None
    replies: int | None = None
    reposts: int | None = None
    impressions: int | None = None
    clicks: int | None = None

    @property
    def figures(self) -> dict[str, int]:
        """The metrics that were given."""
        values = {name: getattr(self, name) for name in FIGURES}
        return {name: value for name, value in values.items() if value is not None}


class TopPost(Struct, frozen=True):
    """A successful post. A metric that the platform does not report is None, not zero."""

    draft_id: str
    draft_text: str
    format: Format
    platform: str
    likes: int | None
    replies: int | None
    reposts: int | None
    impressions: int | None
    engagement_rate: float | None
    posted_at: datetime | None
    """When the draft was published; None if only its metrics were recorded."""


class FormatEngagement(Struct, frozen=True):
    """Engagement of one format; EngagementSummary defines the metrics."""

    format: Format
    count: int
    avg_engagement_rate: float
    rated: int


class PlatformEngagement(Struct, frozen=True):
    """Engagement on one platform; EngagementSummary defines the metrics."""

    platform: str
    count: int
    avg_engagement_rate: float
    rated: int


class EngagementSummary(Struct, frozen=True):
    """Engagement of the user's posts. One draft on one platform is one post once its status is posted.

    Totals sum the known values. The average rate is weighted by impressions: the sum of interactions divided by the sum
    of impressions, over the posts that have a rate. `rated` is their number; if it is 0, so is the average.
    """

    total_posted: int
    total_with_metrics: int
    """Posts with at least one known metric."""
    avg_engagement_rate: float
    total_likes: int
    total_replies: int
    total_reposts: int
    total_impressions: int
    top_posts: tuple[TopPost, ...]
    """By rate, then those without a rate by interactions; newer records first among equals. Only posts with metrics."""
    by_format: tuple[FormatEngagement, ...]
    by_platform: tuple[PlatformEngagement, ...]
    """Both by count, descending, then by name."""
    rated: int
    total_clicks: int


def checked_record(given: RecordEngagement | Mapping[str, object]) -> RecordEngagement:
    """Return the validated record. Raise InvalidError with every invalid field."""
    reader = Asked(RecordEngagement, given)
    reader.need("draftId", "platform")
    record = RecordEngagement(
        draft_id=reader.text("draftId", LONGEST_ID) or "",
        platform=reader.line("platform", LONGEST_PLATFORM) or "",
        post_id=reader.line("postId", LONGEST_POST_ID),
        status=reader.choice("status", DeliveryStatus),
        error_message=reader.text("errorMessage", LONGEST_ERROR),
        **{name: reader.number(name, 0, LARGEST_FIGURE) for name in FIGURES},
    )
    reader.refuse()
    return record


def recorded(
    asked: RecordEngagement, before: EngagementRecord | None, now: datetime, *, new_id: str
) -> EngagementRecord:
    """Return the record updated by the new data. Metrics or a post id without a status imply that the post is live."""
    record = before or _new_record(asked, now, new_id)
    metrics = asked.figures
    # A given status takes precedence; without one, metrics or a post id show that the post exists.
    live = DeliveryStatus.POSTED if metrics or asked.post_id else None
    status = asked.status or live or record.status
    changed = msgspec.structs.replace(
        record,
        **metrics,
        status=status,
        post_id=asked.post_id or record.post_id,
        measured_at=now if metrics else record.measured_at,
        **_failure_fields(asked, record, status, now),
    )
    # Computed from the updated record, because new data may contain only some of the metrics.
    rate = engagement_rate({name: getattr(changed, name) for name in FIGURES})
    return msgspec.structs.replace(changed, engagement_rate=rate)


def engagement_rate(figures: Mapping[str, int | None]) -> float | None:
    """Return interactions / impressions, 0 to 1, or None without impressions or without any reported interaction.

    Interactions that are not reported count as none. Platforms may update impressions later than interactions, so a
    quotient above 1 is returned as 1.
    """
    reported = [value for name in INTERACTIONS if (value := figures.get(name)) is not None]
    impressions = figures.get("impressions")
    return min(1.0, sum(reported) / impressions) if reported and impressions else None


def _failure_fields(
    request: RecordEngagement, record: EngagementRecord, status: DeliveryStatus, now: datetime
) -> dict[str, object]:
    """Return the fields about a failure.

    A live post has none. A post recorded as failed is not retried automatically.
    """
    if status is DeliveryStatus.POSTED:
        return {"error_message": request.error_message, "failed_at": None, "retry_after": None}
    fields: dict[str, object] = {"error_message": request.error_message or record.error_message}
    if request.status in {DeliveryStatus.FAILED, DeliveryStatus.ABANDONED}:
        return fields | {"failed_at": now, "retry_after": None}
    return fields


def _new_record(request: RecordEngagement, now: datetime, new_id: str) -> EngagementRecord:
    return EngagementRecord(
        id=new_id,
        draft_id=request.draft_id,
        platform=request.platform,
        status=DeliveryStatus.PENDING,
        retry_count=0,
        created_at=now,
        account="",
        **dict.fromkeys(("post_id", "retry_after", "error_message", "failed_at", "measured_at", "engagement_rate")),
        **dict.fromkeys(FIGURES),
    )
