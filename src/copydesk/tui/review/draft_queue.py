"""The drafts of a tab: a window over a list of any length, with marks."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Self

from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from copydesk.tui.layout import Block
from copydesk.tui.review.marks import Marks, Span
from copydesk.tui.review.row_style import RowStyle
from copydesk.tui.review.row_window import RowRequest, Window
from copydesk.tui.widgets.line_list import CURSOR, LineList

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft, Status
    from copydesk.model.filters import DraftPosition, DraftSlice

MARK = "●"
TWO_LINE_WIDTH = 100
"""Columns of the terminal from which a row has two lines."""
MAX_JUMP_WAIT = 0.06
"""Maximum seconds for which the old screen stays while rows that the cursor jumped to are loaded."""
_NOT_LOADED = Content.styled("·····", "faint")


class DraftQueue(LineList["ListedDraft | None"]):
    """One line per draft, two in a wide terminal.

    Rows that are not loaded are requested with `RowsRequested`, and are blank until they arrive.
    """

    SIGN_WIDTH = 2
    _jump_timer: Timer | None = None
    """Runs while rows that the cursor jumped to are loaded: until it ends the screen is not redrawn."""

    class RowsRequested(Message):
        """Rows around the cursor should be loaded; only the last request matters."""

        def __init__(self, request: RowRequest) -> None:
            super().__init__()
            self.request = request

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, DraftQueue.RowsRequested)

    class MarksChanged(Message):
        """The marks have changed."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, DraftQueue.MarksChanged)

    def __init__(self, clock: Callable[[], datetime], *, id: str | None = None) -> None:
        super().__init__(self._draw_draft, shows_times=True, id=id)
        self._clock = clock
        self.window = Window(0)
        self.marks = Marks(lambda first, second: first.id > second.id)
        self.range_start: tuple[int, DraftPosition] | None = None
        """Index and position at which the growing range began."""
        self.belongs: Callable[[ListedDraft], bool] = lambda _: True
        """Returns True if a draft still belongs in the list; one that does not is dimmed."""
        self._direction = 1
        """1 for down, -1 for up."""
        self._faded: dict[str, ListedDraft] = {}
        """The original rows of drafts on which an action was performed."""
        self.row_style = RowStyle()
        self._arriving: dict[str, str] = {}
        """The texts that are being written, as far as they have arrived, by draft."""

    # Rows.

    def show_window(self, window: Window, marks: Marks, cursor: int = 0) -> None:
        """Show a list, with the cursor at this index."""
        self.window, self.marks, self.range_start = window, marks, None
        self._faded.clear()
        self.finish_jump()
        self.show(window, cursor)
        self.request_rows()

    def show_note(self, note: Sequence[Block]) -> None:
        """Show a note in place of the rows."""
        self.window, self.range_start = Window(0), None
        self.finish_jump()
        super().show_note(note)

    def merge_rows(self, request: RowRequest, loaded: "DraftSlice") -> None:
        """Merge loaded rows; the screen does not move, and the cursor stays on its draft."""
        previous, first = self.current, self.window.position_at(self.window.start)
        moved = self.window.merge(request, loaded)
        # Clean up only when there is much to forget, not with every page of rows.
        if len(self._faded) > len(self.window.rows):
            loaded_ids = {row.id for row in self.window.rows}
            self._faded = {draft_id: row for draft_id, row in self._faded.items() if draft_id in loaded_ids}
        top = self.scroll_offset.y
        self._update_height()
        if moved and first is not None:
            self._shift_rows(moved, first, top)
        self.cursor = self.validate_cursor(self.cursor)
        self.refresh()
        if self.current is not previous:
            self.post_message(self.Moved())
        self.request_rows()

    def _shift_rows(self, by: int, first: "DraftPosition", top: int) -> None:
        """Shift everything that refers to rows from `first` on by `by` indexes."""
        self.marks.shift(by, first)
        if self.range_start and not self.marks.precedes(self.range_start[1], first):
            self.range_start = (self.range_start[0] + by, self.range_start[1])
        # Without watchers: the cursor is still on the same draft, so nothing has moved for the user.
        self.set_reactive(DraftQueue.cursor, self.validate_cursor(self.cursor + by))
        self.scroll_to(y=top + by * self.row_height, animate=False, immediate=True)

    def set_total(self, total: int) -> None:
        """Set the number of rows once it is known; the screen does not move."""
        first, top = self.window.position_at(self.window.start), self.scroll_offset.y
        moved = self.window.set_exact_total(total)
        self._update_height()
        if moved and first is not None:
            self._shift_rows(moved, first, top)
        self.cursor = self.validate_cursor(self.cursor)
        self.refresh()
        self.request_rows()

    def request_rows(self) -> None:
        """Request the rows on screen, and some around them, if they are not loaded."""
        first, last = self._rows_on_screen()
        request = self.window.next_request(first, last) if self.window.is_loaded else None
        if request is not None:
            self.post_message(self.RowsRequested(request))

    def current_and_next(self) -> "list[ListedDraft]":
        """Return the draft under the cursor and the next one in the direction of movement, if loaded."""
        rows = (self.window.get_row(self.cursor), self.window.get_row(self.cursor + self._direction))
        return [row for row in rows if row is not None]

    def visible_ids(self) -> tuple[str, ...]:
        """Return the ids of the rows on screen and of the draft under the cursor, which its pane shows without them."""
        ids = self.window.ids_between(*self._rows_on_screen())
        current = self.current
        return ids if current is None or current.id in ids else (*ids, current.id)

    def _rows_on_screen(self) -> tuple[int, int]:
        """Return the first and the last index that the screen has room for."""
        top, height = self.scroll_offset.y, max(self.drawable_size.height, 1)
        return top // self.row_height, (top + height - 1) // self.row_height

    def set_row_style(self, style: RowStyle) -> None:
        """Draw the rows in another way, if it is another one."""
        if style != self.row_style:
            self.row_style = style
            self.painter.redraw()

    def show_arriving(self, texts: Mapping[str, str]) -> None:
        """Show texts that are being written, by draft, in their rows; an empty text is no longer written."""
        changed = {draft_id for draft_id, text in texts.items() if text != self._arriving.get(draft_id, "")}
        self._arriving = {draft_id: text for draft_id, text in (self._arriving | dict(texts)).items() if text}
        for index in self.visible_range():
            row = self.window.get_row(index)
            if row is not None and row.id in changed:
                self.refresh_row(index)

    # Changed drafts.

    def fade(self, ids: "Iterable[str]", status: "Status | None" = None, *, archived: bool = False) -> None:
        """Show these drafts with a new state, dimmed, until the list is reloaded; without a status they keep theirs."""
        from msgspec.structs import replace  # noqa: PLC0415 - not needed for the first paint

        def faded(row: "ListedDraft") -> "ListedDraft":
            self._faded.setdefault(row.id, row)
            archived_at = (row.archived_at or self._clock()) if archived else None
            return replace(row, status=status or row.status, archived_at=archived_at)

        self._refresh_rows(self.window.update_rows(ids, faded))

    def unfade(self, ids: "Iterable[str]") -> None:
        """Restore the rows of drafts that were not changed."""
        faded_ids = [draft_id for draft_id in ids if draft_id in self._faded]
        self._refresh_rows(self.window.update_rows(faded_ids, lambda row: self._faded.pop(row.id)))

    def original_row(self, draft_id: str) -> "ListedDraft | None":
        """Return the row of a draft as it was loaded, before any action on it; None if it is not loaded."""
        index = self.window.find_index(draft_id)
        return self._faded.get(draft_id) or (self.window.get_row(index) if index is not None else None)

    def update_rows(self, ids: "Iterable[str]", drafts: "Iterable[ListedDraft]") -> None:
        """Update rows from `drafts`; those in `ids` but not in `drafts` are no longer in the list and dimmed."""
        current = {draft.id: draft for draft in drafts}

        def updated(row: "ListedDraft") -> "ListedDraft":
            loaded, original = current.get(row.id), self._faded.get(row.id)
            if loaded is None:
                self._faded.setdefault(row.id, row)
            # A faded row waits for a version newer than the one its action began with: an equal one was read
            # before the write.
            elif loaded.version > original.version if original is not None else loaded.version >= row.version:
                self._faded.pop(row.id, None)
                # The same object if nothing changed: a new one under the cursor would count as a move.
                return row if loaded == row else loaded
            return row

        previous, row_key = self.current, self._row_key
        keys = {index: row_key(index) for index in self.visible_range()}
        self.window.update_rows(ids, updated)
        for index in self.visible_range():
            if row_key(index) != keys.get(index):
                self.refresh_row(index)
        if self.current is not previous:
            self.post_message(self.Moved())

    def _refresh_rows(self, positions: Sequence[int]) -> None:
        visible = self.visible_range()
        for index in positions:
            if index in visible:
                self.refresh_row(index)
        if self.cursor in positions:
            self.post_message(self.Moved())

    def is_faded(self, row: "ListedDraft") -> bool:
        """Return True if an action was performed on the draft, or it no longer belongs in the list."""
        return row.id in self._faded or not self.belongs(row)

    # Marks.

    def mark(self) -> None:
        """Mark or unmark the draft under the cursor, and move on."""
        self.end_range()
        position = self.window.position_at(self.cursor)
        if position is not None:
            if not self._is_put_away(self.current):
                self.marks.toggle(position)
            self.cursor += 1
            self.notify_marks_changed()

    def mark_range(self) -> None:
        """Start a range, or end the growing one."""
        position = self.window.position_at(self.cursor)
        if self.range_start is not None:
            self.end_range()
        elif position is not None:
            self.range_start = (self.cursor, position)
        self.notify_marks_changed()

    def end_range(self) -> None:
        """End the growing range and mark its rows."""
        span = self.growing_range()
        if span is not None:
            self.marks.mark_span(span)
            self._exclude_archived()
        self.range_start = None

    def growing_range(self) -> Span | None:
        """Return the growing range; None if there is none, or its end is not loaded."""
        position = self.window.position_at(self.cursor)
        if self.range_start is None or position is None:
            return None
        (first_at, first), (last_at, last) = sorted((self.range_start, (self.cursor, position)))
        return Span(first, last, first_at, last_at)

    def mark_all(self) -> None:
        """Mark all drafts of the list."""
        self.range_start = None
        self.marks.mark_all()
        self._exclude_archived()
        self.notify_marks_changed()

    def _exclude_archived(self) -> None:
        """Unmark drafts that were archived while the list was displayed: no action would change them."""
        for row, position in zip(self.window.rows, self.window.positions, strict=False):
            if self._is_put_away(row) and self.marks.is_marked(position):
                self.marks.toggle(position)

    def _is_put_away(self, row: "ListedDraft | None") -> bool:
        """Return True if the draft is archived and its row is only still displayed."""
        return row is not None and row.archived_at is not None and not self.belongs(row)

    def mark_only(self, ids: "Iterable[str]") -> None:
        """Mark these drafts and no others."""
        self.range_start = None
        self.marks.mark_only(self.positions_of(ids))
        self.notify_marks_changed()

    def positions_of(self, ids: "Iterable[str]") -> "dict[str, DraftPosition | None]":
        """Return the positions of these drafts; None for those that are not loaded."""
        positions = dict(zip((row.id for row in self.window.rows), self.window.positions, strict=False))
        return {draft_id: positions.get(draft_id) for draft_id in ids}

    def notify_marks_changed(self) -> None:
        """Redraw, and post `MarksChanged`."""
        self.refresh()
        self.post_message(self.MarksChanged())

    @property
    def marked_count(self) -> int:
        """The number of marked drafts, including the growing range."""
        growing = abs(self.cursor - self.range_start[0]) + 1 if self.range_start else 0
        return self.marks.count(len(self.window)) + growing

    @property
    def is_count_partial(self) -> bool:
        """True if `marked_count` is a lower bound, because the number of rows is still being counted."""
        return not self.window.is_total_exact and bool(self.marks.all_marked or self.marks.spans or self.range_start)

    def _is_marked(self, at: int) -> bool:
        if self.range_start and min(self.range_start[0], self.cursor) <= at <= max(self.range_start[0], self.cursor):
            return True
        position = self.window.position_at(at)
        return position is not None and self.marks.is_marked(position)

    # Movement.

    def on_resize(self) -> None:
        """Choose the number of lines per row, and request the rows that became visible."""
        if self._choose_height():
            self._update_height()
            self.painter.redraw()
            self._scroll_to_cursor()
        self.request_rows()

    def on_mount(self) -> None:
        """Choose the number of lines per row before the first one is drawn."""
        self._choose_height()

    def _choose_height(self) -> bool:
        """Set the lines per row for the width of the terminal; return True if it changes."""
        before, self.row_height = self.row_height, 2 if self.app.size.width >= TWO_LINE_WIDTH else 1
        return before != self.row_height

    def watch_cursor(self, before: int, now: int) -> None:
        """Extend a growing range, and request the next rows."""
        self._direction = 1 if now >= before else -1  # unmoved at first: assume down
        if self.current is not None:
            self.finish_jump()
        elif self._jump_timer is None and now < len(self.window) and self.window.get_row(before):
            self._jump_timer = self.set_timer(MAX_JUMP_WAIT, self._give_up)
        super().watch_cursor(before, now)
        if self.range_start is not None:
            self.notify_marks_changed()
        self.request_rows()

    @property
    def is_jumping(self) -> bool:
        """True if the cursor jumped to rows that will be loaded shortly; panes next to the list wait, too."""
        return self._jump_timer is not None and self.current is None

    def finish_jump(self) -> None:
        """Draw the rows at the cursor.

        Called together with the update of other panes, so that all change in one frame.
        """
        if self._jump_timer is not None:
            self._jump_timer.stop()
            self._jump_timer = None
            self.refresh()

    def _give_up(self) -> None:
        """Stop waiting and show blank rows."""
        self.finish_jump()
        self.post_message(self.Moved())

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Redraw, but not while waiting for rows after a jump: blank rows would flicker for a frame."""
        if self._jump_timer is not None and not (layout or recompose):
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def watch_scroll_y(self, before: float, now: float) -> None:
        """Keep the cursor on screen, also when scrolled by mouse: rows are loaded around the cursor."""
        super().watch_scroll_y(before, now)
        top, height = self.scroll_offset.y, self.drawable_size.height
        # Only rows that are whole count as visible.
        first = -(-top // self.row_height)
        last = max((top + height) // self.row_height - 1, first)
        if height and self.window.is_loaded and not first <= self.cursor <= last:
            self.cursor = min(max(self.cursor, first), last)

    # Drawing.

    def _draw_draft(self, row: "ListedDraft | None", width: int, part: int = 0) -> Content:
        if row is None:
            return _NOT_LOADED.truncate(width) if not part else Content("")
        from copydesk.tui.review.draft_row import (  # noqa: PLC0415 - as in `fade`
            arriving_line,
            detail_line,
            draft_row,
            title_line,
        )

        # Not dimmed like the row itself: it is what the user waits for.
        if not part and (arriving := self._arriving.get(row.id)):
            return arriving_line(arriving, width)
        now, style = self._clock(), self.row_style
        if self.row_height == 1:
            line = draft_row(row, now, width, style)
        else:
            line = detail_line(row, now, width, style) if part else title_line(row, width, style)
        return Content.styled(line.plain, "dim") if self.is_faded(row) else line

    def _row_key(self, at: int) -> Hashable:
        """Return everything that a row's rendering depends on, except cursor and mark."""
        row = self.window[at]
        if row is None:
            return None
        # Decisions on other drafts change it, but not the version. As displayed: no row is drawn again for decimals.
        confidence = f"{row.confidence:.0%}" if row.confidence_known else ""
        state, arriving = (row.status, row.archived_at, self.is_faded(row)), self._arriving.get(row.id)
        return row.id, row.version, state, confidence, arriving

    def _current_text(self, index: int, width: int, part: int) -> str:
        return self._draw_draft(self.rows[index], width - self.SIGN_WIDTH, part).plain.rstrip()

    def _render_row(self, at: int, width: int, part: int) -> Strip:
        is_current, is_marked = at == self.cursor, self._is_marked(at)
        key = (self._row_key(at), is_current, is_marked, width, part)
        if (drawn := self.painter.cached(key)) is not None:
            return drawn
        row = self.window[at]
        signs = (CURSOR if is_current else " ") + (MARK if is_marked and not part else " ")
        line = Content.styled(signs, "accent") + self._draw_draft(row, width - self.SIGN_WIDTH, part)
        return self.painter.draw(line, key=key, background="line-list--cursor" if is_current else "")
