"""Changes of drafts that are shown already and not yet written."""

from copydesk.model.draft import Status


class Begun:
    """The states that drafts are on their way to, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._to: dict[str, list[Status]] = {}

    def begin(self, draft_id: str, to: Status) -> None:
        """A change is shown, and will be written."""
        self._to.setdefault(draft_id, []).append(to)

    def end(self, draft_id: str) -> None:
        """The first of its changes is written, or will never be."""
        if len(self._to.get(draft_id, ())) > 1:
            del self._to[draft_id][0]
        else:
            self._to.pop(draft_id, None)

    def leads_to(self, draft_id: str) -> Status | None:
        """Where the last of its changes leads; None where there is none."""
        return self._to[draft_id][-1] if draft_id in self._to else None

    @property
    def every(self) -> dict[str, Status]:
        """Where each draft is on its way to."""
        return {draft_id: to[-1] for draft_id, to in self._to.items()}
