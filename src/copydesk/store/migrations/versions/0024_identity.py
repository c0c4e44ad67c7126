"""Add the identity of the account to deliveries, which stays when the account is removed."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Upgrade from 0023."""
    op.add_column("delivery", sa.Column("identity", sa.Text(), nullable=True))
    op.execute(
        "UPDATE delivery SET identity = (SELECT platform || ':' || remote_id || '@' || server FROM account "
        "WHERE account.id = delivery.account_id) WHERE account_id IS NOT NULL"
    )
