"""A web page -> the addresses of the feeds that it names."""

import re
from collections.abc import Iterator
from itertools import islice

from copydesk.ingest.encoding import mend
from copydesk.ingest.links import absolute
from copydesk.ingest.plaintext import unescape

WELL_KNOWN_PATHS = (
    "/feed",
    "/rss",
    "/atom.xml",
    "/feed.xml",
    "/index.xml",
    "/rss.xml",
    "/feed.json",
    "/feed.atom",
    "/blog/feed",
    "/blog/rss.xml",
)
"""Where a site's feed often is that its pages do not name, the most frequent first."""

MAX_PAGE = 512 * 1024
MAX_FOUND = 20
_MOST_LOOKED_AT = 5_000

# Like plaintext's, linear in its length: what is never closed takes the rest with it, and a tag ends at the next `<`.
_ATTRIBUTES = r"""((?:[^<>"']++|"[^"]*+"|'[^']*+')*+)"""
_ELEMENT = re.compile(
    rf"<(?:!--(?:-?>|.*?--!?>|.*)|(?i:script|style|template)\b[^<>]*+>(?:.*?</(?i:script|style|template)|.*)"
    rf"|((?i:link|a|base))(?=[\s/]){_ATTRIBUTES})",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""([^\s=<>"'/]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>]++)))?+""")
_TYPES = frozenset(
    ["application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml", "text/rss+xml"]
)
_LOOSE_TYPES = frozenset(["application/xml", "text/xml", "application/json"])
_LIKE_A_FEED = re.compile(
    r"(?:[/.?=_-](?:feeds?|rss2?|atom|rdf)(?:[/.?=_-](?:xml|json|rss2?|atom|index|\d))*|/index\.xml)/?\Z", re.IGNORECASE
)


def discover_feeds(html: bytes, base_url: str, charset: str | None) -> tuple[str, ...]:
    """The feeds that a page names in `<link>`, in its order but those of comments last; or else in `<a>`.

    Reads the first 512 KiB. Web addresses only, absolute, each once, at most 20; nothing raises.
    """
    text = mend(html[:MAX_PAGE], charset).decode()
    named: list[str] = []
    linked: list[str] = []
    base = base_url
    for name, attributes in islice(_elements(text), _MOST_LOOKED_AT):
        address = absolute(attributes.get("href", ""), base) or ""
        if name == "base" and address:
            base = address
        elif name == "link" and address and _names_a_feed(attributes):
            named.append(address)
        elif name == "a" and address and _LIKE_A_FEED.search(address.partition("#")[0]):
            linked.append(address)
    found = sorted(named or linked, key=lambda address: "comment" in address)
    return tuple(address for address in dict.fromkeys(found) if address != base_url)[:MAX_FOUND]


def _elements(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Name and attributes of the elements that may hold a feed's address."""
    for found in _ELEMENT.finditer(text):
        if found[1] and "href" in found[2].lower():
            yield (
                found[1].lower(),
                {
                    part[1].lower(): unescape(part[2] or part[3] or part[4] or "").strip()
                    for part in _ATTRIBUTE.finditer(found[2])
                },
            )


def _names_a_feed(attributes: dict[str, str]) -> bool:
    relations = attributes.get("rel", "").lower().split()
    kind = attributes.get("type", "").partition(";")[0].strip().lower()
    if "feed" in relations:
        return True
    if "alternate" not in relations:
        return False
    return kind in _TYPES or (kind in _LOOSE_TYPES and bool(_LIKE_A_FEED.search(attributes["href"])))
