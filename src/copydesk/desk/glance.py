"""A first look at what waits for review, before the desk is open: without SQLAlchemy."""

from pathlib import Path

from copydesk.model.draft import TO_REVIEW, ListedDraft
from copydesk.store.glance import glance as _glance


def glance(database: Path, limit: int) -> tuple[ListedDraft, ...]:
    """What `Drafts.queue` says, or nothing where the database cannot be read as it should be."""
    return _glance(database, TO_REVIEW, limit)
