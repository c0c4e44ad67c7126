"""Add the plan of an experiment, and A/A tests."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Upgrade from 0012."""
    op.add_column("experiment", sa.Column("plan", sa.Text(), nullable=False, server_default="{}"))
    op.add_column("experiment", sa.Column("aa_test", sa.Boolean(), nullable=False, server_default=sa.text("0")))
