"""Engagement: metrics of posts and their summary."""

from typing import Annotated

from msgspec import Meta

from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.http.resources.drafts import EXAMPLE_ID
from copydesk.model.engagement import EngagementRecord, EngagementSummary, RecordEngagement
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
