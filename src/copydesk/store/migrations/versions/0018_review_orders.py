"""Add the orders of drafts to review by confidence and by source, and the times of decisions."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID, ROW_ID, UtcDateTime

revision = "0018"
down_revision = "0017"

_TO_REVIEW = "status IN ('pending_review', 'awaiting_review', 'changes_requested') AND archived_at IS NULL"


def upgrade() -> None:
    """Upgrade from 0017."""
    for column in ("confidence", "source_id"):
        name = f"ix_draft_user_id_status_{column}_to_review"
        op.create_index(name, "draft", ["user_id", "status", column, "id"], sqlite_where=sa.text(_TO_REVIEW))
    op.create_table(
        "decision_time",
        sa.Column("rid", ROW_ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("rid", name=op.f("pk_decision_time")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_decision_time_user_id"), ondelete="CASCADE"),
    )
    op.create_index(op.f("ix_decision_time_user_id_rid"), "decision_time", ["user_id", "rid"])
