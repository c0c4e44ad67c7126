"""The marked rows of a list (single ones, ranges, or all), and the drafts that an action applies to.

Most marked rows are not loaded, so the marks are resolved to draft ids by the desk.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.model.filters import DraftPosition, DraftView

Precedes = Callable[["DraftPosition", "DraftPosition"], bool]
"""Returns True if the first position comes before the second in the list's order."""


class Span(NamedTuple):
    """Consecutive rows from `first` to `last`, with the indexes that these had."""

    first: "DraftPosition"
    last: "DraftPosition"
    first_index: int
    last_index: int

    @property
    def size(self) -> int:
        """The number of rows, as far as the indexes are accurate."""
        return self.last_index - self.first_index + 1

    def contains(self, position: "DraftPosition", precedes: Precedes) -> bool:
        """Return True if the row at `position` is in the range."""
        return not precedes(position, self.first) and not precedes(self.last, position)


class Marks:
    """The marked rows. A single mark follows its draft; a range covers whatever lies between its ends."""

    def __init__(self, precedes: Precedes) -> None:
        self.precedes = precedes
        self.all_marked = False
        """True if all rows are marked except those in `excluded`."""
        self.spans: tuple[Span, ...] = ()
        self.ids: dict[str, DraftPosition | None] = {}
        """Single rows, in the order in which they were marked."""
        self.excluded: dict[str, DraftPosition | None] = {}
        """Rows of a range, or of the whole list, that were unmarked."""

    def __bool__(self) -> bool:
        return self.all_marked or bool(self.spans or self.ids)

    def is_marked(self, position: "DraftPosition") -> bool:
        """Return True if the row at `position` is marked."""
        if position.id in self.ids:
            return True
        return position.id not in self.excluded and (self.all_marked or self._in_span(position))

    def count(self, total: int) -> int:
        """Return the number of marked rows in a list of `total` rows."""
        spanned = total if self.all_marked else sum(span.size for span in self.spans)
        return max(spanned - len(self.excluded), 0) + len(self.ids)

    def toggle(self, position: "DraftPosition") -> None:
        """Mark or unmark the row at `position`."""
        # A range cannot lose a single row, so unmarking in a range or under "all" is stored as an exclusion.
        if self.is_marked(position):
            self.ids.pop(position.id, None)
            if self.all_marked or self._in_span(position):
                self.excluded[position.id] = position
        elif position.id in self.excluded:
            del self.excluded[position.id]
        else:
            self.ids[position.id] = position

    def mark_span(self, span: Span) -> None:
        """Mark a range; ranges that overlap it are merged into it."""
        for marked in (self.ids, self.excluded):
            # The range takes over single marks and exclusions inside it.
            for marked_id in [
                draft_id for draft_id, position in marked.items() if position and span.contains(position, self.precedes)
            ]:
                del marked[marked_id]
        # The loop goes over the tuple as it was: `self.spans` is replaced, not changed.
        for overlap in self.spans:
            if not self.precedes(overlap.last, span.first) and not self.precedes(span.last, overlap.first):
                span = self._merge(span, overlap)
                self.spans = tuple(existing for existing in self.spans if existing is not overlap)
        self.spans = (*self.spans, span)

    def _merge(self, left: Span, right: Span) -> Span:
        first = left.first if self.precedes(left.first, right.first) else right.first
        last = right.last if self.precedes(left.last, right.last) else left.last
        return Span(first, last, min(left.first_index, right.first_index), max(left.last_index, right.last_index))

    def shift(self, by: int, first: "DraftPosition") -> None:
        """Add `by` to the indexes of rows from `first` on.

        The list turned out to be longer or shorter above them than it was thought to be.
        """

        def shifted(position: "DraftPosition", index: int) -> int:
            return index if self.precedes(position, first) else index + by

        self.spans = tuple(
            span._replace(
                first_index=shifted(span.first, span.first_index), last_index=shifted(span.last, span.last_index)
            )
            for span in self.spans
        )

    def individual_ids(self) -> tuple[str, ...]:
        """Return the drafts whose presence and position in the list must be checked with the desk."""
        return (*self.ids, *self.excluded)

    def update_positions(
        self, spans: "Mapping[Span, Span | None]", positions: "Mapping[str, DraftPosition | None]"
    ) -> None:
        """Update ranges and single marks to their current positions; None means it is no longer in the list."""
        current_spans = (spans.get(span, span) for span in self.spans)
        self.spans = tuple(span for span in current_spans if span is not None)
        for marked in (self.ids, self.excluded):
            # Ids that were not looked up keep their last position.
            current = {draft_id: positions.get(draft_id, position) for draft_id, position in marked.items()}
            missing = {draft_id for draft_id in marked if draft_id in positions and positions[draft_id] is None}
            # In place, because `marked` stands for either attribute.
            marked.clear()
            marked.update((draft_id, position) for draft_id, position in current.items() if draft_id not in missing)

    def mark_all(self) -> None:
        """Mark every row of the list."""
        self.clear()
        self.all_marked = True

    def mark_only(self, positions: "Mapping[str, DraftPosition | None]") -> None:
        """Mark exactly the drafts with these ids; their positions may be unknown."""
        self.clear()
        self.ids = dict(positions)

    def add(self, positions: "Mapping[str, DraftPosition | None]") -> None:
        """Add the drafts with these ids to the marks."""
        for draft_id, position in positions.items():
            self.excluded.pop(draft_id, None)
            if position is None or not self.is_marked(position):
                self.ids[draft_id] = position

    def copy(self) -> "Marks":
        """Return an independent copy."""
        same = Marks(self.precedes)
        same.copy_from(self)
        return same

    def copy_from(self, other: "Marks") -> None:
        """Replace the marks by those of `other`."""
        self.all_marked, self.spans, self.ids, self.excluded = (
            other.all_marked,
            other.spans,
            dict(other.ids),
            dict(other.excluded),
        )

    def clear(self) -> None:
        """Unmark everything."""
        self.all_marked, self.spans, self.ids, self.excluded = False, (), {}, {}

    def _in_span(self, position: "DraftPosition") -> bool:
        return any(span.contains(position, self.precedes) for span in self.spans)


class ResolvedDrafts(NamedTuple):
    """The ids of several drafts."""

    ids: Sequence[str]
    skipped: int = 0
    """Number of drafts excluded because they arrived after the list was loaded: the user has not seen them."""


class Selection(NamedTuple):
    """One draft, or several whose ids are determined when the action runs."""

    draft: "ListedDraft | None"
    """The single draft; None for several."""
    number: int = 1
    resolve: "Callable[[Desk], Awaitable[ResolvedDrafts]] | None" = None
    """Returns the ids of several drafts."""
    on_start: Callable[[], None] = lambda: None
    """Called when the action on several drafts starts: later marks belong to the next action."""
    on_finish: Callable[[Sequence[str] | None], None] = lambda _: None
    """Called at the end with the ids that nothing was done to; None if nothing was done to any of them."""


def select_draft(draft: "ListedDraft") -> Selection:
    """Select the draft under the cursor."""
    return Selection(draft)


class MarkedDrafts(NamedTuple):
    """Marked drafts of a view."""

    view: "DraftView"
    event_count: int
    """The number of draft events when the list in which they were marked was loaded."""
    all_marked: bool = False
    """True for all drafts of the view."""
    spans: "tuple[Span, ...]" = ()
    """Ranges in the order of the view."""
    excluded: frozenset[str] = frozenset()
    """Ids excluded from the view or the ranges."""
    ids: tuple[str, ...] = ()
    """Additional single drafts."""

    async def resolve(self, desk: "Desk") -> ResolvedDrafts:
        """Load the ids without duplicates: the ranges in the view's order, then single drafts.

        Drafts that arrived in the ranges since the list was loaded are excluded and counted.
        """
        found: list[str] = []
        if self.all_marked:
            found += await desk.drafts.views.between(self.view)
        for span in self.spans:
            found += await desk.drafts.views.between(self.view, span.first, span.last)
        handled_separately = self.excluded.union(self.ids)
        in_ranges = [draft_id for draft_id in dict.fromkeys(found) if draft_id not in handled_separately]
        arrived = await desk.drafts.views.entered_since(self.event_count, self.view.tab, in_ranges)
        visible_ids = (draft_id for draft_id in in_ranges if draft_id not in arrived)
        return ResolvedDrafts((*visible_ids, *self.ids), len(arrived))
