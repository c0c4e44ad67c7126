"""The desk: every operation, grouped by resource. The only layer where store and domain packages meet.

The names in `__all__` are for callers outside; so are the types that the resources return. `Desk` and what brings in
SQLAlchemy like it are imported on first access. `load_first_page` does without, so that the console can show the review
queue before the desk is open.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from copydesk.model.draft import TO_REVIEW, ListedDraft
from copydesk.store import first_page

if TYPE_CHECKING:
    from copydesk.desk.backups import restore_desk
    from copydesk.desk.context import Clock, utc_now
    from copydesk.desk.desk import Desk
    from copydesk.desk.desks import Desks, open_desk, open_desks
    from copydesk.settings import Settings

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


def load_first_page(settings: "Settings", limit: int, user: str | None = None) -> tuple[ListedDraft, ...]:
    """Return what `Drafts.queue` would for the user with this name, by default the owner.

    Return nothing if the database cannot be read directly.
    """
    if settings.database.url:
        return first_page.load_from_server(settings.database, TO_REVIEW, limit, user)
    return first_page.load_from_file(settings.database_file, TO_REVIEW, limit, user)
