"""The desk: every operation, grouped by resource. The only layer where store and crafts meet.

`Desk` and `open_desk` are imported on first access: they bring in SQLAlchemy, which the console's first page does
without.

The first page of the review queue, read before the desk is open and without SQLAlchemy.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from copydesk.model.draft import TO_REVIEW, ListedDraft
from copydesk.store.draft_rows import load_first_page as _glance

if TYPE_CHECKING:
    from copydesk.desk.desk import Desk, open_desk


__all__ = ["Desk", "open_desk"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    from copydesk.desk import desk  # noqa: PLC0415 - keeps SQLAlchemy out of a plain `import copydesk.desk`

    return getattr(desk, name)


def load_first_page(database: Path, limit: int) -> tuple[ListedDraft, ...]:
    """Return what `Drafts.queue` would, or nothing if the database cannot be read directly."""
    return _glance(database, TO_REVIEW, limit)
