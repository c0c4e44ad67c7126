"""A page of a list, and where the next one starts."""

from typing import Generic, TypeVar

from copydesk.model.wire import Struct

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True):
    """Some of a list's items; `next_cursor` is None on the last page."""

    items: tuple[T, ...]
    next_cursor: str | None = None
