"""The pane with the review queue: one list of drafts at a time, of a tab, a search or a filter.

A list is loaded as far as it is displayed, and refreshed in place when the desk changes. Each list that is requested
gets a number; results for an earlier number are dropped.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual import getters, on
from textual.containers import Container
from textual.message import Message

from copydesk.errors import CopydeskError, InvalidError
from copydesk.text import clean
from copydesk.tui import empty_states, labels
from copydesk.tui.custom_tabs import MAX_TAB_COUNT, from_view, tab_key, tab_name, to_view
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.review.draft_queue import DraftQueue
from copydesk.tui.review.local_changes import LocalChanges
from copydesk.tui.review.marks import MarkedDrafts, Marks, Precedes, Selection, select_draft
from copydesk.tui.review.preview_pane import PARTIAL_TEXT_SECONDS
from copydesk.tui.review.queue_header import QueueHeader
from copydesk.tui.review.row_style import RowStyle
from copydesk.tui.review.row_window import PAGE_SIZE, RowRequest, Window
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.lines import set_title

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.model.filters import DraftCounts, DraftPosition, DraftSlice, DraftView, Order
    from copydesk.model.source import Source
    from copydesk.tui.review.dialogs import TabChange
    from copydesk.tui.review.queue_loader import LoadedQueue, QueueLoader, RefreshedRows, SavedTab

AUTO_SHOW_DURATION = timedelta(minutes=2)
"""For this long after a list was empty, new drafts are shown without a key press, as long as nobody has moved in it."""


class QueuePane(Container):
    """The queue of the review; `header` shows its tabs and its search line."""

    # The queue covers it.
    BLANK = True
    app = getters.app(DeskApp)
    queue = getters.query_one(DraftQueue)

    class Moved(Message):
        """The cursor is on another draft, or that draft changed; only the last one matters."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, QueuePane.Moved)

    class Marked(Message):
        """The marks have changed."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, QueuePane.Marked)

    class Progressed(Message):
        """The progress of the sitting has changed."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, QueuePane.Progressed)

    def __init__(self, header: QueueHeader, changes: LocalChanges) -> None:
        super().__init__(id="queue-pane")
        self._header = header
        self._changes = changes
        self.tab = "to_review"
        self._view: DraftView | None = None
        """The displayed list; None until the first load."""
        self._marks_by_view: dict[DraftView, Marks] = {}
        """Marks by the list that they were set in."""
        self._saved_tabs: dict[str, SavedTab] = {}
        self._custom_views: dict[str, DraftView] = {}
        """The views of the user's own tabs by key, once the ids of their sources are loaded."""
        self._tab_counts: dict[str, int] = {}
        """The number of drafts by built-in tab."""
        self._sorts: dict[str, Order] = {}
        """The order by tab, where it is not the usual one."""
        self._list_number = 0
        """Incremented with each list that is requested; results for an earlier number are dropped."""
        self._list_switches = 0
        """Number of times the user has switched lists. A draft located for an earlier value is not shown."""
        self._newest_id = ""
        self._new_count = 0
        self.progress = ""
        """How many of the drafts of this sitting are decided, as displayed last."""
        self._sitting_total = 0
        """Drafts decided since the console was opened, and those still to be decided."""
        self._target = ""
        """The draft to which the cursor moves once the list that is being loaded is shown."""
        self._from_start = False
        """True if that list is another one: the cursor does not follow the draft that it was on."""
        self._announced_id = ""
        """A draft that was written a moment ago, to which the next refresh moves the cursor."""
        self._filling_since: datetime | None = None
        """When the list was found empty; None if it was not."""
        self._loader: QueueLoader | None = None
        self._row_loader = Coalescer(self._load_rows)
        self._refresher = Coalescer(self._load_refresh)
        self._locator = Coalescer(self._locate)
        self._tab_counter = Coalescer(self._count_custom_tabs)

    def compose(self) -> Iterable[DraftQueue]:
        yield DraftQueue(self.app.clock, id="queue")

    def on_mount(self) -> None:
        set_title(self.queue, labels.QUEUE_TITLE)

    @property
    def _own_row_style(self) -> RowStyle:
        """The user's own columns."""
        display = self.app.preferences.display
        return RowStyle(columns=display.columns, details=display.details)

    @property
    def _desk_screen(self) -> DeskScreen:
        """The screen that loads data for its panes, and retries."""
        return cast("DeskScreen", self.screen)

    @property
    def view(self) -> "DraftView":
        """The tab and the filters within it."""
        if self._view is None:
            self._view = self._own_view()
        return self._view

    def _own_view(self) -> "DraftView":
        """Return the whole tab: without filters, or with those of a tab of the user's own."""
        from msgspec.structs import replace  # noqa: PLC0415 - not needed for the first paint

        from copydesk.model.filters import DraftView, Tab  # noqa: PLC0415 - as above

        view = self._custom_views.get(self.tab)
        if view is None:
            return DraftView(tab=Tab(self.tab), sort=self._sorts.get(self.tab))
        return replace(view, sort=self._sorts.get(self.tab, view.sort))

    @property
    def is_narrowed(self) -> bool:
        """True if a filter or search shows less than the whole tab."""
        from msgspec.structs import replace  # noqa: PLC0415 - not needed for the first paint

        return self.view.is_filtered and replace(self._own_view(), sort=self.view.sort) != self.view

    def _marks_for(self, view: "DraftView") -> Marks:
        """Return the marks of one list; they are kept while other lists are displayed."""
        # Drop empty marks of lists that are not displayed, so that searches do not pile up.
        self._marks_by_view = {
            other: marks for other, marks in self._marks_by_view.items() if marks or marks is self.queue.marks
        }
        return self._marks_by_view.setdefault(view, Marks(self._order_of(view)))

    def _order_of(self, view: "DraftView") -> Precedes:
        from copydesk.model.filters import precedes  # noqa: PLC0415 - not needed for the first paint

        order = view.order
        return lambda first, second: precedes(order, first, second)

    @on(LineList.Moved)
    def _forward_move(self, message: LineList.Moved) -> None:
        # The list's own message ends here if the list was changed by this pane: Textual stops messages at their sender.
        message.stop()
        self.post_message(self.Moved())

    def _show_later(self, show: Callable[..., None], *results: object) -> None:
        """Show results from the message loop, unless the console is exiting and the widgets of the pane are gone."""
        self.call_later(lambda: show(*results) if self.query(DraftQueue) else None)

    # Loading a list.

    def show_first_page(self, drafts: "Sequence[ListedDraft]") -> None:
        """Show the first rows, read from the database before the desk is open."""
        window = Window(len(drafts))
        window.rows = list(drafts)
        from copydesk.model.draft import Status  # noqa: PLC0415 - loaded with the rows

        style = self._own_row_style._replace(usual_status=Status.PENDING_REVIEW, usual_part=_usual_part(drafts))
        self.queue.set_row_style(style)
        self.queue.show_window(window, self.queue.marks)

    def refresh_rows(self) -> None:
        """Load the list if there is none; otherwise refresh only the visible rows, so that nothing moves."""
        if self.queue.window.is_loaded and self.queue.rows:
            ids, number, newest = self.queue.visible_ids(), self._list_number, self._newest_id
            self._desk_screen.load_with_retry(lambda desk: self._refresher.submit((desk, number, ids, newest)))
        else:
            self.reload()

    def reload(self, target: str = "", *, from_start: bool = False) -> None:
        """Load the list again, with the cursor on the same draft or, if that is gone, at the same position.

        With `from_start` it goes to the first row. With a `target` it moves to that draft, if its row is loaded.
        """
        self._list_number += 1
        self._target, self._from_start = target, from_start
        self.queue.end_range()
        number, view, position = self._list_number, self.view, self._cursor_position()
        self._desk_screen.load_with_retry(lambda desk: self._load_list(desk, number, view, position), keys_wait=True)

    def announce(self, draft_id: str) -> None:
        """Move the cursor to this draft with the next refresh that the user asks for."""
        self._announced_id = draft_id

    def refresh_with_new(self) -> None:
        """Load the list again with what is new, and move the cursor to the announced draft, if there is one."""
        announced, self._announced_id = self._announced_id, ""
        if announced and not self.move_cursor_to(announced):
            self.show_draft(announced)
        else:
            self.reload()

    async def finish_texts(self, desk: "Desk", ids: Sequence[str]) -> None:
        """Wait until the texts of these drafts are written; show in their rows what has arrived."""
        watch = asyncio.create_task(self._watch_texts(desk, ids))
        try:
            await desk.generation.finish(ids)
        finally:
            watch.cancel()
            self._show_later(self.queue.show_arriving, dict.fromkeys(ids, ""))

    async def _watch_texts(self, desk: "Desk", ids: Sequence[str]) -> None:
        while True:
            await asyncio.sleep(PARTIAL_TEXT_SECONDS)
            texts = {draft_id: desk.generation.partial_text(draft_id) for draft_id in ids}
            self._show_later(self.queue.show_arriving, texts)

    def _cursor_position(self) -> "DraftPosition | None":
        """Return the position of the cursor's draft in the list's order; None near the start."""
        # Near the start the first page holds the draft in any case.
        is_far = self.queue.cursor >= PAGE_SIZE // 2
        return self.queue.window.position_at(self.queue.cursor) if is_far else None

    async def _load_list(self, desk: "Desk", number: int, view: "DraftView", position: "DraftPosition | None") -> None:
        from copydesk.tui.review.queue_loader import QueueLoader  # noqa: PLC0415 - not needed for the first paint

        # A draft that was decided a moment ago belongs in the list of its new tab.
        await self.app.desk_tasks.wait_for_writes()
        if number != self._list_number:
            return
        # The counter is read before the rows, so that a change in between is noticed.
        self._loader, changes = QueueLoader(view), self.app.change_count
        try:
            result = await self._loader.load(desk, position, self._marks_for(view))
        except InvalidError as error:
            self._show_later(self._show_query_error, number, str(error))
            return
        self._show_later(self._show_list, number, result)
        self._refresh_if_outdated(changes)

    def _refresh_if_outdated(self, changes: int) -> None:
        """Refresh once more if something was written while the rows were loading."""
        if changes != self.app.change_count:
            self.call_later(self._desk_screen.refresh_data)

    def _show_query_error(self, number: int, message: str) -> None:
        if number == self._list_number:
            self._header.show_query_error(message)

    def _show_list(self, number: int, result: "LoadedQueue") -> None:
        if number != self._list_number:
            return
        self._desk_screen.is_loaded = True
        was_filling = self._is_filling()
        self._newest_id, self._new_count = result.newest_id, 0
        self._show_counts(result.counts)
        marks = self._marks_for(result.view)
        marks.update_positions(*result.mark_positions)
        if not result.window.rows:
            self.queue.marks = marks
            self.queue.show_note(self._empty_note(sources=result.has_sources))
            self.queue.window.is_loaded = True
            self._filling_since = self.app.clock()
        else:
            self._configure_rows(result.window.rows)
            # While a list fills up, the cursor stays on the first row until the user moves it.
            at_start = was_filling or self._from_start
            cursor = 0 if at_start else result.cursor_index(self.queue.current, self.queue.cursor)
            self.queue.show_window(result.window, marks, cursor)
            self._show_pending()
            self.move_cursor_to(self._target)
        self._header.show_query_error("")
        if result.mark_positions.removed_count:
            self.app.notify_latest(labels.marked_drafts_left(result.mark_positions.removed_count))
        # Count a filtered list in the background: that may take longer than loading its first rows.
        if not result.window.is_total_exact:
            self.app.run_desk_task(lambda desk: self._count_rows(desk, number, result.view))
        self._show_title()

    def _is_filling(self) -> bool:
        """Return True if the list was empty until recently and the user has not moved in it.

        A search that matched nothing while it was typed says nothing about the list.
        """
        if self.view.is_filtered:
            return False
        since, is_untouched = self._filling_since, not self.queue.cursor and not self.queue.marked_count
        return since is not None and is_untouched and self.app.clock() - since < AUTO_SHOW_DURATION

    def _empty_note(self, *, sources: bool) -> empty_states.Note:
        if self.is_narrowed:
            return empty_states.no_matches()
        if self.tab != "to_review":
            name = labels.TABS[self.tab][0] if self.tab in labels.TABS else tab_name(self.tab)
            return empty_states.empty_tab(self.tab, name)
        return empty_states.nothing_to_review() if sources else empty_states.no_sources()

    def _configure_rows(self, rows: "Sequence[ListedDraft]") -> None:
        """Configure how the rows of this list, of which some are loaded, are drawn."""
        from copydesk.model.filters import tab_contains  # noqa: PLC0415 - not needed for the first paint

        tab = self.view.tab
        self.queue.belongs = lambda draft: tab_contains(tab, draft)
        self._update_row_style(rows)

    def _update_row_style(self, rows: "Sequence[ListedDraft]") -> None:
        """Draw the rows without what is the same for all of them."""
        from copydesk.model.filters import TAB_STATUSES, Tab  # noqa: PLC0415 - not needed for the first paint
        from copydesk.tui.review.draft_row import has_source  # noqa: PLC0415 - loaded with the rows

        view = self.view
        # Usually the drafts to review are all new.
        usual = next(iter(TAB_STATUSES[view.tab]), None)
        zone = self._loader.zone if self._loader is not None else None
        style = self._own_row_style._replace(
            usual_part=_usual_part(rows),
            zone=zone,
            usual_status=usual,
            is_archive=view.tab is Tab.ARCHIVED,
            shows_format=view.format is None,
            shows_confidence=any(draft.confidence_known for draft in rows),
            shows_source=not rows or any(map(has_source, rows)),
        )
        self.queue.set_row_style(style)

    async def _count_rows(self, desk: "Desk", number: int, view: "DraftView") -> None:
        total = 0
        async for total in desk.drafts.views.count_in_steps(view):  # noqa: B007 - the last value is the total
            if number != self._list_number:
                return
        self._show_later(self._show_total, number, total)

    def _show_total(self, number: int, total: int) -> None:
        if number == self._list_number:
            self.queue.set_total(total)
            self._show_title()

    # Loading rows.

    @on(DraftQueue.RowsRequested)
    def _request_rows(self, message: DraftQueue.RowsRequested) -> None:
        message.stop()
        number, request = self._list_number, message.request
        if self.queue.current is None:  # the next keys act on that row, so they wait for it
            self.app.run_desk_task(
                lambda desk: self._row_loader.submit_and_wait((desk, number, request)), hold_keys=Hold.RESULT
            )
        else:
            self.app.run_desk_task(lambda desk: self._row_loader.submit((desk, number, request)))

    async def _load_rows(self, arguments: "tuple[Desk, int, RowRequest]") -> None:
        # The counter is read before the rows, as for a whole list.
        (desk, number, request), changes = arguments, self.app.change_count
        if number == self._list_number and self._loader is not None:
            self._show_later(self._show_rows, number, request, await self._loader.load_rows(desk, request))
            self._refresh_if_outdated(changes)

    def _show_rows(self, number: int, request: RowRequest, rows: "DraftSlice") -> None:
        if number == self._list_number:
            self.queue.merge_rows(request, rows)
            self._show_pending()
            self._show_title()

    def _show_pending(self) -> None:
        """Show pending changes on the rows, which were loaded before the changes were written."""
        for draft_id, state in self._changes.pending.final_states.items():
            self.queue.fade([draft_id], state.status, archived=state.archived)

    async def _load_refresh(self, request: "tuple[Desk, int, tuple[str, ...], str]") -> None:
        desk, number, ids, newest = request
        with suppress(InvalidError):  # the invalid query was reported when the list was loaded
            if self._loader is not None:
                self._show_later(self._show_refreshed, number, await self._loader.refresh_rows(desk, ids, newest))

    def _show_refreshed(self, number: int, result: "RefreshedRows") -> None:
        self._show_counts(result.counts)
        if number != self._list_number:
            return
        self._update_row_style(self.queue.window.rows)
        # Skip outdated rows: they are refreshed again once the local change has been written.
        outdated = {draft.id for draft in result.drafts if self._changes.is_outdated(draft)}
        self.queue.update_rows([draft_id for draft_id in result.ids if draft_id not in outdated], result.drafts)
        self._new_count = result.new_count
        # A visible draft was deleted; loading the list again closes the gap.
        has_missing = len(result.drafts) < len(result.ids)
        if has_missing or (self._new_count and self._is_filling()):
            self.reload()
        self._show_title()

    def _show_counts(self, counts: "DraftCounts") -> None:
        from copydesk.model.filters import Tab, count_in_tab  # noqa: PLC0415 - not needed for the first paint

        self._tab_counts = by_tab = {tab.value: count_in_tab(tab, counts) for tab in Tab}
        self._header.tabs.show(self.tab, by_tab | self.app.preferences.tabs.counts)
        if self.app.preferences.tabs.tabs:
            # In the background: a filtered list is counted by walking over it.
            self.app.run_desk_task(lambda desk: self._tab_counter.submit((desk, by_tab)))
        self._sitting_total = len(self._changes.decided) + count_in_tab(Tab.TO_REVIEW, counts)

    def _show_title(self) -> None:
        """Show the total, the number of marked drafts, and the number of new ones."""
        queue, total, marked = self.queue, len(self.queue.window), self.queue.marked_count
        # Until a filtered list is counted, its length is a lower bound that includes one row not yet loaded.
        total_text = f"{total:,}" if queue.window.is_total_exact else f"{total - 1:,}+"
        progress = self._progress()
        if progress != self.progress:
            self.progress = progress
            self.post_message(self.Progressed())
        title = labels.queue_title(
            total_text if total else "",
            progress,
            labels.ORDERS[self.view.sort] if self.view.sort is not None and not self.view.query else "",
            self._filter_text(),
            f"{marked:,}{'+' * queue.is_count_partial}" if marked else "",
            self._new_count,
            is_range_open=queue.range_start is not None,
        )
        set_title(queue, title)

    def _filter_text(self) -> str:
        """Return the active filters; the words that the user typed are in the search line."""
        if self._loader is None or not self.view.is_filtered:
            return ""
        own_query = self._custom_views[self.tab].query if self.tab in self._custom_views else ""
        return ", ".join(filter(None, (self._loader.filter_text, clean(own_query))))

    def _progress(self) -> str:
        """Return how many of the drafts of this sitting are decided; empty in other lists, and before the first."""
        decided = len(self._changes.decided)
        shown = decided and self.tab == "to_review" and not self.view.is_filtered
        return labels.sitting_progress(decided, max(self._sitting_total, decided)) if shown else ""

    def show_progress(self) -> None:
        """Show the number of decided drafts after a decision."""
        self._show_title()

    def show_error(self, error: CopydeskError) -> None:
        """Show, in place of the rows, why the desk could not be opened or read."""
        self.queue.show_note(self._desk_screen.error_note(error))

    # Tabs.

    def show_next_tab(self, by: int) -> None:
        """Show the next tab (`by` 1) or the previous one (-1)."""
        names = self.app.preferences.tabs.keys
        self.show_tab(names[(names.index(self.tab) + by) % len(names)])

    def show_tab(self, tab: str) -> None:
        """Switch to `tab` as it was left. Search and filters belong to the tab they were entered in."""
        if tab == self.tab or self.app.desk is None:
            return
        if tab not in labels.TABS and tab not in self._custom_views:
            self.app.run_desk_task(lambda desk: self._load_custom_tab(desk, tab), hold_keys=Hold.RESULT)
            return
        self._list_switches += 1
        self._save_tab()
        self.tab, self._view, self._filling_since = tab, None, None
        self._header.tabs.show(tab)
        saved = self._saved_tabs.pop(tab, None)
        if saved is None or not saved.window.rows:
            self.queue.marks = self._marks_for(self.view)
            self.queue.show_note(())
            self._desk_screen.is_loaded = False
            self.reload()
            self._show_title()
            return
        self._restore_tab(saved)

    def _save_tab(self) -> None:
        from copydesk.tui.review.queue_loader import SavedTab  # noqa: PLC0415 - not needed for the first paint

        self._header.close_search()
        self.queue.end_range()
        # Search and filters end with leaving the tab, so there is no state worth saving.
        if self.is_narrowed:
            self._view = None
            self._saved_tabs.pop(self.tab, None)
        elif self.queue.window.is_loaded and self._loader is not None and self._loader.event_count is not None:
            window = self.queue.window
            # Keep only the rows around the cursor, so that saved tabs stay small.
            window.shrink(self.queue.cursor)
            self._saved_tabs[self.tab] = SavedTab(window, self.queue.cursor, self._newest_id, self._loader)

    def _restore_tab(self, saved: "SavedTab") -> None:
        # Rows that are still loading belong to the tab that was left, and are dropped.
        self._list_number += 1
        self._desk_screen.is_loaded = True
        self._loader, self._newest_id, self._new_count = saved.loader, saved.newest_id, 0
        self._configure_rows(saved.window.rows)
        self.queue.show_window(saved.window, self._marks_for(self.view), saved.cursor)
        self._show_title()
        # Left before its drafts were counted.
        if not saved.window.is_total_exact:
            number, view = self._list_number, self.view
            self.app.run_desk_task(lambda desk: self._count_rows(desk, number, view))
        # What left the tab while it was shown stays until here, not longer.
        if all(map(self.queue.belongs, saved.window.rows)):
            self._desk_screen.refresh_data()
        else:
            self.reload()

    # The user's own tabs.

    async def _load_custom_views(self, desk: "Desk") -> "dict[str, DraftView]":
        """Return the views of the user's own tabs by key."""
        tabs = self.app.preferences.tabs.tabs
        sources = await desk.sources.list() if any(tab.source for tab in tabs.values()) else ()
        # The view of the displayed list stays as it is, whatever becomes of its source.
        shown = {key: view for key, view in self._custom_views.items() if key == self.tab}
        return {tab_key(name): to_view(tab, sources) for name, tab in tabs.items()} | shown

    async def _load_custom_tab(self, desk: "Desk", tab: str) -> None:
        self._custom_views = await self._load_custom_views(desk)
        if tab in self._custom_views:
            self._show_later(self.show_tab, tab)

    async def _count_custom_tabs(self, request: "tuple[Desk, dict[str, int]]") -> None:
        desk, by_tab = request
        self._custom_views, counts = await self._load_custom_views(desk), {}
        for key, view in self._custom_views.items():
            async for counts[key] in desk.drafts.views.count_in_steps(view):
                if counts[key] >= MAX_TAB_COUNT:
                    break
        self.app.preferences.tabs.counts = counts
        self._show_later(lambda: self._header.tabs.show(self.tab, by_tab | counts))

    def _change_tabs(self, sources: "Sequence[Source]", change: "TabChange") -> None:
        """Change the user's own tabs after asking for a name or a confirmation, where one is needed."""
        name, tabs = tab_name(self.tab), self.app.preferences.tabs
        if change.kind == "save":
            if change.view.is_filtered or change.view.sort is not None:
                self._prompt_tab_name(labels.TAB_NAME_PROMPT, name, partial(self._save_as_tab, sources, change.view))
            else:
                self.app.notify(labels.TAB_WITHOUT_FILTER, severity="warning")
        elif tabs.is_configured(name):
            self.app.notify(labels.TAB_IN_SETTINGS, severity="warning")
        elif change.kind == "rename":
            self._prompt_tab_name(labels.TAB_RENAME_PROMPT, name, partial(self._rename_tab, name))
        elif change.kind == "remove":
            from copydesk.tui.dialogs.prompt import ConfirmDialog  # noqa: PLC0415 - not needed for the first paint

            confirm = ConfirmDialog(labels.remove_tab_prompt(name), yes=labels.REMOVE)
            self.app.push_screen(confirm, lambda confirmed: self._remove_tab(name) if confirmed else None)
        else:
            self._write_tabs(lambda: tabs.move(name, -1 if change.kind == "left" else 1))

    def _prompt_tab_name(self, question: str, value: str, on_name: Callable[[str], None]) -> None:
        from copydesk.tui.dialogs.prompt import PromptDialog  # noqa: PLC0415 - not needed for the first paint

        self.app.push_screen(PromptDialog(question, value=value), lambda name: on_name(name.strip()) if name else None)

    def _write_tabs(self, write: Callable[[], None]) -> bool:
        """Write a change of the tabs and show them; return False, with a notification, if that fails."""
        try:
            write()
        except OSError as error:
            self.app.notify(labels.tab_not_saved(error.strerror or str(error)), severity="error")
            return False
        self._header.tabs.show(self.tab)
        return True

    def _save_as_tab(self, sources: "Sequence[Source]", view: "DraftView", name: str) -> None:
        tabs, key = self.app.preferences.tabs, tab_key(name)
        # Under its own name a tab gets other filters.
        if refusal := tabs.refusal(name, replaces=name if key in tabs.keys else ""):
            self.app.notify(refusal, severity="warning")
        elif self._write_tabs(lambda: tabs.save(name, from_view(view, sources))):
            self._custom_views[key] = view
            self._sorts.pop(key, None)
            self._saved_tabs.pop(key, None)
            self.app.notify_latest(labels.tab_saved(name))
            if key == self.tab:
                self.apply_view(view)
            else:
                self.show_tab(key)
            self._desk_screen.refresh_data()

    def _rename_tab(self, name: str, new_name: str) -> None:
        if new_name == name:
            return
        tabs = self.app.preferences.tabs
        if refusal := tabs.refusal(new_name, replaces=name):
            self.app.notify(refusal, severity="warning")
        elif self._write_tabs(lambda: tabs.rename(name, new_name)):
            by_key: tuple[dict[str, Any], ...] = (self._custom_views, tabs.counts, self._sorts)
            for values in by_key:
                if tab_key(name) in values:
                    values[tab_key(new_name)] = values.pop(tab_key(name))
            self.tab = tab_key(new_name)
            self._header.tabs.show(self.tab)
            self._desk_screen.refresh_data()

    def _remove_tab(self, name: str) -> None:
        """Remove the displayed tab and show the built-in one that it narrowed."""
        tabs = self.app.preferences.tabs
        if self._write_tabs(lambda: tabs.remove(name)):
            self.show_tab(self.view.tab.value)
            for values in (self._custom_views, tabs.counts, self._sorts, self._saved_tabs):
                values.pop(tab_key(name), None)

    # Search and filters.

    @property
    def _current_id(self) -> str:
        """The id of the draft under the cursor; empty if there is none."""
        return self.queue.current.id if self.queue.current is not None else ""

    def search_for(self, query: str, target: str = "") -> None:
        """Show the drafts of this tab that match `query`; all of them if it is empty."""
        from msgspec.structs import replace  # noqa: PLC0415 - not needed for the first paint

        # What a tab of the user's own searches for is searched for, too.
        self.apply_view(replace(self.view, query=" ".join(filter(None, (self._own_view().query, query)))), target)

    def clear_search(self) -> None:
        """Close the search and show the whole tab, if possible with the cursor on the same draft."""
        self._header.close_search()
        self.queue.focus()
        self.search_for("", self._current_id)

    def show_next_order(self) -> None:
        """Sort this tab in the next order; search results keep theirs."""
        from msgspec.structs import replace  # noqa: PLC0415 - not needed for the first paint

        from copydesk.model.filters import MAX_SORTED, list_orders  # noqa: PLC0415 - as above

        view = self.view
        if view.query:
            self.app.notify_latest(labels.SEARCH_ORDER)
            return
        orders, own = list_orders(view.tab), self._custom_views.get(self.tab)
        possible = list_orders(view.tab, self._tab_counts.get(view.tab.value, 0))
        current = orders.index(view.order)
        order = next(order for order in (*orders[current + 1 :], *orders) if order in possible)
        # Said when the orders begin anew without those that are left out.
        if order is orders[0] and len(possible) < len(orders):
            self.app.notify_latest(labels.too_many_to_sort(MAX_SORTED))
        self._sorts.pop(self.tab, None)
        if order is not (orders[0] if own is None else own.order):
            self._sorts[self.tab] = order
        self.apply_view(replace(view, sort=self._sorts.get(self.tab, own.sort if own is not None else None)))

    def open_filter(self) -> None:
        """Load the sources and tags to filter by, then open the filter dialog."""
        self.app.run_desk_task(self._load_filter_options, hold_keys=Hold.SCREEN)

    async def _load_filter_options(self, desk: "Desk") -> None:
        self.call_later(self._open_filter_dialog, await desk.sources.list(), await desk.drafts.views.tags())

    def _open_filter_dialog(self, sources: "Sequence[Source]", tags: Sequence[str]) -> None:
        from copydesk.tui.review.dialogs import FilterDialog  # noqa: PLC0415 - not needed for the first paint

        dialog = FilterDialog(self.view, sources, tags, tab_name(self.tab))
        self.app.push_if_current(self.screen, dialog, partial(self._apply_filter, sources))

    def _apply_filter(self, sources: "Sequence[Source]", result: "DraftView | TabChange | None") -> None:
        if isinstance(result, tuple):
            self._change_tabs(sources, result)
        else:
            self.apply_view(result)

    def apply_view(self, view: "DraftView | None", target: str = "") -> None:
        """Show the list of `view` from its start, or with the cursor on `target` if its row is loaded.

        The marks in the old list are kept for it.
        """
        if view is not None and view != self.view:
            self._list_switches += 1
            self.queue.end_range()
            self._view = view
            # The old rows stay on the screen until the new list is loaded, but none of them is marked.
            self.queue.marks, self.queue.cursor = self._marks_for(view), 0
            self.reload(target, from_start=True)

    # Marks.

    @on(DraftQueue.MarksChanged)
    def _update_mark_count(self, message: DraftQueue.MarksChanged) -> None:
        message.stop()
        self._show_title()
        self.post_message(self.Marked())

    @property
    def is_empty(self) -> bool:
        """True if the list is loaded and has no drafts."""
        return self.queue.window.is_loaded and not len(self.queue.window)

    def current_or_notify(self) -> "ListedDraft | None":
        """Return the draft under the cursor; None, with a notification, if the list is empty."""
        if self.is_empty:
            self.app.notify_latest(labels.NO_DRAFT)
        return self.queue.current

    def selection(self) -> Selection | None:
        """Return the marked drafts, else the one under the cursor; None if there is neither, with a notification.

        Also None, with a notification, while it is not yet known which drafts are marked.
        """
        marked = self.queue.marked_count
        if not marked:
            draft = self.current_or_notify()
            return select_draft(draft) if draft is not None else None
        snapshot_time = self._loader.event_count if self._loader is not None else None
        range_is_loading = self.queue.range_start is not None and self.queue.growing_range() is None
        if snapshot_time is None or self.queue.is_count_partial or range_is_loading:
            self.app.notify_latest(labels.MARKS_LOADING)
            return None
        self.queue.end_range()
        marks = self.queue.marks
        selected = MarkedDrafts(
            self.view, snapshot_time, marks.all_marked, marks.spans, frozenset(marks.excluded), tuple(marks.ids)
        )
        # The marks at this time, to be restored if the action does not get to process them.
        start, restore = partial(self._start_bulk, marks), partial(self._restore_marks, marks, marks.copy())
        return Selection(None, marked, selected.resolve, start, restore)

    def _start_bulk(self, marks: Marks) -> None:
        """Clear the marks, which the bulk action has taken over: new marks belong to the next action."""
        marks.clear()
        self.queue.notify_marks_changed()

    def _restore_marks(self, marks: Marks, previous: Marks, ids: "Sequence[str] | None") -> None:
        """Restore marks after a bulk action: those of `ids`, or `previous` if `ids` is None."""
        if ids is not None:
            marks.add(self.queue.positions_of(ids))
        elif not marks:
            marks.copy_from(previous)
        self.queue.notify_marks_changed()

    def clear_marks_or_filters(self) -> bool:
        """Clear the marks, else the search, else the filters. Return False if there was none of them."""
        if self.queue.marked_count:
            self.queue.mark_only(())
        elif self.view.query != self._own_view().query or self._header.is_search_open:
            self.clear_search()
        elif self.is_narrowed:
            self.apply_view(self._own_view(), self._current_id)
        else:
            return False
        return True

    # Moving to a draft.

    def move_cursor_to(self, draft_id: str) -> bool:
        """Move the cursor to a draft; return False if its row is not loaded."""
        index = self.queue.window.find_index(draft_id)
        if index is not None:
            self.queue.cursor = index
        return index is not None

    def show_undone(self, ids: Sequence[str]) -> None:
        """Move the cursor to a draft whose change was undone. Load the list again if it may lack rows of `ids`."""
        # Only for a single draft: a bulk has no one row to return to.
        target = ids[0] if len(ids) == 1 else ""
        if not {row.id for row in self.queue.window.rows}.issuperset(ids):
            self.reload(target)
        else:
            self.move_cursor_to(target)

    def show_draft(self, draft_id: str) -> None:
        """Move the cursor to a draft: in the displayed list if it is loaded there, else in its tab, unfiltered."""
        if self.move_cursor_to(draft_id):
            return
        switches = self._list_switches
        self.app.run_desk_task(
            lambda desk: self._locator.submit_and_wait((desk, draft_id, switches)), hold_keys=Hold.RESULT
        )

    async def _locate(self, request: "tuple[Desk, str, int]") -> None:
        from copydesk.tui.review.queue_loader import locate_draft  # noqa: PLC0415 - not needed for the first paint

        desk, draft_id, switches = request
        located = await locate_draft(desk, draft_id, self.view.tab, self._sorts)
        self._show_later(self._show_located, switches, *located)

    def _show_located(self, switches: int, view: "DraftView", saved: "SavedTab") -> None:
        """Show the draft, unless the user switched lists while it was located."""
        if switches != self._list_switches:
            return
        self._save_tab()
        self.tab, self._view, self._filling_since = view.tab.value, view, None
        self._header.tabs.show(self.tab)
        # The located state replaces the one in which the tab was left.
        self._saved_tabs.pop(self.tab, None)
        self._restore_tab(saved)


def _usual_part(rows: "Sequence[ListedDraft]") -> str:
    """Return the part of the score that weighed most in all of these drafts; empty if they differ."""
    from copydesk.tui.review.draft_row import heaviest_part  # noqa: PLC0415 - loaded with the rows

    parts = {heaviest_part(row) for row in rows}
    return parts.pop() if len(parts) == 1 < len(rows) else ""
