"""LinkedIn's text format and the URNs of its posts."""

import re
from datetime import UTC, datetime, timedelta

from copydesk.text.links import HASHTAG, mask_links

CLOCK_TOLERANCE = timedelta(minutes=2)
"""Tolerance between LinkedIn's clock and ours."""
_RESERVED = re.compile(r"[\\|{}@\[\]()<>#*_~]")
_EARLIEST, _LATEST = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (2012, 2100))
_URN = re.compile(r"urn:li:(?:share|ugcPost):[0-9]{1,20}", re.ASCII)


def to_little_text(text: str) -> str:
    """Return `text` in LinkedIn's "little" format (Microsoft Learn, "little Text Format").

    Hashtags are marked up and every other reserved character is escaped with a backslash. LinkedIn silently cuts the
    post off at an unescaped one.
    """
    pieces: list[str] = []
    position = 0
    for match in HASHTAG.finditer(mask_links(text)):
        tag = match[0][1:]
        # A tag with a reserved character cannot be marked up; it is escaped like other text.
        if match[0].startswith("#") and not _RESERVED.search(tag):
            pieces += [_escape(text[position : match.start()]), "{hashtag|\\#|", tag, "}"]
            position = match.end()
    return "".join([*pieces, _escape(text[position:])])


def _escape(text: str) -> str:
    return _RESERVED.sub(lambda match: "\\" + match[0], text)


def is_urn(value: str) -> bool:
    """Return True if `value` can be the URN of a post."""
    return _URN.fullmatch(value) is not None


def find_urn(text: str) -> str:
    """Return the first post URN in `text`; empty if there is none."""
    match = _URN.search(text)
    return match[0] if match else ""


def post_url(urn: str) -> str:
    """Return the public URL of a post."""
    return f"https://www.linkedin.com/feed/update/{urn}/"


def creation_time(urn: str) -> datetime | None:
    """Return the creation time encoded in a post's URN; None if that is no plausible time.

    All but the last 22 bits appear to be milliseconds since 1970. LinkedIn does not document this, so it only serves to
    tell another post from ours after LinkedIn itself has named one.
    """
    seconds = (int(urn.rsplit(":", 1)[1]) >> 22) / 1000
    return datetime.fromtimestamp(seconds, UTC) if _EARLIEST <= seconds < _LATEST else None
