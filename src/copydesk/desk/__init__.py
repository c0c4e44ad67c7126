"""The desk: every operation, one module per resource. The only place where store and crafts meet.

`Desk` and `open_desk` are imported when they are asked for: with them comes SQLAlchemy, and the console's first look
(`copydesk.desk.glance`) does without.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from copydesk.desk.opening import Desk, open_desk

__all__ = ["Desk", "open_desk"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    from copydesk.desk import opening  # noqa: PLC0415 - see above

    return getattr(opening, name)
