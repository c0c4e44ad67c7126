"""What came back of posts over a stretch of time: sums that say what they are made of."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from enum import StrEnum

from copydesk.model.draft import Format
from copydesk.model.wire import Struct


class Step(StrEnum):
    """The pieces that a stretch of time is cut into, on the user's calendar; a week begins on Monday."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class Rated(Struct, frozen=True):
    """Posts, and what the average rate of those that have one is made of."""

    posts: int = 0
    rated: int = 0
    """Posts of which the rate is known; the sums are theirs."""
    interactions: int = 0
    impressions: int = 0

    @property
    def rate(self) -> float | None:
        """Interactions by impressions, which weighs each post by how often it was seen; None where none has a rate."""
        return self.interactions / self.impressions if self.impressions else None

    def __add__(self, other: "Rated") -> "Rated":
        return Rated(
            posts=self.posts + other.posts,
            rated=self.rated + other.rated,
            interactions=self.interactions + other.interactions,
            impressions=self.impressions + other.impressions,
        )


class Known(Struct, frozen=True):
    """The sum of a figure over the posts of which it is known; of none of them it is no zero, but unknown."""

    total: int = 0
    posts: int = 0

    def __add__(self, other: "Known") -> "Known":
        return Known(total=self.total + other.total, posts=self.posts + other.posts)


class KindSum(Struct, frozen=True):
    """The posts of one format on one platform."""

    platform: str
    format: Format
    measured: int
    """Posts of which any figure is known."""
    rate: Rated
    figures: Mapping[str, Known]
    """By the names of FIGURES."""


class Span(Struct, frozen=True):
    """The posts that went out from the beginning of one day to the end of another, in the user's zone."""

    first: date
    last: date
    rate: Rated


class WeekHour(Struct, frozen=True):
    """The posts that went out in one hour of the week, in the user's zone."""

    day_of_week: int
    """0 is Sunday, as in a slot."""
    hour: int
    rate: Rated


class LivePost(Struct, frozen=True):
    """A post that is live. A figure that is not reported is None, not zero."""

    id: str
    draft_id: str
    text: str
    """The beginning of it."""
    format: Format
    platform: str
    account: str
    """Empty where it was recorded for a platform by hand."""
    likes: int | None
    replies: int | None
    reposts: int | None
    impressions: int | None
    clicks: int | None
    engagement_rate: float | None
    at: datetime | None
    """When it went out; None where only its figures were recorded."""
    measured_at: datetime | None
    url: str
    """Where it can be seen; empty where that is not known."""

    @property
    def place(self) -> str:
        """What names its record: the platform, and the account where there is one."""
        return f"{self.platform}:{self.account}" if self.account else self.platform


def added(every: Iterable[Rated]) -> Rated:
    """All of them together."""
    return sum(every, Rated())
