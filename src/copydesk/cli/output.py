"""Output of commands for a terminal or a pipe: tables, times, and the progress of those that take a while."""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self, TextIO

import click

from copydesk.file_replacement import is_replaceable, replace_file
from copydesk.text import clean
from copydesk.text.formatting import format_relative, plural

if TYPE_CHECKING:
    from rich.progress import Progress


MIN_CUT_WIDTH = 10
"""Columns that the last cell of a row gets at least: with fewer, too little would be left to recognise the row by."""

BAR_WIDTH = 30
"""Columns of a bar."""
NOTE_WIDTH = 32
"""Characters of the note after it."""
_STAGE_WIDTH = 7


def print_table(rows: Iterable[Sequence[object]], *, empty: str, err: bool = False, cut: bool = False) -> None:
    """Print rows as aligned columns; the last column takes the width it needs. `empty` is printed if there are none.

    With `cut` the last column is truncated at the terminal's width, if the output is a terminal.
    """
    # Titles and names come from outside, and a terminal would carry out their control sequences.
    cells = [[clean(str(cell)) for cell in row] for row in rows]
    if not cells:
        # On stderr: a program that reads the output gets no rows, and not a sentence.
        click.echo(empty, err=True)
        return
    widths = [max(_cell_width(row[column]) for row in cells) for column in range(len(cells[0]) - 1)]
    available = _available_columns(sum(widths) + 2 * len(widths), err=err) if cut else None
    for row in cells:
        # Not strict: the last cell has no width, it takes what is left.
        padded = [cell + " " * (width - _cell_width(cell)) for cell, width in zip(row, widths, strict=False)]
        click.echo("  ".join([*padded, _truncate(row[-1], available)]).rstrip(), err=err)


def print_text(text: str, *, err: bool = False) -> None:
    """Print a text, with its lines broken between words at the terminal's width if the output is a terminal."""
    width = _available_columns(0, err=err)
    lines = text.split("\n")
    click.echo("\n".join(lines if width is None else (part for line in lines for part in _wrap(line, width))), err=err)


def _wrap(line: str, width: int) -> list[str]:
    """Return the lines that `line` takes; a word that is wider than a line is left to the terminal."""
    lines = [""]
    # Each word with the blanks before it, so that an indent is kept.
    for word in re.findall(r"[ \t]*[^ \t]+", line):
        if lines[-1] and _cell_width(lines[-1] + word) > width:
            lines.append(word.lstrip(" \t"))
        else:
            lines[-1] += word
    return lines


def _available_columns(used: int, *, err: bool) -> int | None:
    """Return the columns left on a line of the terminal; None if it is no terminal."""
    if not (sys.stderr if err else sys.stdout).isatty():
        return None
    columns = shutil.get_terminal_size().columns
    available = columns - used
    # The row continues on the next lines of a narrow terminal, and ends with one of them.
    while available < MIN_CUT_WIDTH:
        available += columns
    return available


def _cell_width(text: str) -> int:
    """Return the columns that a terminal draws the text in."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - most tables are ASCII

    return cell_len(text)


def _truncate(text: str, available: int | None) -> str:
    if available is None or _cell_width(text) <= available:
        return text
    from rich.cells import set_cell_size  # noqa: PLC0415 - only for what is cut

    return set_cell_size(text, available - 1) + "…"


def write_export(text: str, file: IO[str], content: str) -> None:
    """Write an export to a file, and print its `content` unless that is standard output."""
    path, is_named = Path(file.name), file.name not in {"-", "<stdout>"}
    if is_named and is_replaceable(path):
        replace_file(path, text.encode())
    else:
        file.write(text)
        # A full disk is found when the buffer is written: before it is reported as exported.
        file.flush()
    if is_named:
        click.echo(f"Exported {content} to {clean(str(file.name))}.", err=True)


def format_time(time: datetime | None, zone: tzinfo | None = None) -> str:
    """Format a time to the minute with its zone, by default the machine's."""
    return f"{time.astimezone(zone):%Y-%m-%d %H:%M %Z}" if time else "never"


def format_ago(time: datetime | None) -> str:
    """Format the age of a time: `just now`, `5 min ago`, `3 days ago`; `never` if there is none."""
    return format_relative(time, datetime.now(UTC)) if time else "never"


def format_confidence(share: float, *, known: bool) -> str:
    """Return a draft's confidence for a column: `70%`, or a dash while it is not known."""
    return f"{share:.0%}" if known else "–"


def missing_account_note(count: int, total: int) -> str:
    """Return the note that no connected account would post `count` of `total` drafts, and how to connect one."""
    drafts = ("it" if total == 1 else "them") if count == total else f"{count:,} of the {plural(total, 'draft')}"
    return f"No connected account posts {drafts}. Connect one: copydesk account connect bluesky"


def lacking_approval_note(count: int, total: int, example: str) -> str:
    """Return the note that `count` of `total` drafts wait for another approval, and how `example` gets it."""
    drafts = ("It" if total == 1 else "They") if count == total else f"{count:,} of the {plural(total, 'draft')}"
    verb = "waits" if (count if count != total else total) == 1 else "wait"
    return f"{drafts} {verb} for the approval of another reviewer: copydesk draft countersign {example}"


def first_line(text: str, width: int | None = None) -> str:
    """Return the first line of a text, cut at a word if it is wider than `width` characters."""
    line = clean(text.strip().split("\n", 1)[0])
    return line if width is None or len(line) <= width else line[: width - 1].rsplit(" ", 1)[0] + "…"


class StageProgress:
    """Displays the progress of successive stages on `out`; nothing if `silent`."""

    def __init__(self, out: TextIO, *, silent: bool) -> None:
        self._out = out
        self._silent = silent
        self._bars = _create_bars(out) if not silent and out.isatty() else None
        self._stage: str | None = None
        self._count = ""

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stage is not None:
            self._finish(self._stage)
        if self._bars is not None:
            self._bars.stop()

    def show(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """Show that `done` of `total` steps of `stage` are finished; another stage than before finishes that one."""
        if self._silent:
            return
        if self._stage != stage:
            if self._stage is not None:
                self._finish(self._stage)
            self._stage = stage
            if self._bars is not None:
                self._bars.add_task(f"{stage:<{_STAGE_WIDTH}}", total=None, count="", note="")
        self._count = f"{done}" if total is None else f"{done}/{total}"
        if self._bars is not None:
            # A stage without steps is complete; rich would show it as empty.
            share = {"completed": 1, "total": 1} if total == 0 else {"completed": done, "total": total}
            note = clean(note)[:NOTE_WIDTH]
            self._bars.update(self._bars.task_ids[-1], **share, count=self._count, note=note)

    def _finish(self, stage: str) -> None:
        self._stage = None
        if self._bars is None:
            self._out.write(f"{stage:<{_STAGE_WIDTH}} {self._count}\n")
            self._out.flush()
        else:
            self._bars.update(self._bars.task_ids[-1], note="")


def _create_bars(out: TextIO) -> "Progress":
    from rich.console import Console  # noqa: PLC0415 - only long commands on a terminal need it
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415 - the same

    # Bars are redrawn in place, so they must fit the terminal as it is now; COLUMNS may be from before it was resized.
    environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    # Notes are names from feeds: without markup, square brackets in them are only brackets.
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(BAR_WIDTH),
        TextColumn("{task.fields[count]}", markup=False),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(file=out, _environ=environment),
        redirect_stdout=False,
        redirect_stderr=False,
    )
