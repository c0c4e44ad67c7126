"""Which rows of a list are marked: single ones, ranges of its order, or all that there are. Pure."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from copydesk.model.window import Place

Precedes = Callable[["Place", "Place"], bool]
"""Whether the first place stands before the second in the list's order."""


class Span(NamedTuple):
    """Rows that follow each other, from the first to the last of them, and at which positions those stood."""

    first: "Place"
    last: "Place"
    first_at: int
    last_at: int

    @property
    def size(self) -> int:
        """How many rows it has, as far as the positions are known."""
        return self.last_at - self.first_at + 1

    def holds(self, place: "Place", precedes: Precedes) -> bool:
        """Whether the row at this place is one of them."""
        return not precedes(place, self.first) and not precedes(self.last, place)


class Marks:
    """What is marked. A mark is on a draft, wherever it moves; a span is on whatever stands between its ends."""

    def __init__(self, precedes: Precedes) -> None:
        self.precedes = precedes
        self.every = False
        """Whether all rows of the list are marked, but for `but`."""
        self.spans: tuple[Span, ...] = ()
        self.ids: dict[str, Place | None] = {}
        """Single rows, in the order in which they were marked."""
        self.but: dict[str, Place | None] = {}
        """Rows whose mark was taken away again."""

    def __bool__(self) -> bool:
        return self.every or bool(self.spans or self.ids)

    def has(self, place: "Place") -> bool:
        """Whether the row at this place is marked."""
        if place.id in self.ids:
            return True
        return place.id not in self.but and (self.every or self._spanned(place))

    def count(self, total: int) -> int:
        """How many rows are marked, where the list has `total`."""
        spanned = total if self.every else sum(span.size for span in self.spans)
        return max(spanned - len(self.but), 0) + len(self.ids)

    def toggle(self, place: "Place") -> None:
        """Mark the row at this place, or take its mark away."""
        if self.has(place):
            self.ids.pop(place.id, None)
            if self.every or self._spanned(place):
                self.but[place.id] = place
        elif place.id in self.but:
            del self.but[place.id]
        else:
            self.ids[place.id] = place

    def mark_span(self, span: Span) -> None:
        """Mark what stands from one place to another. What it meets becomes one with it."""
        for kept in (self.ids, self.but):
            for draft_id in [key for key, place in kept.items() if place and span.holds(place, self.precedes)]:
                del kept[draft_id]
        for other in self.spans:
            if not self.precedes(other.last, span.first) and not self.precedes(span.last, other.first):
                span = self._joined(span, other)
                self.spans = tuple(each for each in self.spans if each is not other)
        self.spans = (*self.spans, span)

    def _joined(self, one: Span, other: Span) -> Span:
        first = one.first if self.precedes(one.first, other.first) else other.first
        last = other.last if self.precedes(one.last, other.last) else one.last
        return Span(first, last, min(one.first_at, other.first_at), max(one.last_at, other.last_at))

    def move(self, by: int, first: "Place") -> None:
        """The list has learnt that its rows from this place on stand so much further down."""

        def moved(place: "Place", at: int) -> int:
            return at if self.precedes(place, first) else at + by

        self.spans = tuple(
            each._replace(first_at=moved(each.first, each.first_at), last_at=moved(each.last, each.last_at))
            for each in self.spans
        )

    def single(self) -> tuple[str, ...]:
        """The drafts of which the desk has to be asked whether they are still in the list, and where."""
        return (*self.ids, *self.but)

    def settle(self, spans: "Mapping[Span, Span | None]", places: "Mapping[str, Place | None]") -> None:
        """Take over where these ranges and drafts stand by now; of what is None nothing is in the list any more."""
        now = (spans.get(span, span) for span in self.spans)
        self.spans = tuple(span for span in now if span is not None)
        for kept in (self.ids, self.but):
            kept_now = {draft_id: places.get(draft_id, place) for draft_id, place in kept.items()}
            gone = {draft_id for draft_id in kept if draft_id in places and places[draft_id] is None}
            kept.clear()
            kept.update((draft_id, place) for draft_id, place in kept_now.items() if draft_id not in gone)

    def mark_all(self) -> None:
        """Mark every row of the list."""
        self.clear()
        self.every = True

    def mark_only(self, places: "Mapping[str, Place | None]") -> None:
        """Mark the drafts with these ids and nothing else; where they stand may not be known."""
        self.clear()
        self.ids = dict(places)

    def mark_too(self, places: "Mapping[str, Place | None]") -> None:
        """Mark the drafts with these ids, too."""
        for draft_id, place in places.items():
            self.but.pop(draft_id, None)
            if place is None or not self.has(place):
                self.ids[draft_id] = place

    def copy(self) -> "Marks":
        """The same, which stays as it is."""
        same = Marks(self.precedes)
        same.take(self)
        return same

    def take(self, other: "Marks") -> None:
        """Mark what is marked there, and nothing else."""
        self.every, self.spans, self.ids, self.but = other.every, other.spans, dict(other.ids), dict(other.but)

    def clear(self) -> None:
        """Mark nothing."""
        self.every, self.spans, self.ids, self.but = False, (), {}, {}

    def _spanned(self, place: "Place") -> bool:
        return any(span.holds(place, self.precedes) for span in self.spans)
