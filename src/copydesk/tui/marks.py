"""The marked rows of a list: single ones, ranges, or all. Pure."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from copydesk.model.window import Place

Precedes = Callable[["Place", "Place"], bool]
"""Returns True if the first position comes before the second in the list's order."""


class Span(NamedTuple):
    """Consecutive rows from `first` to `last`, with the indexes that these had."""

    first: "Place"
    last: "Place"
    first_at: int
    last_at: int

    @property
    def size(self) -> int:
        """The number of rows, as far as the indexes are accurate."""
        return self.last_at - self.first_at + 1

    def holds(self, place: "Place", precedes: Precedes) -> bool:
        """Return True if the row at `position` is in the range."""
        return not precedes(place, self.first) and not precedes(self.last, place)


class Marks:
    """The marked rows. A single mark follows its draft; a range covers whatever lies between its ends."""

    def __init__(self, precedes: Precedes) -> None:
        self.precedes = precedes
        self.every = False
        """True if all rows are marked except those in `excluded`."""
        self.spans: tuple[Span, ...] = ()
        self.ids: dict[str, Place | None] = {}
        """Single rows, in the order in which they were marked."""
        self.but: dict[str, Place | None] = {}
        """Rows of a range, or of the whole list, that were unmarked."""

    def __bool__(self) -> bool:
        return self.every or bool(self.spans or self.ids)

    def has(self, place: "Place") -> bool:
        """Return True if the row at `position` is marked."""
        if place.id in self.ids:
            return True
        return place.id not in self.but and (self.every or self._in_span(place))

    def count(self, total: int) -> int:
        """Return the number of marked rows in a list of `total` rows."""
        spanned = total if self.every else sum(span.size for span in self.spans)
        return max(spanned - len(self.but), 0) + len(self.ids)

    def toggle(self, place: "Place") -> None:
        """Mark or unmark the row at `position`."""
        # A range cannot lose a single row, so unmarking in a range or under "all" is stored as an exclusion.
        if self.has(place):
            self.ids.pop(place.id, None)
            if self.every or self._in_span(place):
                self.but[place.id] = place
        elif place.id in self.but:
            del self.but[place.id]
        else:
            self.ids[place.id] = place

    def mark_span(self, span: Span) -> None:
        """Mark a range; ranges that overlap it are merged into it."""
        for marked in (self.ids, self.but):
            # The range takes over single marks and exclusions inside it.
            for marked_id in [
                draft_id for draft_id, position in marked.items() if position and span.holds(position, self.precedes)
            ]:
                del marked[marked_id]
        for overlap in self.spans:
            if not self.precedes(overlap.last, span.first) and not self.precedes(span.last, overlap.first):
                span = self._merge(span, overlap)
                self.spans = tuple(existing for existing in self.spans if existing is not overlap)
        self.spans = (*self.spans, span)

    def _merge(self, left: Span, right: Span) -> Span:
        first = left.first if self.precedes(left.first, right.first) else right.first
        last = right.last if self.precedes(left.last, right.last) else left.last
        return Span(first, last, min(left.first_at, right.first_at), max(left.last_at, right.last_at))

    def move(self, by: int, first: "Place") -> None:
        """Add `by` to the indexes of rows from `first` on.

        The list turned out to be longer or shorter above them than it was thought to be.
        """

        def shifted(position: "Place", index: int) -> int:
            return index if self.precedes(position, first) else index + by

        self.spans = tuple(
            span._replace(first_at=shifted(span.first, span.first_at), last_at=shifted(span.last, span.last_at))
            for span in self.spans
        )

    def single(self) -> tuple[str, ...]:
        """Return the drafts whose presence and position in the list must be checked with the desk."""
        return (*self.ids, *self.but)

    def settle(self, spans: "Mapping[Span, Span | None]", places: "Mapping[str, Place | None]") -> None:
        """Update ranges and single marks to their current positions; None means it is no longer in the list."""
        current_spans = (spans.get(span, span) for span in self.spans)
        self.spans = tuple(span for span in current_spans if span is not None)
        for marked in (self.ids, self.but):
            # Ids that were not looked up keep their last position.
            current = {draft_id: places.get(draft_id, position) for draft_id, position in marked.items()}
            missing = {draft_id for draft_id in marked if draft_id in places and places[draft_id] is None}
            marked.clear()
            marked.update((draft_id, position) for draft_id, position in current.items() if draft_id not in missing)

    def mark_all(self) -> None:
        """Mark every row of the list."""
        self.clear()
        self.every = True

    def mark_only(self, places: "Mapping[str, Place | None]") -> None:
        """Mark exactly the drafts with these ids; their positions may be unknown."""
        self.clear()
        self.ids = dict(places)

    def mark_too(self, places: "Mapping[str, Place | None]") -> None:
        """Add the drafts with these ids to the marks."""
        for draft_id, position in places.items():
            self.but.pop(draft_id, None)
            if position is None or not self.has(position):
                self.ids[draft_id] = position

    def copy(self) -> "Marks":
        """Return an independent copy."""
        same = Marks(self.precedes)
        same.take(self)
        return same

    def take(self, other: "Marks") -> None:
        """Replace the marks by those of `other`."""
        self.every, self.spans, self.ids, self.but = other.every, other.spans, dict(other.ids), dict(other.but)

    def clear(self) -> None:
        """Unmark everything."""
        self.every, self.spans, self.ids, self.but = False, (), {}, {}

    def _in_span(self, position: "Place") -> bool:
        return any(span.holds(position, self.precedes) for span in self.spans)
