"""Add the approvals that an account asks for, and those of drafts."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID, UtcDateTime

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Upgrade from 0019."""
    # Earlier approvals are not known by reviewer: no account asks for more than one yet.
    op.add_column("account", sa.Column("approvals", sa.Integer(), server_default=sa.text("1"), nullable=False))
    op.create_table(
        "draft_approval",
        sa.Column("draft_id", ID, nullable=False),
        sa.Column("reviewer", sa.Text(), nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("draft_id", "reviewer", name=op.f("pk_draft_approval")),
        *(
            sa.ForeignKeyConstraint(
                [f"{table}_id"], [f"{table}.id"], name=op.f(f"fk_draft_approval_{table}_id"), ondelete="CASCADE"
            )
            for table in ("draft", "user")
        ),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_draft_approval_user_id"), "draft_approval", ["user_id"])
