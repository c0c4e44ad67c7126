"""Feeds from and to OPML files: the prompts for a file, and the progress of an import, one line per feed."""

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from copydesk.errors import CopydeskError
from copydesk.file_replacement import is_replaceable, replace_file
from copydesk.text import clean
from copydesk.tui import labels
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.dialogs.prompt import ConfirmDialog, PromptDialog
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.layout import paragraph, progress_bar
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.sources.messages import ExportFileExists, FeedImported, FeedImportFinished, FeedsLoaded
from copydesk.tui.terminal.cells import fit, safe_line
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.lines import set_title

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.sources.feed_import import FeedImportResult, Outline
    from copydesk.tui.desk_screen import DeskScreen

MAX_OPML_SIZE = 16 * 1024 * 1024
"""Bytes read of an OPML file at most; no list of feeds is this large."""
DEFAULT_OPML_FILE = "sources.opml"


def _draw_result(result: "FeedImportResult", width: int) -> Content:
    label = labels.IMPORT_OUTCOME[result.outcome]
    name_width = min(30, width // 2)
    reason = safe_line(result.error) if result.error else label.text
    head = Content.assemble((label.letter, label.role), " ")
    text = f"{fit(safe_line(result.feed.name), name_width)} {reason}"
    return head + Content(fit(text, width - head.cell_length))


class FeedImportDialog(Dialog[None], inherit_bindings=False):
    """The feeds that have been processed, a progress bar, and counts per outcome. Leaving stops the rest."""

    CSS_PATH = stylesheet_path("sources.tcss")
    WHERE = (KeyContext.LIST, KeyContext.FEED_IMPORT)
    BINDINGS = bindings(KeyContext.FEED_IMPORT)

    app = getters.app(DeskApp)
    feeds: getters.query_one[LineList["FeedImportResult"]] = getters.query_one(LineList)

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
            yield LineList(_draw_result)
            yield Static(id="reason")
            yield Static(id="progress")
            yield Static(id="next")

    def on_mount(self) -> None:
        set_title(self.feeds, labels.import_title(len(self._outlines)))
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
        legend = labels.legend(labels.IMPORT_OUTCOME[result.outcome] for result in self._results)
        self.feeds.legend_title.set(labels.import_title(len(self._outlines)), legend)

    @on(LineList.Moved)
    def _show_reason(self) -> None:
        """Show in full why the feed under the cursor failed: in its row the reason may be cut."""
        reason = self.feeds.current.error if self.feeds.current is not None else ""
        self.query_one("#reason", Static).update(Content.styled(clean(reason or ""), "$warning"))

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


class FeedTransfer:
    """Imports and exports feeds as OPML files, with the prompts for them on the sources screen."""

    def __init__(self, screen: "DeskScreen") -> None:
        self._screen = screen

    def prompt_import(self) -> None:
        """Prompt for an OPML file to import."""
        self._prompt_import("")

    def _prompt_import(self, path: str, refusal: str = "") -> None:
        """Prompt with a path; if it was refused, with the reason."""
        prompt = PromptDialog(labels.IMPORT_PROMPT, value=path, hint=refusal or labels.IMPORT_HINT)
        self._screen.app.push_if_current(self._screen, prompt, self._import_from, otherwise=refusal)

    def _import_from(self, path: str | None) -> None:
        if path and path.strip():
            self._screen.app.run_desk_task(lambda desk: self._load_feeds(desk, path.strip()), hold_keys=Hold.SCREEN)

    async def _load_feeds(self, desk: "Desk", path: str) -> None:
        try:
            feeds = await desk.sources.read_opml(await asyncio.to_thread(_read_file, path))
        except CopydeskError as error:
            # The prompt again, with the path to correct, once this task no longer holds the keys.
            self._screen.app.call_later(self._prompt_import, path, str(error))
        else:
            self._screen.post_message(FeedsLoaded(feeds))

    def open_import(self, feeds: "Sequence[Outline]") -> None:
        """Open the import, unless the user has moved to another screen."""
        self._screen.app.push_if_current(self._screen, FeedImportDialog(feeds), lambda _: self._screen.refresh_data())

    def prompt_export(self) -> None:
        """Prompt for a file to export the sources to."""
        self._prompt_export(DEFAULT_OPML_FILE)

    def _prompt_export(self, path: str, refusal: str = "") -> None:
        """Prompt with a path; if it was refused, with the reason."""
        prompt = PromptDialog(labels.EXPORT_PROMPT, value=path, hint=refusal or labels.EXPORT_HINT)
        self._screen.app.push_if_current(self._screen, prompt, self._export_to, otherwise=refusal)

    def _export_to(self, path: str | None, *, overwrite: bool = False) -> None:
        if path and path.strip():
            self._screen.app.run_desk_task(
                lambda desk: self._write_opml(desk, path.strip(), overwrite=overwrite), hold_keys=Hold.DATA
            )

    async def _write_opml(self, desk: "Desk", path: str, *, overwrite: bool) -> None:
        body = await desk.sources.export_opml()
        try:
            is_written = await asyncio.to_thread(_write_file, path, body, overwrite=overwrite)
        except CopydeskError as error:
            # The prompt again, with the path to correct, as for an import.
            self._screen.app.call_later(self._prompt_export, path, str(error))
            return
        if is_written:
            self._screen.app.notify(labels.exported(path))
        else:
            self._screen.post_message(ExportFileExists(path))

    def confirm_overwrite(self, path: str) -> None:
        """Ask whether to replace the file, unless the user has moved to another screen."""

        def overwrite_if_confirmed(yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
            self._export_to(path if yes else None, overwrite=True)

        question = ConfirmDialog(labels.export_exists(path), yes=labels.OVERWRITE)
        self._screen.app.push_if_current(
            self._screen, question, overwrite_if_confirmed, otherwise=labels.export_refused(path)
        )


def _read_file(path: str) -> bytes:
    """Return the file's content. Raise CopydeskError if it cannot be read, is no regular file, or is too large."""
    try:
        with open(Path(path).expanduser(), "rb", opener=_open_nonblocking) as file:
            # One byte more than allowed, to tell a file that is too large. Devices and pipes have no end.
            body = file.read(MAX_OPML_SIZE + 1) if S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except (OSError, ValueError, RuntimeError) as error:
        raise CopydeskError(labels.file_not_readable(clean(path), _error_reason(error))) from error
    if body is None:
        raise CopydeskError(labels.file_not_regular(clean(path)))
    if len(body) > MAX_OPML_SIZE:
        raise CopydeskError(labels.file_too_large(clean(path)))
    return body


def _write_file(path: str, body: str, *, overwrite: bool) -> bool:
    """Write the file; return False if it exists and `overwrite` is not set. Raise CopydeskError on other errors."""
    try:
        file = Path(path).expanduser()
        if overwrite and is_replaceable(file):
            replace_file(file, body.encode())
            return True
        with open(file, "w" if overwrite else "x", encoding="utf-8", opener=_open_nonblocking) as output:
            output.write(body)
    except FileExistsError:
        return False
    except (OSError, ValueError, RuntimeError) as error:
        raise CopydeskError(labels.file_not_writable(clean(path), _error_reason(error))) from error
    return True


def _open_nonblocking(path: str, flags: int) -> int:
    """Open without blocking: a named pipe would block until its other end is opened, and with it the console's exit."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)


def _error_reason(error: Exception) -> str:
    """Return the error's text without its errno and path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
