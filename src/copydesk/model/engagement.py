"""The delivery of a draft to a platform, and what came back."""

from datetime import datetime
from enum import StrEnum

from copydesk.model.wire import Struct


class DeliveryStatus(StrEnum):
    """Where one delivery is."""

    PENDING = "pending"
    POSTED = "posted"
    FAILED = "failed"
    ABANDONED = "abandoned"


class EngagementRecord(Struct, frozen=True):
    """One draft on one platform. A figure that the platform does not report is None, not zero."""

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
