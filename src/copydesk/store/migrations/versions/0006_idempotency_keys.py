"""Add idempotency keys."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID, UtcDateTime

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Upgrade from 0005."""
    op.create_table(
        "idempotency_key",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("response", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idempotency_key")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_idempotency_key_user_id"), ondelete="CASCADE"),
        sa.UniqueConstraint("user_id", "key", name=op.f("uq_idempotency_key_user_id_key")),
    )
    op.create_index(op.f("ix_idempotency_key_user_id_created_at"), "idempotency_key", ["user_id", "created_at"])
