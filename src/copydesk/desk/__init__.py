"""The desk: every operation, grouped by resource. The only layer where store and crafts meet.

`Desk` and `open_desk` are imported on first access: they bring in SQLAlchemy, which the console's first page does
without.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from copydesk.desk.opening import Desk, open_desk

__all__ = ["Desk", "open_desk"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    from copydesk.desk import opening  # noqa: PLC0415 - keeps SQLAlchemy out of a plain `import copydesk.desk`

    return getattr(opening, name)
