"""What happened to a draft: one event for each change, in the order of the draft's versions."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from copydesk.model.change import BulkFailure
from copydesk.model.draft import Action
from copydesk.model.wire import Struct

USER, PIPELINE, SYSTEM = "user", "pipeline", "system"
"""Who changes drafts."""
CREATE, EDIT = "create", "edit"
"""What is done to a draft besides the actions of `Action` and what the system does by itself."""


class EventKind(StrEnum):
    """Whether an event can be taken back."""

    CHANGE = "change"
    """Something that the user did, and may undo."""
    UNDO = "undo"
    REDO = "redo"
    FIXED = "fixed"
    """It stands, and everything before it: the creation, what the system did, what was sent."""


class DraftEvent(Struct, frozen=True):
    """One change of a draft."""

    draft_id: str
    version: int
    """The draft's version after it; before it was one less."""
    at: datetime
    who: str
    kind: EventKind
    action: str
    """An action's name, a happening's, CREATE or EDIT; of an undo or a redo, that of the change that it is about."""
    before: dict[str, Any]
    """The columns that it changed, as they were; names as in Python, values of the draft's own types."""
    after: dict[str, Any]
    feedback: str | None
    bulk_id: str | None
    """The same for all that was done at once."""
    of_version: int | None
    """Of an undo: the change that it takes back. Of a redo: the undo."""
    undone: bool
    """Whether it is taken back by now."""


class Undone(Struct, frozen=True):
    """What an undo or a redo did, draft by draft."""

    action: str
    """What was taken back or done again: an action's name, or EDIT."""
    bulk_id: str | None
    succeeded: tuple[str, ...]
    failed: tuple[BulkFailure, ...] = ()
    left: int = 0
    """How many were not begun with, for it was stopped before."""


def named(action: Action | None) -> str:
    """The name of a change: an edit and then an action goes by the action."""
    return EDIT if action is None else action.value
