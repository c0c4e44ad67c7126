"""Posts as Threads returns them: comparison with what was sent, URLs and metrics."""

import unicodedata
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from copydesk.posting.platform import Account, PostMetrics, UnknownOutcomeError
from copydesk.posting.threads_answers import ObjectId, is_valid_id
from copydesk.text.length import byte_length, count_emoji, graphemes, length
from copydesk.text.links import host, postable_url

CLOCK_TOLERANCE = timedelta(minutes=2)
"""Tolerance between the clock of Threads and ours."""


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
            raise UnknownOutcomeError("Threads gave a time that cannot be read.")
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
        return PostMetrics(
            likes=values.get("likes"),
            replies=values.get("replies"),
            reposts=values.get("reposts"),
            impressions=values.get("views"),
        )


def find_match(posts: Sequence[ThreadsPost], text: str, parent: str) -> ThreadsPost | None:
    """Return the oldest post with this text and parent, None if there is none.

    `parent` is empty for a post that is no reply.
    """
    # Choose the oldest match: a later one would be another post with the same text.
    expected = _normalize(text)
    matches = [
        post
        for post in posts
        if is_valid_id(post.id) and _parent_id(post) == parent and _normalize(post.text) == expected
    ]
    return min(matches, key=lambda post: post.published_at, default=None)


def length_on_threads(text: str) -> int:
    """Return the length as Threads counts it: an emoji counts as its UTF-8 bytes (Threads, "Posts")."""
    # Splitting into graphemes is slow and only needed for emoji.
    if not count_emoji(text):
        return length(text, "threads")
    pieces = graphemes(text)
    return sum(byte_length(piece) if count_emoji(piece) else length(piece, "threads") for piece in pieces)


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
