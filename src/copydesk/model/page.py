"""One page of a list, with the cursor of the next."""

from typing import Annotated, Generic, TypeVar

import msgspec

from copydesk.model.serialization import Struct

T = TypeVar("T")
PageSize = Annotated[int, msgspec.Meta(ge=1, le=100, description="takes 1 to 100")]
"""Items of one page."""


class Page(Struct, Generic[T], frozen=True):
    """Some of a list's items; `next_cursor` is None on the last page."""

    items: tuple[T, ...]
    next_cursor: str | None = None
