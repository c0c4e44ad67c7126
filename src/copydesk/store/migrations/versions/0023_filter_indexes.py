"""Add the index of drafts that agents have proposed, and archived drafts to that of scheduled ones by state."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Upgrade from 0022."""
    op.create_index(
        op.f("ix_draft_user_id_status_id_archived_at_agent"),
        "draft",
        ["user_id", "status", "id", "archived_at"],
        sqlite_where=sa.text("agent IS NOT NULL"),
    )
    op.drop_index(op.f("ix_draft_user_id_status_scheduled_at_id"), "draft")
    op.create_index(
        op.f("ix_draft_user_id_status_scheduled_at_id_archived_at"),
        "draft",
        ["user_id", "status", "scheduled_at", "id", "archived_at"],
        sqlite_where=sa.text("scheduled_at IS NOT NULL"),
    )
