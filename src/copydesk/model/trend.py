"""Engagement over time: sums that carry the number of posts they are based on."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from enum import StrEnum

from copydesk.model.draft import Format
from copydesk.model.wire import Struct


class Interval(StrEnum):
    """Interval length on the user's calendar; a week begins on Monday."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class RateSummary(Struct, frozen=True):
    """A number of posts, and the sums behind their average engagement rate."""

    posts: int = 0
    rated: int = 0
    """Posts with a known rate; the sums are over these."""
    interactions: int = 0
    impressions: int = 0

    @property
    def rate(self) -> float | None:
        """Interactions / impressions, so posts are weighted by impressions; None if no post has a rate."""
        # The mean of the posts' rates would let a post with few impressions dominate.
        return self.interactions / self.impressions if self.impressions else None

    def __add__(self, other: "RateSummary") -> "RateSummary":
        return RateSummary(
            posts=self.posts + other.posts,
            rated=self.rated + other.rated,
            interactions=self.interactions + other.interactions,
            impressions=self.impressions + other.impressions,
        )


class MetricSum(Struct, frozen=True):
    """Sum of a metric over the posts for which it is known. With `posts` 0 the sum is unknown, not zero."""

    total: int = 0
    posts: int = 0

    def __add__(self, other: "MetricSum") -> "MetricSum":
        return MetricSum(total=self.total + other.total, posts=self.posts + other.posts)


class FormatSummary(Struct, frozen=True):
    """Posts of one format on one platform."""

    platform: str
    format: Format
    measured: int
    """Posts with at least one known metric."""
    rate: RateSummary
    metrics: Mapping[str, MetricSum]
    """Keys are the names in METRICS."""


class PeriodSummary(Struct, frozen=True):
    """Posts published from the start of `first` to the end of `last`, in the user's time zone."""

    first: date
    last: date
    rate: RateSummary


class HourSummary(Struct, frozen=True):
    """Posts published in one hour of the week, in the user's time zone."""

    day_of_week: int
    """0 is Sunday, as in a slot."""
    hour: int
    rate: RateSummary


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
    engagement_rate: float | None
    at: datetime | None
    """When it was published; None if only its metrics were recorded."""
    measured_at: datetime | None
    url: str
    """Public URL; "" if unknown."""

    @property
    def target_label(self) -> str:
        """The platform, with the account if there is one: `bluesky:me.example`."""
        return f"{self.platform}:{self.account}" if self.account else self.platform


def sum_rates(summaries: Iterable[RateSummary]) -> RateSummary:
    """Return the sum of the summaries."""
    return sum(summaries, RateSummary())
