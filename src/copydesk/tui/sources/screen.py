"""The sources screen: sources with their health, runs of the pipeline, and details of the row under the cursor."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from textual import getters, on
from textual.actions import SkipAction
from textual.containers import Container
from textual.content import Content
from textual.events import DescendantFocus
from textual.widget import Widget

from copydesk.errors import CopydeskError
from copydesk.tui import empty_states, labels
from copydesk.tui.desk_screen import RunScreen
from copydesk.tui.dialogs.prompt import ConfirmDialog
from copydesk.tui.keys import KeyContext, bindings, key_label
from copydesk.tui.layout import Block, Paragraph, paragraph
from copydesk.tui.messages import RunChanged
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.sources import pages
from copydesk.tui.sources.feed_transfer import FeedTransfer
from copydesk.tui.sources.messages import ExportFileExists, FeedsLoaded, RecentItemsLoaded, SourceSaved, SourcesLoaded
from copydesk.tui.sources.pages import (
    EXAMPLES,
    Example,
    run_header,
    run_page,
    run_row,
    source_header,
    source_page,
    source_row,
)
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.line_list import LineList, ListPane
from copydesk.tui.widgets.lines import TooSmall, set_title
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.sources.overview import RecentItem, SourceOverview
    from copydesk.model.run import Run, RunStatistics
    from copydesk.model.source import Source

MAX_RUNS = 30
"""Runs in the list, newest first."""
MAX_RECENT_ITEMS = 20
"""Items of a source in its details, newest first."""


def _no_runs_note() -> tuple[Block, ...]:
    runs = Content.assemble((key_label("sources.run"), "key"), (f" {labels.RUN_PIPELINE}", "dim"))
    return paragraph(labels.EMPTY_RUNS, "dim"), Paragraph(runs)


NEED_SOURCE = frozenset({"sources.edit", "sources.test", "sources.switch", "sources.delete"})
"""The keys that act on the source under the cursor."""


class SourcesScreen(RunScreen, inherit_bindings=False):
    """Two lists, and a page with the row under the cursor of the list that was used last."""

    NAME = "Sources"
    WHERE = (KeyContext.LIST, KeyContext.SOURCES)
    CSS_PATH = [stylesheet_path("list_pane.tcss"), stylesheet_path("sources.tcss")]
    BINDINGS = bindings(KeyContext.SOURCES)
    AUTO_FOCUS = "#sources"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (10, "-short"), (20, "-tall")]

    sources: getters.query_one[LineList["SourceOverview"]] = getters.query_one("#sources", LineList)
    runs: getters.query_one[LineList["Run"]] = getters.query_one("#runs", LineList)
    detail_pane = getters.query_one("#detail", Page)

    def __init__(self) -> None:
        super().__init__()
        self._transfer = FeedTransfer(self)
        self.select_source_id: str | None = None
        """Id of the source that the cursor moves to after the next load."""
        self._statistics: RunStatistics | None = None
        self._recent_items: dict[str, Sequence[RecentItem]] = {}
        self._up_to_date: set[str] = set()
        """Ids of the sources whose recent items were loaded since the last refresh."""
        self._loader: Coalescer[Desk] = Coalescer(self._load_all)
        self._recent_loader: Coalescer[tuple[Desk, str]] = Coalescer(self._load_recent)
        self._displayed_id: str | None = None
        """Id of the source or run in the detail pane."""
        self._shows_runs = False
        """True while the detail pane shows a run."""

    def body(self) -> Iterable[Widget]:
        with Container(id="panes", classes="-sources"):
            sources = LineList(self._draw_source, shows_times=True, id="sources")
            runs = LineList(self._draw_run, shows_times=True, id="runs")
            yield ListPane(source_header, sources, id="sources-pane")
            yield ListPane(run_header, runs, id="runs-pane")
            yield Page(id="detail")

    def _draw_source(self, overview: "SourceOverview", width: int) -> Content:
        return source_row(overview, self.app.clock(), width)

    def _draw_run(self, run: "Run", width: int) -> Content:
        return run_row(run, self.app.clock(), width)

    def on_mount(self) -> None:
        self._update_title()
        set_title(self.query_one("#runs-pane", ListPane), labels.RUNS_TITLE)
        if self.app.desk is None and self.app.open_error is None:
            self.show_note(empty_states.opening(self.app.opening_text))

    def show_error(self, error: CopydeskError) -> None:
        self.show_note(self.error_note(error))

    def show_note(self, blocks: Sequence[Block]) -> None:
        """Show a note in place of the sources, without the column header."""
        self._show_headings(visible=False)
        self.sources.show_note(blocks)

    def _show_headings(self, *, visible: bool) -> None:
        """Show the column header above sources, and the details below them, for which a note has no row."""
        self.query_one("#sources-pane", ListPane).show_headings(visible=visible)
        self.query_one("#panes").set_class(not visible, "-note")

    def refresh_data(self) -> None:
        """Load the sources and the runs."""
        self.load_with_retry(self._loader.submit_and_wait)

    async def _load_all(self, desk: "Desk") -> None:
        sources = await desk.sources.list_overviews()
        runs = await desk.pipeline.list(MAX_RUNS)
        self.post_message(SourcesLoaded(sources, runs.items, await desk.pipeline.statistics()))

    @on(SourcesLoaded)
    def _show_loaded(self, message: SourcesLoaded) -> None:
        """Show the lists. Each cursor stays on its row or, if that is gone, on its line."""
        self._statistics, self.is_loaded = message.statistics, True
        self._up_to_date.clear()
        if message.sources:
            self._show_headings(visible=True)
            self.sources.show(message.sources, self._cursor_row(message.sources))
        else:
            self.show_note(pages.first_steps())
        self._show_run_list(message)
        self._update_title()

    def _cursor_row(self, sources: "Sequence[SourceOverview]") -> int:
        """Return the row for the cursor: the source to select, else the current source, else the current line."""
        current = self.sources.current
        positions = {row.source.id: index for index, row in enumerate(sources)}
        if self.select_source_id in positions:
            source_id, self.select_source_id = self.select_source_id, None
            return positions[source_id or ""]
        return positions.get(current.source.id if current else "", self.sources.cursor)

    def _show_run_list(self, message: SourcesLoaded) -> None:
        self.query_one("#runs-pane", ListPane).show_headings(visible=bool(message.runs))
        if not message.runs:
            self.runs.show_note(_no_runs_note())
            return
        legend = labels.legend(labels.RUN_STATUS[run.status] for run in message.runs)
        self.query_one("#runs-pane", ListPane).legend_title.set(labels.RUNS_TITLE, legend)
        current = self.runs.current
        positions = {run.id: index for index, run in enumerate(message.runs)}
        # A cursor on the first row stays there, so that it follows the newest run.
        self.runs.show(message.runs, positions.get(current.id, self.runs.cursor) if current and self.runs.cursor else 0)

    def _update_title(self) -> None:
        rows = self.sources.rows
        # A disabled source does not count as failing.
        failing = sum(bool(row.source.fail_count) and row.source.enabled for row in rows)
        disabled = sum(not row.source.enabled for row in rows)
        title = labels.sources_title(len(rows), failing, disabled)
        legend = labels.legend(pages.health_sign(row.source) for row in rows)
        self.query_one("#sources-pane", ListPane).legend_title.set(title, legend)

    def on_run_changed(self, message: RunChanged) -> None:
        """Load the lists again when a run has ended."""
        if message.view.finished_run is not None:
            self.refresh_data()

    @property
    def current_overview(self) -> "SourceOverview | None":
        """Return the current source; None while the runs are used, since no source may be visible then."""
        return None if self._shows_runs else self.sources.current

    @on(LineList.Moved)
    def _show_current(self) -> None:
        self.update_keys()
        if self._shows_runs:
            run = self.runs.current
            self._show_detail(
                labels.RUN_TITLE, run.id if run else "", lambda: run_page(run, self._statistics, self.app.local_now())
            )
            return
        row = self.sources.current
        if row is None:
            self._show_detail(labels.SOURCE_TITLE, "", tuple)
            return
        steps = pages.next_steps(self.source_urls) if self.is_new_desk else []
        recent_items = self._recent_items.get(row.source.id)
        self._show_detail(
            labels.SOURCE_TITLE, row.source.id, lambda: [*steps, *source_page(row, recent_items, self.app.local_now())]
        )
        # Show the cached items at once and load the current ones behind them.
        if row.source.id not in self._up_to_date and self.app.desk is not None:
            self.app.run_desk_task(lambda desk: self._recent_loader.submit((desk, row.source.id)))

    def _show_detail(self, title: str, item_id: str, blocks: Callable[[], Sequence[Block]]) -> None:
        """Show a page from its start; one that is displayed already keeps its scroll position."""
        show = self.detail_pane.show_more if item_id == self._displayed_id else self.detail_pane.show
        self._displayed_id = item_id
        set_title(self.detail_pane, title)
        show(blocks)

    async def _load_recent(self, request: "tuple[Desk, str]") -> None:
        desk, source_id = request
        self.post_message(RecentItemsLoaded(source_id, await desk.sources.recent(source_id, MAX_RECENT_ITEMS)))

    @on(RecentItemsLoaded)
    def _store_recent(self, message: RecentItemsLoaded) -> None:
        self._recent_items[message.source_id] = message.items
        self._up_to_date.add(message.source_id)
        row = self.sources.current
        if row is not None and row.source.id == message.source_id and not self._shows_runs:
            self._show_current()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Show the keys of the focused pane; a narrow screen shows one list and the details."""
        widget = event.widget
        if isinstance(widget, LineList):
            self._shows_runs = widget is self.runs
            self._show_current()
        self._show_pane(widget)

    def _show_pane(self, widget: Widget) -> None:
        panes = self.query_one("#panes")
        panes.set_class(not self._shows_runs, "-sources").set_class(self._shows_runs, "-runs")
        panes.set_class(widget is self.detail_pane, "-detail")
        self.show_keys(KeyContext.PAGE if widget is self.detail_pane else KeyContext.LIST, KeyContext.SOURCES)

    def _go_to(self, widget: Widget) -> None:
        if isinstance(widget, LineList):
            self._shows_runs = widget is self.runs
        # Make the pane visible first: a hidden widget cannot take the focus.
        self._show_pane(widget)
        self.focus_after_layout(widget)

    def action_pane(self) -> None:
        """Focus the other list."""
        self._go_to(self.sources if self._shows_runs else self.runs)

    @on(LineList.Opened)
    def _open_detail(self) -> None:
        """Enter focuses the details."""
        self._go_to(self.detail_pane)

    def action_back(self) -> None:
        """Close the run panel, else go from the details to their list, else to the sources."""
        if self.close_run_panel():
            return
        self._go_to(self.runs if self._shows_runs and self.focused is self.detail_pane else self.sources)

    @property
    def can_go_back(self) -> bool:
        return not self.sources.region and not self.query_one(TooSmall).display

    def go_back(self) -> bool:
        """Return to the sources if a narrow terminal hides them; return False if not."""
        if not self.can_go_back:
            return False
        self._go_to(self.sources)
        return True

    def action_refresh(self) -> None:
        """Load the data again, or retry to open the desk."""
        if self.app.desk is None:
            self.show_note(empty_states.opening(self.app.opening_text))
            self.app.open()
        else:
            self.refresh_data()

    # Actions on the current source. Their results arrive with the desk's change notification.

    def refusal(self, key_id: str) -> str:
        """Return why a key does nothing: there is no source under the cursor."""
        if reason := super().refusal(key_id):
            return reason
        if key_id not in NEED_SOURCE or not self.is_loaded or self.current_overview is not None:
            return ""
        return labels.no_source_selected() if self.sources.rows else labels.no_source_yet()

    def _overview_for(self, key_id: str) -> "SourceOverview | None":
        """Return the current source; None, with a notification, if there is none."""
        if reason := self.refusal(key_id):
            self.app.notify_latest(reason)
            return None
        return self.current_overview

    def _source_for(self, key_id: str) -> "Source | None":
        overview = self._overview_for(key_id)
        return overview.source if overview is not None else None

    def action_search(self) -> None:
        """Open the command palette, which finds sources by their names."""
        self.app.action_command_palette()

    def action_new_source(self) -> None:
        """Open the form of a new source."""
        from copydesk.tui.sources.source_dialogs import SourceDialog  # noqa: PLC0415 - rarely needed

        if self.app.desk is not None:
            self.app.push_screen(SourceDialog(), self._show_created)

    def action_edit_source(self) -> None:
        from copydesk.tui.sources.source_dialogs import SourceDialog  # noqa: PLC0415 - as above

        if source := self._source_for("sources.edit"):
            self.app.push_screen(SourceDialog(source), self._show_updated)

    def _show_created(self, source: "Source | None") -> None:
        if source is not None:
            self._refresh_and_select(source)
            self.app.notify(labels.source_added(source.name))

    def _show_updated(self, source: "Source | None") -> None:
        if source is not None:
            self._refresh_and_select(source)
            self.app.notify(labels.source_saved(source.name))

    def _refresh_and_select(self, source: "Source") -> None:
        # The source gets a row with the next load only.
        self.select_source_id = source.id
        self.refresh_for_keys()

    def action_test_source(self) -> None:
        """Fetch the source once and show its entries."""
        from copydesk.tui.sources.source_dialogs import SourceTestDialog  # noqa: PLC0415 - as above

        if source := self._source_for("sources.test"):
            self.app.push_screen(SourceTestDialog(source))

    def action_switch_source(self) -> None:
        """Disable the source, or enable it again."""
        if source := self._source_for("sources.switch"):
            self.app.run_desk_task(lambda desk: self._toggle(desk, source), hold_keys=Hold.RESULT)

    async def _toggle(self, desk: "Desk", source: "Source") -> None:
        changed = await desk.sources.update(source.id, {"enabled": not source.enabled})
        self.app.notify(labels.source_toggled(changed.name, enabled=changed.enabled))
        # Refresh before the next key acts: it is meant for the source as it is now.
        self.refresh_for_keys()

    def action_delete_source(self) -> None:
        """Delete the source, after a confirmation."""
        from copydesk.desk.sources.overview import deletion_prompt  # noqa: PLC0415 - as above

        row = self._overview_for("sources.delete")
        if row is None:
            return
        source = row.source

        def delete_if_confirmed(yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
            if yes:
                self.app.run_desk_task(lambda desk: self._delete_source(desk, source), hold_keys=Hold.RESULT)

        self.app.push_screen(ConfirmDialog(deletion_prompt(row), yes=labels.DELETE), delete_if_confirmed)

    async def _delete_source(self, desk: "Desk", source: "Source") -> None:
        await desk.sources.delete(source.id)
        self.app.notify(labels.source_deleted(source.name))
        self.refresh_for_keys()

    @property
    def source_urls(self) -> frozenset[str]:
        """Return the addresses of all sources."""
        return frozenset(row.source.url or "" for row in self.sources.rows)

    @property
    def is_new_desk(self) -> bool:
        """Return True if nothing was ever fetched, and there are no sources but examples."""
        example_urls = {example.url for example in EXAMPLES}
        return all(row.source.last_fetch is None and row.source.url in example_urls for row in self.sources.rows)

    def is_key_offered(self, key_id: str) -> bool:
        """Offer the examples on a new desk, each until it is added."""
        example = next((example for example in EXAMPLES if example.action == key_id), None)
        return example is None or (self.is_new_desk and example.url not in self.source_urls)

    def action_add_example(self, number: int) -> None:
        """Add example `number`, counted from 0, while the desk is new; nothing is fetched.

        Elsewhere the key keeps its meaning on other screens: `c` composes a draft.
        """
        if not self.is_new_desk:
            # Textual then tries the next binding of the key.
            raise SkipAction
        example = EXAMPLES[number]
        if self.app.desk is not None and self.is_new_desk and example.url not in self.source_urls:
            self.app.run_desk_task(lambda desk: self._add_example(desk, example), hold_keys=Hold.RESULT)

    async def _add_example(self, desk: "Desk", example: Example) -> None:
        request = {"type": example.type, "url": example.url, "config": example.config or None}
        source = await desk.sources.create(request, test=False, title=example.name)
        self.post_message(SourceSaved(source))

    @on(SourceSaved)
    def _show_example_added(self, message: SourceSaved) -> None:
        self._show_created(message.source)

    # Feeds from and to files.

    def action_import_feeds(self) -> None:
        self._transfer.prompt_import()

    def action_export_feeds(self) -> None:
        self._transfer.prompt_export()

    @on(FeedsLoaded)
    def _open_import(self, message: FeedsLoaded) -> None:
        self._transfer.open_import(message.feeds)

    @on(ExportFileExists)
    def _confirm_overwrite(self, message: ExportFileExists) -> None:
        self._transfer.confirm_overwrite(message.path)
