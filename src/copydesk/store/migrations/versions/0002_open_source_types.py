"""Drop the list of source types: the registry knows them, and a new one needs no migration."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Upgrade from 0001."""
    with op.batch_alter_table("source") as batch:
        batch.drop_constraint(op.f("ck_source_type"), type_="check")
