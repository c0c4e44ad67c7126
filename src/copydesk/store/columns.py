"""Column and constraint factories for the table declarations."""

from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, Column, ForeignKey, text

from copydesk.store.types import ID


def required_column(name: str, type: Any, *parts: Any, **options: Any) -> Column[Any]:
    """Return a column that is never NULL."""
    return Column(name, type, *parts, nullable=False, **options)


def id_column() -> Column[Any]:
    """Return the `id` column, the primary key."""
    return required_column("id", ID, primary_key=True)


def user_id_column(**options: Any) -> Column[Any]:
    """Return the `user_id` column. The row is deleted with its user."""
    return required_column("user_id", ID, ForeignKey("user.id", ondelete="CASCADE"), **options)


def draft_id_column(**options: Any) -> Column[Any]:
    """Return the `draft_id` column. The row is deleted with its draft."""
    return required_column("draft_id", ID, ForeignKey("draft.id", ondelete="CASCADE"), **options)


def allowed_values(column: str, choices: type[StrEnum]) -> CheckConstraint:
    """Return a check that `column` holds one of the values of `choices`.

    Only for values fixed by the interface: adding one means rebuilding the table.
    """
    values = ", ".join(f"'{choice.value}'" for choice in choices)
    return CheckConstraint(f"{column} IN ({values})", name=column)


def partial_index(condition: str) -> dict[str, Any]:
    """Return the options of a partial index over the rows for which `condition` holds.

    For SQLite only: naming another dialect's option would import that dialect at every start.
    """
    return {"sqlite_where": text(condition)}
