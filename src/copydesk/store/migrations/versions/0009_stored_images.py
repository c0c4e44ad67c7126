"""Add which user stored an image."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID, UtcDateTime

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Upgrade from 0008."""
    op.create_table(
        "stored_image",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("stored_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "digest", name=op.f("pk_stored_image")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_stored_image_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_stored_image_user_id_stored_at"), "stored_image", ["user_id", "stored_at"])
