"""Add the interests, filters and weights that a user saved."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Upgrade from 0015."""
    op.add_column("user", sa.Column("ranking", sa.Text(), server_default="{}", nullable=False))
