"""The drafts of a tab: a window over however many there are, with marks."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Self

from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from copydesk.tui.layout import Block
from copydesk.tui.marks import Marks, Span
from copydesk.tui.widgets.aged import Aged
from copydesk.tui.widgets.line_list import CURSOR
from copydesk.tui.window import Window, Wish

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft, Status
    from copydesk.model.window import Place, Slice

MARK = "●"
AT_MOST = 0.06
"""Seconds for which the screen stays as it was where the cursor has gone to rows that are still to be read."""
_UNKNOWN = Content.styled("·····", "faint")


class Queue(Aged["ListedDraft | None"]):
    """One line a draft. Rows that are not known yet are asked for with `Wanted`, and are empty until they come."""

    SIGNS = 2
    _jumping: Timer | None = None
    """Runs while the rows that the cursor has gone to are read: the screen stays as it was for as long."""

    class Wanted(Message):
        """Rows around the cursor are to be read; only the last wish counts."""

        def __init__(self, wish: Wish) -> None:
            super().__init__()
            self.wish = wish

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Queue.Wanted)

    class Marked(Message):
        """What is marked has changed."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Queue.Marked)

    def __init__(self, clock: Callable[[], datetime], *, id: str | None = None) -> None:
        super().__init__(clock, id=id)
        self.window = Window(0)
        self.marks = Marks(lambda one, other: one.id > other.id)
        self.range_from: tuple[int, Place] | None = None
        """Where the range began that grows with the cursor."""
        self.fits: Callable[[ListedDraft], bool] = lambda _: True
        """Whether a draft still belongs to what is shown; one that does not is faded."""
        self._way = 1
        """Down, or -1: up."""
        self._faded: dict[str, ListedDraft] = {}
        """What was acted on, as it was before."""
        self._zone: tzinfo | None = None
        """Whose clock the rows tell times of; None where they tell ages."""

    # What is shown.

    def show_window(self, window: Window, marks: Marks, cursor: int = 0) -> None:
        """Show this list, with the cursor at this position."""
        self.window, self.marks, self.range_from = window, marks, None
        self._faded.clear()
        self.land()
        self.show(window, cursor)
        self.want()

    def say(self, note: Sequence[Block]) -> None:
        """Show a note in place of the rows."""
        self.window, self.range_from = Window(0), None
        self.land()
        super().say(note)

    def take(self, wish: Wish, read: "Slice") -> None:
        """Take over rows that were wanted; the screen does not move, and the cursor stays on its draft."""
        before, first = self.current, self.window.place(self.window.start)
        moved = self.window.take(wish, read)
        if len(self._faded) > len(self.window.rows):
            known = {row.id for row in self.window.rows}
            self._faded = {draft_id: row for draft_id, row in self._faded.items() if draft_id in known}
        top = self.scroll_offset.y
        self.virtual_size = Size(0, len(self.window))
        if moved and first is not None:
            self._move_all(moved, first, top)
        self.cursor = self.validate_cursor(self.cursor)
        self.refresh()
        if self.current is not before:
            self.post_message(self.Moved())
        self.want()

    def _move_all(self, by: int, first: "Place", top: int) -> None:
        """The rows from this place on at other positions."""
        self.marks.move(by, first)
        if self.range_from and not self.marks.precedes(self.range_from[1], first):
            self.range_from = (self.range_from[0] + by, self.range_from[1])
        self.set_reactive(Queue.cursor, self.validate_cursor(self.cursor + by))
        self.scroll_to(y=top + by, animate=False, immediate=True)

    def set_total(self, total: int) -> None:
        """Take over how many rows there are, where that was not known; the screen does not move."""
        first, top = self.window.place(self.window.start), self.scroll_offset.y
        moved = self.window.count(total)
        self.virtual_size = Size(0, len(self.window))
        if moved and first is not None:
            self._move_all(moved, first, top)
        self.cursor = self.validate_cursor(self.cursor)
        self.refresh()
        self.want()

    def want(self) -> None:
        """Ask for the rows on the screen, where they are not known, and for those around."""
        top = self.scroll_offset.y
        wish = self.window.wish(top, top + max(self.room.height, 1) - 1) if self.window.read else None
        if wish is not None:
            self.post_message(self.Wanted(wish))

    def looked_at(self) -> "list[ListedDraft]":
        """The draft under the cursor, and the one that is next where the user goes on the same way, as far as known."""
        rows = (self.window.known(self.cursor), self.window.known(self.cursor + self._way))
        return [row for row in rows if row is not None]

    def shown_ids(self) -> tuple[str, ...]:
        """The ids of the rows on the screen."""
        top = self.scroll_offset.y
        return self.window.ids(top, top + max(self.room.height, 1) - 1)

    def tell_times(self, zone: tzinfo | None) -> None:
        """Tell in the rows when drafts go out, on this clock; without one how old they are."""
        if zone != self._zone:
            self._zone = zone
            self.forget_lines()

    # What happens to drafts.

    def fade(self, ids: "Iterable[str]", status: "Status | None" = None) -> None:
        """These were acted on, and are in this state now: they stay, in grey, until the list is read again."""
        from msgspec.structs import replace  # noqa: PLC0415 - what the first paint does not need waits

        def faded(row: "ListedDraft") -> "ListedDraft":
            self._faded.setdefault(row.id, row)
            return replace(row, status=status) if status is not None else row

        self._changed(self.window.change(ids, faded))

    def unfade(self, ids: "Iterable[str]") -> None:
        """Nothing was done to these: they are as they were."""
        known = [draft_id for draft_id in ids if draft_id in self._faded]
        self._changed(self.window.change(known, lambda row: self._faded.pop(row.id)))

    def renew(self, asked: "Iterable[str]", drafts: "Iterable[ListedDraft]") -> None:
        """Rows as the desk has them now; those that were asked for and are not among them are gone."""
        now = {draft.id: draft for draft in drafts}

        def renewed(row: "ListedDraft") -> "ListedDraft":
            new, old = now.get(row.id), self._faded.get(row.id)
            if new is None:
                self._faded.setdefault(row.id, row)
            elif new.version > old.version if old is not None else new.version >= row.version:
                self._faded.pop(row.id, None)
                return row if new == row else new
            return row

        before, looks = self.current, self._looks
        looked = {at: looks(at) for at in self.on_screen()}
        self.window.change(asked, renewed)
        for at in self.on_screen():
            if looks(at) != looked.get(at):
                self.refresh_line(at)
        if self.current is not before:
            self.post_message(self.Moved())

    def _changed(self, positions: Sequence[int]) -> None:
        shown = self.on_screen()
        for at in positions:
            if at in shown:
                self.refresh_line(at)
        if self.cursor in positions:
            self.post_message(self.Moved())

    def is_faded(self, row: "ListedDraft") -> bool:
        """Whether something was done to it."""
        return row.id in self._faded or not self.fits(row)

    # Marks.

    def mark(self) -> None:
        """Mark the draft under the cursor, or take its mark away, and go on."""
        self.end_range()
        place = self.window.place(self.cursor)
        if place is not None:
            self.marks.toggle(place)
            self.cursor += 1
            self.marks_changed()

    def mark_range(self) -> None:
        """Begin a range, or end the one that grows."""
        place = self.window.place(self.cursor)
        if self.range_from is not None:
            self.end_range()
        elif place is not None:
            self.range_from = (self.cursor, place)
        self.marks_changed()

    def end_range(self) -> None:
        """What was in the range is marked from now on."""
        span = self.span()
        if span is not None:
            self.marks.mark_span(span)
        self.range_from = None

    def span(self) -> Span | None:
        """The range that grows; None where there is none, or its end is not known yet."""
        place = self.window.place(self.cursor)
        if self.range_from is None or place is None:
            return None
        (first_at, first), (last_at, last) = sorted((self.range_from, (self.cursor, place)))
        return Span(first, last, first_at, last_at)

    def mark_all(self) -> None:
        """Mark all that there are."""
        self.range_from = None
        self.marks.mark_all()
        self.marks_changed()

    def mark_only(self, ids: "Iterable[str]") -> None:
        """Mark these, and nothing else."""
        self.range_from = None
        self.marks.mark_only(self.places(ids))
        self.marks_changed()

    def places(self, ids: "Iterable[str]") -> "dict[str, Place | None]":
        """Where these stand, as far as that is known."""
        known = dict(zip((row.id for row in self.window.rows), self.window.places, strict=False))
        return {draft_id: known.get(draft_id) for draft_id in ids}

    def marks_changed(self) -> None:
        """Show it."""
        self.refresh()
        self.post_message(self.Marked())

    @property
    def marked(self) -> int:
        """How many are marked, those in the range that grows too."""
        growing = abs(self.cursor - self.range_from[0]) + 1 if self.range_from else 0
        return self.marks.count(len(self.window)) + growing

    @property
    def marks_open_end(self) -> bool:
        """Whether more may be marked than `marked` says, for how many rows there are is still being counted."""
        return not self.window.sure and bool(self.marks.every or self.marks.spans or self.range_from)

    def _is_marked(self, at: int) -> bool:
        if self.range_from and min(self.range_from[0], self.cursor) <= at <= max(self.range_from[0], self.cursor):
            return True
        place = self.window.place(at)
        return place is not None and self.marks.has(place)

    # Moving.

    def on_resize(self) -> None:
        """There is room for other rows."""
        self.want()

    def watch_cursor(self, before: int, now: int) -> None:
        """A range that grows may change any row; what comes next is to be known."""
        self._way = 1 if now >= before else -1  # nowhere, at first: it will be down
        if self.current is not None:
            self.land()
        elif self._jumping is None and now < len(self.window) and self.window.known(before):
            self._jumping = self.set_timer(AT_MOST, self._give_up)
        super().watch_cursor(before, now)
        if self.range_from is not None:
            self.marks_changed()
        self.want()

    @property
    def is_jumping(self) -> bool:
        """Whether the cursor has gone to rows that will be there in a moment: what is shown beside it waits, too."""
        return self._jumping is not None and self.current is None

    def land(self) -> None:
        """Draw where the cursor has gone to; called by whoever shows what is beside it, so that it is one picture."""
        if self._jumping is not None:
            self._jumping.stop()
            self._jumping = None
            self.refresh()

    def _give_up(self) -> None:
        """The rows take longer than the screen may be of before."""
        self.land()
        self.post_message(self.Moved())

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Not while rows are read that will be there in a moment: the empty ones would be a picture of their own."""
        if self._jumping is not None and not (layout or recompose):
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def watch_scroll_y(self, before: float, now: float) -> None:
        """The cursor stays on the screen, whatever scrolled it: rows are known around it."""
        super().watch_scroll_y(before, now)
        top, height = self.scroll_offset.y, self.room.height
        if height and self.window.read and not top <= self.cursor < top + height:
            self.cursor = min(max(self.cursor, top), top + height - 1)

    # Drawing.

    def draw(self, row: "ListedDraft | None", width: int) -> Content:
        """One draft in `width` cells."""
        if row is None:
            return _UNKNOWN.truncate(width)
        from copydesk.tui.pages.row import draft_row  # noqa: PLC0415 - what the first paint does not need waits

        line = draft_row(row, self.clock(), width, self._zone)
        return Content.styled(line.plain, "dim") if self.is_faded(row) else line

    def _looks(self, at: int) -> Hashable:
        """All that a row is drawn from, but for its cursor and mark."""
        row = self.window[at]
        return row and (row.id, row.version, row.status, row.archived_at, self.is_faded(row))

    def _row(self, at: int, width: int) -> Strip:
        here, marked = at == self.cursor, self._is_marked(at)
        key = (self._looks(at), here, marked, width)
        if key in self._strips:
            return self._strips[key]
        row = self.window[at]
        signs = Content.styled((CURSOR if here else " ") + (MARK if marked else " "), "accent")
        line = signs + self.draw(row, width - 2)
        return self.strip(line, key=key, below="line-list--cursor" if here else "")
