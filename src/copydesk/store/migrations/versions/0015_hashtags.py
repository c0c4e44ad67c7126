"""Add the hashtags of a voice."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Upgrade from 0014."""
    op.add_column("voice", sa.Column("hashtag_list", sa.Text(), server_default="[]", nullable=False))
