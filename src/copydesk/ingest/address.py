"""Source URLs as the user types them, validated and normalized."""

import re
from typing import NoReturn
from urllib.parse import SplitResult, urlsplit

from copydesk.errors import FieldError, InvalidError
from copydesk.ingest.links import MAX_URL_LENGTH, absolute_url

_INVALID_CHARACTER = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\\]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HOST_AND_PORT = re.compile(r"[^/?#:]+:\d+(?:[/?#]|\Z)")


def raise_invalid(field: str, problem: str) -> NoReturn:
    """Raise InvalidError for one field of the source; `problem` continues the sentence that begins with its name."""
    raise InvalidError(FieldError(field, problem))


def parse_source_url(url: str, *, expected: str) -> SplitResult:
    """Parse the URL of a source; `https` is assumed where no scheme is given.

    `expected` describes a valid value and ends the error message. Raise InvalidError for the field `url`.
    """
    text = url.strip()
    if not text:
        raise_invalid("url", f"is empty; give {expected}")
    if len(text) > MAX_URL_LENGTH:
        raise_invalid("url", f"is longer than {MAX_URL_LENGTH} characters; give {expected}")
    if _INVALID_CHARACTER.search(text):
        raise_invalid("url", f"has a space or a control character in it; give {expected}")
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
        raise_invalid("url", f"is not a web address; give {expected}")
    if parts.scheme not in {"http", "https"} or not host:
        raise_invalid("url", f"is not a web address; give {expected}")
    if parts.username is not None or parts.password is not None:
        raise_invalid("url", "holds a user name or a password; leave out what stands before the @")
    return parts


def web_url_or_none(text: str | None) -> str | None:
    """Return `text` if it is an http(s) URL that a browser can open, else None. For untrusted responses."""
    return absolute_url(text, "") if text else None
