"""The sources with their health, the runs of the pipeline, and in full what the cursor stands on."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from textual import getters, on
from textual.containers import Container
from textual.content import Content
from textual.events import DescendantFocus
from textual.widget import Widget

from copydesk.errors import CopydeskError
from copydesk.tui.keys import Where, bindings
from copydesk.tui.latest import Latest
from copydesk.tui.layout import Block, Paragraph, plain
from copydesk.tui.messages import RunChanged
from copydesk.tui.naming import key
from copydesk.tui.pages import note, source_notes
from copydesk.tui.pages.run import run_heads, run_page
from copydesk.tui.pages.source import source_page
from copydesk.tui.pages.source_row import heads
from copydesk.tui.screens.source_actions import SourceActions
from copydesk.tui.source_messages import Brought, SourcesRead
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.heads import ListPane
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.page import Page
from copydesk.tui.widgets.source_lists import RunList, SourceList
from copydesk.tui.widgets.too_small import TooSmall

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.overviews import RecentItem, SourceOverview
    from copydesk.model.run import RunStatistics

RUNS = 30
"""Runs that are shown, the latest."""
BROUGHT = 20
"""Items of a source that are shown, the latest."""


def _no_runs() -> tuple[Block, ...]:
    runs = Content.assemble((key("sources.run"), "key"), (" reads the sources and writes drafts.", "dim"))
    return plain("No run yet.", "dim"), Paragraph(runs)


class SourcesScreen(SourceActions, inherit_bindings=False):
    """Two lists, and a page for what stands under the cursor of the one that was used last."""

    NAME = "Sources"
    WHERE = (Where.LIST, Where.SOURCES)
    CSS_PATH = sheet("sources.tcss")
    BINDINGS = bindings(Where.SOURCES)
    AUTO_FOCUS = "#sources"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (10, "-short"), (20, "-tall")]

    runs = getters.query_one("#runs", RunList)
    detail = getters.query_one("#detail", Page)

    def __init__(self) -> None:
        super().__init__()
        self._statistics: RunStatistics | None = None
        self._brought: dict[str, Sequence[RecentItem]] = {}
        self._fresh: set[str] = set()
        """The sources of which it is known since the desk was read last."""
        self._reading: Latest[Desk] = Latest(self._read_all)
        self._asking: Latest[tuple[Desk, str]] = Latest(self._read_brought)
        self._shown: str | None = None
        """The id of the source or run in the detail."""
        self._of_runs = False
        """Whether the detail is that of the runs."""

    def body(self) -> Iterable[Widget]:
        """The panes."""
        with Container(id="panes", classes="-sources"):
            yield ListPane(heads, SourceList(self.app.clock, id="sources"), id="sources-pane")
            yield ListPane(run_heads, RunList(self.app.clock, id="runs"), id="runs-pane")
            yield Page(id="detail")

    def on_mount(self) -> None:
        """Show how far the desk is."""
        self._title()
        self.query_one("#runs-pane", ListPane).set_title("Runs")
        if self.app.desk is None and self.app.trouble is None:
            self.say_note(note.OPENING)

    def say_trouble(self, error: CopydeskError) -> None:
        """In the place of the sources."""
        self.say_note(self.trouble_note(error))

    def say_note(self, blocks: Sequence[Block]) -> None:
        """Without sources there are no columns."""
        self.query_one("#sources-pane", ListPane).show_heads(shown=False)
        self.sources.say(blocks)

    # The desk.

    def read(self) -> None:
        """The sources and the runs, as they are now."""
        self.ask_for(self._reading.settle)

    async def _read_all(self, desk: "Desk") -> None:
        sources = await desk.sources.overview()
        runs = await desk.pipeline.runs(RUNS)
        self.post_message(SourcesRead(sources, runs.items, await desk.pipeline.statistics()))

    @on(SourcesRead)
    def _fill(self, message: SourcesRead) -> None:
        """Each cursor stays on its row, or on its line where that is gone."""
        self._statistics, self.has_read = message.statistics, True
        self._fresh.clear()
        if message.sources:
            self.query_one("#sources-pane", ListPane).show_heads(shown=True)
            self.sources.show(message.sources, self._place(message.sources))
        else:
            self.say_note(source_notes.first_steps())
        self._fill_runs(message)
        self._title()

    def _place(self, sources: "Sequence[SourceOverview]") -> int:
        current = self.sources.current
        places = {row.source.id: at for at, row in enumerate(sources)}
        if self.to_find in places:
            wanted, self.to_find = self.to_find, None
            return places[wanted or ""]
        return places.get(current.source.id if current else "", self.sources.cursor)

    def _fill_runs(self, message: SourcesRead) -> None:
        self.query_one("#runs-pane", ListPane).show_heads(shown=bool(message.runs))
        if not message.runs:
            self.runs.say(_no_runs())
            return
        current = self.runs.current
        places = {run.id: at for at, run in enumerate(message.runs)}
        self.runs.show(message.runs, places.get(current.id, self.runs.cursor) if current and self.runs.cursor else 0)

    def _title(self) -> None:
        rows = self.sources.rows
        failing = sum(bool(row.source.fail_count) and row.source.enabled for row in rows)
        off = sum(not row.source.enabled for row in rows)
        parts = ["Sources", *([str(len(rows))] if rows else [])]
        parts += [f"{failing} failing"] * bool(failing) + [f"{off} off"] * bool(off)
        self.query_one("#sources-pane", ListPane).set_title(" · ".join(parts))

    def on_run_changed(self, message: RunChanged) -> None:
        """What came of it is shown at once."""
        if message.view.ended is not None:
            self.read()

    # What the cursor stands on.

    @property
    def chosen(self) -> "SourceOverview | None":
        """While it is about runs no source is: it may not even be on the screen."""
        return None if self._of_runs else self.sources.current

    @on(LineList.Moved)
    def _show_current(self) -> None:
        if self._of_runs:
            run = self.runs.current
            self._show("Run", run.id if run else "", lambda: run_page(run, self._statistics, self.app.clock()))
            return
        row = self.sources.current
        if row is None:
            self._show("Source", "", tuple)
            return
        steps = source_notes.next_steps(self.taken) if self.is_beginning else []
        brought = self._brought.get(row.source.id)
        self._show("Source", row.source.id, lambda: [*steps, *source_page(row, brought, self.app.clock())])
        if row.source.id not in self._fresh and self.app.desk is not None:
            self.app.ask(lambda desk: self._asking.wish((desk, row.source.id)))

    def _show(self, title: str, shown: str, made: Callable[[], Sequence[Block]]) -> None:
        """From the beginning; but one that is there already stays where it is read."""
        show = self.detail.show_more if shown == self._shown else self.detail.show
        self._shown = shown
        self.detail.set_title(title)
        show(made)

    async def _read_brought(self, wish: "tuple[Desk, str]") -> None:
        desk, source_id = wish
        self.post_message(Brought(source_id, await desk.sources.recent(source_id, BROUGHT)))

    @on(Brought)
    def _keep_brought(self, message: Brought) -> None:
        self._brought[message.source_id] = message.items
        self._fresh.add(message.source_id)
        row = self.sources.current
        if row is not None and row.source.id == message.source_id and not self._of_runs:
            self._show_current()

    # Panes.

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """The footer shows the keys of what has the focus; a narrow screen shows one list and its detail."""
        widget = event.widget
        if isinstance(widget, LineList):
            self._of_runs = widget is self.runs
            self._show_current()
        self._select(widget)

    def _select(self, widget: Widget) -> None:
        panes = self.query_one("#panes")
        panes.set_class(not self._of_runs, "-sources").set_class(self._of_runs, "-runs")
        panes.set_class(widget is self.detail, "-detail")
        self.show_keys(Where.PAGE if widget is self.detail else Where.LIST, Where.SOURCES)

    def _go_to(self, widget: Widget) -> None:
        if isinstance(widget, LineList):
            self._of_runs = widget is self.runs
        # Displayed first: what is hidden cannot take the focus.
        self._select(widget)
        self.focus_when_shown(widget)

    def action_pane(self) -> None:
        """The other list."""
        self._go_to(self.sources if self._of_runs else self.runs)

    @on(LineList.Opened)
    def _open(self) -> None:
        """Enter goes into what is below."""
        self._go_to(self.detail)

    def action_back(self) -> None:
        """Leave the run to itself; then back to the list, then to the sources."""
        if self.leave_run():
            return
        self._go_to(self.runs if self._of_runs and self.focused is self.detail else self.sources)

    def go_back(self) -> bool:
        """Back to the sources; False where they can be seen."""
        if self.sources.region or self.query_one(TooSmall).display:
            return False
        self._go_to(self.sources)
        return True

    def action_refresh(self) -> None:
        """Read the desk again, or try again to open it."""
        if self.app.desk is None:
            self.say_note(note.OPENING)
            self.app.open()
        else:
            self.read()
