"""Which picture stands for an entry."""

import re
from itertools import islice

from copydesk.ingest.plaintext import unescape
from copydesk.ingest.raw import RawEntry

_IMG = re.compile(r"<[iI][mM][gG]\b([^<>]*)")
_SRC = re.compile(r"\bsrc\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
# After a space, for addresses end in ?alt=media.
_ALT = re.compile(r"(?<!\S)alt\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_PIXEL = re.compile(r"=(?:(?<=width=)|(?<=height=))[\"']?[01](?![\d.%])")
_EXTENSION = re.compile(r"\.(?:jpe?g|png|webp|gif|avif)(?:[?#]|\Z)", re.IGNORECASE)
_MOST_LOOKED_AT = 5
_NEAR = 10_000
"""Characters of markup: a picture further down illustrates something else."""


def offer(entry: RawEntry, attributes: dict[str, str]) -> bool:
    """Whether an enclosure or media element with these attributes is a picture; `entry` keeps the widest."""
    url = attributes.get("url") or attributes.get("href") or ""
    kind = attributes.get("type") or attributes.get("medium") or ""
    if not url or not (kind.startswith("image") if kind else _EXTENSION.search(url)):
        return False
    width = attributes.get("width", "")
    pixels = int(width) if width.isdecimal() and len(width) < 6 else 0
    if not entry.picture or pixels > entry.width:
        entry.picture, entry.width = url, pixels
    return True


def first_in(markup: str) -> tuple[str, str]:
    """The first picture near the top of an HTML fragment that is meant to be seen: its address, and what it shows.

    Empty where there is none, and where nothing is said of it.
    """
    if "<" not in markup:
        return "", ""
    for image in islice(_IMG.finditer(markup, 0, _NEAR), _MOST_LOOKED_AT):
        source = _SRC.search(image[1])
        if source and not _PIXEL.search(image[1]):
            alt = _ALT.search(image[1])
            address = unescape(source[1] or source[2] or source[3] or "").strip()
            return address, unescape(alt[1] or alt[2] or "") if alt else ""
    return "", ""
