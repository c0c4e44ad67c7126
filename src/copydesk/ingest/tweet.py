"""A post on X as an entry: its links written out, a title made from its text, its popularity."""

import html
import re
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from copydesk.ingest.address import web_address
from copydesk.ingest.dates import parse_date
from copydesk.ingest.decoding import count
from copydesk.ingest.entry import language_of
from copydesk.ingest.plaintext import plain_line, plain_lines
from copydesk.model.item import Entry

LONGEST_TITLE = 120
LONGEST_TEXT = 25_000
"""Characters that X allows in a long post."""
MOST_LINKS = 50
_OWN_HOSTS = {"x.com", "twitter.com", "t.co"}
_LINK = re.compile(r"https?://\S+")
_SENTENCE_END = re.compile(r"[.!?…](?=\s)")
_NOT_LANGUAGES = {"und", "zxx", "qam", "qct", "qht", "qme", "qst"}
"""What X says where it knows no language, or where there are only links, tags or pictures."""


class Link(msgspec.Struct, frozen=True):
    """A short address in a post's text, and what it stands for."""

    url: str | None = None
    expanded_url: str | None = None
    unwound_url: str | None = None
    title: str | None = None

    @property
    def target(self) -> str | None:
        """Where it leads, if that is a web page."""
        return web_address(self.unwound_url) or web_address(self.expanded_url)

    @property
    def leaves(self) -> bool:
        """Whether it leads away from X."""
        host = urlsplit(self.target or "").hostname or ""
        return bool(host) and ".".join(host.split(".")[-2:]) not in _OWN_HOSTS

    @property
    def is_picture(self) -> bool:
        """Whether it stands for the post's own picture or video."""
        return not self.leaves and any(part in (self.target or "") for part in ("/photo/", "/video/"))


class Entities(msgspec.Struct, frozen=True):
    """What X found in a text."""

    urls: tuple[Link, ...] | None = None


class Note(msgspec.Struct, frozen=True):
    """The whole of a long post, of which the post's own text is only the beginning."""

    text: str | None = None
    entities: Entities | None = None


class Metrics(msgspec.Struct, frozen=True):
    """How a post does."""

    retweet_count: int | None = None
    reply_count: int | None = None
    like_count: int | None = None
    quote_count: int | None = None

    @property
    def points(self) -> int | None:
        """Likes, reposts and quotes together; None where X says nothing of them."""
        figures = (self.like_count, self.retweet_count, self.quote_count)
        known = [figure for figure in figures if figure is not None]
        return count(sum(known)) if known else None


class Post(msgspec.Struct, frozen=True):
    """A post as the API gives it."""

    id: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,20}\Z")]
    text: str
    created_at: str | None = None
    lang: str | None = None
    public_metrics: Metrics | None = None
    entities: Entities | None = None
    note_tweet: Note | None = None


def entry(post: Post, name: str) -> Entry:
    """The post as an entry; `name` is its account's.

    Its address is the page that it links to, where there is one: that is the story, and the post its discussion.
    """
    text, links = _text(post)
    own = f"https://x.com/{name}/status/{post.id}"
    story = next((link for link in links if link.leaves), Link())
    figures = post.public_metrics or Metrics()
    return Entry(
        ident=post.id,
        alias=post.id,
        title=_title(text) or _title(plain_line(story.title or "", LONGEST_TEXT)) or f"Post by @{name}",
        url=story.target or own,
        text=text,
        author=f"@{name}",
        published=parse_date(post.created_at or ""),
        language=None if post.lang in _NOT_LANGUAGES else language_of(post.lang or ""),
        discussion=own,
        points=figures.points,
        comments=count(figures.reply_count),
    )


def _text(post: Post) -> tuple[str, tuple[Link, ...]]:
    """The whole text with its short addresses written out, and its links; those of its own pictures go."""
    note = post.note_tweet
    text, entities = (note.text, note.entities) if note and note.text else (post.text, post.entities)
    links = ((entities and entities.urls) or ())[:MOST_LINKS]
    text = text[:LONGEST_TEXT]
    for link in links:
        short = web_address(link.url)
        if short and link.target:
            # Once each: what a short address becomes may be long.
            text = text.replace(short, "" if link.is_picture else link.target, 1)
    return plain_lines(html.unescape(text), LONGEST_TEXT), links


def _title(text: str) -> str:
    """The first line without its links, or as much of it as fits: whole sentences, else whole words."""
    line = text.partition("\n")[0][: 20 * LONGEST_TITLE]
    line = " ".join(_LINK.sub("", line).split()).rstrip(" :-–—")
    if len(line) <= LONGEST_TITLE:
        return line
    ends = [match.end() for match in _SENTENCE_END.finditer(line[: LONGEST_TITLE + 1])]
    if ends:
        return line[: ends[-1]]
    return f"{line[: LONGEST_TITLE - 1].rsplit(' ', 1)[0].rstrip(' ,;:')}…"
