"""Posts as X gives them back: whether one is what we sent, after X has rewritten its links."""

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

PostId = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,19}\Z")]
Handle = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_]{1,50}\Z")]
_Moment = Annotated[datetime, msgspec.Meta(tz=True)]

SLACK = timedelta(minutes=2)
"""How far X's clock and ours may be apart."""

_SHORT = re.compile(r"https?://t\.co/\w+", re.ASCII)
_PICTURE = re.compile(r"https?://(?:www\.)?(?:x|twitter)\.com/\w{1,50}/status/\d{1,19}/(?:photo|video)/\d{1,2}")
_SCHEME = re.compile(r"(?i)https?://(?:www\.)?")
_LAST_SLASH = re.compile(r"/(?=[\s.,;:!?)\]]|$)")
_EPOCH = 1_288_834_974_657
"""Milliseconds since 1970 at which X's ids begin (github.com/twitter-archive/snowflake)."""


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
    created_at: _Moment
    entities: _Entities | None = None
    referenced_tweets: list[_Reference] = []

    @property
    def parent(self) -> str | None:
        """The post that it answers."""
        return next((each.id for each in self.referenced_tweets if each.type == "replied_to"), None)

    @property
    def own(self) -> bool:
        """Whether it was written, and not only passed on."""
        return all(each.type != "retweeted" for each in self.referenced_tweets)


class _Meta(msgspec.Struct, frozen=True):
    result_count: int
    next_token: str = ""


class Timeline(msgspec.Struct, frozen=True):
    """A page of GET /2/users/:id/tweets, newest first."""

    meta: _Meta
    data: list[XPost] = []


def is_id(found: str) -> bool:
    """Whether `found` can be the id of a post or a picture."""
    return re.fullmatch(r"[0-9]{1,19}", found) is not None


def made_at(post_id: str) -> datetime:
    """When a post was made, which its id tells (a snowflake: milliseconds, then 22 bits that tell machines apart)."""
    return datetime.fromtimestamp(((int(post_id) >> 22) + _EPOCH) / 1000, UTC)


def the_one(posts: Sequence[XPost], text: str, parent: str | None, since: datetime) -> XPost | None:
    """The oldest of `posts` that says `text` in answer to `parent`, and is not older than `since`."""
    found = [
        post
        for post in posts
        if post.own and post.parent == parent and post.created_at >= since - SLACK and same(post, text)
    ]
    return min(found, key=lambda post: (post.created_at, int(post.id)), default=None)


def same(post: XPost, text: str) -> bool:
    """Whether `post` says `text`."""
    return _plain(original(post)) == _plain(text)


def original(post: XPost) -> str:
    """The text of a post with its links in full: X shortens them, and escapes `&`, `<` and `>`."""
    long = {each.url: each.expanded_url for each in (post.entities.urls if post.entities else [])}
    text = post.text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return _SHORT.sub(lambda match: long.get(match[0]) or match[0], text)


def _plain(text: str) -> str:
    """`text` without what X may change of it: the form of its letters, white space, and how an address is spelled.

    A name of a host that X made a link of comes back with a scheme, and perhaps with a slash; a post with pictures
    ends in a link to them.
    """
    bare = _LAST_SLASH.sub("", _SCHEME.sub("", _PICTURE.sub("", unicodedata.normalize("NFC", text))))
    return " ".join(bare.split())
