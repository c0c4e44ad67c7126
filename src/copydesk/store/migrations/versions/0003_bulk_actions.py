"""Add the bulk actions under way, so that one whose process was killed can be finished or undone."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID, UtcDateTime

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Upgrade from 0002."""
    op.create_table(
        "bulk_action",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("of_bulk_id", ID, nullable=True),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("request", sa.Text(), nullable=True),
        sa.Column("draft_ids", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bulk_action")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_bulk_action_user_id"), ondelete="CASCADE"),
    )
    op.create_index(op.f("ix_bulk_action_user_id"), "bulk_action", ["user_id"])
