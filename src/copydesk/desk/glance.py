"""The first page of the review queue, read before the desk is open and without SQLAlchemy."""

from pathlib import Path

from copydesk.model.draft import TO_REVIEW, ListedDraft
from copydesk.store.glance import load_first_page as _glance


def load_first_page(database: Path, limit: int) -> tuple[ListedDraft, ...]:
    """Return what `Drafts.queue` would, or nothing if the database cannot be read directly."""
    return _glance(database, TO_REVIEW, limit)
