"""Replace all known secrets in a text with •••.

The vault registers every secret that it reads or stores, the clients of platforms everything that they send as a
credential. A secret is found verbatim and in the encodings in which requests, responses and errors may contain it:
percent-encoded, in JSON, in HTML, in a Python repr, and in base64 at any offset, as in the `user:password` of Basic
authentication (RFC 7617).
"""

import base64
import html
import json
import re
import threading
import traceback
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

from copydesk.errors import CopydeskError, describe_system_error

MASK = "•••"
MIN_LENGTH = 6
"""Characters. Shorter secrets would match in any text."""
MAX_RECENT = 256
"""Secrets kept besides the permanent ones: a daemon sends new tokens as long as it runs."""
_PERCENT = re.compile("%[0-9A-F]{2}")


class Redaction:
    """A set of known secrets, and the text replacement for them."""

    def __init__(self) -> None:
        self._permanent: dict[str, frozenset[str]] = {}
        # Each with its encodings, the one that was registered longest ago first.
        self._recent: dict[str, frozenset[str]] = {}
        self._encodings: frozenset[str] = frozenset()
        # Whichever thread registers a secret.
        self._lock = threading.Lock()

    def add(self, *secrets: str, permanent: bool = False) -> None:
        """Register secrets. Those shorter than `MIN_LENGTH` are ignored.

        Only the last `MAX_RECENT` are remembered, and those that are `permanent`. Register a secret before each use.
        """
        with self._lock:
            previous = self._permanent.keys() | self._recent.keys()
            for secret in secrets:
                if len(secret) >= MIN_LENGTH and secret not in self._permanent:
                    encodings = self._recent.pop(secret, None) or frozenset(_encodings(secret))
                    (self._permanent if permanent else self._recent)[secret] = encodings
            for secret in list(self._recent)[:-MAX_RECENT]:
                del self._recent[secret]
            if previous != self._permanent.keys() | self._recent.keys():
                self._encodings = frozenset().union(*self._permanent.values(), *self._recent.values())

    def redact(self, text: str) -> str:
        """Return `text` with every known secret replaced, also where several overlap."""
        pieces, position = [], 0
        for start, end in sorted(_find_all(text, self._encodings)):
            if start >= position:
                pieces += [text[position:start], MASK]
            position = max(position, end)
        return "".join([*pieces, text[position:]])

    def format_exception(self, error: BaseException) -> str:
        """Return the redacted traceback of an error and its causes, without local variables."""
        try:
            lines = traceback.TracebackException.from_exception(error, capture_locals=False).format()
            return self.redact("".join(lines))
        except Exception:  # the error's own __str__ may fail, and this is the last handler
            return f"{type(error).__name__}, which could not be shown.\n"


DEFAULT_REDACTION = Redaction()
"""Secrets known to this process."""


def describe_error(error: Exception) -> str:
    """Return the message of `error` that is stored or shown.

    Messages of foreign exceptions may contain credentials, so only their type is named. Our own are redacted, because
    a platform may quote the credential that it rejects.
    """
    if isinstance(error, CopydeskError):
        return DEFAULT_REDACTION.redact(str(error))
    return describe_system_error(error) or f"Unexpected error: {type(error).__name__}."


def _find_all(text: str, forms: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each occurrence of each form, also of those that overlap."""
    for form in forms:
        start = text.find(form)
        while start >= 0:
            yield start, start + len(form)
            start = text.find(form, start + 1)


def _encodings(secret: str) -> Iterator[str]:
    """Yield a secret in every encoding in which it may appear."""
    raw = secret.encode(errors="surrogatepass")
    sent = {secret, quote(raw, safe=""), quote(raw), quote_plus(raw)}
    sent |= {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    yield from sent
    # .NET writes lower-case digits, PHP escapes slashes and writes apostrophes in its own way.
    yield from (_PERCENT.sub(lambda digits: digits[0].lower(), form) for form in sent)
    yield from (form.replace("/", r"\/") for form in sent)
    yield from (html.escape(secret), html.escape(secret).replace("&#x27;", "&#039;"))
    yield from (repr(secret)[1:-1], repr(raw)[2:-1])
    for form in sent:
        # base64 works on groups of three bytes, so a secret has three forms by its place in the text.
        for offset in range(3):
            encoded = _base64_infix(form.encode(errors="surrogatepass"), offset)
            yield from (encoded, encoded.translate({ord("+"): "-", ord("/"): "_"}))


def _base64_infix(raw: bytes, offset: int) -> str:
    """Return the base64 characters that depend on `raw` alone if it starts `offset` bytes into a group of three."""
    encoded = base64.b64encode(bytes(offset) + raw).decode()
    start = (0, 2, 3)[offset]
    # Characters at both ends also encode bits of the neighbouring bytes, so leave them out.
    end = len(encoded) - (0, 3, 2)[(offset + len(raw)) % 3]
    return encoded[start:end]
