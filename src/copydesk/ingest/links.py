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
    r"(?:utm_|mtm_|pk_|itm_|at_|ns_)\w*|fbclid|gclid|dclid|msclkid|twclid|yclid|igshid|mc_[ce]id|mkt_tok|cmp(?:id)?|ref"
    r"|ref_src|ref_url|source|src|rss|feed|partner|ftag|ocid|icid|ncid|oc|xtor|smid|smtyp|sr_share|taid|traffic_source",
    re.IGNORECASE,
)
_COUNTS_OR_TRACKS = re.compile(r"[0-9]*|rss|.*=.*", re.IGNORECASE)


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

    Dropped are scheme, `www.`, tracking parameters, a slash at the end, and a fragment that counts versions or
    tracks. Another fragment stays: pages of release notes tell their entries apart by nothing else.
    """
    found = _PARTS.match(key)
    if not found:
        return key
    host, path, query, fragment = found.groups("")
    alias = host.lower().removeprefix("www.") + path.rstrip("/")
    if query:
        kept = [pair for pair in query.split("&") if not _TRACKING.fullmatch(pair.partition("=")[0])]
        alias += "?" + "&".join(kept) if kept else ""
    return f"{alias}#{fragment}" if fragment and not _COUNTS_OR_TRACKS.fullmatch(fragment) else alias


def _escaped(found: re.Match[str]) -> str:
    return quote(found[0], safe="", errors="replace")
