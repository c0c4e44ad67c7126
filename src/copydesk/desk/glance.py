"""The first page of the review queue, read before the desk is open and without SQLAlchemy."""

from pathlib import Path

from copydesk.model.draft import TO_REVIEW, ListedDraft
from copydesk.store.glance import glance as _glance


def glance(database: Path, limit: int) -> tuple[ListedDraft, ...]:
    """Return what `Drafts.queue` would, or nothing if the database cannot be read directly."""
    return _glance(database, TO_REVIEW, limit)
