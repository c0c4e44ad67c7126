"""Add drafts of several items, and images that are proposed."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Upgrade from 0009."""
    op.create_table(
        "draft_item",
        sa.Column("draft_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("item_id", ID, nullable=False),
        sa.PrimaryKeyConstraint("draft_id", "position", name=op.f("pk_draft_item")),
        sa.ForeignKeyConstraint(["draft_id"], ["draft.id"], name=op.f("fk_draft_item_draft_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_draft_item_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_draft_item_item_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_draft_item_item_id"), "draft_item", ["item_id"])
    op.create_index(op.f("ix_draft_item_user_id"), "draft_item", ["user_id"])
    op.add_column("draft_image", sa.Column("proposed", sa.Boolean(), server_default=sa.text("0"), nullable=False))
    op.add_column("draft_image", sa.Column("agency", sa.Text(), nullable=True))
