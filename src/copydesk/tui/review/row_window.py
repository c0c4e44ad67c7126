"""A long list of which only the rows around the cursor are loaded.

Pure: rows to load are returned as a `RowRequest`, and loaded rows are passed in. Indexes count from 0. The total is the
last known one; it is corrected whenever the start or the end of the list comes into the window.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, overload

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft
    from copydesk.model.filters import DraftPosition, DraftSlice

PAGE_SIZE = 100
"""Rows per request."""
READ_AHEAD = 50
"""Rows before the edge of the loaded ones at which the next request is due."""
MAX_ROWS = 400
"""Maximum rows in memory."""
MAX_HIDDEN_ROWS = 100
"""Maximum rows in memory of a list that is not visible."""


class RowOrigin(Enum):
    """The origin of the rows to load."""

    START = "start"
    END = "end"
    AFTER = "after"
    BEFORE = "before"
    AT = "at"


class RowRequest(NamedTuple):
    """A request for rows."""

    origin: RowOrigin
    position: "DraftPosition | None" = None
    """The position after or before which to load."""
    start_index: int = 0
    """The index from which to load, for AT."""


class Window(Sequence["ListedDraft | None"]):
    """As long as the list; None stands for rows that are not loaded."""

    def __init__(self, total: int | None = None) -> None:
        self.total = total or 0
        self.is_total_exact = total is not None
        """True if `total` is exact, False if it is a lower bound."""
        self._from_end = False
        """True if indexes were counted from the end of a list of unknown length."""
        self.start = 0
        """The index of the first loaded row."""
        self.rows: list[ListedDraft] = []
        self.positions: list[DraftPosition] = []
        self.is_loaded = False
        """True once anything was loaded, even an empty list."""

    def __len__(self) -> int:
        return self.total

    @overload
    def __getitem__(self, at: int) -> "ListedDraft | None": ...
    @overload
    def __getitem__(self, at: slice) -> "list[ListedDraft | None]": ...
    def __getitem__(self, at: int | slice) -> "ListedDraft | list[ListedDraft | None] | None":
        if isinstance(at, slice):
            return [self.get_row(index) for index in range(self.total)[at]]
        # `range` resolves negative indexes and raises IndexError, as a sequence has to.
        return self.get_row(range(self.total)[at])

    def get_row(self, index: int) -> "ListedDraft | None":
        """Return the row at this index; None if it is not loaded or does not exist."""
        return self.rows[index - self.start] if self.start <= index < self.stop else None

    @property
    def stop(self) -> int:
        """The index after the last loaded row."""
        return self.start + len(self.rows)

    def position_at(self, index: int) -> "DraftPosition | None":
        """Return the position in the list's order of the row at this index, if loaded."""
        return self.positions[index - self.start] if 0 <= index - self.start < len(self.positions) else None

    def find_index(self, draft_id: str) -> int | None:
        """Return the index of a loaded row; None if it is not loaded."""
        return next((index for index, row in enumerate(self.rows, self.start) if row.id == draft_id), None)

    def ids_between(self, first: int, last: int) -> tuple[str, ...]:
        """Return the ids of the loaded rows from index `first` to `last`, inclusive."""
        return tuple(
            row.id for row in (self[index] for index in range(max(first, 0), min(last, self.total - 1) + 1)) if row
        )

    def next_request(self, first: int, last: int) -> RowRequest | None:
        """Return the request that loads rows `first` to `last` and some around them; None if nothing is missing."""
        first, last = max(first, 0), min(last, self.total - 1)
        if first > last:
            return None
        if not self.rows or last < self.start or first >= self.stop:
            return self._jump_request(first, last)
        down = self.stop < self.total and last >= self.stop - READ_AHEAD
        up = self.start > 0 and first < self.start + READ_AHEAD
        # Visible rows that are missing come before read-ahead in the other direction.
        if down and (last >= self.stop or not up):
            return RowRequest(RowOrigin.AFTER, self.positions[-1])
        return RowRequest(RowOrigin.BEFORE, self.positions[0]) if up else None

    def _jump_request(self, first: int, last: int) -> RowRequest:
        if first < PAGE_SIZE - READ_AHEAD:
            return RowRequest(RowOrigin.START)
        if last >= self.total - (PAGE_SIZE - READ_AHEAD):
            return RowRequest(RowOrigin.END)
        return RowRequest(RowOrigin.AT, start_index=max(first - PAGE_SIZE // 2, 0))

    def merge(self, request: RowRequest, loaded: "DraftSlice") -> int:
        """Merge loaded rows; return by how many indexes the rows loaded before have moved down (negative: up)."""
        self.is_loaded = True
        rows, positions = list(loaded.drafts), list(loaded.positions)
        if request.origin is RowOrigin.AFTER:
            return self._append(request, rows, positions, more=loaded.has_more)
        if request.origin is RowOrigin.BEFORE:
            return self._prepend(request, rows, positions, more=loaded.has_more)
        self.rows, self.positions = rows, positions
        self._from_end = request.origin is RowOrigin.END and loaded.has_more and not self.is_total_exact
        if request.origin is RowOrigin.END:
            return self._end(more=loaded.has_more)
        self.start = request.start_index if request.origin is RowOrigin.AT else 0
        self._update_end(more=loaded.has_more)
        return 0

    def _append(
        self, request: RowRequest, rows: "list[ListedDraft]", positions: "list[DraftPosition]", *, more: bool
    ) -> int:
        if not self.positions or self.positions[-1] != request.position:
            return 0  # the list was reloaded in the meantime
        self.rows += rows
        self.positions += positions
        self._update_end(more=more)
        # Drop rows at the other end, which the cursor has left behind.
        excess = max(len(self.rows) - MAX_ROWS, 0)
        del self.rows[:excess], self.positions[:excess]
        self.start += excess
        return 0

    def _update_end(self, *, more: bool) -> None:
        self.total = max(self.total, self.stop + 1) if more else self.stop
        self.is_total_exact = self.is_total_exact or not (more or self.start)

    def _prepend(
        self, request: RowRequest, rows: "list[ListedDraft]", positions: "list[DraftPosition]", *, more: bool
    ) -> int:
        if not self.positions or self.positions[0] != request.position:
            return 0
        self.rows[:0] = rows
        self.positions[:0] = positions
        start = self.start - len(rows)
        # Rows at the start of the list have index 0; any others have at least one row before them.
        self.start = max(start, 1) if more else 0
        self.is_total_exact = self.is_total_exact or not more
        moved = self.start - start
        self.total += moved
        del self.rows[MAX_ROWS:], self.positions[MAX_ROWS:]
        return moved

    def _end(self, *, more: bool) -> int:
        if more:
            self.total = max(self.total, len(self.rows) + 1)
        else:
            self.total = len(self.rows)
        self.start = self.total - len(self.rows)
        self.is_total_exact = self.is_total_exact or not more
        return 0

    def set_exact_total(self, total: int) -> int:
        """Set the exact total; return by how many indexes the loaded rows have moved down (negative: up)."""
        self.is_total_exact = True
        # Indexes counted from the end shift with the total; row 0 stays unknown, because it was never read.
        moved = max(total - self.total, 1 - self.start) if self._from_end and self.start else 0
        self.start += moved
        if moved:
            self.total += moved
        elif self.stop < self.total:
            self.total = max(total, self.stop + 1)
        self._from_end = False
        return moved

    def load_around(self, start: int, loaded: "DraftSlice") -> None:
        """Load rows of which the first one has this index."""
        self.merge(RowRequest(RowOrigin.AT, start_index=start), loaded)

    def update_rows(self, ids: Iterable[str], update: "Callable[[ListedDraft], ListedDraft]") -> list[int]:
        """Replace the loaded rows with these ids by `update(row)`; return the indexes of the rows found."""
        requested = frozenset(ids)
        offsets = [offset for offset, row in enumerate(self.rows) if row.id in requested]
        for offset in offsets:
            self.rows[offset] = update(self.rows[offset])
        return [self.start + offset for offset in offsets]

    def shrink(self, index: int) -> None:
        """Keep only some rows around this index, because the list is not visible."""
        first = max(min(index - self.start - MAX_HIDDEN_ROWS // 2, len(self.rows) - MAX_HIDDEN_ROWS), 0)
        self.rows, self.positions = (
            self.rows[first : first + MAX_HIDDEN_ROWS],
            self.positions[first : first + MAX_HIDDEN_ROWS],
        )
        self.start += first
