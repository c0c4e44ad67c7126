"""Add the agents that propose drafts."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Upgrade from 0007."""
    op.add_column("draft", sa.Column("agent", sa.Text(), nullable=True))
