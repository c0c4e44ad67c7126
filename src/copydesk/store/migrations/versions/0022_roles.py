"""Add the roles of reviewers."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Upgrade from 0021."""
    op.add_column("user", sa.Column("roles", sa.Text(), server_default="{}", nullable=False))
