"""What the declarations of tables are made of."""

from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, Column, ForeignKey, text

from copydesk.store.types import ID


def required(name: str, type: Any, *parts: Any, **options: Any) -> Column[Any]:
    """A column that is never NULL."""
    return Column(name, type, *parts, nullable=False, **options)


def id_() -> Column[Any]:
    """The table's own id, its primary key."""
    return required("id", ID, primary_key=True)


def owner(**options: Any) -> Column[Any]:
    """The user that the row belongs to, and goes with."""
    return required("user_id", ID, ForeignKey("user.id", ondelete="CASCADE"), **options)


def of_draft(**options: Any) -> Column[Any]:
    """The draft that the row belongs to, and goes with."""
    return required("draft_id", ID, ForeignKey("draft.id", ondelete="CASCADE"), **options)


def one_of(column: str, choices: type[StrEnum]) -> CheckConstraint:
    """Only for the words that the interface fixes: a new word means building the table anew."""
    words = ", ".join(f"'{choice.value}'" for choice in choices)
    return CheckConstraint(f"{column} IN ({words})", name=column)


def when(condition: str) -> dict[str, Any]:
    """Options of an index over the rows for which `condition` holds.

    SQLite's alone: naming another dialect's option imports that dialect, at every start.
    """
    return {"sqlite_where": text(condition)}
