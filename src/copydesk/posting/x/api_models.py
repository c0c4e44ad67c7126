"""X's responses: posts, compared with what was sent after X has rewritten the links, and errors."""

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

from copydesk.posting.client import Response, error_for_write, shorten
from copydesk.posting.platform import NotSentError, PostingError, RefusedPostError, UnknownOutcomeError

HOST = "X"
PAYMENT_RETRY_DELAY = timedelta(hours=1)
"""Retry after this time when X requires payment."""
_LOGIN_STATUSES = frozenset({401})


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
    try:
        body = msgspec.json.decode(response.body, type=_ErrorBody)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    first = body.errors[0] if body.errors else XProblem()
    return body.detail or first.detail or first.message or body.title or first.title


def error_for_post(response: Response, now: datetime, *, is_reply: bool = False) -> PostingError:
    """Return the error that an unsuccessful response to a new post means; `reply` is True for a reply."""
    reason = error_text(response)
    if response.status == 402:
        return NotSentError(
            f"X requires payment for posts: {shorten(reason)}".rstrip(": ") + ".",
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
            f"X rejected this part of the thread: {shorten(reason) or 'no reason given'}",
            hint="This API access may not allow replies, even to yourself. Use one longer post instead.",
        )
    return error_for_write(response, HOST, now, explanation=reason, login_statuses=_LOGIN_STATUSES)


PostId = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,19}\Z")]
Handle = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_]{1,50}\Z")]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]

CLOCK_TOLERANCE = timedelta(minutes=2)
"""Tolerance between X's clock and ours."""

_SHORT_LINK = re.compile(r"https?://t\.co/\w+", re.ASCII)
_MEDIA_LINK = re.compile(r"https?://(?:www\.)?(?:x|twitter)\.com/\w{1,50}/status/\d{1,19}/(?:photo|video)/\d{1,2}")
_SCHEME = re.compile(r"(?i)https?://(?:www\.)?")
_TRAILING_SLASH = re.compile(r"/(?=[\s.,;:!?)\]]|$)")
_EPOCH = 1_288_834_974_657
"""Milliseconds since 1970 at which X's ids start (github.com/twitter-archive/snowflake)."""


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
    """Return the oldest post with this text and parent that is not older than `since`; None if there is none."""
    # Choose the oldest match: a later one would be another post with the same text.
    matches = [
        post
        for post in posts
        if post.is_original
        and post.parent_id == parent
        and post.created_at >= since - CLOCK_TOLERANCE
        and has_text(post, text)
    ]
    return min(matches, key=lambda post: (post.created_at, int(post.id)), default=None)


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
