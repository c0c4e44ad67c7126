"""Replace all known secrets by ••• in logs and tracebacks.

The vault registers every secret that it reads or stores. A secret is found verbatim and in the encodings in which
requests and errors may contain it: percent-encoded, in JSON, in a Python repr, and in base64 at any offset, as in the
`user:password` of Basic authentication (RFC 7617).
"""

import base64
import json
import logging
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from types import TracebackType
from urllib.parse import quote, quote_plus

MASK = "•••"
MIN_LENGTH = 6
"""Characters. Shorter secrets would match in any text."""


class Redaction:
    """A set of known secrets, and the text replacement for them."""

    def __init__(self) -> None:
        self._encodings: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        # The set and its pattern belong together, whichever thread registers a secret.
        self._lock = threading.Lock()

    def add(self, *secrets: str) -> None:
        """Register secrets. Those shorter than `MIN_LENGTH` are ignored."""
        forms = {form for secret in secrets if len(secret) >= MIN_LENGTH for form in _encodings(secret)}
        with self._lock:
            # Every request registers its token again; compiling the pattern each time would cost more than the request.
            if forms <= self._encodings:
                return
            self._encodings |= forms
            # Regex alternation takes the first match, so a secret that contains another one must come first.
            longest_first = sorted(self._encodings, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def redact(self, text: str) -> str:
        """Return `text` with every known secret replaced."""
        return self._pattern.sub(MASK, text) if self._pattern else text

    def format_exception(self, error: BaseException) -> str:
        """Return the redacted traceback of an error and its causes, without local variables."""
        try:
            lines = traceback.TracebackException.from_exception(error, capture_locals=False).format()
            return self.redact("".join(lines))
        except Exception:  # the error's own __str__ may fail, and this is the last handler
            return f"{type(error).__name__}, which could not be shown.\n"


DEFAULT_REDACTION = Redaction()
"""Secrets known to this process."""


class RedactingFilter(logging.Filter):
    """Logging filter that redacts a record's message, arguments, exception and stack. It never drops a record."""

    def __init__(self, redaction: Redaction = DEFAULT_REDACTION) -> None:
        super().__init__()
        self._redaction = redaction

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact `record` in place; return True."""
        record.msg, record.args = self._redaction.redact(_message(record)), ()
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = self._redaction.format_exception(record.exc_info[1]).rstrip("\n")
        elif record.exc_text:
            record.exc_text = self._redaction.redact(record.exc_text)
        record.exc_info = None  # otherwise formatters would render it again, unredacted
        if record.stack_info:
            record.stack_info = self._redaction.redact(record.stack_info)
        return True


def redact_logs(redaction: Redaction = DEFAULT_REDACTION) -> Callable[[], None]:
    """Redact all log records from now on; return a function that stops it.

    Redaction happens in the record factory: a filter on a logger does not apply to child loggers, and one on a handler
    does not apply to other handlers.
    """
    default_factory, filter_ = logging.getLogRecordFactory(), RedactingFilter(redaction)

    def make_record(*args: object, **kwargs: object) -> logging.LogRecord:
        record: logging.LogRecord = default_factory(*args, **kwargs)
        filter_.filter(record)
        return record

    logging.setLogRecordFactory(make_record)
    return lambda: logging.setLogRecordFactory(default_factory)


def redact_crashes(redaction: Redaction = DEFAULT_REDACTION) -> None:
    """Redact uncaught exceptions and print them without local variables, also those in threads and finalizers."""

    def print_redacted(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
        _to_stderr(redaction.format_exception(error))

    def print_thread_redacted(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            _to_stderr(redaction.format_exception(args.exc_value))

    def print_unraisable_redacted(args: "sys.UnraisableHookArgs") -> None:
        # Late during interpreter shutdown modules have lost their names, this one too.
        if args.exc_value is not None and _to_stderr is not None:
            _to_stderr(redaction.format_exception(args.exc_value))

    sys.excepthook, threading.excepthook, sys.unraisablehook = (
        print_redacted,
        print_thread_redacted,
        print_unraisable_redacted,
    )


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # the arguments do not fit the format string; logging itself would print them unredacted
        return f"{record.msg!r} {record.args!r}"


def _to_stderr(text: str) -> None:
    if sys.stderr is not None:  # None under pythonw
        sys.stderr.write(text)
        sys.stderr.flush()


def _encodings(secret: str) -> Iterator[str]:
    """Yield a secret in every encoding in which it may appear."""
    raw = secret.encode(errors="surrogatepass")
    yield secret
    yield from (quote(raw, safe=""), quote(raw), quote_plus(raw))
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    yield from (repr(secret)[1:-1], repr(raw)[2:-1])
    # base64 works on groups of three bytes, so a secret has three forms by its place in the text.
    for offset in range(3):
        encoded = _base64_infix(raw, offset)
        yield from (encoded, encoded.translate({ord("+"): "-", ord("/"): "_"}))


def _base64_infix(raw: bytes, offset: int) -> str:
    """Return the base64 characters that depend on `raw` alone if it starts `offset` bytes into a group of three."""
    encoded = base64.b64encode(bytes(offset) + raw).decode()
    start = (0, 2, 3)[offset]
    # Characters at both ends also encode bits of the neighbouring bytes, so leave them out.
    end = len(encoded) - (0, 3, 2)[(offset + len(raw)) % 3]
    return encoded[start:end]
