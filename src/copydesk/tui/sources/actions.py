"""The actions of the sources screen."""

import asyncio
import os
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

from textual import getters, on
from textual.actions import SkipAction

from copydesk.errors import CopydeskError
from copydesk.text import clean
from copydesk.tui import labels
from copydesk.tui.desk_screen import RunScreen
from copydesk.tui.sources.lists import SourceList
from copydesk.tui.sources.messages import ExportFileExists, FeedsLoaded, SourceSaved
from copydesk.tui.sources.pages import EXAMPLES, Example

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.sources.overview import SourceOverview
    from copydesk.model.source import Source

MAX_OPML_SIZE = 16 * 1024 * 1024
"""Bytes read of an OPML file at most; no list of feeds is this large."""
DEFAULT_OPML_FILE = "sources.opml"


class SourceActions(RunScreen, inherit_bindings=False):
    """Actions run in background tasks; their results arrive with the desk's change notification."""

    sources = getters.query_one("#sources", SourceList)

    def __init__(self) -> None:
        super().__init__()
        self.select_source_id: str | None = None
        """Id of the source that the cursor moves to after the next load."""

    @property
    def current_overview(self) -> "SourceOverview | None":
        """Return the source that the keys act on."""
        return self.sources.current

    @property
    def _current_source(self) -> "Source | None":
        return self.current_overview.source if self.current_overview else None

    def action_new_source(self) -> None:
        """Open the form of a new source."""
        from copydesk.tui.sources.source_dialogs import SourceDialog  # noqa: PLC0415 - rarely needed

        if self.app.desk is not None:
            self.app.push_screen(SourceDialog(), self._show_created)

    def action_edit_source(self) -> None:
        from copydesk.tui.sources.source_dialogs import SourceDialog  # noqa: PLC0415 - as above

        if self._current_source is not None:
            self.app.push_screen(SourceDialog(self._current_source), self._show_updated)

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

        if self._current_source is not None:
            self.app.push_screen(SourceTestDialog(self._current_source))

    def action_switch_source(self) -> None:
        """Disable the source, or enable it again."""
        source = self._current_source
        if source is not None:
            self.app.run_desk_task(lambda desk: self._toggle(desk, source), hold_keys=True)

    async def _toggle(self, desk: "Desk", source: "Source") -> None:
        changed = await desk.sources.update(source.id, {"enabled": not source.enabled})
        self.app.notify(labels.source_toggled(changed.name, enabled=changed.enabled))
        # Refresh before the next key acts: it is meant for the source as it is now.
        self.refresh_for_keys()

    def action_delete_source(self) -> None:
        """Delete the source, after a confirmation."""
        from copydesk.desk.sources.overview import deletion_prompt  # noqa: PLC0415 - as above
        from copydesk.tui.dialogs.prompt import ConfirmDialog  # noqa: PLC0415 - as above

        row = self.current_overview
        if row is None:
            return
        source = row.source

        def delete_if_confirmed(yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
            if yes:
                self.app.run_desk_task(lambda desk: self._delete_source(desk, source), hold_keys=True)

        self.app.push_screen(ConfirmDialog(deletion_prompt(row)), delete_if_confirmed)

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

    def action_add_example(self, number: int) -> None:
        """Add example `number`, counted from 0, while the desk is new; nothing is fetched.

        Elsewhere the key keeps its meaning on other screens: `c` composes a draft.
        """
        if not self.is_new_desk:
            # Textual then tries the next binding of the key.
            raise SkipAction
        example = EXAMPLES[number]
        if self.app.desk is not None and self.is_new_desk and example.url not in self.source_urls:
            self.app.run_desk_task(lambda desk: self._add_example(desk, example), hold_keys=True)

    async def _add_example(self, desk: "Desk", example: Example) -> None:
        config = example.config or None
        request = {"type": example.type, "url": example.url, "name": example.name, "config": config}
        source = await desk.sources.create(request, test=False)
        self.post_message(SourceSaved(source))

    @on(SourceSaved)
    def _show_example_added(self, message: SourceSaved) -> None:
        self._show_created(message.source)

    def action_import_feeds(self) -> None:
        """Prompt for an OPML file to import."""
        from copydesk.tui.dialogs.prompt import PromptDialog  # noqa: PLC0415 - as above

        prompt = PromptDialog(labels.IMPORT_PROMPT, hint=labels.import_hint())
        self.app.push_screen(prompt, self._import_from)

    def _import_from(self, path: str | None) -> None:
        if path and path.strip():
            self.app.run_desk_task(lambda desk: self._load_feeds(desk, path.strip()), opens_screen=True)

    async def _load_feeds(self, desk: "Desk", path: str) -> None:
        body = await asyncio.to_thread(_read_file, path)
        self.post_message(FeedsLoaded(await desk.sources.read_opml(body)))

    @on(FeedsLoaded)
    def _open_import(self, message: FeedsLoaded) -> None:
        from copydesk.tui.sources.feed_import_dialog import FeedImportDialog  # noqa: PLC0415 - as above

        self.app.push_if_current(self, FeedImportDialog(message.feeds), lambda _: self.refresh_data())

    def action_export_feeds(self) -> None:
        """Prompt for a file to export the sources to."""
        from copydesk.tui.dialogs.prompt import PromptDialog  # noqa: PLC0415 - as above

        prompt = PromptDialog(labels.EXPORT_PROMPT, value=DEFAULT_OPML_FILE, hint=labels.export_hint())
        self.app.push_screen(prompt, self._export_to)

    def _export_to(self, path: str | None, *, overwrite: bool = False) -> None:
        if path and path.strip():
            self.app.run_desk_task(
                lambda desk: self._write_opml(desk, path.strip(), overwrite=overwrite), opens_screen=True
            )

    async def _write_opml(self, desk: "Desk", path: str, *, overwrite: bool) -> None:
        body = await desk.sources.export_opml()
        if await asyncio.to_thread(_write_file, path, body, overwrite=overwrite):
            self.app.notify(labels.exported(path))
        else:
            self.post_message(ExportFileExists(path))

    @on(ExportFileExists)
    def _confirm_overwrite(self, message: ExportFileExists) -> None:
        from copydesk.tui.dialogs.prompt import ConfirmDialog  # noqa: PLC0415 - as above

        def overwrite_if_confirmed(yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
            self._export_to(message.path if yes else None, overwrite=True)

        question = ConfirmDialog(labels.export_exists(message.path))
        if not self.app.push_if_current(self, question, overwrite_if_confirmed):
            self.app.notify(labels.export_refused(message.path), severity="warning")


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
        with open(
            Path(path).expanduser(), "w" if overwrite else "x", encoding="utf-8", opener=_open_nonblocking
        ) as file:
            file.write(body)
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
