"""Load the first page of the review queue without SQLAlchemy, for the console, which shows it before the desk is open.

A test compares it with `copydesk.desk.drafts.service.Drafts.queue`.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from copydesk.errors import StoreCorruptError
from copydesk.model.draft import ListedDraft, Status
from copydesk.store.draft_rows import list_queue

if TYPE_CHECKING:
    from copydesk.settings import Database

LOCK_TIMEOUT: Final = 0.1
CONNECT_TIMEOUT: Final = 2
"""Seconds; the least that libpq takes. Without the page the desk opens at once, and reports what is wrong."""


def load_from_file(
    path: Path, statuses: Sequence[Status], limit: int, user: str | None = None
) -> tuple[ListedDraft, ...]:
    """Return a user's drafts in these states, best first; nothing if the database cannot be read in its current form.

    `user` is a name or an id, by default the owner. Opens the database read-only.
    """
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=LOCK_TIMEOUT)) as connection:
            return _load(connection, statuses, limit, user)
    except (sqlite3.Error, StoreCorruptError, OSError):
        return ()


def load_from_server(
    options: "Database", statuses: Sequence[Status], limit: int, user: str | None = None
) -> tuple[ListedDraft, ...]:
    """Return what `load_from_file` does, from a PostgreSQL database."""
    try:
        import psycopg  # noqa: PLC0415 - an extra

        from copydesk.store.postgresql.connection import connect  # noqa: PLC0415 - as above
    except ImportError:
        return ()
    try:
        with connect(
            options.url,
            password=options.password,
            lock_timeout=LOCK_TIMEOUT,
            connect_timeout=CONNECT_TIMEOUT,
            read_only=True,
        ) as connection:
            return _load(connection, statuses, limit, user)
    except (psycopg.Error, StoreCorruptError):
        return ()


def _load(connection: Any, statuses: Sequence[Status], limit: int, user: str | None) -> tuple[ListedDraft, ...]:
    # As in `users.get_owner`: the first user.
    query = 'SELECT id FROM "user" WHERE coalesce(?, name) IN (name, id) ORDER BY id LIMIT 1'
    found = connection.execute(query, (user,)).fetchone()
    return list_queue(connection, found[0], statuses, limit) if found else ()
