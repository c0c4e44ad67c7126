"""Add the indexes by which the sweep of workers finds what is due of all users."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Upgrade from 0020."""
    op.create_index(op.f("ix_source_enabled_next_at_user_id"), "source", ["enabled", "next_at", "user_id"])
    for name, table, time, condition in (
        ("ix_draft_scheduled_at_scheduled", "draft", "scheduled_at", "status = 'scheduled'"),
        ("ix_delivery_not_before_open", "delivery", "not_before", "state IN ('planned', 'sending', 'unknown')"),
        ("ix_delivery_due_at_planned", "delivery", "due_at", "state = 'planned'"),
        ("ix_delivery_figures_at", "delivery", "figures_at", "figures_at IS NOT NULL"),
        ("ix_webhook_delivery_next_at", "webhook_delivery", "next_at", "next_at IS NOT NULL"),
    ):
        op.create_index(op.f(name), table, [time, "user_id"], sqlite_where=sa.text(condition))
