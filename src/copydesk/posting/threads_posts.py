"""Posts as Threads gives them back: whether one is what we sent, where it is seen, and what is reported of it."""

import unicodedata
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from copydesk.posting.platform import Account, Figures, UnknownOutcomeError
from copydesk.posting.threads_answers import Named, is_id
from copydesk.text.length import byte_length, count_emoji, graphemes, length
from copydesk.text.links import host, postable

SLACK = timedelta(minutes=2)
"""How far Threads' clock and ours may be apart."""


class ThreadsPost(msgspec.Struct, frozen=True):
    """A post of a list."""

    id: str
    timestamp: str
    text: str = ""
    permalink: str = ""
    replied_to: Named | None = None

    @property
    def at(self) -> datetime:
        """When it was published; UnknownOutcomeError where that cannot be read."""
        try:
            found = datetime.fromisoformat(self.timestamp)
        except ValueError:
            found = None
        if found is None or found.tzinfo is None:
            raise UnknownOutcomeError("Threads gave a time that cannot be read.")
        return found


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
        """Where the next page begins; empty where there is none. Its address itself has the token in it."""
        return self.paging.cursors.after if self.paging.next else ""


class _Value(msgspec.Struct, frozen=True):
    value: int


class _Insight(msgspec.Struct, frozen=True):
    name: str
    values: list[_Value] = []


class Insights(msgspec.Struct, frozen=True):
    """The figures of a post."""

    data: list[_Insight]

    @property
    def figures(self) -> Figures:
        """As we keep them."""
        values = {each.name: each.values[0].value for each in self.data if each.values}
        return Figures(
            likes=values.get("likes"),
            replies=values.get("replies"),
            reposts=values.get("reposts"),
            impressions=values.get("views"),
        )


def the_one(posts: Sequence[ThreadsPost], text: str, parent: str) -> ThreadsPost | None:
    """The oldest of `posts` that says `text` in answer to `parent`, which is empty where it answers nothing."""
    plain = _plain(text)
    found = [post for post in posts if is_id(post.id) and _answered(post) == parent and _plain(post.text) == plain]
    return min(found, key=lambda post: post.at, default=None)


def counted(text: str) -> int:
    """How long Threads finds `text`: an emoji is as long as its bytes in UTF-8 (Threads, "Posts")."""
    if not count_emoji(text):
        return length(text, "threads")
    pieces = graphemes(text)
    return sum(byte_length(piece) if count_emoji(piece) else length(piece, "threads") for piece in pieces)


def shown(post: ThreadsPost, account: Account) -> str:
    """Where `post` is seen; the account's page where Threads does not say."""
    url = post.permalink
    ours = url.startswith("https://") and host(url) in {"threads.net", "threads.com"}
    return url if ours and postable(url) else page_of(account)


def page_of(account: Account) -> str:
    """Where everything of an account is seen."""
    return f"https://www.threads.com/@{account.name}"


def _answered(post: ThreadsPost) -> str:
    return post.replied_to.id if post.replied_to else ""


def _plain(text: str) -> str:
    """`text` without what Threads may change of it: white space, and the sign of the hashtag that becomes its topic."""
    return " ".join(unicodedata.normalize("NFC", text).replace("#", "").split())
