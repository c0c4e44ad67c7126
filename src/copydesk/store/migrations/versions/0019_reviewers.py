"""Add the presence of reviewers, leases of edits, texts of edits that were taken over, and comments."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID, UtcDateTime

revision = "0019"
down_revision = "0018"


def _keys(table: str, *columns: str) -> list[sa.Constraint]:
    """Return the primary key, and the foreign keys to the draft and the user."""
    return [
        sa.PrimaryKeyConstraint(*columns, name=op.f(f"pk_{table}")),
        sa.ForeignKeyConstraint(["draft_id"], ["draft.id"], name=op.f(f"fk_{table}_draft_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f(f"fk_{table}_user_id"), ondelete="CASCADE"),
    ]


def upgrade() -> None:
    """Upgrade from 0018."""
    op.create_table(
        "draft_viewer",
        sa.Column("draft_id", ID, nullable=False),
        sa.Column("reviewer", sa.Text(), nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
        *_keys("draft_viewer", "draft_id", "reviewer"),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_draft_viewer_user_id_until"), "draft_viewer", ["user_id", "until"])
    op.create_table(
        "draft_edit",
        sa.Column("draft_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("lease_id", ID, nullable=False),
        sa.Column("reviewer", sa.Text(), nullable=False),
        sa.Column("lease_until", UtcDateTime(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        *_keys("draft_edit", "draft_id"),
    )
    op.create_table(
        "unsaved_edit",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("draft_id", ID, nullable=False),
        sa.Column("reviewer", sa.Text(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        *_keys("unsaved_edit", "id"),
    )
    op.create_table(
        "draft_comment",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("draft_id", ID, nullable=False),
        sa.Column("reviewer", sa.Text(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("resolved_at", UtcDateTime(), nullable=True),
        sa.Column("resolved_by", sa.Text(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("quote", sa.Text(), server_default="", nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        *_keys("draft_comment", "id"),
    )
    op.create_index(op.f("ix_draft_edit_user_id"), "draft_edit", ["user_id"])
    for table in ("unsaved_edit", "draft_comment"):
        op.create_index(op.f(f"ix_{table}_user_id"), table, ["user_id"])
        op.create_index(op.f(f"ix_{table}_draft_id_id"), table, ["draft_id", "id"])
