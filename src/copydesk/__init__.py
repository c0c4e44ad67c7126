"""Copydesk: from your sources to reviewed drafts, at one keyboard.

    from copydesk import load_settings, open_desk

    async with open_desk(load_settings()) as desk:
        for draft in await desk.drafts.queue():
            print(draft.text)

This is the public API; `docs/library.md` shows how to use it. Everything is imported on first access, because the desk
brings in SQLAlchemy and `import copydesk` should cost nothing.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from copydesk.version import __version__

# httpx imports its own command line where click, Rich and Pygments are installed, which doubles the time and adds 4 MB.
# None makes that import fail, as it does where they are not installed.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]

if TYPE_CHECKING:
    from copydesk.desk.backups import restore_desk
    from copydesk.desk.desk import Desk
    from copydesk.desk.desks import Desks, open_desk, open_desks
    from copydesk.errors import (
        ClockError,
        ConflictError,
        CopydeskError,
        CredentialsError,
        DeclinedError,
        DeskClosedError,
        DraftNotFoundError,
        EditedByOtherError,
        FetchError,
        FetchTimeoutError,
        FieldError,
        GoneError,
        ImageError,
        InvalidCursorError,
        InvalidError,
        KeyReusedError,
        LoginRequiredError,
        NotAFeedError,
        NotAnArticleError,
        NotFoundError,
        PageNotFoundError,
        PrivateAddressError,
        RateLimitedError,
        RequestInProgressError,
        ResponseLostError,
        ResponseStatusError,
        ResponseTooLargeError,
        RoleError,
        RunCancelledError,
        SettingsError,
        SignInError,
        SourceNotFoundError,
        StaleVersionError,
        StoreBusyError,
        StoreCorruptError,
        StoreError,
        StoreFullError,
        StoreMissingError,
        StoreReadOnlyError,
        StoreSchemaError,
        StoreTooNewError,
        TooFewSourcesError,
        UndoNotAllowedError,
        UnknownTimeZoneError,
        UnreachableError,
        WriterError,
        WrongPassphraseError,
    )
    from copydesk.settings import Settings
    from copydesk.settings import load as load_settings

__all__ = [
    "ClockError",
    "ConflictError",
    "CopydeskError",
    "CredentialsError",
    "DeclinedError",
    "Desk",
    "DeskClosedError",
    "Desks",
    "DraftNotFoundError",
    "EditedByOtherError",
    "FetchError",
    "FetchTimeoutError",
    "FieldError",
    "GoneError",
    "ImageError",
    "InvalidCursorError",
    "InvalidError",
    "KeyReusedError",
    "LoginRequiredError",
    "NotAFeedError",
    "NotAnArticleError",
    "NotFoundError",
    "PageNotFoundError",
    "PrivateAddressError",
    "RateLimitedError",
    "RequestInProgressError",
    "ResponseLostError",
    "ResponseStatusError",
    "ResponseTooLargeError",
    "RoleError",
    "RunCancelledError",
    "Settings",
    "SettingsError",
    "SignInError",
    "SourceNotFoundError",
    "StaleVersionError",
    "StoreBusyError",
    "StoreCorruptError",
    "StoreError",
    "StoreFullError",
    "StoreMissingError",
    "StoreReadOnlyError",
    "StoreSchemaError",
    "StoreTooNewError",
    "TooFewSourcesError",
    "UndoNotAllowedError",
    "UnknownTimeZoneError",
    "UnreachableError",
    "WriterError",
    "WrongPassphraseError",
    "__version__",
    "load_settings",
    "open_desk",
    "open_desks",
    "restore_desk",
]

_PLACES = {
    "Desk": ("copydesk.desk.desk", "Desk"),
    "Settings": ("copydesk.settings", "Settings"),
    "load_settings": ("copydesk.settings", "load"),
    "Desks": ("copydesk.desk.desks", "Desks"),
    "open_desk": ("copydesk.desk.desks", "open_desk"),
    "open_desks": ("copydesk.desk.desks", "open_desks"),
    "restore_desk": ("copydesk.desk.backups", "restore_desk"),
}
"""Name -> module and name there. All others are errors."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, name_there = _PLACES.get(name, ("copydesk.errors", name))
    value = getattr(import_module(module), name_there)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
