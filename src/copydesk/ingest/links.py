"""The addresses in a feed: made absolute, web addresses only, and reduced to a key."""

import re
from urllib.parse import quote, urljoin, urlsplit

from copydesk.text import HIDDEN

MAX_ADDRESS = 2_000

_USUAL = re.compile(r"https?://[a-zA-Z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][!-\[\]-~]*)?")
_UNFIT = re.compile(r"[\s\\]|" + HIDDEN.pattern)
_WEB = re.compile(r"https?://", re.IGNORECASE)
_PARTS = re.compile(r"https?://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.IGNORECASE | re.DOTALL)
_TRACKING = re.compile(
    r"(?:utm_|mtm_|pk_|itm_|at_|ns_)\w*|fbclid|gclid|dclid|msclkid|twclid|yclid|igshid|mc_[ce]id|mkt_tok|cmp(?:id)?"
    r"|ref_src|ref_url|rss|partner|ftag|ocid|icid|ncid|oc|xtor|smid|smtyp|sr_share|taid|traffic_source",
    re.IGNORECASE,
)


def absolute(address: str, base: str) -> str | None:
    """`address` as seen from `base`, if it is one that a browser opens as a page and not too long; else None."""
    if len(address) <= MAX_ADDRESS and _USUAL.fullmatch(address):
        return address
    address = re.sub("[\t\r\n]", "", address[: 2 * MAX_ADDRESS].strip())
    try:
        address = urljoin(base, address) if address else ""
        if not _USUAL.fullmatch(address):
            address = _UNFIT.sub(_escaped, address)
        if _WEB.match(address) and urlsplit(address).hostname and len(address) <= MAX_ADDRESS:
            return address
    except ValueError:
        pass
    return None


def join(base: str, address: str) -> str:
    """`address` as seen from `base`; `base` itself where that cannot be said."""
    try:
        return urljoin(base, address.strip())
    except ValueError:
        return base


def alias_of(key: str) -> str:
    """`key` without what a site changes now and then, where it is an address; as it is, where it is none.

    Dropped are scheme, `www.`, tracking parameters, a slash at the end, and a fragment that tracks. Another
    fragment stays, and so does a parameter such as `ref` that tracks here and numbers there: status pages and release
    notes tell their entries apart by nothing else.
    """
    found = _PARTS.match(key)
    if not found:
        return key
    host, path, query, fragment = found.groups("")
    alias = host.lower().removeprefix("www.") + path.rstrip("/")
    if query:
        kept = [pair for pair in query.split("&") if not _tracks(pair)]
        alias += "?" + "&".join(kept) if kept else ""
    return f"{alias}#{fragment}" if fragment and not _fragment_tracks(fragment) else alias


def _tracks(pair: str) -> bool:
    return _TRACKING.fullmatch(pair.partition("=")[0]) is not None


def _fragment_tracks(fragment: str) -> bool:
    """Whether it is a tracking parameter with its value, or `rss`; a mere name could be a place in the page."""
    return fragment.lower() == "rss" or ("=" in fragment and _tracks(fragment))


def _escaped(found: re.Match[str]) -> str:
    return quote(found[0], safe="", errors="replace")
