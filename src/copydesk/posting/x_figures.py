"""What X reports of posts, up to a hundred at once."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from copydesk.posting.http import Answer, unread
from copydesk.posting.platform import Figures
from copydesk.posting.x_errors import HOST, XProblem, says
from copydesk.posting.x_posts import is_id, made_at

AT_ONCE = 100
CLICKS_FOR = timedelta(days=29, hours=23)
"""X tells the clicks on links for 30 days, and refuses the question after that."""
_GONE = "resource-not-found"

Ask = Callable[[Mapping[str, str]], Awaitable[Answer]]
"""Asks GET /2/tweets with these parameters."""


class _Public(msgspec.Struct, frozen=True):
    like_count: int | None = None
    reply_count: int | None = None
    retweet_count: int | None = None
    impression_count: int | None = None


class _Own(msgspec.Struct, frozen=True):
    url_link_clicks: int | None = None


class _Measured(msgspec.Struct, frozen=True):
    id: str
    public_metrics: _Public = _Public()
    non_public_metrics: _Own = _Own()


class _Page(msgspec.Struct, frozen=True):
    data: list[_Measured] = []
    errors: list[XProblem] = []


async def figures(ask: Ask, ids: Sequence[str], now: datetime) -> dict[str, Figures | None]:
    """The figures of posts; None for one that is gone. One that X tells nothing of, and not why, is left out."""
    proper = list(dict.fromkeys(each for each in ids if is_id(each)))
    young = [each for each in proper if now - made_at(each) < CLICKS_FOR]
    found: dict[str, Figures | None] = {}
    for some in _batches(young):
        found |= await _read(ask, some, now, clicks=True)
    for some in _batches([each for each in proper if each not in found]):
        found |= await _read(ask, some, now, clicks=False)
    return found


def _batches(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[start : start + AT_ONCE] for start in range(0, len(ids), AT_ONCE)]


async def _read(ask: Ask, ids: Sequence[str], now: datetime, *, clicks: bool) -> dict[str, Figures | None]:
    fields = "public_metrics,non_public_metrics" if clicks else "public_metrics"
    answer = await ask({"ids": ",".join(ids), "tweet.fields": fields})
    if clicks and answer.status in {400, 403}:
        return {}  # the clicks are what it refuses: they are asked for without
    if not answer.good:
        raise unread(answer, HOST, now, says=says(answer))
    page = answer.read(_Page)
    found: dict[str, Figures | None] = {each.id: _figures(each) for each in page.data if each.id in ids}
    gone = {problem.about for problem in page.errors if problem.type.endswith(_GONE)}
    if not clicks and len(gone) == len(page.errors):  # what is missing is missing for no other reason
        gone |= set(ids)
    return found | {each: None for each in ids if each not in found and each in gone}


def _figures(post: _Measured) -> Figures:
    public = post.public_metrics
    return Figures(
        likes=public.like_count,
        replies=public.reply_count,
        reposts=public.retweet_count,
        impressions=public.impression_count,
        clicks=post.non_public_metrics.url_link_clicks,
    )
