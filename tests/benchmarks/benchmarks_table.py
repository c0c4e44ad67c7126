"""A row of the table that `make bench` prints."""

from typing import NamedTuple


class Row(NamedTuple):
    """A measurement and its baseline from the same run; `ok` is None if there is no target."""

    what: str
    ours: str
    theirs: str
    ratio: str
    target: str
    ok: bool | None
