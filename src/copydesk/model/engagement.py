"""Engagement records, each a draft's delivery to a platform with the metrics of the post, and engagement over time.

Sums carry the number of posts they are based on.
"""

from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from copydesk.model.draft import Format
from copydesk.model.requests import MAX_PLATFORM_LENGTH
from copydesk.model.serialization import Struct
from copydesk.model.validation import MAX_ID_LENGTH, FieldReader, Id

MAX_POST_ID_LENGTH = 500
MAX_ERROR_LENGTH = 2_000
MAX_METRIC = 10**12
"""No post comes near it, and the sum over two million such posts still fits into 64 bits."""

METRICS = ("likes", "replies", "reposts", "impressions", "clicks")
INTERACTION_METRICS = ("likes", "replies", "reposts", "clicks")

Count = Annotated[int, Meta(ge=0, le=MAX_METRIC)]

MAX_PERIOD_DAYS = 3_650
PeriodDays = Annotated[
    int, Meta(ge=0, le=MAX_PERIOD_DAYS, description=f"takes a whole number from 0 to {MAX_PERIOD_DAYS}")
]
"""Days of a period that ends today; 0 is all time."""

MIN_COMPARED_POSTS: Final = 5
"""Posts that a period and the one before it need to be compared: with fewer, one post decides."""


class RecordStatus(StrEnum):
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
    status: RecordStatus
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

    draft_id: Id
    platform: Annotated[str, Meta(min_length=1, max_length=MAX_PLATFORM_LENGTH, pattern=r"\S")]
    post_id: Annotated[str, Meta(min_length=1, max_length=MAX_POST_ID_LENGTH, pattern=r"\S")] | None = None
    status: RecordStatus | None = None
    """`posted` by default, if metrics or a post id are given."""
    error_message: Annotated[str, Meta(min_length=1, max_length=MAX_ERROR_LENGTH, pattern=r"\S")] | None = None
    likes: Count | None = None
    replies: Count | None = None
    reposts: Count | None = None
    impressions: Count | None = None
    clicks: Count | None = None

    @property
    def metrics(self) -> dict[str, int]:
        """The metrics that were given."""
        values = {name: getattr(self, name) for name in METRICS}
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
    """By interactions, then by rate; newer records first among equals. Only posts with interactions."""
    by_format: tuple[FormatEngagement, ...]
    by_platform: tuple[PlatformEngagement, ...]
    """Both by count, descending, then by name."""
    rated: int
    total_clicks: int


def validate_record(request: RecordEngagement | Mapping[str, object]) -> RecordEngagement:
    """Return the validated record. Raise InvalidError with every invalid field."""
    reader = FieldReader(RecordEngagement, request)
    reader.require("draftId", "platform")
    record = RecordEngagement(
        draft_id=reader.text("draftId", MAX_ID_LENGTH) or "",
        platform=reader.line("platform", MAX_PLATFORM_LENGTH) or "",
        post_id=reader.line("postId", MAX_POST_ID_LENGTH),
        status=reader.choice("status", RecordStatus),
        error_message=reader.text("errorMessage", MAX_ERROR_LENGTH),
        **{name: reader.number(name, 0, MAX_METRIC) for name in METRICS},
    )
    reader.raise_if_invalid()
    return record


def update_record(
    request: RecordEngagement, existing: EngagementRecord | None, now: datetime, *, new_id: str
) -> EngagementRecord:
    """Return the record updated by the new data. Metrics or a post id without a status imply that the post is live."""
    record = existing or _new_record(request, now, new_id)
    metrics = request.metrics
    # A given status takes precedence; without one, metrics or a post id show that the post exists.
    live = RecordStatus.POSTED if metrics or request.post_id else None
    status = request.status or live or record.status
    changed = msgspec.structs.replace(
        record,
        **metrics,
        status=status,
        post_id=request.post_id or record.post_id,
        measured_at=now if metrics else record.measured_at,
        **_failure_fields(request, record, status, now),
    )
    # Computed from the updated record, because new data may contain only some of the metrics.
    rate = engagement_rate({name: getattr(changed, name) for name in METRICS})
    return msgspec.structs.replace(changed, engagement_rate=rate)


def engagement_rate(metrics: Mapping[str, int | None]) -> float | None:
    """Return interactions / impressions, 0 to 1, or None without impressions or without any reported interaction.

    Interactions that are not reported count as none. Platforms may update impressions later than interactions, so a
    quotient above 1 is returned as 1.
    """
    reported = [value for name in INTERACTION_METRICS if (value := metrics.get(name)) is not None]
    impressions = metrics.get("impressions")
    return min(1.0, sum(reported) / impressions) if reported and impressions else None


def _failure_fields(
    request: RecordEngagement, record: EngagementRecord, status: RecordStatus, now: datetime
) -> dict[str, object]:
    """Return the fields about a failure.

    A live post has none. A post recorded as failed is not retried automatically.
    """
    if status is RecordStatus.POSTED:
        return {"error_message": request.error_message, "failed_at": None, "retry_after": None}
    fields: dict[str, object] = {"error_message": request.error_message or record.error_message}
    if request.status in {RecordStatus.FAILED, RecordStatus.ABANDONED}:
        return fields | {"failed_at": now, "retry_after": None}
    return fields


def _new_record(request: RecordEngagement, now: datetime, new_id: str) -> EngagementRecord:
    return EngagementRecord(
        id=new_id,
        draft_id=request.draft_id,
        platform=request.platform,
        status=RecordStatus.PENDING,
        retry_count=0,
        created_at=now,
        account="",
        **dict.fromkeys(("post_id", "retry_after", "error_message", "failed_at", "measured_at", "engagement_rate")),
        **dict.fromkeys(METRICS),
    )


class Interval(StrEnum):
    """Interval length on the user's calendar; a week begins on Monday."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class EngagementMetric(StrEnum):
    """The metric by which posts are compared."""

    INTERACTIONS = "interactions"
    """Likes, replies, reposts and clicks per post."""
    RATE = "rate"
    """Interactions / impressions, known only where a platform reports impressions."""


class PostSums(Struct, frozen=True):
    """Sums over a number of posts. `with_` a metric is the number of posts for which it is known."""

    posts: int = 0
    measured: int = 0
    """Posts with at least one known metric."""
    rated: int = 0
    """Posts with a known rate; the next two sums are over these."""
    rated_interactions: int = 0
    rated_impressions: int = 0
    likes: int = 0
    replies: int = 0
    reposts: int = 0
    impressions: int = 0
    clicks: int = 0
    with_interactions: int = 0
    with_likes: int = 0
    with_replies: int = 0
    with_reposts: int = 0
    with_impressions: int = 0
    with_clicks: int = 0

    def __add__(self, other: "PostSums") -> "PostSums":
        names = self.__struct_fields__
        return PostSums(*(getattr(self, name) + getattr(other, name) for name in names))


class EngagementFigures(Struct, frozen=True):
    """Figures of a number of posts. A sum or mean over posts that do not report it is None, not zero."""

    posts: int
    measured: int
    """Posts with at least one known metric."""
    interactions: int | None
    """Likes, replies, reposts and clicks, as far as they are reported."""
    interactions_per_post: float | None
    """Mean over the posts with interactions."""
    with_interactions: int
    """Posts with at least one known interaction."""
    engagement_rate: float | None
    """Interactions / impressions over the posts that have a rate, so weighted by impressions."""
    rated: int
    """Posts with a rate."""
    likes: int | None
    replies: int | None
    reposts: int | None
    impressions: int | None
    clicks: int | None

    def value(self, metric: EngagementMetric) -> float | None:
        """Return the metric's value per post."""
        return self.interactions_per_post if metric is EngagementMetric.INTERACTIONS else self.engagement_rate

    def known(self, metric: EngagementMetric) -> int:
        """Return the number of posts behind `value`."""
        return self.with_interactions if metric is EngagementMetric.INTERACTIONS else self.rated


class PeriodFigures(Struct, frozen=True):
    """Posts published from the start of `first` to the end of `last`, in the user's time zone."""

    first: date
    last: date
    figures: EngagementFigures


class PlatformFigures(Struct, frozen=True):
    """Posts on one platform."""

    platform: str
    figures: EngagementFigures
    not_reported: tuple[str, ...]
    """Metrics that none of the posts has; empty if none has any metric yet."""


class FormatFigures(Struct, frozen=True):
    """Posts of one format."""

    format: Format
    figures: EngagementFigures


class LivePost(Struct, frozen=True):
    """A published post. A metric that is not reported is None, not zero."""

    id: str
    draft_id: str
    text: str
    """The beginning of the text."""
    format: Format
    platform: str
    account: str
    """"" if the record was added manually for a platform."""
    likes: int | None
    replies: int | None
    reposts: int | None
    impressions: int | None
    clicks: int | None
    interactions: int | None
    engagement_rate: float | None
    published_at: datetime | None
    """When it was published; None if only its metrics were recorded."""
    measured_at: datetime | None
    url: str
    """Public URL; "" if unknown."""

    @property
    def target_label(self) -> str:
        """The platform, with the account if there is one: `bluesky:me.example`."""
        return f"{self.platform}:{self.account}" if self.account else self.platform


class HourLift(Struct, frozen=True):
    """Estimate for the posts published in one hour of the week, in the user's time zone."""

    day_of_week: int
    """0 is Sunday, as in a slot."""
    hour: int
    posts: int
    lift: float
    """Share by which these posts do better than similar ones: 0.2 is a fifth more. Shrunk towards 0, the more so the
    fewer posts there are."""


class TimeBlock(Struct, frozen=True):
    """Some hours of the days from Monday to Friday or of the weekend."""

    weekend: bool
    first_hour: int
    last_hour: int
    """The block ends when this hour begins; 24 is midnight."""
    posts: int
    lift: float
    low: float
    """Low and high end of the 95% interval of the lift."""
    high: float


class BestTime(Struct, frozen=True):
    """Result of the permutation test of the times of posting."""

    posts: int
    """Posts tested: the newest with the metric, without those so new that their metrics still change."""
    needed: int
    """Posts below which nothing is tested."""
    p_value: float | None = None
    """Share of random assignments of the posts to their times that differ as much; None if nothing was tested."""
    best: TimeBlock | None = None
    """The time that stands out; None if no time does."""
    sentence: str = ""
    """The result in words."""


class EngagementTrends(Struct, frozen=True):
    """Engagement of the posts published in a period, over time and by platform, format and hour of the week."""

    time_zone: str
    """The user's, which decides where a day begins."""
    metric: EngagementMetric
    """The metric of the hours: the one asked for, or else the rate if every post with metrics has one."""
    first: date | None
    """None if nothing was published yet, in a period of all time."""
    last: date
    figures: EngagementFigures
    undated: int
    """Posts whose time is unknown; they count in a period of all time."""
    before: PeriodFigures | None
    """The period of the same length before; None for all time."""
    step: Interval
    """Of `over_time`: days up to 45 days, weeks up to 180, else months."""
    over_time: tuple[PeriodFigures, ...]
    """Oldest first, without gaps; the first and the last may be cut."""
    by_platform: tuple[PlatformFigures, ...]
    by_format: tuple[FormatFigures, ...]
    """Both by posts, descending, then by name."""
    hours: tuple[HourLift, ...]
    best_time: BestTime

    @property
    def compared(self) -> PeriodFigures | None:
        """The period before, if both periods have enough posts to be compared."""
        if self.before is None or min(self.figures.posts, self.before.figures.posts) < MIN_COMPARED_POSTS:
            return None
        return self.before
