"""Responses of the Threads API: containers, errors, and posts with their comparison to what was sent."""

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime

import msgspec

from copydesk.posting.client import DEFAULT_RETRY_DELAY, Response, error_for_write, retry_at
from copydesk.posting.platform import (
    RECONNECT_HINT,
    Account,
    LoginError,
    NotSentError,
    PostingError,
    PostMetrics,
    UnknownOutcomeError,
    reported_metrics,
)
from copydesk.text.length import byte_length, count_emoji, graphemes, utf16_length
from copydesk.text.links import host, postable_url

HOST = "Threads"

# Error codes of Meta's Graph API ("Handle errors"); `_NOT_FOUND` is code and subcode.
_LOGIN_CODES = frozenset({10, 102, 190, *range(200, 300)})
_RATE_LIMIT_CODES = frozenset({4, 17, 32, 341, 613})
_TRANSIENT_CODES = frozenset({1, 2})
_NOT_FOUND = (100, 33)


class _Error(msgspec.Struct, frozen=True):
    message: str = ""
    code: int = 0
    error_subcode: int = 0
    is_transient: bool = False
    error_user_msg: str = ""


class _Errors(msgspec.Struct, frozen=True):
    error: _Error = _Error()


class ObjectId(msgspec.Struct, frozen=True):
    """An object with an id."""

    id: str


class User(msgspec.Struct, frozen=True):
    """An account."""

    id: str
    username: str


class Container(msgspec.Struct, frozen=True):
    """A post that is being prepared for publication."""

    status: str


def is_valid_id(value: str) -> bool:
    """Return True if `value` can be an id. Checked because ids become part of URLs."""
    return value.isascii() and value.isdecimal() and len(value) <= 40


def is_valid_name(value: str) -> bool:
    """Return True if `value` can be the name of an account."""
    return re.fullmatch(r"[A-Za-z0-9._]{1,60}", value) is not None


def validate_id(value: str) -> str:
    """Return `value` if it is an id; raise `UnknownOutcomeError` otherwise."""
    if not is_valid_id(value):
        raise UnknownOutcomeError("Threads returned an invalid id.")
    return value


def is_missing(response: Response) -> bool:
    """Return True if the object does not exist or this account may not see it: Threads does not distinguish the two."""
    error = _decode_error(response)
    return response.status == 404 or (error.code, error.error_subcode) == _NOT_FOUND


def error_for_response(response: Response, now: datetime) -> PostingError:
    """Return the error that an unsuccessful response to a write request means."""
    error = _decode_error(response)
    failure = error_for_write(response, HOST, now, explanation=error.error_user_msg or error.message)
    message = failure.message
    if error.code in _LOGIN_CODES:
        return LoginError(message, hint=RECONNECT_HINT)
    if error.code in _RATE_LIMIT_CODES:
        return NotSentError(message, retry_after=retry_at(response.headers, now) or now + DEFAULT_RETRY_DELAY)
    # Meta documents no guarantee that a request with a transient error had no effect.
    if error.code in _TRANSIENT_CODES or error.is_transient:
        return UnknownOutcomeError(message)
    return failure


def error_for_read(response: Response, now: datetime) -> PostingError:
    """Return the error that an unsuccessful response to a read request means."""
    error = error_for_response(response, now)
    if isinstance(error, LoginError | NotSentError):
        return error
    return NotSentError(error.message, retry_after=retry_at(response.headers, now))


def _decode_error(response: Response) -> _Error:
    return _Error() if response.is_success else response.decode_or(_Errors()).error


class ThreadsPost(msgspec.Struct, frozen=True):
    """A post of a list."""

    id: str
    timestamp: str
    text: str = ""
    permalink: str = ""
    replied_to: ObjectId | None = None

    @property
    def published_at(self) -> datetime:
        """The time of publication. Raise `UnknownOutcomeError` if it cannot be parsed."""
        try:
            time = datetime.fromisoformat(self.timestamp)
        except ValueError:
            time = None
        if time is None or time.tzinfo is None:
            raise UnknownOutcomeError("Threads returned an invalid time.")
        return time


class _Cursors(msgspec.Struct, frozen=True):
    after: str = ""


class _Paging(msgspec.Struct, frozen=True):
    cursors: _Cursors = _Cursors()
    next: str = ""


class Page(msgspec.Struct, frozen=True):
    """A page of a list of posts."""

    data: list[ThreadsPost]
    paging: _Paging = _Paging()

    @property
    def after(self) -> str:
        """Cursor of the next page; empty if there is none. The `next` URL is not used because it contains the token."""
        return self.paging.cursors.after if self.paging.next else ""


class _Value(msgspec.Struct, frozen=True):
    value: int


class _Insight(msgspec.Struct, frozen=True):
    name: str
    values: list[_Value] = []


class Insights(msgspec.Struct, frozen=True):
    """The insights of a post."""

    data: list[_Insight]

    @property
    def metrics(self) -> PostMetrics:
        """The insights as metrics."""
        values = {insight.name: insight.values[0].value for insight in self.data if insight.values}
        return reported_metrics(
            likes=values.get("likes"),
            replies=values.get("replies"),
            reposts=values.get("reposts"),
            impressions=values.get("views"),
        )


def find_match(posts: Sequence[ThreadsPost], text: str, parent: str, since: datetime) -> ThreadsPost | None:
    """Return the post with this text and parent nearest to `since`, the first request; None if there is none.

    `parent` is empty for a post that is no reply.
    """
    # An earlier or later match would be another post with the same text.
    expected = _normalize(text)
    matches = [
        post
        for post in posts
        if is_valid_id(post.id) and _parent_id(post) == parent and _normalize(post.text) == expected
    ]
    return min(matches, key=lambda post: abs(post.published_at - since), default=None)


def length_on_threads(text: str) -> int:
    """Return the length as Threads counts it: an emoji counts as its UTF-8 bytes (Threads, "Posts")."""
    # Splitting into graphemes is slow and only needed for emoji.
    if not count_emoji(text):
        return utf16_length(text)
    pieces = graphemes(text)
    return sum(byte_length(piece) if count_emoji(piece) else utf16_length(piece) for piece in pieces)


def public_url(post: ThreadsPost, account: Account) -> str:
    """Return the URL of `post`; the account's profile if Threads names no usable one."""
    url = post.permalink
    is_threads = url.startswith("https://") and host(url) in {"threads.net", "threads.com"}
    return url if is_threads and postable_url(url) else profile_url(account)


def profile_url(account: Account) -> str:
    """Return the URL of the account's profile."""
    return f"https://www.threads.com/@{account.name}"


def _parent_id(post: ThreadsPost) -> str:
    return post.replied_to.id if post.replied_to else ""


def _normalize(text: str) -> str:
    """Return `text` without what Threads may change: white space, and the `#` of the hashtag that becomes the topic."""
    return " ".join(unicodedata.normalize("NFC", text).replace("#", "").split())
