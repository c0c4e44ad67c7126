"""X's responses: posts, compared with what was sent after X has rewritten the links, metrics, and errors."""

import re
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

from copydesk.posting.client import Response, as_sentence, error_for_read, error_for_write
from copydesk.posting.platform import (
    CLOCK_ERROR,
    NotSentError,
    PostingError,
    PostMetrics,
    RefusedPostError,
    UnknownOutcomeError,
    reported_metrics,
)

HOST = "X"
PAYMENT_RETRY_DELAY = timedelta(hours=1)
"""Retry after this time when X requires payment."""
_LOGIN_STATUSES = frozenset({401})

PostId = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,19}\Z")]
Handle = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_]{1,50}\Z")]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]


_SHORT_LINK = re.compile(r"https?://t\.co/\w+", re.ASCII)
_MEDIA_LINK = re.compile(r"https?://(?:www\.)?(?:x|twitter)\.com/\w{1,50}/status/\d{1,19}/(?:photo|video)/\d{1,2}")
_SCHEME = re.compile(r"(?i)https?://(?:www\.)?")
_TRAILING_SLASH = re.compile(r"/(?=[\s.,;:!?)\]]|$)")
_EPOCH = 1_288_834_974_657
"""Milliseconds since 1970 at which X's ids start (github.com/twitter-archive/snowflake)."""

MAX_IDS_PER_REQUEST = 100
"""Posts per request; X's maximum."""
CLICKS_AVAILABLE_FOR = timedelta(days=29, hours=23)
"""X reports link clicks for 30 days and rejects requests for older posts."""
_NOT_FOUND = "resource-not-found"

GetPosts = Callable[[Mapping[str, str]], Awaitable[Response]]
"""Send GET /2/tweets with these parameters."""


class XProblem(msgspec.Struct, frozen=True):
    """One error (developer docs, "Response codes and errors")."""

    title: str = ""
    detail: str = ""
    message: str = ""
    type: str = ""
    resource_id: str = ""
    value: object = None

    @property
    def post_id(self) -> str:
        """The id of the post that the error concerns."""
        return self.resource_id or (self.value if isinstance(self.value, str) else "")


class _ErrorBody(msgspec.Struct, frozen=True):
    title: str = ""
    detail: str = ""
    errors: list[XProblem] = []


def error_text(response: Response) -> str:
    """Return X's error message; empty if there is none that can be decoded."""
    body = response.decode_or(_ErrorBody())
    first = body.errors[0] if body.errors else XProblem()
    return body.detail or first.detail or first.message or body.title or first.title


def error_for_post(response: Response, now: datetime, *, is_reply: bool = False) -> PostingError:
    """Return the error that an unsuccessful response to a new post means."""
    reason = error_text(response)
    if response.status == 402:
        return NotSentError(
            f"X requires payment for posts: {as_sentence(reason or 'no reason given')}",
            hint="Add credits in X's developer console; Copydesk retries automatically.",
            retry_after=now + PAYMENT_RETRY_DELAY,
        )
    if response.status == 403 and "duplicate" in reason.lower():
        # X does not name the existing post, which may be the one that an earlier, lost request created.
        return UnknownOutcomeError(
            "X reports a duplicate text.",
            hint="Copydesk checks the account; if it is a different post, change the text.",
        )
    if response.status == 403 and is_reply:
        return RefusedPostError(
            f"X rejected this part of the thread: {as_sentence(reason or 'no reason given')}",
            hint="This API access may not allow replies, even to yourself. Use one longer post instead.",
        )
    return error_for_write(response, HOST, now, explanation=reason, login_statuses=_LOGIN_STATUSES)


class _Url(msgspec.Struct, frozen=True):
    url: str = ""
    expanded_url: str = ""


class _Entities(msgspec.Struct, frozen=True):
    urls: list[_Url] = []


class _Reference(msgspec.Struct, frozen=True):
    type: str = ""
    id: str = ""


class XPost(msgspec.Struct, frozen=True):
    """A post of a timeline."""

    id: PostId
    text: str
    created_at: _Time
    entities: _Entities | None = None
    referenced_tweets: list[_Reference] = []

    @property
    def parent_id(self) -> str | None:
        """The id of the post that it replies to."""
        return next((reference.id for reference in self.referenced_tweets if reference.type == "replied_to"), None)

    @property
    def is_original(self) -> bool:
        """False for a repost."""
        return all(reference.type != "retweeted" for reference in self.referenced_tweets)


class _PageMeta(msgspec.Struct, frozen=True):
    result_count: int
    next_token: str = ""


class Timeline(msgspec.Struct, frozen=True):
    """A page of GET /2/users/:id/tweets, newest first."""

    meta: _PageMeta
    data: list[XPost] = []


def is_valid_id(value: str) -> bool:
    """Return True if `value` can be the id of a post or media file."""
    return re.fullmatch(r"[0-9]{1,19}", value) is not None


def creation_time(post_id: str) -> datetime:
    """Return the creation time encoded in a post id.

    Ids are snowflakes: milliseconds, then 22 bits for machine and sequence.
    """
    return datetime.fromtimestamp(((int(post_id) >> 22) + _EPOCH) / 1000, UTC)


def find_match(posts: Sequence[XPost], text: str, parent: str | None, since: datetime) -> XPost | None:
    """Return the post with this text and parent nearest to `since`, the first request; None if there is none."""
    # An earlier or later match would be another post with the same text.
    matches = [
        post
        for post in posts
        if post.is_original
        and post.parent_id == parent
        and post.created_at >= since - CLOCK_ERROR
        and has_text(post, text)
    ]
    return min(matches, key=lambda post: (abs(post.created_at - since), int(post.id)), default=None)


def has_text(post: XPost, text: str) -> bool:
    """Return True if `post` has the text `text`."""
    return _normalize(original_text(post)) == _normalize(text)


def original_text(post: XPost) -> str:
    """Return the text of a post as it was sent: X shortens links and escapes `&`, `<` and `>`."""
    expanded = {link.url: link.expanded_url for link in (post.entities.urls if post.entities else [])}
    # `&amp;` last: otherwise `&amp;lt;` would be unescaped twice.
    text = post.text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return _SHORT_LINK.sub(lambda match: expanded.get(match[0]) or match[0], text)


def _normalize(text: str) -> str:
    """Return `text` without what X may change: Unicode form, white space and the spelling of URLs.

    A bare host name that X turned into a link comes back with a scheme and perhaps a slash; a post with images ends
    with a link to them.
    """
    stripped = _TRAILING_SLASH.sub("", _SCHEME.sub("", _MEDIA_LINK.sub("", unicodedata.normalize("NFC", text))))
    return " ".join(stripped.split())


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
    response = await ask({"ids": ",".join(ids), "tweet.fields": fields})
    if clicks and response.status in {400, 403}:
        return {}  # rejected because of the clicks; the caller retries without them
    if not response.is_success:
        raise error_for_read(response, HOST, now, explanation=error_text(response))
    page = response.decode(_Page)
    metrics: dict[str, PostMetrics | None] = {post.id: _to_metrics(post) for post in page.data if post.id in ids}
    deleted = {problem.post_id for problem in page.errors if problem.type.endswith(_NOT_FOUND)}
    # Every error is "not found", so all missing posts are deleted.
    if not clicks and page.errors and len(deleted) == len(page.errors):
        deleted |= set(ids)
    return metrics | {post_id: None for post_id in ids if post_id not in metrics and post_id in deleted}


def _to_metrics(post: _PostMetrics) -> PostMetrics:
    public = post.public_metrics
    return reported_metrics(
        likes=public.like_count,
        replies=public.reply_count,
        reposts=public.retweet_count,
        impressions=public.impression_count,
        clicks=post.non_public_metrics.url_link_clicks,
    )
