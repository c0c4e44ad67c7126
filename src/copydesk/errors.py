"""All exceptions that Copydesk raises deliberately.

CopydeskError
├── SettingsError             invalid settings file or environment variable
├── InvalidError              a field of a request is invalid
│   ├── InvalidCursorError    the cursor of a page belongs to another list, or is damaged
│   ├── KeyReusedError        the idempotency key was used with another request
│   └── UnknownTimeZoneError  unknown time zone name
├── NotFoundError             the id does not exist, or belongs to another user
│   ├── DraftNotFoundError    the id of a draft
│   └── SourceNotFoundError   the id of a source
├── ConflictError             not allowed in the current state
│   ├── EditedByOtherError    another reviewer is editing the draft
│   ├── RequestInProgressError another process is carrying out the request with this idempotency key
│   ├── ResponseLostError     the request with this idempotency key was carried out, its response is lost
│   ├── RoleError             the reviewer's role does not allow it
│   ├── StaleVersionError     the draft is not at the version that the caller expects
│   └── UndoNotAllowedError   the last change cannot be undone
├── StoreError                the database cannot be used; nothing was changed
│   ├── StoreBusyError        locked by another process
│   ├── StoreFullError        the disk is full
│   ├── StoreReadOnlyError    the file or its folder cannot be written
│   ├── StoreMissingError     the file was moved, deleted or replaced
│   ├── StoreTooNewError      written by a newer version of Copydesk
│   ├── StoreSchemaError      written by a development version, with other tables
│   ├── StoreCorruptError     not a database, or a damaged one
│   └── DeskClosedError       the desk was closed before
├── ClockError                the machine's clock cannot be right
├── FetchError                a source could not be read
│   ├── UnreachableError      no response: DNS, connection, TLS
│   ├── PrivateAddressError   the address is not public
│   ├── FetchTimeoutError     timeout
│   ├── ResponseTooLargeError the body exceeds a limit, before or after decompression
│   ├── RateLimitedError      429, or 503: retry later
│   ├── LoginRequiredError    401 or 403, or missing credentials
│   ├── PageNotFoundError     404
│   ├── GoneError             410: permanently removed
│   ├── ResponseStatusError   any other unsuccessful status
│   ├── NotAFeedError         the response is not in the source type's format
│   └── NotAnArticleError     the response is not a page with text
├── CredentialsError          credentials cannot be read or saved; nothing was overwritten
│   └── WrongPassphraseError  the passphrase does not match the file
├── SignInError               signing in through the browser failed
├── WriterError               a draft could not be written
│   └── DeclinedError         the source has nothing worth a draft
│       └── TooFewSourcesError  a round-up has too few sources
├── RunCancelledError         the user cancelled the run
└── ImageError                an image cannot be used

`message` says what happened, `hint` what to do next. Where no message is given, the class's docstring is the message,
so the docstrings below are texts that users see. `category` is the identifier under which errors are counted and
stored; it stays the same when a message is reworded.
"""

import errno
import os
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

SYSTEM_LIMITS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
"""Too many open files or processes, or too little memory."""
OUT_OF_MEMORY = "Out of memory. End other programs and try again."


class FieldError(NamedTuple):
    """A problem with one field of a request."""

    field: str
    message: str


class CopydeskError(Exception):
    """An unknown error occurred."""

    category: ClassVar[str] = "error"

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.hint = hint
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class SettingsError(CopydeskError):
    """The settings cannot be used."""

    category = "settings"


class InvalidError(CopydeskError):
    """A field has an invalid value."""

    category = "invalid"

    def __init__(self, *errors: FieldError, hint: str = "") -> None:
        self.errors: Sequence[FieldError] = errors
        problems = "; ".join(f"{field}: {message}" for field, message in errors)
        super().__init__(f"{problems}." if hint else problems, hint=hint)


class InvalidCursorError(InvalidError):
    """Invalid cursor."""

    category = "invalid-cursor"


class KeyReusedError(InvalidError):
    """The idempotency key was used with another request; nothing changed."""

    category = "key-reused"

    def __init__(self) -> None:
        hint = "Use a new key for each request, and the same one only to repeat it."
        super().__init__(FieldError("idempotencyKey", "was used with another request"), hint=hint)


class UnknownTimeZoneError(InvalidError):
    """Unknown time zone."""

    def __init__(self, error: FieldError, suggestions: Sequence[str], *, hint: str) -> None:
        self.suggestions = tuple(suggestions)  # similar names, to suggest
        super().__init__(error, hint=hint)


class NotFoundError(CopydeskError):
    """Nothing found with this id."""

    category = "not-found"


class DraftNotFoundError(NotFoundError):
    """No draft with this id. It may have been deleted with its source."""


class SourceNotFoundError(NotFoundError):
    """No source with this id."""

    def __init__(self, source_id: str) -> None:
        super().__init__(f"No source {source_id!r}.", hint="List all sources: `copydesk source list`.")


class ConflictError(CopydeskError):
    """Not allowed in the current state; nothing changed."""

    category = "conflict"

    def __init__(
        self,
        message: str = "",
        *,
        hint: str = "",
        current_status: str | None = None,
        allowed: Sequence[str] = (),
    ) -> None:
        self.current_status = current_status
        self.allowed_actions = tuple(allowed)
        super().__init__(message, hint=hint)


class RequestInProgressError(ConflictError):
    """The first request with this idempotency key is still in progress."""

    category = "in-progress"
    retry_after = 1
    """Seconds."""


class ResponseLostError(ConflictError):
    """The request was carried out, but its response was lost."""

    category = "response-lost"

    def __init__(self) -> None:
        super().__init__(
            "This request was carried out, at least in part, but its response was lost when the server stopped. Read"
            " what it was to create or change before you send it with another key."
        )


class EditedByOtherError(ConflictError):
    """Another reviewer is editing this draft; nothing changed."""


class RoleError(ConflictError):
    """Your role does not allow this; nothing changed."""

    category = "role"


class StaleVersionError(ConflictError):
    """The draft changed in the meantime; nothing was saved."""

    category = "stale-version"


class UndoNotAllowedError(ConflictError):
    """The last change cannot be undone; nothing changed."""

    def __init__(self, message: str, change_id: int, **kwargs: Any) -> None:
        self.change_id = change_id  # its id, so that the caller can undo the changes before it
        super().__init__(message, **kwargs)


class StoreError(CopydeskError):
    """Cannot use the database; nothing changed."""

    category = "store"

    @property
    def cause(self) -> str:
        """The message without the statement that nothing changed, for work that has an effect elsewhere."""
        return re.split(r"[;.] nothing (?:was )?(?:changed|sent)", self.message, maxsplit=1, flags=re.IGNORECASE)[0]


class StoreBusyError(StoreError):
    """Another process has locked the database; nothing changed. Try again in a moment."""

    category = "store-busy"


class StoreFullError(StoreError):
    """The disk is full; nothing changed. Free some space and try again."""

    category = "store-full"


class StoreReadOnlyError(StoreError):
    """The desk is read-only; nothing changed."""

    category = "store-read-only"


class StoreMissingError(StoreError):
    """The database was moved, deleted or replaced; nothing changed. Restore it, or restart Copydesk."""

    category = "store-gone"


class StoreTooNewError(StoreError):
    """A newer version of Copydesk created this database; nothing changed. Install that version."""

    category = "store-newer"


class StoreSchemaError(StoreError):
    """The tables of this database differ from those of its revision; nothing changed."""

    category = "store-schema"


class StoreCorruptError(StoreError):
    """The file is not a readable database."""

    category = "store-damaged"


class DeskClosedError(StoreError):
    """The desk is closed; nothing was changed. Open it again."""

    category = "closed"


class ClockError(CopydeskError):
    """The clock of this machine is wrong; nothing changed."""

    category = "clock"


class FetchError(CopydeskError):
    """Cannot read the source."""

    category = "fetch"
    not_sent = False
    """True if certainly no byte of the request was sent."""

    def __init__(self, message: str = "", *, hint: str = "", retry_after: float | None = None) -> None:
        self.retry_after = retry_after  # seconds, as requested by the server, or None
        super().__init__(message, hint=hint)


class UnreachableError(FetchError):
    """Cannot reach the source."""

    category = "unreachable"


class PrivateAddressError(FetchError):
    """The address is not public."""

    category = "refused-address"


class FetchTimeoutError(FetchError):
    """The source did not respond in time."""

    category = "too-slow"


class ResponseTooLargeError(FetchError):
    """The response is too large."""

    category = "too-large"


class RateLimitedError(FetchError):
    """The source is rate-limiting requests."""

    category = "throttled"


class LoginRequiredError(FetchError):
    """The source requires credentials."""

    category = "needs-login"


class PageNotFoundError(FetchError):
    """Page not found (404)."""

    category = "missing"


class GoneError(FetchError):
    """The source was removed permanently (410)."""

    category = "gone"


class ResponseStatusError(FetchError):
    """The source returned an error."""

    category = "answer"


class NotAFeedError(FetchError):
    """The response is not a feed."""

    category = "not-a-feed"


class NotAnArticleError(FetchError):
    """The response is not a page with text."""

    category = "not-an-article"


class CredentialsError(CopydeskError):
    """Cannot read or store account credentials; nothing was overwritten."""

    category = "secrets"


class WrongPassphraseError(CredentialsError):
    """Wrong passphrase."""

    category = "wrong-passphrase"


class SignInError(CopydeskError):
    """Sign-in with the browser failed."""

    category = "sign-in"


class WriterError(CopydeskError):
    """Cannot generate the draft."""

    category = "writer"
    is_temporary = False
    """True if the same request may succeed later: nothing is wrong with the item."""


class DeclineReason(StrEnum):
    """Why a writer declined an item."""

    NOTHING_TO_QUOTE = "nothing_to_quote"
    TOO_LITTLE_TEXT = "too_little_text"
    AVOIDED_WORDS = "avoided_words"
    TOO_LONG = "too_long"
    FAILED_CHECKS = "failed_checks"
    TOO_FEW_SOURCES = "too_few_sources"


class DeclinedError(WriterError):
    """The source has nothing worth a draft."""

    def __init__(self, reason: DeclineReason, message: str, *, hint: str = "") -> None:
        self.reason = reason
        super().__init__(message, hint=hint)


class TooFewSourcesError(DeclinedError):
    """Too few of a round-up's sources have something to quote."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(DeclineReason.TOO_FEW_SOURCES, message, hint=hint)


class RunCancelledError(CopydeskError):
    """The run was cancelled."""

    category = "cancelled"


class ImageError(CopydeskError):
    """Cannot use the image."""

    category: ClassVar[str] = "picture"

    def __init__(
        self, message: str = "", *, hint: str = "", is_temporary: bool = False, retry_after: float | None = None
    ) -> None:
        self.is_temporary = is_temporary
        """True if another attempt may succeed, because the network or the disk failed and not the image."""
        self.retry_after = retry_after
        """Seconds to wait as requested by the server, or None."""
        super().__init__(message, hint=hint)


def describe_system_error(error: Exception) -> str | None:
    """Return the message for an error of the system, such as a limit on open files; None for any other error."""
    # SQLAlchemy wraps the errors of the driver.
    if isinstance(getattr(error, "orig", None) or error, MemoryError):
        return OUT_OF_MEMORY
    if isinstance(error, RuntimeError) and "allocate lock" in str(error):
        return OUT_OF_MEMORY
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return "The system refuses: no more threads. End other programs or raise the limit."
    if not isinstance(error, OSError) or error.errno is None:
        return None
    reason = os.strerror(error.errno).lower()
    if error.errno in SYSTEM_LIMITS:
        return f"The system refuses: {reason}. End other programs or raise the limit."
    return f"The system reports: {reason}{f' ({error.filename})' if error.filename else ''}."
