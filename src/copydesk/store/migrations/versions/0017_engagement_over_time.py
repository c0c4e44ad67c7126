"""Add when posts were published, and their totals by quarter of an hour."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID, UtcDateTime

revision = "0017"
down_revision = "0016"

_METRICS = ("likes", "replies", "reposts", "impressions", "clicks")
_SUMS = {
    "posts": "count(*)",
    "measured": "count(coalesce(interactions, impressions))",
    "rated": "count(engagement_rate)",
    **{name: f"coalesce(sum({name}), 0)" for name in _METRICS},
    "rated_interactions": "coalesce(sum(iif(engagement_rate IS NULL, 0, min(interactions, impressions))), 0)",
    "rated_impressions": "coalesce(sum(iif(engagement_rate IS NULL, 0, impressions)), 0)",
    "with_interactions": "count(interactions)",
    **{f"with_{name}": f"count({name})" for name in _METRICS},
}


def upgrade() -> None:
    """Upgrade from 0016."""
    op.add_column("engagement", sa.Column("published_at", UtcDateTime(), nullable=True))
    op.execute(
        """UPDATE engagement SET published_at = coalesce(
            (SELECT sent_at FROM delivery WHERE delivery.id = engagement.id),
            (SELECT posted_at FROM draft WHERE draft.id = engagement.draft_id)
        )"""
    )
    op.drop_index("ix_engagement_top", table_name="engagement")
    live = sa.text("status = 'posted'")
    for name, columns in (
        ("ix_engagement_top_by_rate", ["user_id", "engagement_rate", "interactions", "id"]),
        ("ix_engagement_top_by_interactions", ["user_id", "interactions", "engagement_rate", "id"]),
        ("ix_engagement_user_id_published_at", ["user_id", "published_at"]),
        ("ix_engagement_user_id_id_live", ["user_id", "id"]),
    ):
        op.create_index(name, "engagement", columns, sqlite_where=live)
    op.create_table(
        "engagement_quarter_hour",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("quarter_hour", sa.Integer(), nullable=False),
        sa.Column("platform", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        *(sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False) for name in _SUMS),
        sa.PrimaryKeyConstraint(
            "user_id", "quarter_hour", "platform", "format", name=op.f("pk_engagement_quarter_hour")
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_engagement_quarter_hour_user_id"), ondelete="CASCADE"
        ),
        sqlite_with_rowid=False,
    )
    op.execute(
        f"""INSERT INTO engagement_quarter_hour (user_id, quarter_hour, platform, format, {", ".join(_SUMS)})
        SELECT user_id, coalesce(published_at / 900000000, -1), platform, format, {", ".join(_SUMS.values())}
        FROM engagement WHERE status = 'posted' GROUP BY 1, 2, 3, 4"""  # noqa: S608 - made of the words above
    )
