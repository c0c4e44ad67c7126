"""Private names of Textual and Rich that have no public equivalent, each with a fallback if a release lacks it.

This is the only module that may import such names, so that an upgrade can break nothing else.
"""

from collections.abc import Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from textual.app import App

__all__ = ["active_app", "forget_key_sequences", "rich_width_table"]

try:
    from textual._context import active_app
except ImportError:
    # Never set: key labels are then those of the default key table.
    active_app: ContextVar["App[Any]"] = ContextVar("active_app")  # type: ignore[no-redef]


def forget_key_sequences(sequences: Iterable[str]) -> None:
    """Remove escape sequences from Textual's table of keys; without the table they keep Textual's meaning."""
    try:
        from textual._ansi_sequences import ANSI_SEQUENCES_KEYS  # noqa: PLC0415 - may be missing
    except ImportError:
        return
    table = cast("dict[str, object]", ANSI_SEQUENCES_KEYS)
    for sequence in sequences:
        table.pop(sequence, None)


def rich_width_table() -> list[tuple[int, int, int]]:
    """Return Rich's own table of character widths, which may be changed in place; without it an empty list.

    Rows are (first code, last code, cells) in ascending order.
    """
    try:
        from rich._unicode_data import load  # noqa: PLC0415 - may be missing
    except ImportError:
        return []
    table = load("auto").widths
    return table if isinstance(table, list) else []
