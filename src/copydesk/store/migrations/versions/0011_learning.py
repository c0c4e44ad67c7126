"""Add what is learnt from decisions, and rules made from the reasons of rejections."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID, UtcDateTime

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Upgrade from 0010."""
    op.add_column("draft", sa.Column("confidence_known", sa.Boolean(), nullable=False, server_default=sa.text("0")))
    op.create_table(
        "learning",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("since", UtcDateTime(), nullable=True),
        sa.Column("since_before", UtcDateTime(), nullable=True),
        sa.Column("reset_at", UtcDateTime(), nullable=True),
        sa.Column("confidence_decisions", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_learning")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_learning_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "rejection_rule",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("term", sa.Text(), nullable=False),
        sa.Column("draft_id", ID, nullable=True),
        sa.Column("reason", sa.Text(), nullable=False, server_default=""),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False, server_default=sa.text("1")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rejection_rule")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_rejection_rule_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["draft_id"], ["draft.id"], name=op.f("fk_rejection_rule_draft_id"), ondelete="SET NULL"
        ),
        sa.UniqueConstraint("user_id", "kind", "term", name=op.f("uq_rejection_rule_user_id_kind_term")),
    )
    op.create_index(op.f("ix_rejection_rule_draft_id"), "rejection_rule", ["draft_id"])
