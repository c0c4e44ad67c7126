"""The lines above the panes of the review: the tabs with their number of drafts, and the search line."""

from collections.abc import Mapping
from functools import partial
from itertools import product

from textual import events, getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from copydesk.text import clean
from copydesk.tui.custom_tabs import MAX_TAB_COUNT, tab_name
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.labels import NEEDS_YOU, NEEDS_YOU_SHORT, NEEDS_YOU_TAB, SEARCH_PLACEHOLDER, TAB_SHORT_LENGTH, TABS
from copydesk.tui.terminal.cells import fit
from copydesk.tui.widgets.lines import JumpTarget, StaticLines

_GAP = 2
_HIDDEN_TABS = Content.styled("…", "dim")
NARROW_WIDTH = 60
"""Below this width only the current tab is shown."""


class TabsLine(StaticLines):
    """As many tabs as fit."""

    app = getters.app(DeskApp)

    class Clicked(Message):
        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self, tab: str = "to_review") -> None:
        super().__init__()
        self._tab = tab
        self._counts: Mapping[str, int] = {}
        self._tab_ends: list[tuple[int, str]] = []
        """The end of each tab in cells, and its name."""

    def on_mount(self) -> None:
        """Follow the number of deliveries that need the user."""
        self.watch(self.app, "needs_user", self._on_change, init=False)

    def _on_change(self) -> None:
        self.refresh()

    def show(self, tab: str, counts: Mapping[str, int] | None = None) -> None:
        """Show the current tab, and the number of drafts by tab, if known."""
        self._tab = tab
        self._counts = self._counts if counts is None else counts
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """Return the first variant that fits; the user's own tabs are in each of them.

        In this order: all names, names of non-empty tabs, all short names, those of non-empty tabs, the current tab and
        its neighbours.
        Archived is a tab only if there are archived drafts.
        """
        if width < NARROW_WIDTH:
            return [self._join_tabs([self._tab], [self._label(self._tab, full_name=True)])]
        needs_you = [NEEDS_YOU_TAB] if self.app.needs_user or self._tab == NEEDS_YOU_TAB else []
        own = self.app.preferences.tabs.keys[len(TABS) :]
        all_tabs = [tab for tab in TABS if tab != "archived" or self._has_drafts(tab)] + own + needs_you
        always = ("to_review", "all", *own, *needs_you)
        non_empty = [tab for tab in all_tabs if self._has_drafts(tab) or tab in always]
        # From the most to the least informative variant. A name that the user chose is the last to be cut.
        variants = product((all_tabs, own, ()), (all_tabs, non_empty))
        for full_names, tabs in variants:
            labels = [self._label(tab, full_name=tab in full_names) for tab in tabs]
            if sum(label.cell_length for label in labels) + _GAP * (len(labels) - 1) <= width:
                return [self._join_tabs(tabs, labels)]
        return [self._join_neighbours(non_empty, width)]

    def _join_neighbours(self, tabs: list[str], width: int) -> Content:
        """Return the current tab and as many of those around it as fit, in short; `…` stands for the others."""
        labels = [self._label(tab, full_name=False) for tab in tabs]
        at = tabs.index(self._tab)
        start, end, used = at, at + 1, labels[at].cell_length
        # The nearest first, those after it before those before it.
        for number in sorted(range(len(tabs)), key=lambda number: (abs(number - at), number < at)):
            new_start, new_end = min(start, number), max(end, number + 1)
            needed = used + labels[number].cell_length + _GAP
            hidden_ends = (new_start > 0) + (new_end < len(tabs))
            if number in (start - 1, end) and needed + hidden_ends * (_HIDDEN_TABS.cell_length + _GAP) <= width:
                start, end, used = new_start, new_end, needed
        # A click on an ellipsis shows the nearest hidden tab.
        if start > 0:
            start -= 1
            labels[start] = _HIDDEN_TABS
        if end < len(tabs):
            labels[end] = _HIDDEN_TABS
            end += 1
        return self._join_tabs(tabs[start:end], labels[start:end])

    def _has_drafts(self, tab: str) -> bool:
        """Return True if the tab has drafts or is the current one."""
        return bool(self._counts.get(tab)) or tab == self._tab

    def _label(self, tab: str, *, full_name: bool) -> Content:
        is_current = tab == self._tab
        own = clean(tab_name(tab))
        long, short = TABS.get(tab, (own, fit(own, TAB_SHORT_LENGTH).rstrip()) if own else (NEEDS_YOU, NEEDS_YOU_SHORT))
        name = long if full_name or is_current else short
        count = self.app.needs_user if tab == NEEDS_YOU_TAB else self._counts.get(tab, 0)
        number = f" {format_count(count)}{'+' if own and count >= MAX_TAB_COUNT else ''}" if count else ""
        return Content.assemble((name, "current" if is_current else "dim"), (number, "accent" if is_current else "dim"))

    def _join_tabs(self, tabs: list[str], labels: list[Content]) -> Content:
        # Clicks are resolved with the ends of the tabs as last drawn.
        self._tab_ends = []
        end = 0
        for tab, label in zip(tabs, labels, strict=True):
            end += label.cell_length + _GAP
            self._tab_ends.append((end, tab))
        return Content(" " * _GAP).join(labels)

    def jump_targets(self) -> list[JumpTarget]:
        """Return the places to jump to: the tabs."""
        region, starts = self.content_region, [0, *(end for end, _ in self._tab_ends)]
        return [
            JumpTarget(max(region.x + start - _GAP, 0), region.y, partial(self.post_message, self.Clicked(tab)))
            for start, (_, tab) in zip(starts, self._tab_ends, strict=False)
        ]

    def on_click(self, event: events.Click) -> None:
        """Post the clicked tab."""
        offset = event.get_content_offset(self)
        tab = next((tab for end, tab in self._tab_ends if offset is not None and offset.x < end), None)
        if tab is not None:
            self.post_message(self.Clicked(tab))


def format_count(count: int) -> str:
    """Format a number in about four characters: `9999`, `12k`, `1.2M`."""
    if count < 10_000:
        return str(count)
    return f"{count // 1000}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


class SearchLine(Horizontal, inherit_bindings=False):
    """Posts the query as it is typed."""

    BINDINGS = bindings(KeyContext.SEARCH)

    class Changed(Message):
        """The query changed; only the last one matters."""

        def __init__(self, query: str) -> None:
            super().__init__()
            self.query = query

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, SearchLine.Changed)

    class Entered(Message):
        pass

    class Left(Message):
        """The search was left with Escape."""

    def __init__(self) -> None:
        super().__init__()
        # Created here, not in `compose`: a result of an earlier query may arrive before this line is mounted.
        self.input = Input(placeholder=SEARCH_PLACEHOLDER, select_on_focus=False)
        self._error = Static(classes="-wrong")

    def compose(self) -> ComposeResult:
        """Yield a slash, the input, and the error message."""
        yield Static("/", classes="-slash")
        yield self.input
        yield self._error

    def clear(self) -> None:
        """Clear the query."""
        with self.prevent(Input.Changed):
            self.input.value = ""
        self.show_error("")

    def show_error(self, message: str) -> None:
        """Show an error in the query; an empty text clears it."""
        self._error.update(Content(clean(message)))

    @on(Input.Changed)
    def _on_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _on_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Entered())

    def action_results(self) -> None:
        """Leave the line for the results."""
        self.post_message(self.Entered())

    def action_leave(self) -> None:
        self.post_message(self.Left())


class QueueHeader(Vertical):
    """The tabs and, once it is needed, the search line."""

    tabs = getters.query_one(TabsLine)

    def __init__(self) -> None:
        super().__init__()
        self._search: SearchLine | None = None

    def compose(self) -> ComposeResult:
        yield TabsLine()

    @property
    def is_search_open(self) -> bool:
        """True if the search line is visible."""
        return self._search is not None and self._search.display

    @property
    def query_text(self) -> str:
        """The query as typed so far."""
        return self._search.input.value if self._search is not None else ""

    async def mount_search(self) -> None:
        """Mount the search line, hidden, unless that was done before."""
        if self._search is None:
            self._search = SearchLine()
            self._search.display = False
            await self.mount(self._search)

    async def open_search(self) -> None:
        """Show the search line and focus it."""
        await self.mount_search()
        if self._search is not None:
            self._search.display = True
            # Focus at once, not after layout: the next key typed is text, no longer a key of the queue.
            self.screen.set_focus(self._search.input)

    def close_search(self) -> None:
        """Clear and hide the search line."""
        if self._search is not None:
            self._search.clear()
            self._search.display = False

    def show_query_error(self, message: str) -> None:
        """Show an error in the query; an empty text clears it."""
        if self._search is not None:
            self._search.show_error(message)
