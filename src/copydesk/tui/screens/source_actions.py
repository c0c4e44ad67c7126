"""What is done with sources from their screen."""

import asyncio
import os
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

from textual import getters, on
from textual.actions import SkipAction

from copydesk.errors import CopydeskError
from copydesk.text import clean
from copydesk.tui.naming import key
from copydesk.tui.pages.source_notes import EXAMPLES, Example
from copydesk.tui.screens.run_screen import RunScreen
from copydesk.tui.source_messages import FeedsRead, FileThere, SourceSaved
from copydesk.tui.widgets.source_lists import SourceList

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.overviews import SourceOverview
    from copydesk.model.source import Source

LARGEST = 16 * 1024 * 1024
"""Bytes of a file that are read; no list of feeds is as long."""
FILE = "sources.opml"


class SourceActions(RunScreen, inherit_bindings=False):
    """Each action asks the desk in a worker; what it wrote comes back by the desk's change."""

    sources = getters.query_one("#sources", SourceList)

    def __init__(self) -> None:
        super().__init__()
        self.to_find: str | None = None
        """The source that the cursor goes to when the sources are read next."""

    @property
    def chosen(self) -> "SourceOverview | None":
        """The source that keys act on."""
        return self.sources.current

    @property
    def _current(self) -> "Source | None":
        return self.chosen.source if self.chosen else None

    # Sources.

    def action_new_source(self) -> None:
        """Ask for a new one."""
        from copydesk.tui.modals.source_form import SourceForm  # noqa: PLC0415 - seldom needed

        if self.app.desk is not None:
            self.app.push_screen(SourceForm(), self._made)

    def action_edit_source(self) -> None:
        """Change it."""
        from copydesk.tui.modals.source_form import SourceForm  # noqa: PLC0415 - as above

        if self._current is not None:
            self.app.push_screen(SourceForm(self._current), self._changed)

    def _made(self, source: "Source | None") -> None:
        if source is not None:
            self._find(source)
            self.app.notify(f"Added {source.name}. {key('sources.run')} reads it and writes drafts.")

    def _changed(self, source: "Source | None") -> None:
        if source is not None:
            self._find(source)
            self.app.notify(f"Saved {source.name}.")

    def _find(self, source: "Source") -> None:
        self.to_find = source.id
        self.read_for_keys()

    def action_test_source(self) -> None:
        """Show what it holds now."""
        from copydesk.tui.modals.source_trial import SourceTrial  # noqa: PLC0415 - as above

        if self._current is not None:
            self.app.push_screen(SourceTrial(self._current))

    def action_switch_source(self) -> None:
        """Off, or on again."""
        source = self._current
        if source is not None:
            self.app.ask(lambda desk: self._switch(desk, source), keys_wait=True)

    async def _switch(self, desk: "Desk", source: "Source") -> None:
        changed = await desk.sources.update(source.id, {"enabled": not source.enabled})
        words = "is read again" if changed.enabled else "is no longer read"
        self.app.notify(f"{changed.name} {words}. {key('sources.switch')} undoes it.")
        # The next key is for the source as it is now.
        self.read_for_keys()

    def action_delete_source(self) -> None:
        """Delete it, after a yes."""
        from copydesk.desk.overviews import deletion  # noqa: PLC0415 - as above
        from copydesk.tui.modals.ask import YesScreen  # noqa: PLC0415 - as above

        row = self.chosen
        if row is None:
            return
        source = row.source

        def answered(yes: bool | None) -> None:  # noqa: FBT001 - Textual hands it over so
            if yes:
                self.app.ask(lambda desk: self._delete(desk, source), keys_wait=True)

        self.app.push_screen(YesScreen(deletion(row)), answered)

    async def _delete(self, desk: "Desk", source: "Source") -> None:
        await desk.sources.delete(source.id)
        self.app.notify(f"Deleted {source.name}.")
        self.read_for_keys()

    # Examples, while the desk is new.

    @property
    def taken(self) -> frozenset[str]:
        """The addresses that are sources."""
        return frozenset(row.source.url or "" for row in self.sources.rows)

    @property
    def is_beginning(self) -> bool:
        """Whether nothing was ever read, and there is nothing to read but examples."""
        known = {example.url for example in EXAMPLES}
        return all(row.source.last_fetch is None and row.source.url in known for row in self.sources.rows)

    def action_take_example(self, number: int) -> None:
        """Add an example, where the desk is new; nothing is fetched. Elsewhere c composes a draft, as everywhere."""
        if not self.is_beginning:
            raise SkipAction
        example = EXAMPLES[number]
        if self.app.desk is not None and self.is_beginning and example.url not in self.taken:
            self.app.ask(lambda desk: self._take(desk, example), keys_wait=True)

    async def _take(self, desk: "Desk", example: Example) -> None:
        config = example.config or None
        source = await desk.sources.create(example.type, example.url, name=example.name, config=config, test=False)
        self.post_message(SourceSaved(source))

    @on(SourceSaved)
    def _show_saved(self, message: SourceSaved) -> None:
        self._made(message.source)

    # Lists of feeds.

    def action_import_feeds(self) -> None:
        """Ask for the file."""
        from copydesk.tui.modals.ask import LineScreen  # noqa: PLC0415 - as above

        hint = f"Each feed is read once before it is added. Enter begins, {key('line.leave')} leaves."
        self.app.push_screen(LineScreen("Which OPML file?", hint=hint), self._import)

    def _import(self, path: str | None) -> None:
        if path and path.strip():
            self.app.ask(lambda desk: self._read_feeds(desk, path.strip()), opens=True)

    async def _read_feeds(self, desk: "Desk", path: str) -> None:
        body = await asyncio.to_thread(_read, path)
        self.post_message(FeedsRead(desk.sources.read_opml(body)))

    @on(FeedsRead)
    def _add_feeds(self, message: FeedsRead) -> None:
        from copydesk.tui.modals.feed_import import FeedImport  # noqa: PLC0415 - as above

        self.app.open_over(self, FeedImport(message.feeds), lambda _: self.read())

    def action_export_feeds(self) -> None:
        """Ask where to write."""
        from copydesk.tui.modals.ask import LineScreen  # noqa: PLC0415 - as above

        reads = f"Other feed readers read it, and {key('sources.import')} does."
        hint = f"{reads} Enter writes it, {key('line.leave')} leaves."
        self.app.push_screen(LineScreen("Write the sources to which file?", value=FILE, hint=hint), self._export)

    def _export(self, path: str | None, *, over: bool = False) -> None:
        if path and path.strip():
            self.app.ask(lambda desk: self._write_feeds(desk, path.strip(), over=over), opens=True)

    async def _write_feeds(self, desk: "Desk", path: str, *, over: bool) -> None:
        body = await desk.sources.export_opml()
        if await asyncio.to_thread(_write, path, body, over=over):
            self.app.notify(f"Wrote {path}.")
        else:
            self.post_message(FileThere(path))

    @on(FileThere)
    def _ask_over(self, message: FileThere) -> None:
        from copydesk.tui.modals.ask import YesScreen  # noqa: PLC0415 - as above

        def answered(yes: bool | None) -> None:  # noqa: FBT001 - Textual hands it over so
            self._export(message.path if yes else None, over=True)

        there = f"{message.path} is there already"
        if not self.app.open_over(self, YesScreen(f"{there}. Write over it?"), answered):
            self.app.notify(f"{there}: nothing was written.", severity="warning")


def _read(path: str) -> bytes:
    """The file; CopydeskError in words where it cannot be read."""
    try:
        with open(Path(path).expanduser(), "rb", opener=_at_once) as file:
            body = file.read(LARGEST + 1) if S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except (OSError, ValueError, RuntimeError) as error:
        raise CopydeskError(f"{clean(path)} cannot be read: {_reason(error)}.") from error
    if body is None:
        raise CopydeskError(f"{clean(path)} is no file.")
    if len(body) > LARGEST:
        raise CopydeskError(f"{clean(path)} is too large for a list of feeds.")
    return body


def _write(path: str, body: str, *, over: bool) -> bool:
    """Write the file; False where there is one and it is not to be written over."""
    try:
        with open(Path(path).expanduser(), "w" if over else "x", encoding="utf-8", opener=_at_once) as file:
            file.write(body)
    except FileExistsError:
        return False
    except (OSError, ValueError, RuntimeError) as error:
        raise CopydeskError(f"{clean(path)} cannot be written: {_reason(error)}.") from error
    return True


def _at_once(path: str, flags: int) -> int:
    """Open without waiting: for the other end of a pipe even the end of the console would wait."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
