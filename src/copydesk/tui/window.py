"""The rows of a long list of which only some are known: those around the cursor.

Pure: what is to be read is asked as a `Wish`, and what was read is handed in. Positions count from 0. How many rows
there are is what was last heard; wherever the list's beginning or end comes into the window, it is put right.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, overload

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft
    from copydesk.model.window import Place, Slice

PAGE = 100
"""Rows that are read at once."""
AHEAD = 50
"""So many rows before the edge of what is known the next ones are asked for."""
MOST = 400
"""Rows that are kept."""
KEPT = 100
"""Rows that are kept of a list that is not looked at."""


class Way(Enum):
    """From where rows are to be read."""

    START = "start"
    END = "end"
    AFTER = "after"
    BEFORE = "before"
    AT = "at"


class Wish(NamedTuple):
    """Rows that are wanted."""

    way: Way
    place: "Place | None" = None
    """After or before which."""
    at: int = 0
    """From which position on, for Way.AT."""


class Window(Sequence["ListedDraft | None"]):
    """As long as the list is; None stands for rows that are not known yet."""

    def __init__(self, total: int | None = None) -> None:
        self.total = total or 0
        self.sure = total is not None
        """Whether that is how many there are, and not only how many at least."""
        self._from_end = False
        """Whether positions were counted from the end of a list of which it is not known how long it is."""
        self.start = 0
        """The position of the first row that is known."""
        self.rows: list[ListedDraft] = []
        self.places: list[Place] = []
        self.read = False
        """Whether anything was read, though it be nothing."""

    def __len__(self) -> int:
        return self.total

    @overload
    def __getitem__(self, at: int) -> "ListedDraft | None": ...
    @overload
    def __getitem__(self, at: slice) -> "list[ListedDraft | None]": ...
    def __getitem__(self, at: int | slice) -> "ListedDraft | list[ListedDraft | None] | None":
        if isinstance(at, slice):
            return [self.known(each) for each in range(self.total)[at]]
        return self.known(range(self.total)[at])

    def known(self, at: int) -> "ListedDraft | None":
        """The row at this position; None where it is not read, or where there is none."""
        return self.rows[at - self.start] if self.start <= at < self.stop else None

    @property
    def stop(self) -> int:
        """The position after the last row that is known."""
        return self.start + len(self.rows)

    def place(self, at: int) -> "Place | None":
        """Where the row at this position stands in the order, where that is known."""
        return self.places[at - self.start] if 0 <= at - self.start < len(self.places) else None

    def find(self, draft_id: str) -> int | None:
        """The position of a row that is known."""
        return next((at for at, row in enumerate(self.rows, self.start) if row.id == draft_id), None)

    def ids(self, first: int, last: int) -> tuple[str, ...]:
        """The ids of the known rows from one position to another."""
        return tuple(row.id for row in (self[at] for at in range(max(first, 0), min(last, self.total - 1) + 1)) if row)

    def wish(self, first: int, last: int) -> Wish | None:
        """What should be read so that the rows from one position to another, and some around, are known."""
        first, last = max(first, 0), min(last, self.total - 1)
        if first > last:
            return None
        if not self.rows or last < self.start or first >= self.stop:
            return self._jump(first, last)
        down = self.stop < self.total and last >= self.stop - AHEAD
        up = self.start > 0 and first < self.start + AHEAD
        if down and (last >= self.stop or not up):
            return Wish(Way.AFTER, self.places[-1])
        return Wish(Way.BEFORE, self.places[0]) if up else None

    def _jump(self, first: int, last: int) -> Wish:
        if first < PAGE - AHEAD:
            return Wish(Way.START)
        if last >= self.total - (PAGE - AHEAD):
            return Wish(Way.END)
        return Wish(Way.AT, at=max(first - PAGE // 2, 0))

    def take(self, wish: Wish, read: "Slice") -> int:
        """Take over what was read; by how much the rows that were known before have moved down, negative is up."""
        self.read = True
        rows, places = list(read.drafts), list(read.places)
        if wish.way is Way.AFTER:
            return self._append(wish, rows, places, more=read.more)
        if wish.way is Way.BEFORE:
            return self._prepend(wish, rows, places, more=read.more)
        self.rows, self.places = rows, places
        self._from_end = wish.way is Way.END and read.more and not self.sure
        if wish.way is Way.END:
            return self._end(more=read.more)
        self.start = wish.at if wish.way is Way.AT else 0
        self._known_end(more=read.more)
        return 0

    def _append(self, wish: Wish, rows: "list[ListedDraft]", places: "list[Place]", *, more: bool) -> int:
        if not self.places or self.places[-1] != wish.place:
            return 0  # the list was read anew meanwhile
        self.rows += rows
        self.places += places
        self._known_end(more=more)
        spare = max(len(self.rows) - MOST, 0)
        del self.rows[:spare], self.places[:spare]
        self.start += spare
        return 0

    def _known_end(self, *, more: bool) -> None:
        self.total = max(self.total, self.stop + 1) if more else self.stop
        self.sure = self.sure or not (more or self.start)

    def _prepend(self, wish: Wish, rows: "list[ListedDraft]", places: "list[Place]", *, more: bool) -> int:
        if not self.places or self.places[0] != wish.place:
            return 0
        self.rows[:0] = rows
        self.places[:0] = places
        start = self.start - len(rows)
        # What is read at the beginning is at position 0; what is not has at least one before it.
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
        """Take over how many rows there are; by how much the known ones have moved down, negative is up."""
        self.sure = True
        moved = max(total - self.total, 1 - self.start) if self._from_end and self.start else 0
        self.start += moved
        if moved:
            self.total += moved
        elif self.stop < self.total:
            self.total = max(total, self.stop + 1)
        self._from_end = False
        return moved

    def around(self, start: int, read: "Slice") -> None:
        """Take over rows of which the first one is at this position."""
        self.take(Wish(Way.AT, at=start), read)

    def change(self, ids: Iterable[str], how: "Callable[[ListedDraft], ListedDraft]") -> list[int]:
        """Put other versions in the place of the known rows with these ids; the positions of those that there were."""
        wanted = frozenset(ids)
        found = [at for at, row in enumerate(self.rows) if row.id in wanted]
        for at in found:
            self.rows[at] = how(self.rows[at])
        return [self.start + at for at in found]

    def shrink(self, at: int) -> None:
        """Keep only some rows around this position, for the list is not looked at."""
        first = max(min(at - self.start - KEPT // 2, len(self.rows) - KEPT), 0)
        self.rows, self.places = self.rows[first : first + KEPT], self.places[first : first + KEPT]
        self.start += first
