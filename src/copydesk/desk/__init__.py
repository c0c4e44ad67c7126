"""The desk: every operation, grouped by resource. The only layer where store and crafts meet.

`Desk` and `open_desk` are imported on first access, because they bring in SQLAlchemy. `load_first_page` does without,
so that the console can show the review queue before the desk is open.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from copydesk.model.draft import TO_REVIEW, ListedDraft
from copydesk.store import draft_rows

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
    return draft_rows.load_first_page(database, TO_REVIEW, limit)
