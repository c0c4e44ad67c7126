"""Add to sources if the user gave the name, which is not known of those that exist."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Upgrade from 0024."""
    op.add_column("source", sa.Column("named_by_user", sa.Boolean(), server_default=sa.text("0"), nullable=False))
