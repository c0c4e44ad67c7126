"""Redact all known secrets in log records and in reports of uncaught exceptions."""

import logging
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from urllib.parse import unquote

from copydesk.settings import Settings, split_proxy_user
from copydesk.text.redaction import DEFAULT_REDACTION, Redaction


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


def redact_secrets(settings: Settings) -> None:
    """Redact the secrets in `settings`, and all that are read later, from log records and crashes from now on."""
    redact_crashes()
    # Once: each call would redact every record once more. A program may have set another factory in the meantime.
    if getattr(logging.getLogRecordFactory(), "redacts", None) is not DEFAULT_REDACTION:
        redact_logs()
    keys = (settings.reddit.client_secret, settings.twitter.bearer_token, settings.images_a.key, settings.images_b.key)
    proxy_user, proxy_password = split_proxy_user(settings.network.proxy)
    # Without a password the user may be a token. Masked in URLs only: it may also be a name that is in many messages.
    proxy_secret = proxy_password or f"//{proxy_user}"
    DEFAULT_REDACTION.add(*keys, proxy_secret, unquote(proxy_secret), permanent=True)
    # One such as "copydesk" or the user's name would be masked in every command and address that is shown.
    if settings.database.password not in f"copydesk {settings.database.url}":
        DEFAULT_REDACTION.add(settings.database.password, permanent=True)


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

    make_record.redacts = redaction  # type: ignore[attr-defined]
    logging.setLogRecordFactory(make_record)
    return lambda: logging.setLogRecordFactory(default_factory)


def redact_crashes(redaction: Redaction = DEFAULT_REDACTION) -> None:
    """Redact uncaught exceptions and print them without local variables, also those in threads and finalizers.

    Hooks that the program has set stay: they may report elsewhere, or make a test fail.
    """

    def print_redacted(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
        _to_stderr(redaction.format_exception(error))

    def print_thread_redacted(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            _to_stderr(redaction.format_exception(args.exc_value))

    def print_unraisable_redacted(args: "sys.UnraisableHookArgs") -> None:
        # Late during interpreter shutdown modules have lost their names, this one too.
        if args.exc_value is not None and _to_stderr is not None:
            _to_stderr(redaction.format_exception(args.exc_value))

    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = print_redacted
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = print_thread_redacted
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = print_unraisable_redacted


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # the arguments do not fit the format string; logging itself would print them unredacted
        return f"{record.msg!r} {record.args!r}"


def _to_stderr(text: str) -> None:
    if sys.stderr is not None:  # None under pythonw
        sys.stderr.write(text)
        sys.stderr.flush()
