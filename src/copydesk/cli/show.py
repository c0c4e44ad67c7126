"""Values as lines of plain text for a terminal or a pipe."""

import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, tzinfo

import click

from copydesk.text import clean

LEAST_CUT = 10
"""Columns of the terminal below which nothing is cut: too little would be left to know a line by."""


def table(rows: Iterable[Sequence[object]], *, empty: str, err: bool = False, cut: bool = False) -> None:
    """Print rows as aligned columns; the last column takes what it needs. `empty` stands for no rows.

    With `cut` the last column ends with the terminal's line, where it is shown on one.
    """
    cells = [[clean(str(cell)) for cell in row] for row in rows]
    if not cells:
        click.echo(empty, err=True)
        return
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]) - 1)]
    room = _room(sum(widths) + 2 * len(widths), err=err) if cut else None
    for row in cells:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        click.echo("  ".join([*padded, _cut(row[-1], room)]).rstrip(), err=err)


def _room(before: int, *, err: bool) -> int | None:
    """Columns that are left on a line of the terminal; None where it is none, or a narrow one."""
    if not (sys.stderr if err else sys.stdout).isatty():
        return None
    left = shutil.get_terminal_size().columns - before
    return left if left >= LEAST_CUT else None


def _cut(text: str, room: int | None) -> str:
    if room is None:
        return text
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415 - only on a terminal

    return text if cell_len(text) <= room else set_cell_size(text, room - 1) + "…"


def moment(when: datetime | None, zone: tzinfo | None = None) -> str:
    """A time to the minute with its zone, which is this machine's where none is given."""
    return f"{when.astimezone(zone):%Y-%m-%d %H:%M %Z}" if when else "never"


def counted(number: int, what: str) -> str:
    """A number of things that take an s where they are not one: `1 draft`, `1,204 drafts`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def ago(when: datetime | None) -> str:
    """How long ago, in words."""
    if when is None:
        return "never"
    minutes = int((datetime.now(UTC) - when).total_seconds() // 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    return f"{minutes // 60} h ago" if minutes < 48 * 60 else f"{minutes // 1440} days ago"


def first_line(text: str, width: int = 72) -> str:
    """The first line of a text, cut at a word."""
    line = clean(text.strip().split("\n", 1)[0])
    return line if len(line) <= width else line[: width - 1].rsplit(" ", 1)[0] + "…"
