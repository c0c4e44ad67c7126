"""Keep the readings of the clocks by boot, since several machines may work on a desk."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID, UtcDateTime

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Upgrade from 0025."""
    op.create_table(
        "clock_reading",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("boot", sa.Text(), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("wall", UtcDateTime(), nullable=False),
        sa.Column("steady", sa.Float(), nullable=True),
        sa.Column("counts_sleep", sa.Boolean(), nullable=False),
        sa.Column("seen", UtcDateTime(), nullable=False),
        sa.Column("doubt_since", UtcDateTime(), nullable=True),
        sa.Column("doubt_by", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("user_id", "boot", name=op.f("pk_clock_reading")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_clock_reading_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    # A warning that nobody has answered yet stands.
    op.execute(
        "INSERT INTO clock_reading "
        "(user_id, boot, machine, number, wall, steady, counts_sleep, seen, doubt_since, doubt_by) "
        "SELECT user_id, boot, '', 1, wall, steady, counts_sleep, seen, doubt_since, doubt_by FROM clock_check"
    )
