"""What the user types as the address of a source, in the one form in which it is kept."""

import re
from typing import NoReturn
from urllib.parse import SplitResult, urlsplit

from copydesk.errors import FieldError, InvalidError
from copydesk.ingest.links import MAX_ADDRESS, absolute

_UNFIT = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\\]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HOST_AND_PORT = re.compile(r"[^/?#:]+:\d+(?:[/?#]|\Z)")


def refuse(field: str, problem: str) -> NoReturn:
    """Raise InvalidError for one field."""
    raise InvalidError(FieldError(field, problem))


def split(url: str, *, expected: str) -> SplitResult:
    """The parts of a web address; `https` where no scheme is given. `expected` says in words what would be right.

    Raises InvalidError for `url`.
    """
    text = url.strip()
    if not text:
        refuse("url", f"is empty; give {expected}")
    if len(text) > MAX_ADDRESS:
        refuse("url", f"is longer than {MAX_ADDRESS} characters; give {expected}")
    if _UNFIT.search(text):
        refuse("url", f"has a space or a control character in it; give {expected}")
    if not _SCHEME.match(text) or _HOST_AND_PORT.match(text):
        text = f"https://{text.lstrip('/')}"
    return _checked(text, expected)


def _checked(text: str, expected: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        refuse("url", f"is not a web address; give {expected}")
    if parts.scheme not in {"http", "https"} or not host:
        refuse("url", f"is not a web address; give {expected}")
    if parts.username is not None or parts.password is not None:
        refuse("url", "holds a user name or a password; leave out what stands before the @")
    return parts


def web_address(text: str | None) -> str | None:
    """`text` if it is an address that a browser opens as a page, else None: a source may say anything."""
    return absolute(text, "") if text else None
