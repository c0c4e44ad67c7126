"""Add events, webhooks and the log of their deliveries."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID, UtcDateTime

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Upgrade from 0006."""
    op.create_table(
        "event",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_event")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_event_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "webhook",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("types", sa.Text(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=True),
        sa.Column("failures", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failing_since", UtcDateTime(), nullable=True),
        sa.Column("not_before", UtcDateTime(), nullable=True),
        sa.Column("disabled_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_webhook_user_id"), ondelete="CASCADE"),
    )
    op.create_index(op.f("ix_webhook_user_id_id"), "webhook", ["user_id", "id"])
    op.create_table(
        "webhook_delivery",
        sa.Column("webhook_id", ID, nullable=False),
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("attempted_at", UtcDateTime(), nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("next_at", UtcDateTime(), nullable=True),
        sa.Column("delivered_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("webhook_id", "event_id", name=op.f("pk_webhook_delivery")),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhook.id"], name=op.f("fk_webhook_delivery_webhook_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_webhook_delivery_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_webhook_delivery_user_id_event_id"), "webhook_delivery", ["user_id", "event_id"])
    op.create_index(
        "ix_webhook_delivery_user_id_next_at",
        "webhook_delivery",
        ["user_id", "next_at"],
        sqlite_where=sa.text("next_at IS NOT NULL"),
    )
