"""The state of drafts as loaded, and as changed here since."""

from typing import NamedTuple

from copydesk.model.draft import Draft, Status


class DraftState(NamedTuple):
    """Status and archived state of a draft."""

    status: Status
    archived: bool

    @classmethod
    def of(cls, draft: Draft) -> "DraftState":
        """Return the state of a draft as loaded."""
        return cls(draft.status, draft.archived_at is not None)


class LocalChange(NamedTuple):
    """A change of a draft made here."""

    original: DraftState
    """The state displayed in its row before the change."""
    current: DraftState
    version: int
    """The draft's version after the change; rows with a lower version are out of date."""
