"""Changes of drafts that are displayed already and not yet written."""

from copydesk.model.draft import Status


class PendingChanges:
    """The statuses that pending changes lead to, by draft, in the order in which they were requested."""

    def __init__(self) -> None:
        self._statuses: dict[str, list[Status]] = {}

    def add(self, draft_id: str, status: Status) -> None:
        """Add a pending change that is displayed already."""
        self._statuses.setdefault(draft_id, []).append(status)

    def remove_first(self, draft_id: str) -> None:
        """Remove the draft's oldest pending change: it was written, or never will be."""
        if len(self._statuses.get(draft_id, ())) > 1:
            del self._statuses[draft_id][0]
        else:
            self._statuses.pop(draft_id, None)

    def final_status(self, draft_id: str) -> Status | None:
        """Return the status after the draft's last pending change; None if there is none."""
        return self._statuses[draft_id][-1] if draft_id in self._statuses else None

    @property
    def final_statuses(self) -> dict[str, Status]:
        """The final status by draft id."""
        return {draft_id: statuses[-1] for draft_id, statuses in self._statuses.items()}
