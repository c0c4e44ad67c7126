"""A row of the table that `make bench` prints."""

from typing import NamedTuple


class Row(NamedTuple):
    """A measurement and its baseline from the same run; `ok` is None if there is no target."""

    label: str
    ours: str
    baseline: str
    ratio: str
    target: str
    ok: bool | None
    figure: float | None = None
    """The number in `ours`, to compare it between the databases."""
