"""A long list of which only the rows around the cursor are loaded.

Pure: rows to load are returned as a `RowRequest`, and loaded rows are passed in. Indexes count from 0. The total is the
last known one; it is corrected whenever the start or the end of the list comes into the window.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, overload

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft
    from copydesk.model.window import Place, Slice

PAGE = 100
"""Rows per request."""
AHEAD = 50
"""Rows before the edge of the loaded ones at which the next request is due."""
MOST = 400
"""Maximum rows in memory."""
KEPT = 100
"""Maximum rows in memory of a list that is not visible."""


class Way(Enum):
    """The origin of the rows to load."""

    START = "start"
    END = "end"
    AFTER = "after"
    BEFORE = "before"
    AT = "at"


class Wish(NamedTuple):
    """A request for rows."""

    way: Way
    place: "Place | None" = None
    """The position after or before which to load."""
    at: int = 0
    """The index from which to load, for AT."""


class Window(Sequence["ListedDraft | None"]):
    """As long as the list; None stands for rows that are not loaded."""

    def __init__(self, total: int | None = None) -> None:
        self.total = total or 0
        self.sure = total is not None
        """True if `total` is exact, False if it is a lower bound."""
        self._from_end = False
        """True if indexes were counted from the end of a list of unknown length."""
        self.start = 0
        """The index of the first loaded row."""
        self.rows: list[ListedDraft] = []
        self.places: list[Place] = []
        self.read = False
        """True once anything was loaded, even an empty list."""

    def __len__(self) -> int:
        return self.total

    @overload
    def __getitem__(self, at: int) -> "ListedDraft | None": ...
    @overload
    def __getitem__(self, at: slice) -> "list[ListedDraft | None]": ...
    def __getitem__(self, at: int | slice) -> "ListedDraft | list[ListedDraft | None] | None":
        if isinstance(at, slice):
            return [self.known(index) for index in range(self.total)[at]]
        return self.known(range(self.total)[at])

    def known(self, at: int) -> "ListedDraft | None":
        """Return the row at this index; None if it is not loaded or does not exist."""
        return self.rows[at - self.start] if self.start <= at < self.stop else None

    @property
    def stop(self) -> int:
        """The index after the last loaded row."""
        return self.start + len(self.rows)

    def place(self, at: int) -> "Place | None":
        """Return the position in the list's order of the row at this index, if loaded."""
        return self.places[at - self.start] if 0 <= at - self.start < len(self.places) else None

    def find(self, draft_id: str) -> int | None:
        """Return the index of a loaded row; None if it is not loaded."""
        return next((index for index, row in enumerate(self.rows, self.start) if row.id == draft_id), None)

    def ids(self, first: int, last: int) -> tuple[str, ...]:
        """Return the ids of the loaded rows from index `first` to `last`, inclusive."""
        return tuple(
            row.id for row in (self[index] for index in range(max(first, 0), min(last, self.total - 1) + 1)) if row
        )

    def wish(self, first: int, last: int) -> Wish | None:
        """Return the request that loads rows `first` to `last` and some around them; None if nothing is missing."""
        first, last = max(first, 0), min(last, self.total - 1)
        if first > last:
            return None
        if not self.rows or last < self.start or first >= self.stop:
            return self._jump_request(first, last)
        down = self.stop < self.total and last >= self.stop - AHEAD
        up = self.start > 0 and first < self.start + AHEAD
        # Visible rows that are missing come before read-ahead in the other direction.
        if down and (last >= self.stop or not up):
            return Wish(Way.AFTER, self.places[-1])
        return Wish(Way.BEFORE, self.places[0]) if up else None

    def _jump_request(self, first: int, last: int) -> Wish:
        if first < PAGE - AHEAD:
            return Wish(Way.START)
        if last >= self.total - (PAGE - AHEAD):
            return Wish(Way.END)
        return Wish(Way.AT, at=max(first - PAGE // 2, 0))

    def take(self, wish: Wish, read: "Slice") -> int:
        """Merge loaded rows; return by how many indexes the rows loaded before have moved down (negative: up)."""
        self.read = True
        rows, positions = list(read.drafts), list(read.places)
        if wish.way is Way.AFTER:
            return self._append(wish, rows, positions, more=read.more)
        if wish.way is Way.BEFORE:
            return self._prepend(wish, rows, positions, more=read.more)
        self.rows, self.places = rows, positions
        self._from_end = wish.way is Way.END and read.more and not self.sure
        if wish.way is Way.END:
            return self._end(more=read.more)
        self.start = wish.at if wish.way is Way.AT else 0
        self._update_end(more=read.more)
        return 0

    def _append(self, wish: Wish, rows: "list[ListedDraft]", positions: "list[Place]", *, more: bool) -> int:
        if not self.places or self.places[-1] != wish.place:
            return 0  # the list was reloaded in the meantime
        self.rows += rows
        self.places += positions
        self._update_end(more=more)
        # Drop rows at the other end, which the cursor has left behind.
        excess = max(len(self.rows) - MOST, 0)
        del self.rows[:excess], self.places[:excess]
        self.start += excess
        return 0

    def _update_end(self, *, more: bool) -> None:
        self.total = max(self.total, self.stop + 1) if more else self.stop
        self.sure = self.sure or not (more or self.start)

    def _prepend(self, wish: Wish, rows: "list[ListedDraft]", positions: "list[Place]", *, more: bool) -> int:
        if not self.places or self.places[0] != wish.place:
            return 0
        self.rows[:0] = rows
        self.places[:0] = positions
        start = self.start - len(rows)
        # Rows at the start of the list have index 0; any others have at least one row before them.
        self.start = max(start, 1) if more else 0
        self.sure = self.sure or not more
        moved = self.start - start
        self.total += moved
        del self.rows[MOST:], self.places[MOST:]
        return moved

    def _end(self, *, more: bool) -> int:
        if more:
            self.total = max(self.total, len(self.rows) + 1)
        else:
            self.total = len(self.rows)
        self.start = self.total - len(self.rows)
        self.sure = self.sure or not more
        return 0

    def count(self, total: int) -> int:
        """Set the exact total; return by how many indexes the loaded rows have moved down (negative: up)."""
        self.sure = True
        # Indexes counted from the end shift with the total; row 0 stays unknown, because it was never read.
        moved = max(total - self.total, 1 - self.start) if self._from_end and self.start else 0
        self.start += moved
        if moved:
            self.total += moved
        elif self.stop < self.total:
            self.total = max(total, self.stop + 1)
        self._from_end = False
        return moved

    def around(self, start: int, read: "Slice") -> None:
        """Load rows of which the first one has this index."""
        self.take(Wish(Way.AT, at=start), read)

    def change(self, ids: Iterable[str], how: "Callable[[ListedDraft], ListedDraft]") -> list[int]:
        """Replace the loaded rows with these ids by `update(row)`; return the indexes of the rows found."""
        requested = frozenset(ids)
        offsets = [offset for offset, row in enumerate(self.rows) if row.id in requested]
        for offset in offsets:
            self.rows[offset] = how(self.rows[offset])
        return [self.start + offset for offset in offsets]

    def shrink(self, at: int) -> None:
        """Keep only some rows around this index, because the list is not visible."""
        first = max(min(at - self.start - KEPT // 2, len(self.rows) - KEPT), 0)
        self.rows, self.places = self.rows[first : first + KEPT], self.places[first : first + KEPT]
        self.start += first
