"""Splits long value lists for statements with an IN list."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
AT_ONCE = 400
"""Values per statement, well below SQLite's limit on parameters."""


def in_parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield `values` in order, at most MAX_CHUNK at a time."""
    for start in range(0, len(values), AT_ONCE):
        yield values[start : start + AT_ONCE]
