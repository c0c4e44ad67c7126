"""Posts on X as entries: links expanded, a title made from the text, popularity."""

import html
import re
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from copydesk.ingest.dates import parse_date
from copydesk.ingest.entries import normalize_language
from copydesk.ingest.html_to_text import clean_text, single_line
from copydesk.ingest.sources.json_api import clamp_count
from copydesk.ingest.urls import web_url_or_none
from copydesk.model.item import Entry

MAX_TITLE_LENGTH = 120
MAX_TEXT_LENGTH = 25_000
"""Maximum length of a long post on X."""
MAX_LINKS = 50
_OWN_HOSTS = {"x.com", "twitter.com", "t.co"}
_LINK = re.compile(r"https?://\S+")
_SENTENCE_END = re.compile(r"[.!?…](?=\s)")
_NON_LANGUAGE_CODES = {"und", "zxx", "qam", "qct", "qht", "qme", "qst"}
"""X's codes for an unknown language and for posts of only links, hashtags or media."""


class Link(msgspec.Struct, frozen=True):
    """A short t.co link in a post, and its target."""

    url: str | None = None
    expanded_url: str | None = None
    unwound_url: str | None = None
    title: str | None = None

    @property
    def target(self) -> str | None:
        """The expanded URL, if it is an http(s) URL."""
        return web_url_or_none(self.unwound_url) or web_url_or_none(self.expanded_url)

    @property
    def is_external(self) -> bool:
        """True if the target is not on X."""
        host = urlsplit(self.target or "").hostname or ""
        # The last two labels: mobile.twitter.com is X, too.
        return bool(host) and ".".join(host.split(".")[-2:]) not in _OWN_HOSTS

    @property
    def is_own_media(self) -> bool:
        """True if it stands for the post's own image or video."""
        return not self.is_external and any(part in (self.target or "") for part in ("/photo/", "/video/"))


class Entities(msgspec.Struct, frozen=True):
    """Entities that X found in a text."""

    urls: tuple[Link, ...] | None = None


class LongText(msgspec.Struct, frozen=True):
    """The full text of a long post; the post's own `text` is only its beginning."""

    text: str | None = None
    entities: Entities | None = None


class Metrics(msgspec.Struct, frozen=True):
    retweet_count: int | None = None
    reply_count: int | None = None
    like_count: int | None = None
    quote_count: int | None = None

    @property
    def points(self) -> int | None:
        """Likes, reposts and quotes together; None if X reports none of them."""
        counts = (self.like_count, self.retweet_count, self.quote_count)
        reported = [value for value in counts if value is not None]
        return clamp_count(sum(reported)) if reported else None


class Post(msgspec.Struct, frozen=True):
    """A post in the API's format."""

    id: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,20}\Z")]
    text: str
    created_at: str | None = None
    lang: str | None = None
    public_metrics: Metrics | None = None
    entities: Entities | None = None
    note_tweet: LongText | None = None


def to_entry(post: Post, account_name: str) -> Entry:
    """Return the post as an entry; `name` is its account's.

    If it links to a page, that is the entry's URL and the post is its discussion.
    """
    text, links = _text(post)
    post_url = f"https://x.com/{account_name}/status/{post.id}"
    story = next((link for link in links if link.is_external), Link())
    metrics = post.public_metrics or Metrics()
    return Entry(
        ident=post.id,
        alias=post.id,
        title=_title(text) or _title(single_line(story.title or "", MAX_TEXT_LENGTH)) or f"Post by @{account_name}",
        url=story.target or post_url,
        text=text,
        author=f"@{account_name}",
        published=parse_date(post.created_at or ""),
        language=None if post.lang in _NON_LANGUAGE_CODES else normalize_language(post.lang or ""),
        discussion=post_url,
        points=metrics.points,
        comments=clamp_count(metrics.reply_count),
    )


def _text(post: Post) -> tuple[str, tuple[Link, ...]]:
    """Return the full text with short links expanded, and its links. Links to the post's own media are removed."""
    long_text = post.note_tweet
    text, entities = (
        (long_text.text, long_text.entities) if long_text and long_text.text else (post.text, post.entities)
    )
    links = ((entities and entities.urls) or ())[:MAX_LINKS]
    text = text[:MAX_TEXT_LENGTH]
    for link in links:
        short_url = web_url_or_none(link.url)
        if short_url and link.target:
            # One replacement each: expanded URLs may be long, and a text may repeat a short one.
            text = text.replace(short_url, "" if link.is_own_media else link.target, 1)
    return clean_text(html.unescape(text), MAX_TEXT_LENGTH), links


def _title(text: str) -> str:
    """Return the first line without links, cut to whole sentences, else whole words, if it is too long."""
    # Bounded before the regular expressions run.
    line = text.partition("\n")[0][: 20 * MAX_TITLE_LENGTH]
    line = " ".join(_LINK.sub("", line).split()).rstrip(" :-–—")
    if len(line) <= MAX_TITLE_LENGTH:
        return line
    ends = [match.end() for match in _SENTENCE_END.finditer(line[: MAX_TITLE_LENGTH + 1])]
    if ends:
        return line[: ends[-1]]
    return f"{line[: MAX_TITLE_LENGTH - 1].rsplit(' ', 1)[0].rstrip(' ,;:')}…"
