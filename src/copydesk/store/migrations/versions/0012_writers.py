"""Add writers that ask language models, with the requests of drafts and what they cost."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID, UtcDateTime

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Upgrade from 0011."""
    op.add_column("user", sa.Column("writers", sa.Text(), server_default='["offline"]', nullable=False))
    op.create_table(
        "writer",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("tested_at", UtcDateTime(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("user_id", "name", name=op.f("pk_writer")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_writer_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "model_spending",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("month", sa.Text(), nullable=False),
        sa.Column("requests", sa.Integer(), nullable=False),
        sa.Column("unpriced", sa.Integer(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "month", name=op.f("pk_model_spending")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_model_spending_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "model_request",
        sa.Column("draft_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("draft_id", "position", name=op.f("pk_model_request")),
        sa.ForeignKeyConstraint(["draft_id"], ["draft.id"], name=op.f("fk_model_request_draft_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_model_request_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_model_request_user_id"), "model_request", ["user_id"])
