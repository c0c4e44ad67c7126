"""Progress of an OPML import: one line per feed as it is tested and added."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from copydesk.tui import labels
from copydesk.tui.charts import progress_bar
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.layout import paragraph
from copydesk.tui.sources.lists import FeedList
from copydesk.tui.sources.messages import FeedImported, FeedImportFinished
from copydesk.tui.styles import stylesheet_path
from copydesk.tui.widgets.line_widget import ROLE_CLASSES

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.sources.feed_import import FeedImportResult, Outline


class FeedImportDialog(Dialog[None], inherit_bindings=False):
    """The feeds that have been processed, a progress bar, and counts per outcome. Leaving stops the rest."""

    CSS_PATH = stylesheet_path("sources.tcss")
    COMPONENT_CLASSES = set(ROLE_CLASSES)
    WHERE = (KeyContext.LIST, KeyContext.FEED_IMPORT)
    BINDINGS = bindings(KeyContext.FEED_IMPORT)

    app = getters.app(DeskApp)
    feeds = getters.query_one(FeedList)

    def __init__(self, feeds: "Sequence[Outline]") -> None:
        super().__init__()
        self._outlines = feeds
        self._results: list[FeedImportResult] = []
        self._counts: Counter[str] = Counter()
        self._import_task: asyncio.Task[None] | None = None
        self._finished = False
        self._closed_by_user = False
        """True once the dialog was left: an import that has not started by then must not start."""

    def compose(self) -> ComposeResult:
        with Vertical(id="feeds"):
            yield FeedList()
            yield Static(id="progress")
            yield Static(id="next")

    def on_mount(self) -> None:
        self.feeds.set_title(labels.import_title(len(self._outlines)))
        self.feeds.show_note([paragraph(labels.IMPORT_TESTING, "dim")])
        self._start_import(self._outlines, test=True)

    def _start_import(self, outlines: "Sequence[Outline]", *, test: bool) -> None:
        self._finished = False
        self._update_progress()
        self.app.run_desk_task(lambda desk: self._import(desk, outlines, test=test))

    async def _import(self, desk: "Desk", outlines: "Sequence[Outline]", *, test: bool) -> None:
        # The task may start only after the dialog was closed.
        if self._closed_by_user:
            return

        def report(result: "FeedImportResult") -> None:
            self.post_message(FeedImported(result))

        self._import_task = asyncio.create_task(desk.sources.import_feeds(outlines, report, test=test))
        try:
            # `return_exceptions`: leaving the dialog cancels the import task, which is no error to report.
            (outcome,) = await asyncio.gather(self._import_task, return_exceptions=True)
            if isinstance(outcome, Exception):
                raise outcome
        finally:
            # After a failure or cancellation, too: the keys for the next step depend on it.
            self.post_message(FeedImportFinished())

    @on(FeedImported)
    def _append_result(self, message: FeedImported) -> None:
        """Append a line; the cursor follows if it was on the last one."""
        at_end = self.feeds.cursor >= len(self._results) - 1
        self._results.append(message.result)
        self._counts[message.result.outcome] += 1
        self.feeds.show(self._results, len(self._results) - 1 if at_end else self.feeds.cursor)
        self._update_progress()

    @on(FeedImportFinished)
    def _mark_finished(self) -> None:
        self._finished = True
        if not self._results:
            self.feeds.show_note([paragraph(labels.IMPORT_EMPTY, "warn")])
        self._update_progress()

    @property
    def _failed(self) -> "list[Outline]":
        return [result.feed for result in self._results if result.outcome == "failed"]

    def _update_progress(self) -> None:
        processed, total = len(self._results), len(self._outlines)
        full, empty = progress_bar(processed / total if total else 1.0, 20)
        counts = labels.import_counts(self._counts)
        gauge = Content.assemble((full, "$accent"), (empty, "$border-blurred"))
        self.query_one("#progress", Static).update(gauge + Content(f" {processed}/{total}  {counts}"))
        self.query_one("#next", Static).update(Content(self._next_keys()))

    def _next_keys(self) -> str:
        return labels.import_keys(finished=self._finished, failed=bool(self._failed))

    def action_add_failed(self) -> None:
        """Add the feeds that could not be read, without testing them again."""
        failed = self._failed
        if self._finished and failed:
            self._results = [result for result in self._results if result.outcome != "failed"]
            del self._counts["failed"]
            self.feeds.show(self._results)
            self._start_import(failed, test=False)

    def action_close(self) -> None:
        """Close, and stop the import if it is still running."""
        self._closed_by_user = True
        if self._import_task is not None:
            self._import_task.cancel()
        self.close(None)
