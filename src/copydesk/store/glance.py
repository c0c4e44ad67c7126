"""What waits for review, read with nothing but Python's own sqlite3.

Importing SQLAlchemy takes longer than drawing the whole console. This reads the one list that a person looks at
first, so that it is on the screen while the desk is still being opened. It only reads, says nothing where it cannot,
and holds what `copydesk.desk.drafts.Drafts.queue` holds: a test compares them.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from copydesk.errors import StoreDamagedError
from copydesk.model.draft import ListedDraft, Status
from copydesk.store.listed import queue


def glance(path: Path, statuses: Sequence[Status], limit: int) -> tuple[ListedDraft, ...]:
    """The owner's drafts in these states, the best first; none where the database cannot be read as it should be."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0.1)) as connection:
            owner = connection.execute("SELECT id FROM user ORDER BY id LIMIT 1").fetchone()
            return queue(connection.execute, owner[0], statuses, limit) if owner else ()
    except (sqlite3.Error, StoreDamagedError, OSError):
        return ()
