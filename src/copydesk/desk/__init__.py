"""The desk: every operation, grouped by resource. The only layer where store and crafts meet.

The names in `__all__` are for callers outside; so are the types that the resources return. `Desk` and what brings in
SQLAlchemy like it are imported on first access. `load_first_page` does without, so that the console can show the review
queue before the desk is open.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from copydesk.model.draft import TO_REVIEW, ListedDraft
from copydesk.store import draft_rows

if TYPE_CHECKING:
    from copydesk.desk.backups import restore_desk
    from copydesk.desk.context import Clock, utc_now
    from copydesk.desk.desk import Desk
    from copydesk.desk.desks import Desks, open_desk, open_desks

__all__ = [
    "Clock",
    "Desk",
    "Desks",
    "load_first_page",
    "open_desk",
    "open_desks",
    "redact",
    "restore_desk",
    "utc_now",
]

_MODULES = {
    "Clock": "context",
    "Desk": "desk",
    "Desks": "desks",
    "open_desk": "desks",
    "open_desks": "desks",
    "restore_desk": "backups",
    "utc_now": "context",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def redact(text: str) -> str:
    """Return `text` without the secrets that this process has read or sent."""
    # Imported already if there are any.
    redaction = sys.modules.get("copydesk.text.redaction")
    return str(redaction.DEFAULT_REDACTION.redact(text)) if redaction else text


def load_first_page(database: Path, limit: int, user: str | None = None) -> tuple[ListedDraft, ...]:
    """Return what `Drafts.queue` would for the user with this name, by default the owner.

    Return nothing if the database cannot be read directly.
    """
    return draft_rows.load_first_page(database, TO_REVIEW, limit, user)
