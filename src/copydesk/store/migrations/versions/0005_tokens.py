"""Add API tokens, and the sends whose rows were deleted."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID, UtcDateTime

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Upgrade from 0003."""
    op.create_table(
        "token",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=True),
        sa.Column("revoked_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_token_user_id"), ondelete="CASCADE"),
        sa.UniqueConstraint("hash", name=op.f("uq_token_hash")),
        sa.CheckConstraint("scope IN ('read', 'draft', 'review', 'publish')", name=op.f("ck_token_scope")),
    )
    op.create_index(op.f("ix_token_user_id_id"), "token", ["user_id", "id"])
    op.create_table(
        "removed_send",
        sa.Column("delivery_id", ID, nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("delivery_id", "at", name=op.f("pk_removed_send")),
        sqlite_with_rowid=False,
    )
