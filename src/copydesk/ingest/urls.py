"""URLs in feeds and pages, and source URLs as the user types them: resolved, validated, normalized, http(s) only."""

import re
from typing import NoReturn
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from copydesk.errors import FieldError, InvalidError
from copydesk.text import HIDDEN_CHARACTERS
from copydesk.text.tracking import is_tracking, strip_tracking_parameters

MAX_URL_LENGTH = 2_000
"""Characters."""

_PLAIN_URL = re.compile(r"https?://[a-zA-Z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][!-\[\]-~]*)?")
_UNSAFE_CHARACTER = re.compile(r"[\s\\]|" + HIDDEN_CHARACTERS)
_HTTP_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_URL_PARTS = re.compile(r"https?://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.IGNORECASE | re.DOTALL)

_INVALID_CHARACTER = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\\]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HOST_AND_PORT = re.compile(r"[^/?#:]+:\d+(?:[/?#]|\Z)")


def absolute_url(url: str, base_url: str) -> str | None:
    """Return `url` resolved against `base_url` and percent-encoded, or None.

    None means it is not http(s), has no host, cannot be parsed or is longer than `MAX_URL_LENGTH` characters.
    """
    # Fast path: most URLs in feeds are absolute and need no escaping.
    if len(url) <= MAX_URL_LENGTH and _PLAIN_URL.fullmatch(url):
        return url
    # Browsers drop tabs and line breaks inside a URL (WHATWG URL Standard). Twice the maximum leaves room for what is
    # stripped.
    url = re.sub("[\t\r\n]", "", url[: 2 * MAX_URL_LENGTH].strip())
    try:
        url = urljoin(base_url, url) if url else ""
        if not _PLAIN_URL.fullmatch(url):
            url = _UNSAFE_CHARACTER.sub(_percent_encode, url)
        if _HTTP_SCHEME.match(url) and urlsplit(url).hostname and len(url) <= MAX_URL_LENGTH:
            return url
    except ValueError:
        pass
    return None


def join_url(base_url: str, url: str) -> str:
    """Return `url` resolved against `base_url`; `base_url` itself if it cannot be parsed."""
    try:
        return urljoin(base_url, url.strip())
    except ValueError:
        return base_url


def alias_key(key: str) -> str:
    """Return `key` without the parts that a site changes now and then; return it unchanged if it is not an http(s) URL.

    Dropped are the scheme, `www.`, tracking parameters, a trailing slash and a tracking fragment. Other fragments stay,
    and so do parameters such as `ref=2`, which identify the entry: status pages and release notes tell their entries
    apart by nothing else.
    """
    match = _URL_PARTS.match(key)
    if not match:
        return key
    host, path, query, fragment = match.groups("")
    alias = host.lower().removeprefix("www.") + path.rstrip("/")
    query = strip_tracking_parameters(query)
    if query:
        alias += f"?{query}"
    return f"{alias}#{fragment}" if fragment and not _is_tracking_fragment(fragment) else alias


def _is_tracking_fragment(fragment: str) -> bool:
    """Return True for `rss` or a tracking parameter with a value; a bare name may be an anchor in the page."""
    name, equals, value = fragment.partition("=")
    return fragment.lower() == "rss" or (bool(equals) and is_tracking(name, value))


def _percent_encode(match: re.Match[str]) -> str:
    return quote(match[0], safe="", errors="replace")


def raise_invalid(field: str, problem: str) -> NoReturn:
    """Raise InvalidError for one field of the source; `problem` continues the sentence that begins with its name."""
    raise InvalidError(FieldError(field, problem))


def parse_source_url(url: str, *, expected: str) -> SplitResult:
    """Parse the URL of a source; `https` is assumed where no scheme is given.

    `expected` describes a valid value and ends the error message. Raise InvalidError for the field `url`.
    """
    text = url.strip()
    if not text:
        raise_invalid("url", f"is empty; use {expected}")
    if len(text) > MAX_URL_LENGTH:
        raise_invalid("url", f"is longer than {MAX_URL_LENGTH} characters; use {expected}")
    if _INVALID_CHARACTER.search(text):
        raise_invalid("url", f"contains a space or control character; use {expected}")
    # "example.com:8080/feed" would otherwise parse as the scheme "example.com".
    if not _SCHEME.match(text) or _HOST_AND_PORT.match(text):
        text = f"https://{text.lstrip('/')}"
    return _validate(text, expected)


def _validate(text: str, expected: str) -> SplitResult:
    """Parse `text` and refuse other schemes, a missing host and embedded credentials."""
    try:
        parts = urlsplit(text)
        # `hostname` and `port` are parsed on access only, and raise ValueError for a bad bracket or port.
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise_invalid("url", f"is not a web address; use {expected}")
    if parts.scheme not in {"http", "https"} or not host:
        raise_invalid("url", f"is not a web address; use {expected}")
    if parts.username is not None or parts.password is not None:
        raise_invalid("url", "contains a user name or password; remove the part before the @")
    return parts


def web_url_or_none(text: str | None) -> str | None:
    """Return `text` if it is an http(s) URL that a browser can open, else None. For untrusted responses."""
    return absolute_url(text, "") if text else None
