"""The delivery of a draft to a platform, and what came back."""

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
"""No post comes near it, and the sums of two million such posts are still whole numbers of 64 bits."""

FIGURES = ("likes", "replies", "reposts", "impressions", "clicks")
INTERACTIONS = ("likes", "replies", "reposts", "clicks")


class DeliveryStatus(StrEnum):
    """Where one delivery is."""

    PENDING = "pending"
    POSTED = "posted"
    FAILED = "failed"
    ABANDONED = "abandoned"


class EngagementRecord(Struct, frozen=True):
    """One draft on one account of a platform. A figure that the platform does not report is None, not zero."""

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
    """The name of the account that it went to; empty where somebody recorded it for a platform."""


class RecordEngagement(Struct, frozen=True, forbid_unknown_fields=True):
    """What is now known of a draft on a platform; None for what is not said, which stays as it was."""

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
        """The figures that came."""
        named = {name: getattr(self, name) for name in FIGURES}
        return {name: value for name, value in named.items() if value is not None}


class TopPost(Struct, frozen=True):
    """A post that did well. A figure that the platform does not report is None, not zero."""

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
    """When the draft went live; None where only its figures were recorded."""


class FormatEngagement(Struct, frozen=True):
    """The posts of one format; see EngagementSummary for what its figures mean."""

    format: Format
    count: int
    avg_engagement_rate: float
    rated: int


class PlatformEngagement(Struct, frozen=True):
    """The posts on one platform; see EngagementSummary for what its figures mean."""

    platform: str
    count: int
    avg_engagement_rate: float
    rated: int


class EngagementSummary(Struct, frozen=True):
    """How the user's posts did: one draft on one platform is one post, as soon as its status is posted.

    Totals are sums of what is known. An average rate is weighted by impressions: the sum of the interactions by the
    sum of the impressions of the posts that have a rate. `rated` says how many those are; of none the average is 0.
    """

    total_posted: int
    total_with_metrics: int
    """Posts of which a figure is known."""
    avg_engagement_rate: float
    total_likes: int
    total_replies: int
    total_reposts: int
    total_impressions: int
    top_posts: tuple[TopPost, ...]
    """By rate; then those without one, by interactions; of equals the later record first. None without figures."""
    by_format: tuple[FormatEngagement, ...]
    by_platform: tuple[PlatformEngagement, ...]
    """Both by count, the largest first, and by name."""
    rated: int
    total_clicks: int


def checked_record(given: RecordEngagement | Mapping[str, object]) -> RecordEngagement:
    """`given` with the limits kept. Raises InvalidError with every field that breaks a rule."""
    asked = Asked(RecordEngagement, given)
    asked.need("draftId", "platform")
    record = RecordEngagement(
        draft_id=asked.text("draftId", LONGEST_ID) or "",
        platform=asked.line("platform", LONGEST_PLATFORM) or "",
        post_id=asked.line("postId", LONGEST_POST_ID),
        status=asked.choice("status", DeliveryStatus),
        error_message=asked.text("errorMessage", LONGEST_ERROR),
        **{name: asked.number(name, 0, LARGEST_FIGURE) for name in FIGURES},
    )
    asked.refuse()
    return record


def recorded(
    asked: RecordEngagement, before: EngagementRecord | None, now: datetime, *, new_id: str
) -> EngagementRecord:
    """The record after what came. Figures or a post's id without a status say that the post is live."""
    record = before or _new(asked, now, new_id)
    figures = asked.figures
    live = DeliveryStatus.POSTED if figures or asked.post_id else None
    status = asked.status or live or record.status
    changed = msgspec.structs.replace(
        record,
        **figures,
        status=status,
        post_id=asked.post_id or record.post_id,
        measured_at=now if figures else record.measured_at,
        **_failure(asked, record, status, now),
    )
    rate = engagement_rate({name: getattr(changed, name) for name in FIGURES})
    return msgspec.structs.replace(changed, engagement_rate=rate)


def engagement_rate(figures: Mapping[str, int | None]) -> float | None:
    """Interactions by impressions, 0 to 1; None without impressions, or where no interaction is reported.

    Of interactions that are not reported nothing is added. A platform that counts more of them than impressions
    counts the impressions late: that is 1.
    """
    known = [value for name in INTERACTIONS if (value := figures.get(name)) is not None]
    impressions = figures.get("impressions")
    return min(1.0, sum(known) / impressions) if known and impressions else None


def _failure(
    asked: RecordEngagement, record: EngagementRecord, status: DeliveryStatus, now: datetime
) -> dict[str, object]:
    """What is told of a failure: a post that is live has none, and what has failed is not tried again by itself."""
    if status is DeliveryStatus.POSTED:
        return {"error_message": asked.error_message, "failed_at": None, "retry_after": None}
    told: dict[str, object] = {"error_message": asked.error_message or record.error_message}
    if asked.status in {DeliveryStatus.FAILED, DeliveryStatus.ABANDONED}:
        return told | {"failed_at": now, "retry_after": None}
    return told


def _new(asked: RecordEngagement, now: datetime, new_id: str) -> EngagementRecord:
    return EngagementRecord(
        id=new_id,
        draft_id=asked.draft_id,
        platform=asked.platform,
        status=DeliveryStatus.PENDING,
        retry_count=0,
        created_at=now,
        account="",
        **dict.fromkeys(("post_id", "retry_after", "error_message", "failed_at", "measured_at", "engagement_rate")),
        **dict.fromkeys(FIGURES),
    )
