"""Translates database errors into Copydesk errors."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from copydesk.errors import FieldError, InvalidError, StoreBusyError, StoreCorruptError, StoreError, StoreFullError

ERROR_CONTEXT_LENGTH = 20
"""Characters of context shown before the one that cannot be stored."""

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NO_ACCESS = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Re-raise errors of the database at `path` as StoreError; let anything else pass.

    A value that the database cannot hold becomes an InvalidError: the command line passes on whatever bytes it was
    given.
    """
    try:
        yield
    except UnicodeEncodeError as error:
        # A lone surrogate cannot be printed either, hence the escapes.
        context = error.object[max(0, error.start - ERROR_CONTEXT_LENGTH) : error.end]
        escaped = context.encode("utf-8", "backslashreplace").decode()
        raise InvalidError(FieldError(escaped, "is not valid UTF-8")) from error
    except (DBAPIError, sqlite3.Error) as error:
        store_error = to_store_error(path, error)
        if store_error is None:
            raise
        raise store_error from error


def to_store_error(path: Path, error: Exception) -> StoreError | None:
    """Return the StoreError that describes `error` to the user, or None if it is not a known database error."""
    cause = error.driver_exception if isinstance(error, DBAPIError) else error
    # The low byte is the primary result code; the rest says where inside SQLite it happened.
    primary_code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if primary_code in _BUSY:
        return StoreBusyError()
    if primary_code == sqlite3.SQLITE_FULL:
        return StoreFullError()
    if primary_code == sqlite3.SQLITE_IOERR:
        return StoreFullError(
            f"Cannot read or write the disk with {path}; nothing changed.",
            hint="It may be full or failing.",
        )
    if primary_code in _DAMAGED:
        return StoreCorruptError(
            f"{path} is not a readable database.",
            hint="Restore the backup next to it, or move it away to start over.",
        )
    if primary_code in _NO_ACCESS:
        return StoreError(f"Cannot open or write {path}.", hint="Check the owner of the file and its folder.")
    return None
