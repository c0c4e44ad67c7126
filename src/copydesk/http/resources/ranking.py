"""The ranking: its interests, filters and weights, previewed and saved; and why an item has no draft."""

from typing import Any

from copydesk.errors import FieldError, InvalidError
from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.model.ranking import ChangeRanking, RankingProfile
from copydesk.model.ranking_preview import Explanation, RankingPreview, RankingPreviewRequest
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope
from copydesk.model.validation import WebAddress

operations = Operations("Ranking")


class WhyQuery(Struct, frozen=True):
    """The item."""

    url: WebAddress
    """Address of the item's page, or the id of the item."""


@operations.add("GET", "/ranking", scope=Scope.READ, response=RankingProfile)
async def get_ranking(call: Call) -> RankingProfile:
    """Return the interests, filters and weights that runs use."""
    return await call.desk.ranking.get()


@operations.add(
    "PUT",
    "/ranking",
    scope=Scope.REVIEW,
    body=ChangeRanking,
    response=RankingProfile,
    example={"interests": ["electric ferries", "-giveaway"], "weights": {"recency": 0.1}},
)
async def change_ranking(call: Call) -> RankingProfile:
    """Save interests, filters and weights in place of those in the settings file; fields that are not given stay."""
    return await call.desk.ranking.change(call.body)


@operations.add("DELETE", "/ranking", scope=Scope.REVIEW, response=RankingProfile)
async def reset_ranking(call: Call) -> RankingProfile:
    """Forget the saved interests, filters and weights: those in the settings file are used again."""
    return await call.desk.ranking.reset()


@operations.add("GET", "/ranking/why", scope=Scope.READ, query=WhyQuery, response=Explanation)
async def explain_item(call: Call) -> Explanation:
    """Explain why an item has no draft: filtered, merged, declined, ranked too low, not fetched, unknown."""
    if "url" not in call.query:
        raise InvalidError(FieldError("url", "is missing"))
    url: Any = call.query["url"]
    return await call.desk.ranking.why(url)


@operations.add(
    "POST",
    "/ranking/preview",
    scope=Scope.READ,
    body=RankingPreviewRequest,
    response=RankingPreview,
    errors=(404,),
    example={"interests": ["electric ferries", "-giveaway"], "weights": {"recency": 0.1}},
)
async def preview_ranking(call: Call) -> RankingPreview:
    """Replay the items of 30 days with other interests, filters or weights. Nothing is saved."""
    return await call.desk.ranking.preview(call.body)
