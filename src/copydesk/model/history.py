"""The history of a draft: one event per change, in the order of the draft's versions."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from copydesk.model.draft import Action
from copydesk.model.requests import BulkFailure
from copydesk.model.serialization import Struct

USER, PIPELINE, SYSTEM = "user", "pipeline", "system"
"""The actors that change drafts."""
CREATE, EDIT = "create", "edit"
"""Changes that are neither an `Action` nor a system event."""


class EventKind(StrEnum):
    """Role of an event in undo and redo."""

    CHANGE = "change"
    """Made by the user, can be undone."""
    UNDO = "undo"
    REDO = "redo"
    PERMANENT = "fixed"
    """Cannot be undone, nor can anything before it: the creation, a change by the system, anything posted."""


class DraftEvent(Struct, frozen=True):
    """One change of a draft."""

    draft_id: str
    version: int
    """The draft's version after the change; it was one less before."""
    at: datetime
    who: str
    kind: EventKind
    action: str
    """Name of an action or system event, CREATE or EDIT; for an undo or redo, that of the change concerned."""
    before: dict[str, Any]
    """Previous values of the changed columns. Keys are Python names, values have the draft's types."""
    after: dict[str, Any]
    feedback: str | None
    bulk_id: str | None
    """Shared by all events of one bulk change."""
    of_version: int | None
    """For an undo, the version of the undone change; for a redo, that of the undo."""
    undone: bool
    """True while the change is undone."""


class UndoResult(Struct, frozen=True):
    """Outcome of an undo or redo, per draft."""

    action: str
    """The change that was undone or redone: an action's name, or EDIT."""
    bulk_id: str | None
    succeeded: tuple[str, ...]
    failed: tuple[BulkFailure, ...] = ()
    left: int = 0
    """Drafts that were not attempted, because it was stopped before."""


def change_name(action: Action | None) -> str:
    """Return the name of a change. An edit followed by an action is named after the action."""
    return EDIT if action is None else action.value
