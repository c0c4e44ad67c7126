"""Long lists in parts that one statement can hold."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
AT_ONCE = 400
"""Values of one statement, below every limit of SQLite."""


def in_parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """`values` in their order, at most AT_ONCE at a time."""
    for start in range(0, len(values), AT_ONCE):
        yield values[start : start + AT_ONCE]
