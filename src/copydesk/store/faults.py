"""What the database says when something is wrong, in the words of our own errors."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from copydesk.errors import FieldError, InvalidError, StoreBusyError, StoreDamagedError, StoreError, StoreFullError

SHOWN_BEFORE = 20
"""Characters of a text that are shown before the one that cannot be stored."""

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_SHUT = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raises what goes wrong with the database at `path` as a StoreError; anything else goes on as it is.

    A value that it cannot hold is an InvalidError: the command line hands on whatever bytes it was given.
    """
    try:
        yield
    except UnicodeEncodeError as error:
        place = error.object[max(0, error.start - SHOWN_BEFORE) : error.end]
        shown = place.encode("utf-8", "backslashreplace").decode()
        raise InvalidError(FieldError(shown, "holds bytes that are no UTF-8")) from error
    except (DBAPIError, sqlite3.Error) as error:
        fault = fault_of(path, error)
        if fault is None:
            raise
        raise fault from error


def fault_of(path: Path, error: Exception) -> StoreError | None:
    """`error` in our words, if it is one of the database's that means something to the user."""
    cause = error.driver_exception if isinstance(error, DBAPIError) else error
    # The low byte is the kind of the error; the rest says where inside SQLite it happened.
    kind = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if kind in _BUSY:
        return StoreBusyError()
    if kind == sqlite3.SQLITE_FULL:
        return StoreFullError()
    if kind == sqlite3.SQLITE_IOERR:
        return StoreFullError(
            f"The disk under {path} could not be read or written; nothing was changed.",
            hint="It may be full, or it may be failing.",
        )
    if kind in _DAMAGED:
        return StoreDamagedError(
            f"{path} cannot be read as a database.",
            hint="Restore the copy beside it, or move it away to start anew.",
        )
    if kind in _SHUT:
        return StoreError(f"{path} cannot be opened or written.", hint="Check who owns it and its folder.")
    return None
