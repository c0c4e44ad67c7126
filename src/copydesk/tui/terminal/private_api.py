"""Private names of Textual and Rich that have no public equivalent, each with a fallback if a release lacks it.

This is the only module that may import such names, so that an upgrade can break nothing else.
"""

from collections.abc import Iterable
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from textual.app import App

__all__ = ["active_app", "forget_key_sequences", "release_closed_widgets", "rich_width_table"]

TEXTUAL_WITH_LEAK = "8.2.8"
"""The release whose style cache keeps closed widgets alive."""

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


@cache
def release_closed_widgets() -> None:
    """Let the rendered lines of closed widgets be freed. In other releases of Textual do nothing.

    For upstream, in textual/_styles_cache.py of 8.2.8: `StylesCache.get_inner_outer` has the decorator
    `lru_cache(1024)` and a first parameter `cls`, but is no classmethod. So `self` is a part of the key, and the cache,
    one for the class, keeps the last 1024 instances of `StylesCache` alive, each with all rendered lines of a widget
    that may be long closed: 28 MB after 100 command palettes. The result depends on the two colours alone; with
    `@staticmethod` above `@lru_cache`, and without the first parameter, nothing is kept.
    """
    from importlib.metadata import version  # noqa: PLC0415 - imports the email package: after the first paint

    if version("textual") != TEXTUAL_WITH_LEAK:
        return
    from textual._styles_cache import StylesCache  # noqa: PLC0415 - may be missing in other releases

    styles_cache = cast("Any", StylesCache)
    if isinstance(vars(StylesCache)["get_inner_outer"], staticmethod):
        return  # done before
    compute = styles_cache.get_inner_outer.__wrapped__
    styles_cache.get_inner_outer = staticmethod(
        lru_cache(1024)(lambda base_background, background: compute(None, base_background, background))
    )
