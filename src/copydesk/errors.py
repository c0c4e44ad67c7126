"""All exceptions that Copydesk raises deliberately.

CopydeskError
├── SettingsError             invalid settings file or environment variable
├── InvalidError              a field of a request is invalid
│   └── UnknownTimeZoneError  unknown time zone name
├── NotFoundError             the id does not exist, or belongs to another user
│   └── DraftNotFoundError    the id of a draft
├── ConflictError             not allowed in the current state
│   └── UndoNotAllowedError   the last change cannot be undone
├── StoreError                the database cannot be used; nothing was changed
│   ├── StoreBusyError        locked by another process
│   ├── StoreFullError        the disk is full
│   ├── StoreMissingError     the file was moved, deleted or replaced
│   ├── StoreTooNewError      written by a newer version of Copydesk
│   └── StoreCorruptError     not a database, or a damaged one
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
├── RunCancelledError         the user cancelled the run
└── ImageError                an image cannot be used

`message` says what happened, `hint` what to do next. Where no message is given, the class's docstring is the message,
so the docstrings below are texts that users see. `category` is the identifier under which errors are counted and
stored; it stays the same when a message is reworded.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple


class FieldError(NamedTuple):
    """A problem with one field of a request."""

    field: str
    message: str


class CopydeskError(Exception):
    """Something went wrong; nothing else is known."""

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
    """A field breaks a rule of the interface."""

    category = "invalid"

    def __init__(self, *errors: FieldError, hint: str = "") -> None:
        self.errors: Sequence[FieldError] = errors
        problems = "; ".join(f"{field}: {message}" for field, message in errors)
        super().__init__(f"{problems}." if hint else problems, hint=hint)


class UnknownTimeZoneError(InvalidError):
    """There is no time zone of this name."""

    def __init__(self, error: FieldError, suggestions: Sequence[str], *, hint: str) -> None:
        self.suggestions = tuple(suggestions)  # similar names, to suggest
        super().__init__(error, hint=hint)


class NotFoundError(CopydeskError):
    """There is nothing with this id."""

    category = "not-found"


class DraftNotFoundError(NotFoundError):
    """There is no draft with this id, or no longer: drafts go with their source."""


class ConflictError(CopydeskError):
    """The current state does not allow this; nothing was changed."""

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


class UndoNotAllowedError(ConflictError):
    """The last change cannot be taken back; nothing was changed."""

    def __init__(self, message: str, change_id: int, **kwargs: Any) -> None:
        self.change_id = change_id  # its id, so that the caller can undo the changes before it
        super().__init__(message, **kwargs)


class StoreError(CopydeskError):
    """The database cannot be used; nothing was changed."""

    category = "store"


class StoreBusyError(StoreError):
    """Another process holds the database; nothing was changed. Try again in a moment."""

    category = "store-busy"


class StoreFullError(StoreError):
    """The disk is full; nothing was changed. Free some space and try again."""

    category = "store-full"


class StoreMissingError(StoreError):
    """The database was moved, deleted or replaced; nothing was changed. Put it back, or start Copydesk again."""

    category = "store-gone"


class StoreTooNewError(StoreError):
    """A newer version of Copydesk wrote this database; it was left untouched. Install that version."""

    category = "store-newer"


class StoreCorruptError(StoreError):
    """The database file cannot be read as one. Restore the copy beside it, or move it away to start anew."""

    category = "store-damaged"


class FetchError(CopydeskError):
    """The source could not be read."""

    category = "fetch"
    not_sent = False
    """True if certainly no byte of the request was sent."""

    def __init__(self, message: str = "", *, hint: str = "", retry_after: float | None = None) -> None:
        self.retry_after = retry_after  # seconds, as requested by the server, or None
        super().__init__(message, hint=hint)


class UnreachableError(FetchError):
    """No answer from the source's address."""

    category = "unreachable"


class PrivateAddressError(FetchError):
    """The address is not a public one."""

    category = "refused-address"


class FetchTimeoutError(FetchError):
    """The source did not answer in time."""

    category = "too-slow"


class ResponseTooLargeError(FetchError):
    """The answer is too large."""

    category = "too-large"


class RateLimitedError(FetchError):
    """The source asks us to come back later."""

    category = "throttled"


class LoginRequiredError(FetchError):
    """The source wants credentials."""

    category = "needs-login"


class PageNotFoundError(FetchError):
    """There is nothing at this address (404)."""

    category = "missing"


class GoneError(FetchError):
    """The source is gone for good (410)."""

    category = "gone"


class ResponseStatusError(FetchError):
    """The source answered with an error."""

    category = "answer"


class NotAFeedError(FetchError):
    """The answer is not a feed."""

    category = "not-a-feed"


class NotAnArticleError(FetchError):
    """The answer is not a page with text."""

    category = "not-an-article"


class CredentialsError(CopydeskError):
    """The keys to accounts cannot be read or kept; nothing was overwritten."""

    category = "secrets"


class WrongPassphraseError(CredentialsError):
    """The passphrase is not the one of the file."""

    category = "wrong-passphrase"


class SignInError(CopydeskError):
    """The way through the browser did not lead into the account."""

    category = "sign-in"


class WriterError(CopydeskError):
    """The draft could not be written."""

    category = "writer"


class RunCancelledError(CopydeskError):
    """The run was cancelled."""

    category = "cancelled"


class ImageError(CopydeskError):
    """An image cannot be used."""

    category: ClassVar[str] = "picture"

    def __init__(
        self, message: str = "", *, hint: str = "", is_temporary: bool = False, retry_after: float | None = None
    ) -> None:
        self.is_temporary = is_temporary
        """True if another attempt may succeed, because the network or the disk failed and not the image."""
        self.retry_after = retry_after
        """Seconds to wait as requested by the server, or None."""
        super().__init__(message, hint=hint)
