"""Replaces every secret that is known by •••, in what is logged and in what a crash leaves behind.

The vault makes known what it reads and keeps. A secret is found as it is and as requests and errors write it:
percent-encoded, in JSON, in Python's quotes, and in base64 wherever it stands in what was encoded, as in the `user:
password` of Basic authentication (RFC 7617).
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

SHOWN = "•••"
SHORTEST = 6
"""Characters. Shorter ones would be found in any text."""


class Redaction:
    """The secrets that are known, and what there is to do about them."""

    def __init__(self) -> None:
        self._forms: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._lock = threading.Lock()

    def add(self, *secrets: str) -> None:
        """Make secrets known. Those of fewer than SHORTEST characters are not taken."""
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
        with self._lock:
            if forms <= self._forms:
                return
            self._forms |= forms
            longest_first = sorted(self._forms, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def redact(self, text: str) -> str:
        """`text` without any secret that is known."""
        return self._pattern.sub(SHOWN, text) if self._pattern else text

    def crash(self, error: BaseException) -> str:
        """The traceback of an error and of those that led to it, without secrets and without local variables."""
        try:
            lines = traceback.TracebackException.from_exception(error, capture_locals=False).format()
            return self.redact("".join(lines))
        except Exception:  # an error whose own __str__ fails, and this is the last that is done with it
            return f"{type(error).__name__}, which could not be shown.\n"


KNOWN = Redaction()
"""The secrets that this process knows."""


class RedactingFilter(logging.Filter):
    """Takes secrets out of a record: its message with its arguments, the error, the stack. It lets every one pass."""

    def __init__(self, known: Redaction = KNOWN) -> None:
        super().__init__()
        self._known = known

    def filter(self, record: logging.LogRecord) -> bool:
        """Change `record` to what may be written."""
        record.msg, record.args = self._known.redact(_message(record)), ()
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = self._known.crash(record.exc_info[1]).rstrip("\n")
        elif record.exc_text:
            record.exc_text = self._known.redact(record.exc_text)
        record.exc_info = None  # or others would write it in their own way
        if record.stack_info:
            record.stack_info = self._known.redact(record.stack_info)
        return True


def watch_logs(known: Redaction = KNOWN) -> Callable[[], None]:
    """Take secrets out of every record of every logger from now on; call what is returned to end that.

    A filter on a logger does not see what the loggers below it log, and one on a handler not what other handlers
    write. So records go through it when they are made.
    """
    before, redacting = logging.getLogRecordFactory(), RedactingFilter(known)

    def made(*args: object, **more: object) -> logging.LogRecord:
        record: logging.LogRecord = before(*args, **more)
        redacting.filter(record)
        return record

    logging.setLogRecordFactory(made)
    return lambda: logging.setLogRecordFactory(before)


def watch_crashes(known: Redaction = KNOWN) -> None:
    """Write what nobody caught without secrets and without local variables, in threads too."""

    def show(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
        _to_stderr(known.crash(error))

    def show_of_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            _to_stderr(known.crash(args.exc_value))

    def show_of_nobody(args: "sys.UnraisableHookArgs") -> None:
        if args.exc_value is not None:
            _to_stderr(known.crash(args.exc_value))

    sys.excepthook, threading.excepthook, sys.unraisablehook = show, show_of_thread, show_of_nobody


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # the arguments do not fit the message; logging itself would print them
        return f"{record.msg!r} {record.args!r}"


def _to_stderr(text: str) -> None:
    if sys.stderr is not None:  # as under pythonw, or late at the end of the process
        sys.stderr.write(text)
        sys.stderr.flush()


def _forms(secret: str) -> Iterator[str]:
    """A secret in every way in which it may be written."""
    raw = secret.encode(errors="surrogatepass")
    yield secret
    yield from (quote(raw, safe=""), quote(raw), quote_plus(raw))
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    yield from (repr(secret)[1:-1], repr(raw)[2:-1])
    for offset in range(3):
        encoded = _base64_inside(raw, offset)
        yield from (encoded, encoded.translate({ord("+"): "-", ord("/"): "_"}))


def _base64_inside(raw: bytes, offset: int) -> str:
    """The letters of base64 that depend on `raw` alone where it begins `offset` bytes into a group of three."""
    encoded = base64.b64encode(bytes(offset) + raw).decode()
    begin = (0, 2, 3)[offset]
    end = len(encoded) - (0, 3, 2)[(offset + len(raw)) % 3]
    return encoded[begin:end]
