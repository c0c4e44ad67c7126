"""The review queue, loaded with Python's own sqlite3 before anything else.

Importing SQLAlchemy takes longer than drawing the whole console. This loads the list that the user sees first, while
the desk is still being opened. It only reads, returns nothing if it fails, and returns the same as
`copydesk.desk.drafts.Drafts.queue`: a test compares them.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from copydesk.errors import StoreCorruptError
from copydesk.model.draft import ListedDraft, Status
from copydesk.store.listed import list_queue


def load_first_page(path: Path, statuses: Sequence[Status], limit: int) -> tuple[ListedDraft, ...]:
    """Return the owner's drafts in these states, best first; nothing if the database cannot be read in its current
    form.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0.1)) as connection:
            # As in `users.get_owner`: the first user.
            owner = connection.execute("SELECT id FROM user ORDER BY id LIMIT 1").fetchone()
            return list_queue(connection.execute, owner[0], statuses, limit) if owner else ()
    except (sqlite3.Error, StoreCorruptError, OSError):
        return ()
