"""The changes of drafts made here that the rows on the screen do not have yet.

Until the list is loaded again, its rows are older than these changes.
"""

from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from copydesk.model.draft import Draft, ListedDraft, Status

MAX_REMEMBERED = 5_000
"""Maximum number of drafts whose changes are remembered."""
Key = TypeVar("Key")
Value = TypeVar("Value")


def lru_put(cache: dict[Key, Value], key: Key, value: Value, max_size: int) -> None:
    """Store a value as the newest of at most `max_size` entries; the oldest is dropped."""
    cache.pop(key, None)
    cache[key] = value
    if len(cache) > max_size:
        del cache[next(iter(cache))]


class DraftState(NamedTuple):
    """Status and archived state of a draft."""

    status: "Status"
    archived: bool = False

    @classmethod
    def of(cls, draft: "Draft") -> "DraftState":
        """Return the state of a draft as loaded."""
        return cls(draft.status, draft.archived_at is not None)


class PendingChanges:
    """The states that pending changes lead to, by draft, in the order in which they were requested."""

    def __init__(self) -> None:
        self._states: dict[str, list[DraftState]] = {}

    def add(self, draft_id: str, state: DraftState) -> None:
        """Add a pending change that is displayed already."""
        self._states.setdefault(draft_id, []).append(state)

    def remove_first(self, draft_id: str) -> None:
        """Remove the draft's oldest pending change: it was written, or never will be."""
        if len(self._states.get(draft_id, ())) > 1:
            del self._states[draft_id][0]
        else:
            self._states.pop(draft_id, None)

    def final_state(self, draft_id: str) -> DraftState | None:
        """Return the state after the draft's last pending change; None if there is none."""
        return self._states[draft_id][-1] if draft_id in self._states else None

    @property
    def final_states(self) -> dict[str, DraftState]:
        """The final state by draft id."""
        return {draft_id: states[-1] for draft_id, states in self._states.items()}


class LocalChange(NamedTuple):
    """A change of a draft made here."""

    original: DraftState
    """The state displayed in its row before the change."""
    current: DraftState
    version: int
    """The draft's version after the change; rows with a lower version are out of date."""


class LocalChanges:
    """Pending changes and the latest known state of each changed draft."""

    def __init__(self) -> None:
        self.pending = PendingChanges()
        self._displayed: tuple[str, float] = ("", 0.0)
        """The displayed draft, and since when."""
        self.decided: set[str] = set()
        """Drafts that were decided since the console was opened."""
        self._changes: dict[str, LocalChange] = {}

    def current_state(self, draft: "ListedDraft") -> DraftState:
        """Return the current state of a draft, including changes that its row does not have yet."""
        change = self._changes.get(draft.id)
        if change is not None and change.version > draft.version:
            return change.current
        return DraftState.of(draft)

    def current_version(self, draft: "ListedDraft") -> int:
        """Return the newest known version of a draft."""
        change = self._changes.get(draft.id)
        return max(change.version, draft.version) if change is not None else draft.version

    def is_outdated(self, draft: "ListedDraft") -> bool:
        """Return True if the draft was loaded before it was changed, even if that change is not written yet."""
        return self.pending.final_state(draft.id) is not None or self.current_version(draft) > draft.version

    def record(self, draft: "ListedDraft", changed: "Draft") -> None:
        """Record that a draft was changed."""
        previous = self._changes.get(draft.id)
        # The row is still the one from before the earlier change, so that one's original state counts.
        first = previous.original if previous and previous.version > draft.version else DraftState.of(draft)
        lru_put(self._changes, draft.id, LocalChange(first, DraftState.of(changed), changed.version), MAX_REMEMBERED)

    def record_display(self, draft_id: str) -> None:
        """Record that a draft is displayed from now on."""
        if draft_id != self._displayed[0]:
            self._displayed = (draft_id, monotonic())

    def seconds_displayed(self, draft_id: str) -> float | None:
        """Return how long the draft has been displayed; None if it is not."""
        displayed_id, since = self._displayed
        return monotonic() - since if displayed_id == draft_id else None

    def record_decisions(self, draft_ids: "Iterable[str]", status: "Status | None", *, archived: bool = False) -> None:
        """Record that these drafts have this state now: those that still wait for a review are not decided."""
        from copydesk.model.draft import TO_REVIEW  # noqa: PLC0415 - not needed for the first paint

        if archived or (status is not None and status not in TO_REVIEW):
            self.decided.update(draft_ids)
        else:
            self.decided.difference_update(draft_ids)

    def update(self, draft: "Draft") -> None:
        """Update the state of a draft that was changed before, after an undo or redo."""
        if change := self._changes.get(draft.id):
            self._changes[draft.id] = LocalChange(change.original, DraftState.of(draft), draft.version)

    def is_reverted(self, draft_id: str) -> bool:
        """Return True if a changed draft is back in the state that its row had before the first change."""
        change = self._changes.get(draft_id)
        return change is not None and change.current == change.original

    def changed_state(self, draft_id: str) -> DraftState | None:
        """Return the state that a draft has now and its original row has not; None if they agree."""
        change = self._changes.get(draft_id)
        return change.current if change is not None and change.current != change.original else None
