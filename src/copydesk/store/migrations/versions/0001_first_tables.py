"""The first tables. There is no downgrade: restore the backup made before the upgrade."""

import sqlalchemy as sa
from alembic import op

from copydesk.store.column_types import ID, ROW_ID, UtcDateTime

revision = "0001"
down_revision = None

_INTERACTIONS = (
    "CASE WHEN coalesce(likes, replies, reposts, clicks) IS NOT NULL "
    "THEN coalesce(likes, 0) + coalesce(replies, 0) + coalesce(reposts, 0) + coalesce(clicks, 0) END"
)


def upgrade() -> None:
    """Upgrade from an empty database."""
    _user()
    _clock_check()
    _experiment()
    _experiment_turn()
    _host_cooldown()
    _job()
    _run()
    _run_total()
    _run_error()
    _schedule_slot()
    _source()
    _tag()
    _voice()
    _item()
    _draft()
    _draft_count()
    _draft_event()
    _draft_image()
    _draft_tag()
    _draft_words()
    _generation()
    _engagement()
    _engagement_reading()
    _engagement_total()
    _account()
    _delivery()
    _delivery_event()


def _user() -> None:
    op.create_table(
        "user",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("time_zone", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user")),
    )


def _clock_check() -> None:
    op.create_table(
        "clock_check",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("boot", sa.Text(), nullable=False),
        sa.Column("wall", UtcDateTime(), nullable=False),
        sa.Column("steady", sa.Float(), nullable=False),
        sa.Column("counts_sleep", sa.Boolean(), nullable=False),
        sa.Column("seen", UtcDateTime(), nullable=False),
        sa.Column("doubt_since", UtcDateTime(), nullable=True),
        sa.Column("doubt_by", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_clock_check")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_clock_check_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )


def _experiment() -> None:
    op.create_table(
        "experiment",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("parameter", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("variants", sa.Text(), nullable=False),
        sa.Column("results", sa.Text(), server_default="{}", nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiment")),
        sa.CheckConstraint("status IN ('active', 'concluded', 'archived')", name=op.f("ck_experiment_status")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_experiment_user_id"), ondelete="CASCADE"),
    )
    op.create_index(op.f("ix_experiment_user_id_status_id"), "experiment", ["user_id", "status", "id"], unique=False)


def _experiment_turn() -> None:
    op.create_table(
        "experiment_turn",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("experiment_id", ID, nullable=False),
        sa.Column("stratum", sa.Text(), nullable=False),
        sa.Column("next", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "experiment_id", "stratum", name=op.f("pk_experiment_turn")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_experiment_turn_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["experiment_id"],
            ["experiment.id"],
            name=op.f("fk_experiment_turn_experiment_id"),
            ondelete="CASCADE",
        ),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_experiment_turn_experiment_id"), "experiment_turn", ["experiment_id"], unique=False)


def _host_cooldown() -> None:
    op.create_table(
        "host_cooldown",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "host", name=op.f("pk_host_cooldown")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_host_cooldown_user_id"), ondelete="CASCADE"),
    )


def _job() -> None:
    op.create_table(
        "job",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("claim_id", ID, nullable=True),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.Column("began_at", UtcDateTime(), nullable=True),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("failed_at", UtcDateTime(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("user_id", "name", name=op.f("pk_job")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_job_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )


def _run() -> None:
    op.create_table(
        "run",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=True),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("error_category", sa.Text(), nullable=True),
        sa.Column("requested", sa.Text(), server_default="{}", nullable=False),
        sa.Column("stats", sa.Text(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'interrupted')",
            name=op.f("ck_run_status"),
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_run_user_id"), ondelete="CASCADE"),
    )
    op.create_index(op.f("ix_run_user_id_id"), "run", ["user_id", "id"], unique=False)
    op.create_index(op.f("ix_run_user_id_status_id"), "run", ["user_id", "status", "id"], unique=False)
    op.create_index(
        "uq_run_user_id_running",
        "run",
        ["user_id"],
        unique=True,
        sqlite_where=sa.text("status = 'running'"),
    )


def _run_total() -> None:
    op.create_table(
        "run_total",
        sa.Column("user_id", ID, nullable=False),
        *(
            sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False)
            for name in ("ended", "succeeded", "microseconds", "items", "drafts")
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_run_total")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_run_total_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )


def _run_error() -> None:
    op.create_table(
        "run_error",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("runs", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "category", name=op.f("pk_run_error")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_run_error_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )


def _schedule_slot() -> None:
    op.create_table(
        "schedule_slot",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("day_of_week", sa.Integer(), nullable=False),
        sa.Column("hour", sa.Integer(), nullable=False),
        sa.Column("minute", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "day_of_week", "hour", "minute", name=op.f("pk_schedule_slot")),
        sa.CheckConstraint("day_of_week BETWEEN 0 AND 6", name=op.f("ck_schedule_slot_day_of_week")),
        sa.CheckConstraint("hour BETWEEN 0 AND 23", name=op.f("ck_schedule_slot_hour")),
        sa.CheckConstraint("minute BETWEEN 0 AND 59", name=op.f("ck_schedule_slot_minute")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_schedule_slot_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )


def _source() -> None:
    op.create_table(
        "source",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("config", sa.Text(), nullable=True),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("1"), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("item_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_fetch", UtcDateTime(), nullable=True),
        sa.Column("next_at", UtcDateTime(), nullable=True),
        sa.Column("not_before", UtcDateTime(), nullable=True),
        sa.Column("health", sa.Text(), server_default="unknown", nullable=False),
        sa.Column("fail_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("judged_by", sa.Text(), nullable=True),
        sa.Column("fetch", sa.Text(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_source")),
        sa.CheckConstraint(
            "type IN ('rss', 'twitter', 'reddit', 'hackernews', 'google_news', 'substack')", name=op.f("ck_source_type")
        ),
        sa.CheckConstraint(
            "health IN ('healthy', 'degraded', 'stale', 'error', 'unknown')", name=op.f("ck_source_health")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_source_user_id"), ondelete="CASCADE"),
    )
    op.create_index(op.f("ix_source_user_id_next_at"), "source", ["user_id", "next_at"], unique=False)


def _tag() -> None:
    op.create_table(
        "tag",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tag")),
        sa.UniqueConstraint("user_id", "name", name=op.f("uq_tag_user_id_name")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_tag_user_id"), ondelete="CASCADE"),
    )


def _voice() -> None:
    op.create_table(
        "voice",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("style", sa.Text(), server_default="", nullable=False),
        sa.Column("avoid", sa.Text(), server_default="[]", nullable=False),
        sa.Column("examples", sa.Text(), server_default="[]", nullable=False),
        sa.Column("formats", sa.Text(), server_default="{}", nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_voice")),
        sa.UniqueConstraint("user_id", name=op.f("uq_voice_user_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_voice_user_id"), ondelete="CASCADE"),
    )


def _item() -> None:
    op.create_table(
        "item",
        sa.Column("rid", ROW_ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("source_id", ID, nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("story_id", ID, nullable=False),
        sa.Column("published", UtcDateTime(), nullable=False),
        sa.Column("seen", UtcDateTime(), nullable=False),
        sa.Column("ident", sa.Text(), nullable=False),
        sa.Column("alias", sa.Text(), nullable=False),
        sa.Column("canonical", sa.Text(), server_default="", nullable=False),
        sa.Column("content_hash", sa.LargeBinary(), nullable=True),
        sa.Column("points", sa.Integer(), nullable=True),
        sa.Column("comments", sa.Integer(), nullable=True),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("publisher", sa.Text(), nullable=True),
        sa.Column("author", sa.Text(), nullable=True),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("image", sa.Text(), nullable=True),
        sa.Column("image_alt", sa.Text(), nullable=True),
        sa.Column("discussion", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("tags", sa.Text(), server_default="[]", nullable=False),
        sa.Column("prompt", sa.Text(), nullable=True),
        sa.Column("summary", sa.Text(), server_default="", nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("rid", name=op.f("pk_item")),
        sa.UniqueConstraint("source_id", "ident", name=op.f("uq_item_source_id_ident")),
        sa.UniqueConstraint("id", name=op.f("uq_item_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_item_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name=op.f("fk_item_source_id"), ondelete="CASCADE"),
    )
    op.create_index(op.f("ix_item_source_id_alias"), "item", ["source_id", "alias"], unique=False)
    op.create_index(op.f("ix_item_user_id_published"), "item", ["user_id", "published"], unique=False)
    for state in ("new", "filtered"):
        op.create_index(
            f"ix_item_user_id_state_published_{state}",
            "item",
            ["user_id", "state", "published"],
            unique=False,
            sqlite_where=sa.text(f"state = '{state}'"),
        )


def _draft() -> None:
    op.create_table(
        "draft",
        sa.Column("rid", ROW_ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("item_id", ID, nullable=False),
        sa.Column("source_id", ID, nullable=True),
        sa.Column("source_type", sa.Text(), nullable=True),
        sa.Column("story_id", ID, nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("total_score", sa.Float(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("scheduled_at", UtcDateTime(), nullable=True),
        sa.Column("scheduled_wall", sa.Text(), nullable=True),
        sa.Column("scheduled_zone", sa.Text(), nullable=True),
        sa.Column("posted_at", UtcDateTime(), nullable=True),
        sa.Column("archived_at", UtcDateTime(), nullable=True),
        sa.Column("undo_rid", sa.Integer(), nullable=True),
        sa.Column("redo_rid", sa.Integer(), nullable=True),
        sa.Column("post_id", sa.Text(), nullable=True),
        sa.Column("regenerated_from_id", ID, nullable=True),
        sa.Column("run_id", ID, nullable=True),
        sa.Column("experiment_id", ID, nullable=True),
        sa.Column("variant_id", sa.Text(), nullable=True),
        sa.Column("writer", sa.Text(), server_default="", nullable=False),
        sa.Column("target_platforms", sa.Text(), server_default="[]", nullable=False),
        sa.Column("feedback", sa.Text(), nullable=True),
        sa.Column("rejection_feedback", sa.Text(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("about", sa.Text(), server_default="", nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("checks", sa.Text(), server_default="{}", nullable=False),
        sa.Column("sentences", sa.Text(), server_default="[]", nullable=False),
        sa.Column("score", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("rid", name=op.f("pk_draft")),
        sa.CheckConstraint("format IN ('SHORT', 'THREAD', 'BLOG')", name=op.f("ck_draft_format")),
        sa.CheckConstraint(
            "status IN ('pending_generation', 'generation_failed', 'pending_review', 'awaiting_review', 'approved', "
            "'rejected', 'changes_requested', 'pending_regeneration', 'scheduled', 'posting', 'missed', 'posted')",
            name=op.f("ck_draft_status"),
        ),
        sa.UniqueConstraint("id", name=op.f("uq_draft_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_draft_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_draft_item_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["regenerated_from_id"], ["draft.id"], name=op.f("fk_draft_regenerated_from_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_draft_run_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiment.id"], name=op.f("fk_draft_experiment_id"), ondelete="SET NULL"
        ),
    )
    op.create_index(op.f("ix_draft_experiment_id"), "draft", ["experiment_id"], unique=False)
    op.create_index(op.f("ix_draft_item_id"), "draft", ["item_id"], unique=False)
    op.create_index(op.f("ix_draft_regenerated_from_id"), "draft", ["regenerated_from_id"], unique=False)
    op.create_index(op.f("ix_draft_run_id"), "draft", ["run_id"], unique=False)
    op.create_index(op.f("ix_draft_user_id_format_id"), "draft", ["user_id", "format", "id"], unique=False)
    op.create_index(op.f("ix_draft_user_id_id_archived_at"), "draft", ["user_id", "id", "archived_at"], unique=False)
    op.create_index(
        "ix_draft_user_id_id_archived",
        "draft",
        ["user_id", "id"],
        unique=False,
        sqlite_where=sa.text("archived_at IS NOT NULL"),
    )
    op.create_index(
        op.f("ix_draft_user_id_status_total_score_id"),
        "draft",
        ["user_id", "status", "total_score", "id"],
        unique=False,
        sqlite_where=sa.text("archived_at IS NULL"),
    )
    op.create_index(
        op.f("ix_draft_user_id_id_scheduled_at"),
        "draft",
        ["user_id", "id", "scheduled_at"],
        unique=False,
        sqlite_where=sa.text("scheduled_at IS NOT NULL"),
    )
    op.create_index(
        op.f("ix_draft_user_id_scheduled_at_id"),
        "draft",
        ["user_id", "scheduled_at", "id"],
        unique=False,
        sqlite_where=sa.text("scheduled_at IS NOT NULL"),
    )
    op.create_index(
        op.f("ix_draft_user_id_posted_at"),
        "draft",
        ["user_id", "posted_at"],
        unique=False,
        sqlite_where=sa.text("posted_at IS NOT NULL"),
    )
    op.create_index(op.f("ix_draft_user_id_source_id_id"), "draft", ["user_id", "source_id", "id"], unique=False)
    op.create_index(op.f("ix_draft_user_id_source_type_id"), "draft", ["user_id", "source_type", "id"], unique=False)
    op.create_index(
        op.f("ix_draft_user_id_status_format_id"), "draft", ["user_id", "status", "format", "id"], unique=False
    )
    op.create_index(
        op.f("ix_draft_user_id_status_id_archived_at"),
        "draft",
        ["user_id", "status", "id", "archived_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_draft_user_id_status_scheduled_at_id"),
        "draft",
        ["user_id", "status", "scheduled_at", "id"],
        unique=False,
        sqlite_where=sa.text("scheduled_at IS NOT NULL"),
    )
    op.create_index(
        op.f("ix_draft_user_id_undo_rid"),
        "draft",
        ["user_id", "undo_rid"],
        unique=False,
        sqlite_where=sa.text("undo_rid IS NOT NULL"),
    )
    op.create_index(
        op.f("ix_draft_user_id_redo_rid"),
        "draft",
        ["user_id", "redo_rid"],
        unique=False,
        sqlite_where=sa.text("redo_rid IS NOT NULL"),
    )
    op.create_index(
        "ix_draft_user_id_updated_at_pending",
        "draft",
        ["user_id", "updated_at", "id"],
        unique=False,
        sqlite_where=sa.text("status IN ('pending_generation', 'pending_regeneration')"),
    )
    op.create_index(
        "ix_draft_user_id_story_id_generate",
        "draft",
        ["user_id", "story_id"],
        unique=False,
        sqlite_where=sa.text("origin = 'generate'"),
    )
    op.create_index(
        "uq_draft_user_id_story_id_format_pipeline",
        "draft",
        ["user_id", "story_id", "format"],
        unique=True,
        sqlite_where=sa.text("origin = 'pipeline'"),
    )


def _draft_count() -> None:
    op.create_table(
        "draft_count",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("archived", sa.Boolean(), nullable=False),
        sa.Column("drafts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "source_id", "status", "archived", name=op.f("pk_draft_count")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_draft_count_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )


def _draft_event() -> None:
    op.create_table(
        "draft_event",
        sa.Column("rid", ROW_ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("draft_id", ID, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("bulk_id", ID, nullable=True),
        sa.Column("of_rid", sa.Integer(), nullable=True),
        sa.Column("undo_rid", sa.Integer(), nullable=True),
        sa.Column("redo_rid", sa.Integer(), nullable=True),
        sa.Column("feedback", sa.Text(), nullable=True),
        sa.Column("before", sa.Text(), server_default="{}", nullable=False),
        sa.Column("after", sa.Text(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("rid", name=op.f("pk_draft_event")),
        sa.UniqueConstraint("draft_id", "version", name=op.f("uq_draft_event_draft_id_version")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_draft_event_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["draft_id"], ["draft.id"], name=op.f("fk_draft_event_draft_id"), ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_draft_event_user_id_bulk_id"), "draft_event", ["user_id", "bulk_id"], unique=False)
    op.create_index(
        "ix_draft_event_user_id_change",
        "draft_event",
        ["user_id", "rid"],
        unique=False,
        sqlite_where=sa.text("kind = 'change'"),
    )


def _draft_image() -> None:
    op.create_table(
        "draft_image",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("draft_id", ID, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("alt", sa.Text(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("stored", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_draft_image")),
        sa.CheckConstraint(
            "source IN ('OG', 'UPLOAD', 'AI_PROVIDER_A', 'AI_PROVIDER_B')", name=op.f("ck_draft_image_source")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_draft_image_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["draft_id"], ["draft.id"], name=op.f("fk_draft_image_draft_id"), ondelete="CASCADE"),
    )
    op.create_index(op.f("ix_draft_image_draft_id_position"), "draft_image", ["draft_id", "position"], unique=False)
    op.create_index(op.f("ix_draft_image_user_id"), "draft_image", ["user_id"], unique=False)


def _draft_tag() -> None:
    op.create_table(
        "draft_tag",
        sa.Column("tag_id", ID, nullable=False),
        sa.Column("draft_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.PrimaryKeyConstraint("tag_id", "draft_id", name=op.f("pk_draft_tag")),
        sa.ForeignKeyConstraint(["tag_id"], ["tag.id"], name=op.f("fk_draft_tag_tag_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["draft_id"], ["draft.id"], name=op.f("fk_draft_tag_draft_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_draft_tag_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_draft_tag_draft_id_user_id"), "draft_tag", ["draft_id", "user_id"], unique=False)
    op.create_index(op.f("ix_draft_tag_user_id"), "draft_tag", ["user_id"], unique=False)


def _generation() -> None:
    op.create_table(
        "generation",
        sa.Column("draft_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("claim_id", ID, nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("lease_until", UtcDateTime(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("draft_id", name=op.f("pk_generation")),
        sa.ForeignKeyConstraint(["draft_id"], ["draft.id"], name=op.f("fk_generation_draft_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_generation_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_generation_user_id"), "generation", ["user_id"], unique=False)


def _draft_words() -> None:
    op.execute("""CREATE VIRTUAL TABLE draft_words USING fts5(
    text, about, source_id,
    content = 'draft', content_rowid = 'rid', tokenize = "unicode61 remove_diacritics 2"
)""")


def _engagement() -> None:
    op.create_table(
        "engagement",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("draft_id", ID, nullable=False),
        sa.Column("platform", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), server_default="", nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("post_id", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("retry_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("retry_after", UtcDateTime(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("failed_at", UtcDateTime(), nullable=True),
        sa.Column("likes", sa.Integer(), nullable=True),
        sa.Column("replies", sa.Integer(), nullable=True),
        sa.Column("reposts", sa.Integer(), nullable=True),
        sa.Column("impressions", sa.Integer(), nullable=True),
        sa.Column("clicks", sa.Integer(), nullable=True),
        sa.Column("measured_at", UtcDateTime(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("interactions", sa.Integer(), sa.Computed(_INTERACTIONS, persisted=True), nullable=True),
        sa.Column(
            "engagement_rate",
            sa.Float(),
            sa.Computed(
                f"CASE WHEN impressions > 0 THEN min(1.0, ({_INTERACTIONS}) * 1.0 / impressions) END", persisted=True
            ),
            nullable=True,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_engagement")),
        sa.CheckConstraint("format IN ('SHORT', 'THREAD', 'BLOG')", name=op.f("ck_engagement_format")),
        sa.CheckConstraint("status IN ('pending', 'posted', 'failed', 'abandoned')", name=op.f("ck_engagement_status")),
        sa.UniqueConstraint("draft_id", "platform", "account", name=op.f("uq_engagement_draft_id_platform_account")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_engagement_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["draft_id"], ["draft.id"], name=op.f("fk_engagement_draft_id"), ondelete="CASCADE"),
    )
    op.create_index(
        op.f("ix_engagement_user_id_status_retry_after"),
        "engagement",
        ["user_id", "status", "retry_after"],
        unique=False,
    )
    op.create_index(
        "ix_engagement_top",
        "engagement",
        ["user_id", "engagement_rate", "interactions", "id"],
        unique=False,
        sqlite_where=sa.text("status = 'posted' AND interactions IS NOT NULL"),
    )


def _engagement_total() -> None:
    op.create_table(
        "engagement_total",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("platform", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        *(
            sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False)
            for name in (
                *("posts", "measured", "rated", "likes", "replies", "reposts", "impressions", "clicks"),
                *("rated_interactions", "rated_impressions"),
            )
        ),
        sa.PrimaryKeyConstraint("user_id", "platform", "format", name=op.f("pk_engagement_total")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_engagement_total_user_id"), ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )


def _engagement_reading() -> None:
    op.create_table(
        "engagement_reading",
        sa.Column("rid", ROW_ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("engagement_id", ID, nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("by_hand", sa.Boolean(), nullable=False),
        sa.Column("likes", sa.Integer(), nullable=True),
        sa.Column("replies", sa.Integer(), nullable=True),
        sa.Column("reposts", sa.Integer(), nullable=True),
        sa.Column("impressions", sa.Integer(), nullable=True),
        sa.Column("clicks", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("rid", name=op.f("pk_engagement_reading")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_engagement_reading_user_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["engagement_id"], ["engagement.id"], name=op.f("fk_engagement_reading_engagement_id"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_engagement_reading_user_id"), "engagement_reading", ["user_id"], unique=False)
    op.create_index(
        op.f("ix_engagement_reading_engagement_id_rid"), "engagement_reading", ["engagement_id", "rid"], unique=False
    )


def _account() -> None:
    op.create_table(
        "account",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("platform", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("remote_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("connected_at", UtcDateTime(), nullable=False),
        sa.Column("checked_at", UtcDateTime(), nullable=True),
        sa.Column("trouble", sa.Text(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("claim_id", ID, nullable=True),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_account")),
        sa.UniqueConstraint(
            "user_id", "platform", "server", "remote_id", name=op.f("uq_account_user_id_platform_server_remote_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_account_user_id"), ondelete="CASCADE"),
    )


def _delivery() -> None:
    op.create_table(
        "delivery",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("draft_id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("not_before", UtcDateTime(), nullable=True),
        sa.Column("due_at", UtcDateTime(), nullable=False),
        sa.Column("seed", ID, nullable=False),
        sa.Column("anyway", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("sent_at", UtcDateTime(), nullable=True),
        sa.Column("figures_at", UtcDateTime(), nullable=True),
        sa.Column("gone_at", UtcDateTime(), nullable=True),
        sa.Column("progress", sa.Text(), nullable=False),
        sa.Column("intent", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        sa.CheckConstraint(
            "state IN ('planned', 'sending', 'unknown', 'needs_user', 'sent', 'failed', 'abandoned')",
            name=op.f("ck_delivery_state"),
        ),
        sa.ForeignKeyConstraint(["id"], ["engagement.id"], name=op.f("fk_delivery_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_delivery_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["draft_id"], ["draft.id"], name=op.f("fk_delivery_draft_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_delivery_account_id"), ondelete="SET NULL"
        ),
    )
    op.create_index(op.f("ix_delivery_draft_id"), "delivery", ["draft_id"], unique=False)
    op.create_index(op.f("ix_delivery_account_id"), "delivery", ["account_id"], unique=False)
    op.create_index(
        "ix_delivery_user_id_account_id_open",
        "delivery",
        ["user_id", "account_id", "not_before"],
        unique=False,
        sqlite_where=sa.text("state IN ('planned', 'sending', 'unknown')"),
    )
    op.create_index(op.f("ix_delivery_user_id_digest"), "delivery", ["user_id", "digest"], unique=False)
    op.create_index(op.f("ix_delivery_user_id_id"), "delivery", ["user_id", "id"], unique=False)
    op.create_index(
        "ix_delivery_user_id_sent_at",
        "delivery",
        ["user_id", "sent_at"],
        unique=False,
        sqlite_where=sa.text("sent_at IS NOT NULL"),
    )
    op.create_index(
        "ix_delivery_user_id_figures_at",
        "delivery",
        ["user_id", "figures_at"],
        unique=False,
        sqlite_where=sa.text("figures_at IS NOT NULL"),
    )


def _delivery_event() -> None:
    op.create_table(
        "delivery_event",
        sa.Column("rid", ROW_ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("delivery_id", ID, nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("says", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("rid", name=op.f("pk_delivery_event")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_delivery_event_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["delivery_id"], ["delivery.id"], name=op.f("fk_delivery_event_delivery_id"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_delivery_event_user_id"), "delivery_event", ["user_id"], unique=False)
    op.create_index(op.f("ix_delivery_event_delivery_id_rid"), "delivery_event", ["delivery_id", "rid"], unique=False)
