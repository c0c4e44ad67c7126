"""Read posts that the user wrote elsewhere, as examples of their voice: a text file or an archive of a platform."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.voice import MAX_EXAMPLE_LENGTH
from copydesk.text import clean_lines

MIN_LENGTH = 20
"""Shorter posts show no voice."""
_SEPARATOR = re.compile(r"(?:^|\n)[^\S\n]*-{3,}[^\S\n]*(?=\n|\Z)")
_X_ARCHIVE = re.compile(r"\A\s*window\.YTD\.\w+\.part\d+\s*=\s*")
_BREAK = re.compile(r"<br\s*/?>|</p>\s*<p[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_TEXT_FIELDS = ("full_text", "content", "text")
"""Fields of a post, of X, of Mastodon, of Bluesky and of plain JSON."""
_NESTED_FIELDS = ("tweet", "object", "record", "value", "post")
_LIST_FIELDS = ("orderedItems", "posts", "records", "tweets", "items")
MAX_DEPTH = 6


def parse_posts(content: str) -> tuple[str, ...]:
    """Return the posts in a file, in its order, without replies, reposts, duplicates and very short ones.

    Accepts posts separated by lines of hyphens, a JSON list of texts, `outbox.json` of Mastodon, `tweets.js` of X, and
    JSON with posts of Bluesky. Raise InvalidError if there is no post in it.
    """
    body = _X_ARCHIVE.sub("", content, count=1)
    if body.lstrip()[:1] in {"[", "{"}:
        try:
            texts = list(_find_texts(msgspec.json.decode(body), MAX_DEPTH))
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            raise InvalidError(FieldError("content", "is not valid JSON")) from None
    else:
        texts = _SEPARATOR.split(body)
    posts = select_examples(texts)
    if not posts:
        raise InvalidError(FieldError("content", "has no post that can be an example"))
    return posts


def select_examples(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts that can be examples, cleaned, without duplicates, replies and those too short or long."""
    return tuple(dict.fromkeys(post for text in texts if _is_example(post := clean_lines(text).strip())))


def _find_texts(value: object, depth: int) -> Iterator[str]:
    """Yield the texts of posts in JSON of unknown shape."""
    if depth == 0:
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, Sequence):
        for entry in value:
            yield from _find_texts(entry, depth - 1)
    elif isinstance(value, Mapping):
        yield from _find_in_object(value, depth)


def _find_in_object(value: Mapping[str, object], depth: int) -> Iterator[str]:
    if _is_reply_or_repost(value):
        return
    nested = [value[name] for name in (*_NESTED_FIELDS, *_LIST_FIELDS) if isinstance(value.get(name), dict | list)]
    for entry in nested:
        yield from _find_texts(entry, depth - 1)
    text = next((value[name] for name in _TEXT_FIELDS if isinstance(value.get(name), str)), None)
    if isinstance(text, str) and not nested:
        yield _to_plain(text) if "content" in value else html.unescape(text)


def _is_reply_or_repost(value: Mapping[str, object]) -> bool:
    """Return True for a reply or a repost: it is not, or not alone, in the user's words."""
    return bool(value.get("inReplyTo") or value.get("in_reply_to_status_id") or value.get("reply")) or (
        value.get("type") == "Announce"
    )


def _to_plain(markup: str) -> str:
    return html.unescape(_TAG.sub("", _BREAK.sub("\n\n", markup)))


def _is_example(post: str) -> bool:
    return MIN_LENGTH <= len(post) <= MAX_EXAMPLE_LENGTH and not post.startswith(("RT @", "@"))
