"""Where drafts stand: as they were read, and as they were changed from here since."""

from typing import NamedTuple

from copydesk.model.draft import Draft, Status


class Standing(NamedTuple):
    """Where a draft stands."""

    status: Status
    archived: bool

    @classmethod
    def of(cls, draft: Draft) -> "Standing":
        """Of a draft as it was read."""
        return cls(draft.status, draft.archived_at is not None)


class Mine(NamedTuple):
    """A draft that was changed from here."""

    first: Standing
    """As it stood in its row."""
    now: Standing
    version: int
    """Its own after the change; a row that is older does not know of it."""
