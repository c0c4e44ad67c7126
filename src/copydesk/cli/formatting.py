"""Format values as plain text for a terminal or a pipe."""

import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, tzinfo

import click

from copydesk.text import clean
from copydesk.text.formatting import format_relative

MIN_CUT_WIDTH = 10
"""Columns below which nothing is cut: too little would be left to recognise a line by."""


def print_table(rows: Iterable[Sequence[object]], *, empty: str, err: bool = False, cut: bool = False) -> None:
    """Print rows as aligned columns; the last column takes the width it needs. `empty` is printed if there are none.

    With `cut` the last column is truncated at the terminal's width, if the output is a terminal.
    """
    cells = [[clean(str(cell)) for cell in row] for row in rows]
    if not cells:
        click.echo(empty, err=True)
        return
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]) - 1)]
    available = _available_columns(sum(widths) + 2 * len(widths), err=err) if cut else None
    for row in cells:
        # Not strict: the last cell has no width, it takes what is left.
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        click.echo("  ".join([*padded, _truncate(row[-1], available)]).rstrip(), err=err)


def _available_columns(used: int, *, err: bool) -> int | None:
    """Return the columns left on a line of the terminal; None if it is no terminal, or a narrow one."""
    if not (sys.stderr if err else sys.stdout).isatty():
        return None
    available = shutil.get_terminal_size().columns - used
    return available if available >= MIN_CUT_WIDTH else None


def _truncate(text: str, available: int | None) -> str:
    if available is None:
        return text
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415 - only on a terminal

    return text if cell_len(text) <= available else set_cell_size(text, available - 1) + "…"


def format_time(time: datetime | None, zone: tzinfo | None = None) -> str:
    """Format a time to the minute with its zone, by default the machine's."""
    return f"{time.astimezone(zone):%Y-%m-%d %H:%M %Z}" if time else "never"


def format_ago(time: datetime | None) -> str:
    """Format the age of a time: `just now`, `5 min ago`, `3 days ago`; `never` if there is none."""
    return format_relative(time, datetime.now(UTC)) if time else "never"


def first_line(text: str, width: int = 72) -> str:
    """Return the first line of a text, cut at a word."""
    line = clean(text.strip().split("\n", 1)[0])
    return line if len(line) <= width else line[: width - 1].rsplit(" ", 1)[0] + "…"
