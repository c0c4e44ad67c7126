"""One page of a list, with the cursor of the next."""

from typing import Generic, TypeVar

from copydesk.model.serialization import Struct

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True):
    """Some of a list's items; `next_cursor` is None on the last page."""

    items: tuple[T, ...]
    next_cursor: str | None = None
