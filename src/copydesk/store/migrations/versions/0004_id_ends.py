"""Index drafts and deliveries by the end of their ids."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Upgrade from 0003."""
    for table in ("draft", "delivery"):
        op.create_index(f"ix_{table}_user_id_id_end", table, ["user_id", sa.text("substr(id, -4)")])
