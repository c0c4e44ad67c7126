"""One line of the table that `make bench` prints."""

from typing import NamedTuple


class Row(NamedTuple):
    """A figure of ours beside the other one, measured in the same run; `ok` is None where there is no target."""

    what: str
    ours: str
    theirs: str
    ratio: str
    target: str
    ok: bool | None
