"""Metrics of X posts, up to a hundred per request."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from copydesk.posting.client import Response, error_for_read
from copydesk.posting.platform import PostMetrics
from copydesk.posting.x.api_models import HOST, XProblem, creation_time, error_text, is_valid_id

MAX_IDS_PER_REQUEST = 100
"""Posts per request; X's maximum."""
CLICKS_AVAILABLE_FOR = timedelta(days=29, hours=23)
"""X reports link clicks for 30 days and rejects requests for older posts."""
_NOT_FOUND = "resource-not-found"

GetPosts = Callable[[Mapping[str, str]], Awaitable[Response]]
"""Send GET /2/tweets with these parameters."""


class _PublicMetrics(msgspec.Struct, frozen=True):
    like_count: int | None = None
    reply_count: int | None = None
    retweet_count: int | None = None
    impression_count: int | None = None


class _NonPublicMetrics(msgspec.Struct, frozen=True):
    url_link_clicks: int | None = None


class _PostMetrics(msgspec.Struct, frozen=True):
    id: str
    public_metrics: _PublicMetrics = _PublicMetrics()
    non_public_metrics: _NonPublicMetrics = _NonPublicMetrics()


class _Page(msgspec.Struct, frozen=True):
    data: list[_PostMetrics] = []
    errors: list[XProblem] = []


async def fetch_metrics(get_posts: GetPosts, ids: Sequence[str], now: datetime) -> dict[str, PostMetrics | None]:
    """Return the metrics of posts: None for a deleted one.

    Posts about which X reports neither metrics nor a reason are left out.
    """
    valid_ids = list(dict.fromkeys(post_id for post_id in ids if is_valid_id(post_id)))
    recent = [post_id for post_id in valid_ids if now - creation_time(post_id) < CLICKS_AVAILABLE_FOR]
    metrics: dict[str, PostMetrics | None] = {}
    # X rejects a whole batch if one of its posts is too old for clicks, so ask for them separately.
    for batch in _batches(recent):
        metrics |= await _load_batch(get_posts, batch, now, clicks=True)
    for batch in _batches([post_id for post_id in valid_ids if post_id not in metrics]):
        metrics |= await _load_batch(get_posts, batch, now, clicks=False)
    return metrics


def _batches(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[start : start + MAX_IDS_PER_REQUEST] for start in range(0, len(ids), MAX_IDS_PER_REQUEST)]


async def _load_batch(
    ask: GetPosts, ids: Sequence[str], now: datetime, *, clicks: bool
) -> dict[str, PostMetrics | None]:
    fields = "public_metrics,non_public_metrics" if clicks else "public_metrics"
    answer = await ask({"ids": ",".join(ids), "tweet.fields": fields})
    if clicks and answer.status in {400, 403}:
        return {}  # rejected because of the clicks; the caller retries without them
    if not answer.is_success:
        raise error_for_read(answer, HOST, now, explanation=error_text(answer))
    page = answer.decode(_Page)
    metrics: dict[str, PostMetrics | None] = {post.id: _to_metrics(post) for post in page.data if post.id in ids}
    deleted = {problem.post_id for problem in page.errors if problem.type.endswith(_NOT_FOUND)}
    if not clicks and len(deleted) == len(page.errors):  # every error is "not found", so all missing posts are deleted
        deleted |= set(ids)
    return metrics | {post_id: None for post_id in ids if post_id not in metrics and post_id in deleted}


def _to_metrics(post: _PostMetrics) -> PostMetrics:
    public = post.public_metrics
    return PostMetrics(
        likes=public.like_count,
        replies=public.reply_count,
        reposts=public.retweet_count,
        impressions=public.impression_count,
        clicks=post.non_public_metrics.url_link_clicks,
    )
