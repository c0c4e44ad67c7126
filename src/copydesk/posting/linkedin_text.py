"""How LinkedIn wants a text, and what the names of its posts tell."""

import re
from datetime import UTC, datetime, timedelta

from copydesk.text.links import HASHTAG, masked

SLACK = timedelta(minutes=2)
"""How far LinkedIn's clock and ours may be apart."""
_RESERVED = re.compile(r"[\\|{}@\[\]()<>#*_~]")
_FIRST, _LAST = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (2012, 2100))
_URN = re.compile(r"urn:li:(?:share|ugcPost):[0-9]{1,20}", re.ASCII)


def little(text: str) -> str:
    """`text` in LinkedIn's "little" format (Microsoft Learn, "little Text Format"): hashtags as hashtags, and a
    backslash before every other character that means something there, or the post is cut at it without a word."""
    out: list[str] = []
    last = 0
    for match in HASHTAG.finditer(masked(text)):
        word = match[0][1:]
        if match[0].startswith("#") and not _RESERVED.search(word):
            out += [_escaped(text[last : match.start()]), "{hashtag|\\#|", word, "}"]
            last = match.end()
    return "".join([*out, _escaped(text[last:])])


def _escaped(text: str) -> str:
    return _RESERVED.sub(lambda match: "\\" + match[0], text)


def is_urn(found: str) -> bool:
    """Whether `found` can be the name of a post."""
    return _URN.fullmatch(found) is not None


def named_urn(text: str) -> str:
    """The first post that is named in `text`; empty where none is."""
    match = _URN.search(text)
    return match[0] if match else ""


def post_url(urn: str) -> str:
    """Where people see a post."""
    return f"https://www.linkedin.com/feed/update/{urn}/"


def made_at(urn: str) -> datetime | None:
    """When a post was made, as far as the number in its name tells; None where that is no time.

    All but the last 22 bits are seen to be milliseconds since 1970, which LinkedIn does not document: it serves to
    tell another post from ours where LinkedIn itself has named one, and for nothing else.
    """
    seconds = (int(urn.rsplit(":", 1)[1]) >> 22) / 1000
    return datetime.fromtimestamp(seconds, UTC) if _FIRST <= seconds < _LAST else None
