"""The user's own commands: shell commands of the settings file that a key runs on the draft under the cursor.

What comes from outside reaches a command as JSON on its standard input or in a file, never in the line that the shell
reads.
"""

import asyncio
import os
import signal
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from textual.app import SuspendNotSupported
from textual.screen import Screen

from copydesk.errors import ConflictError
from copydesk.model.serialization import to_json
from copydesk.settings import Command
from copydesk.text import clean_lines
from copydesk.tui import labels
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.dialogs.base import PageDialog, WaitDialog
from copydesk.tui.layout import paragraph
from copydesk.tui.runtime.desk_tasks import to_copydesk_error
from copydesk.tui.terminal.suspension import leave_terminal

if TYPE_CHECKING:
    from copydesk.desk import Desk

MAX_OUTPUT_BYTES = 100_000
"""Bytes of a command's output that are read back, from its end."""
OUTPUT_GRACE = 0.5
"""Seconds until the output of a command that has ended is complete."""
DRAFT_ID, DRAFT_FILE = "COPYDESK_DRAFT_ID", "COPYDESK_DRAFT_FILE"
"""Variables of a command's environment; the file is for commands that own the terminal."""


class CommandResult(NamedTuple):
    """The end of a command."""

    exit_code: int
    """Negative for the signal that ended it."""
    lines: tuple[str, ...]
    """The lines of its output that are not blank."""


def start_command(app: DeskApp, command: Command, draft_id: str | None) -> None:
    """Run the command, with the draft if there is one, after the user's earlier decisions are stored."""
    if command.output != "suspend":
        base = app.screen
        app.enqueue_write(lambda desk: _start_in_background(app, desk, command, draft_id, base))
    elif app.is_web:
        app.notify(labels.command_needs_terminal(command.label), severity="warning")
    else:
        dialog = WaitDialog(labels.command_starting(command.label))
        app.push_screen(dialog)
        app.enqueue_write(lambda desk: _run_with_wait_dialog(app, desk, command, draft_id, dialog))


async def _load_json(desk: "Desk", draft_id: str | None) -> bytes:
    """Return the draft as `copydesk draft show --json` prints it; nothing without a draft."""
    return b"" if draft_id is None else to_json(await desk.drafts.get(draft_id)).encode()


def _environment(app: DeskApp, draft_id: str | None, **more: str) -> Mapping[str, str]:
    """Return the variables of a command, in which a call of Copydesk opens the desk of the console."""
    draft = {DRAFT_ID: draft_id} if draft_id is not None else {}
    return os.environ | app.desk_environment | draft | more


# In the background.


async def _start_in_background(
    app: DeskApp, desk: "Desk", command: Command, draft_id: str | None, base: Screen[object]
) -> None:
    data = await _load_json(desk, draft_id)
    # Not awaited: later decisions are stored while the command runs.
    app.run_worker(_run_in_background(app, command, draft_id, data, base), exit_on_error=False)


async def _run_in_background(
    app: DeskApp, command: Command, draft_id: str | None, data: bytes, base: Screen[object]
) -> None:
    app.notify_latest(labels.command_running(command.label))
    try:
        result = await run_shell(command.run, data, _environment(app, draft_id))
    except OSError as error:
        app.notify_error(to_copydesk_error(error))
        return
    _show_result(app, command, result, base)


async def run_shell(line: str, data: bytes, environment: Mapping[str, str]) -> CommandResult:
    """Run a line in the shell with `data` on its standard input. If cancelled, end it and what it started."""
    loop, ended, output = asyncio.get_running_loop(), asyncio.Event(), bytearray()
    reading, writing = os.pipe()

    def read() -> None:
        chunk = os.read(reading, MAX_OUTPUT_BYTES)
        output.extend(chunk)
        del output[:-MAX_OUTPUT_BYTES]
        if not chunk:
            loop.remove_reader(reading)
            ended.set()

    # A file, so that nothing waits for a command that does not read it.
    with tempfile.TemporaryFile() as stdin:
        await asyncio.to_thread(_fill, stdin, data)
        try:
            process = await asyncio.create_subprocess_shell(
                line, stdin=stdin, stdout=writing, stderr=writing, env=environment, start_new_session=True
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
    loop.add_reader(reading, read)
    try:
        exit_code = await process.wait()
        # A program that stays in the background with the output, such as xclip, holds up nothing.
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), OUTPUT_GRACE)
    finally:
        loop.remove_reader(reading)
        os.close(reading)
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            # Or asyncio warns on the terminal, after the console has left it, of a process that nothing waits for.
            await process.wait()
    text = clean_lines(output.decode("utf-8", errors="replace"))
    return CommandResult(exit_code, tuple(line.rstrip() for line in text.splitlines() if line.strip()))


def _fill(file: BinaryIO, data: bytes) -> None:
    file.write(data)
    file.seek(0)


def _show_result(app: DeskApp, command: Command, result: CommandResult, base: Screen[object]) -> None:
    if len(result.lines) > 1:
        app.log_details("\n".join((f"{command.label}:", *result.lines)))
    if result.exit_code:
        app.notify(labels.command_failed(command.label, result.exit_code, result.lines), severity="error")
    elif command.output == "panel" and result.lines and app.screen is base:
        app.push_screen(PageDialog(command.label, [paragraph(line) for line in result.lines]))
    else:
        # Also where the user is elsewhere by now: nothing opens over what they type.
        app.notify_latest(labels.command_finished(command.label, result.lines))


# On the terminal.


async def _run_with_wait_dialog(
    app: DeskApp, desk: "Desk", command: Command, draft_id: str | None, dialog: WaitDialog
) -> None:
    try:
        data = await _load_json(desk, draft_id)
        if not dialog.cancelled:
            await _run_on_terminal(app, command, draft_id, data)
    finally:
        dialog.call_later(dialog.finish)


async def _run_on_terminal(app: DeskApp, command: Command, draft_id: str | None, data: bytes) -> None:
    """Give the terminal to the command until it exits. Raise ConflictError if it fails."""
    with tempfile.TemporaryDirectory(prefix="copydesk-") as folder:
        file = Path(folder) / "draft.json"
        await asyncio.to_thread(file.write_bytes, data)
        try:
            with leave_terminal(app):
                try:
                    environment = _environment(app, draft_id, **{DRAFT_FILE: str(file)})
                    # Its standard input is the terminal: an interactive program reads its keys there.
                    app.editor = await asyncio.create_subprocess_shell(command.run, env=environment)
                    exit_code = await app.editor.wait()
                finally:
                    app.editor = None
        except SuspendNotSupported:
            raise ConflictError(labels.command_needs_terminal(command.label)) from None
    if exit_code:
        raise ConflictError(labels.command_failed(command.label, exit_code, ()))
