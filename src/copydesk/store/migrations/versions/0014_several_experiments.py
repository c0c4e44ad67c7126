"""Let a draft take part in several experiments."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Upgrade from 0013."""
    op.create_table(
        "draft_variant",
        sa.Column("draft_id", ID, nullable=False),
        sa.Column("experiment_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("variant_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("draft_id", "experiment_id", name=op.f("pk_draft_variant")),
        sa.ForeignKeyConstraint(["draft_id"], ["draft.id"], name=op.f("fk_draft_variant_draft_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiment.id"], name=op.f("fk_draft_variant_experiment_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_draft_variant_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_draft_variant_experiment_id"), "draft_variant", ["experiment_id"])
    op.create_index(op.f("ix_draft_variant_user_id_experiment_id"), "draft_variant", ["user_id", "experiment_id"])
    op.execute(
        "INSERT INTO draft_variant (draft_id, experiment_id, user_id, variant_id)"
        " SELECT id, experiment_id, user_id, variant_id FROM draft"
        " WHERE experiment_id IS NOT NULL AND variant_id IS NOT NULL"
    )
    # Of several with the same parameter the newer ones waited, and no draft took part in them.
    op.execute(
        """UPDATE experiment SET status = 'concluded', ended_at = created_at, results = '{"concludedEarly": true,'
            || ' "reason": "Another experiment with the same parameter was active."}'
        WHERE status = 'active' AND EXISTS (
            SELECT 1 FROM experiment AS older WHERE older.user_id = experiment.user_id AND older.status = 'active'
                AND older.parameter = experiment.parameter AND older.id < experiment.id
        )"""
    )
    # Alembic cannot read an index on an expression, and SQLite cannot drop a column with a foreign key.
    op.drop_index("ix_draft_user_id_id_end", table_name="draft")
    op.drop_index("ix_draft_experiment_id", table_name="draft")
    # It would read the empty default of these columns as an expression.
    texts = tuple(sa.Column(name, sa.Text(), nullable=False, server_default="") for name in ("writer", "about"))
    with op.batch_alter_table("draft", reflect_args=texts) as batch:
        batch.drop_constraint(op.f("fk_draft_experiment_id"), type_="foreignkey")
        batch.drop_column("experiment_id")
        batch.drop_column("variant_id")
    op.create_index("ix_draft_user_id_id_end", "draft", ["user_id", sa.text("substr(id, -4)")])
