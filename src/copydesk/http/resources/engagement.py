"""Engagement: metrics of posts, their summary and their trends."""

from typing import Annotated

from msgspec import Meta

from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.http.resources.drafts import EXAMPLE_ID
from copydesk.model.engagement import (
    EngagementMetric,
    EngagementRecord,
    EngagementSummary,
    EngagementTrends,
    LivePost,
    PeriodDays,
    RecordEngagement,
)
from copydesk.model.page import PageSize
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope

operations = Operations("Engagement")


class SummaryQuery(Struct, frozen=True):
    """Parameters of the summary."""

    top: Annotated[int, Meta(ge=1, le=50)] = 10
    """Number of top posts."""


@operations.add("GET", "/engagement", scope=Scope.READ, query=SummaryQuery, response=EngagementSummary)
async def get_engagement(call: Call) -> EngagementSummary:
    """Return totals over all posts, and the best ones."""
    return await call.desk.engagement.summary(**call.query)  # type: ignore[arg-type] # the desk validates them


class TrendsQuery(Struct, frozen=True):
    """Parameters of the trends."""

    days: PeriodDays = 30
    """Days of the period, today included; 0 is all time."""
    metric: EngagementMetric | None = None
    """The metric by which times are compared; by default one that all posts have."""


@operations.add("GET", "/engagement/trends", scope=Scope.READ, query=TrendsQuery, response=EngagementTrends)
async def get_engagement_trends(call: Call) -> EngagementTrends:
    """Return the posts of a period over time, by platform, format and hour, and the time that stands out, if any."""
    return await call.desk.engagement.trends(**call.query)  # type: ignore[arg-type] # the desk validates them


class PublishedPostsQuery(Struct, frozen=True):
    """Parameters of the list of posts."""

    limit: PageSize = 25
    """Posts per page."""
    cursor: str | None = None
    """The `nextCursor` of the previous page."""
    days: PeriodDays = 0
    """Days of the period, today included; 0 is all time."""


class PostList(Struct, frozen=True):
    """A page of posts."""

    posts: tuple[LivePost, ...]
    next_cursor: str | None


@operations.add("GET", "/engagement/posts", scope=Scope.READ, query=PublishedPostsQuery, response=PostList)
async def list_published_posts(call: Call) -> PostList:
    """List the published posts with their metrics, newest first."""
    page = await call.desk.engagement.posts(**call.query)  # type: ignore[arg-type] # the desk validates them
    return PostList(posts=page.items, next_cursor=page.next_cursor)


@operations.add(
    "POST",
    "/engagement",
    scope=Scope.REVIEW,
    body=RecordEngagement,
    response=EngagementRecord,
    errors=(404,),
    example={"draftId": EXAMPLE_ID, "platform": "linkedin", "likes": 12, "impressions": 840},
)
async def record_engagement(call: Call) -> EngagementRecord:
    """Record or update the metrics of a draft on a platform; fields that are not given keep their values."""
    return await call.desk.engagement.record(call.body)
