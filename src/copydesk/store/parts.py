"""Splits long value lists for statements with an IN list."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
MAX_CHUNK = 400
"""Values per statement, well below SQLite's limit on parameters."""


def chunked(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield `values` in order, at most MAX_CHUNK at a time."""
    for start in range(0, len(values), MAX_CHUNK):
        yield values[start : start + MAX_CHUNK]
