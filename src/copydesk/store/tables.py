"""The tables. Every row belongs to a user, and every query on a user's rows has an index that starts with user_id.

Long texts are the last columns of their tables: SQLite reads a row from its start and stops at the last column needed.
"""

from enum import StrEnum
from typing import Any

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from copydesk.model.delivery import Account, Delivery, Intent, State
from copydesk.model.draft import Checks, Format, ImageSource, Score, Status, Trace
from copydesk.model.engagement import DeliveryStatus
from copydesk.model.experiment import ExperimentStatus
from copydesk.model.history import EventKind
from copydesk.model.item import ItemState
from copydesk.model.run import RunRequest, RunStats, RunStatus, Stage
from copydesk.model.source import FetchState, Health, SourceConfig, SourceType
from copydesk.model.voice import FormatVoice
from copydesk.store.columns import id_, of_draft, one_of, owner, required, when
from copydesk.store.types import ID, ROW_ID, UTC, Choice, Json


class Origin(StrEnum):
    """The operation that created a draft."""

    PIPELINE = "pipeline"
    DIRECT = "direct"
    GENERATE = "generate"
    REGENERATE = "regenerate"


# SQLite can only drop a constraint that has a name.
metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

user = Table(
    "user",
    metadata,
    id_(),
    required("name", Text),
    required("time_zone", Text),
    required("created_at", UTC),
)

source = Table(
    "source",
    metadata,
    id_(),
    owner(),
    required("type", Choice(SourceType)),
    required("name", Text),
    Column("url", Text),
    Column("config", Json(SourceConfig)),
    required("enabled", Boolean, server_default=text("1")),
    required("created_at", UTC),
    required("updated_at", UTC),
    # Maintained by triggers.
    required("item_count", Integer, server_default=text("0")),
    # Copies of values in `fetch` that queries need as columns.
    Column("last_fetch", UTC),
    Column("next_at", UTC),
    Column("not_before", UTC),
    required("health", Choice(Health), server_default="unknown"),
    required("fail_count", Integer, server_default=text("0")),
    Column("last_error", Text),
    # Fingerprint of the filter rules last applied to its items; NULL until they are.
    Column("judged_by", Text),
    required("fetch", Json(FetchState), server_default="{}"),
    one_of("type", SourceType),
    one_of("health", Health),
    Index(None, "user_id", "next_at"),
)

host_cooldown = Table(
    "host_cooldown",
    metadata,
    owner(primary_key=True),
    required("host", Text, primary_key=True),
    required("until", UTC),
)

_BY_STATE = ("user_id", "state", "published")
item = Table(
    "item",
    metadata,
    Column("rid", ROW_ID, primary_key=True),
    required("id", ID, unique=True),
    owner(),
    # NULL for items that the user gave.
    Column("source_id", ID, ForeignKey("source.id", ondelete="CASCADE")),
    required("state", Choice(ItemState)),
    required("story_id", ID),
    required("published", UTC),
    required("seen", UTC),
    required("ident", Text),
    required("alias", Text),
    required("canonical", Text, server_default=""),
    Column("content_hash", LargeBinary),
    Column("points", Integer),
    Column("comments", Integer),
    Column("language", Text),
    Column("publisher", Text),
    Column("author", Text),
    required("title", Text),
    Column("url", Text),
    Column("image", Text),
    Column("image_alt", Text),
    Column("discussion", Text),
    Column("reason", Text),
    required("tags", Json(tuple[str, ...]), server_default="[]"),
    # The user's request, for an item the user gave.
    Column("prompt", Text),
    required("summary", Text, server_default=""),
    required("text", Text, server_default=""),
    UniqueConstraint("source_id", "ident"),
    Index(None, "source_id", "alias"),
    Index(None, "user_id", "published"),
    # Partial indexes, because nearly all items are in neither state. SQLite prefers them to the full one only if the
    # state is a column of theirs too.
    Index("ix_item_user_id_state_published_new", *_BY_STATE, **when("state = 'new'")),
    Index("ix_item_user_id_state_published_filtered", *_BY_STATE, **when("state = 'filtered'")),
)

run = Table(
    "run",
    metadata,
    id_(),
    owner(),
    required("status", Choice(RunStatus)),
    Column("stage", Choice(Stage)),
    # The time it was queued, until it is running.
    required("started_at", UTC),
    Column("ended_at", UTC),
    # The process that runs it, and the time until which it is assumed alive.
    Column("owner", Text),
    Column("lease_until", UTC),
    required("cancel_requested", Boolean, server_default=text("0")),
    Column("error", Text),
    Column("error_category", Text),
    required("requested", Json(RunRequest), server_default="{}"),
    required("stats", Json(RunStats), server_default="{}"),
    one_of("status", RunStatus),
    Index(None, "user_id", "id"),
    Index(None, "user_id", "status", "id"),
    Index("uq_run_user_id_running", "user_id", unique=True, **when("status = 'running'")),
)

# Totals of the finished runs, maintained by triggers: statistics over many runs read one row.
run_total = Table(
    "run_total",
    metadata,
    owner(primary_key=True),
    *(
        required(name, Integer, server_default=text("0"))
        for name in ("ended", "succeeded", "microseconds", "items", "drafts")
    ),
    sqlite_with_rowid=False,
)

run_error = Table(
    "run_error",
    metadata,
    owner(primary_key=True),
    required("category", Text, primary_key=True),
    required("runs", Integer, server_default=text("0")),
    sqlite_with_rowid=False,
)

_SCHEDULED = when("scheduled_at IS NOT NULL")
_BY_PIPELINE = when("origin = 'pipeline'")
_PENDING = when("status IN ('pending_generation', 'pending_regeneration')")

draft = Table(
    "draft",
    metadata,
    Column("rid", ROW_ID, primary_key=True),
    required("id", ID, unique=True),
    owner(),
    required("item_id", ID, ForeignKey("item.id", ondelete="CASCADE")),
    # Copies of the item's source, its type and its story: lists are filtered by them without a join.
    Column("source_id", ID),
    Column("source_type", Choice(SourceType)),
    required("story_id", ID),
    required("format", Choice(Format)),
    required("status", Choice(Status)),
    required("origin", Choice(Origin)),
    # Incremented by each change, for compare-and-set.
    required("version", Integer, server_default=text("1")),
    required("confidence", Float),
    Column("total_score", Float),
    required("created_at", UTC),
    required("updated_at", UTC),
    Column("scheduled_at", UTC),
    # The wall clock time the user chose: 09:00 in Prague stays 09:00 when the rules of the zone change.
    Column("scheduled_wall", Text),
    Column("scheduled_zone", Text),
    Column("posted_at", UTC),
    Column("archived_at", UTC),
    # The events that the next undo and the next redo revert.
    Column("undo_rid", Integer),
    Column("redo_rid", Integer),
    Column("post_id", Text),
    Column("regenerated_from_id", ID, ForeignKey("draft.id", ondelete="SET NULL")),
    Column("run_id", ID, ForeignKey("run.id", ondelete="SET NULL")),
    Column("experiment_id", ID, ForeignKey("experiment.id", ondelete="SET NULL")),
    Column("variant_id", Text),
    required("writer", Text, server_default=""),
    required("target_platforms", Json(tuple[str, ...]), server_default="[]"),
    Column("feedback", Text),
    Column("rejection_feedback", Text),
    Column("last_error", Text),
    # For the full text index, besides the text: its item's title and its tags, each on its own line.
    required("about", Text, server_default=""),
    required("text", Text),
    required("checks", Json(Checks), server_default="{}"),
    required("sentences", Json(tuple[Trace, ...]), server_default="[]"),
    Column("score", Json(Score)),
    one_of("format", Format),
    one_of("status", Status),
    # Lists skip archived drafts, possibly nearly all, within the index.
    Index(None, "user_id", "id", "archived_at"),
    Index(None, "user_id", "status", "id", "archived_at"),
    Index("ix_draft_user_id_id_archived", "user_id", "id", **when("archived_at IS NOT NULL")),
    Index(None, "user_id", "status", "total_score", "id", **when("archived_at IS NULL")),
    Index(None, "user_id", "format", "id"),
    Index(None, "user_id", "source_id", "id"),
    Index(None, "user_id", "source_type", "id"),
    Index(None, "user_id", "status", "format", "id"),
    Index(None, "user_id", "scheduled_at", "id", **_SCHEDULED),
    Index(None, "user_id", "id", "scheduled_at", **_SCHEDULED),
    Index(None, "user_id", "status", "scheduled_at", "id", **_SCHEDULED),
    Index(None, "user_id", "posted_at", **when("posted_at IS NOT NULL")),
    # Pending generation, in the order of the requests.
    Index("ix_draft_user_id_updated_at_pending", "user_id", "updated_at", "id", **_PENDING),
    Index(None, "user_id", "undo_rid", **when("undo_rid IS NOT NULL")),
    Index(None, "user_id", "redo_rid", **when("redo_rid IS NOT NULL")),
    # At most one pipeline draft per story and format, even if two processes draft at the same time.
    Index("uq_draft_user_id_story_id_format_pipeline", "user_id", "story_id", "format", unique=True, **_BY_PIPELINE),
    Index("ix_draft_user_id_story_id_generate", "user_id", "story_id", **when("origin = 'generate'")),
    # For foreign keys: a delete looks up the rows that reference it.
    Index(None, "item_id"),
    Index(None, "regenerated_from_id"),
    Index(None, "run_id"),
    Index(None, "experiment_id"),
)

# Draft counts, maintained by triggers. A draft without a source counts under ''.
draft_count = Table(
    "draft_count",
    metadata,
    owner(primary_key=True),
    required("source_id", Text, primary_key=True),
    required("status", Choice(Status), primary_key=True),
    required("archived", Boolean, primary_key=True),
    required("drafts", Integer),
    sqlite_with_rowid=False,
)

draft_image = Table(
    "draft_image",
    metadata,
    id_(),
    owner(index=True),
    of_draft(),
    required("url", Text),
    Column("alt", Text),
    required("position", Integer),
    required("source", Choice(ImageSource)),
    # URL of the stored copy. Written once, when the image is first fetched, so that all attempts post the same bytes.
    Column("stored", Text),
    one_of("source", ImageSource),
    Index(None, "draft_id", "position"),
)

tag = Table(
    "tag",
    metadata,
    id_(),
    owner(),
    required("name", Text),
    UniqueConstraint("user_id", "name"),
)

draft_tag = Table(
    "draft_tag",
    metadata,
    required("tag_id", ID, ForeignKey("tag.id", ondelete="CASCADE"), primary_key=True),
    of_draft(primary_key=True),
    owner(index=True),
    # With the user id, so that the tags of a page's drafts are read from the index alone.
    Index(None, "draft_id", "user_id"),
    sqlite_with_rowid=False,
)

# Append-only. `version` orders the events of one draft, `rid` those of all.
draft_event = Table(
    "draft_event",
    metadata,
    Column("rid", ROW_ID, primary_key=True),
    owner(),
    of_draft(),
    # The draft's version after the event.
    required("version", Integer),
    required("at", UTC),
    required("who", Text),
    required("kind", Choice(EventKind)),
    required("action", Text),
    Column("bulk_id", ID),
    # The event that an undo or a redo reverts.
    Column("of_rid", Integer),
    # The draft's undo_rid and redo_rid after this event is reverted: the events of a draft form two stacks as linked
    # lists.
    Column("undo_rid", Integer),
    Column("redo_rid", Integer),
    Column("feedback", Text),
    # The changed columns, with exactly the stored values.
    required("before", Json(dict[str, Any]), server_default="{}"),
    required("after", Json(dict[str, Any]), server_default="{}"),
    UniqueConstraint("draft_id", "version"),
    Index(None, "user_id", "bulk_id"),
    Index("ix_draft_event_user_id_change", "user_id", "rid", **when("kind = 'change'")),
    # Numbers are never reused, not even after a source was deleted with its drafts and their events.
    sqlite_autoincrement=True,
)

# Claims on drafts to generate. Only the draft's state says that its text is to be generated, not a row here.
generation = Table(
    "generation",
    metadata,
    of_draft(primary_key=True),
    owner(index=True),
    # The last claim, its process, and the time until which that is assumed alive.
    required("claim_id", ID),
    required("owner", Text),
    required("lease_until", UTC),
    # Attempts that were started and not finished.
    required("attempts", Integer),
    sqlite_with_rowid=False,
)

voice = Table(
    "voice",
    metadata,
    id_(),
    owner(unique=True),
    required("style", Text, server_default=""),
    required("avoid", Json(tuple[str, ...]), server_default="[]"),
    required("examples", Json(tuple[str, ...]), server_default="[]"),
    required("formats", Json(dict[Format, FormatVoice]), server_default="{}"),
    required("created_at", UTC),
    required("updated_at", UTC),
)

_REPORTED = "coalesce(likes, replies, reposts, clicks) IS NOT NULL"
_INTERACTIONS = (
    f"CASE WHEN {_REPORTED} "
    "THEN coalesce(likes, 0) + coalesce(replies, 0) + coalesce(reposts, 0) + coalesce(clicks, 0) END"
)

engagement = Table(
    "engagement",
    metadata,
    id_(),
    owner(),
    of_draft(),
    required("platform", Text),
    # Name of the account; empty if recorded by hand for a platform.
    required("account", Text, server_default=""),
    # Copy of the draft's: when a draft is deleted, its row is gone before the triggers subtract its posts from the
    # totals.
    required("format", Choice(Format)),
    Column("post_id", Text),
    required("status", Choice(DeliveryStatus)),
    required("retry_count", Integer, server_default=text("0")),
    Column("retry_after", UTC),
    Column("error_message", Text),
    Column("failed_at", UTC),
    # NULL if the platform does not report the metric: unknown is not zero.
    Column("likes", Integer),
    Column("replies", Integer),
    Column("reposts", Integer),
    Column("impressions", Integer),
    Column("clicks", Integer),
    Column("measured_at", UTC),
    required("created_at", UTC),
    # Computed from the metrics, however they were recorded; see `model.engagement` for the definition.
    Column("interactions", Integer, Computed(_INTERACTIONS, persisted=True)),
    Column(
        "engagement_rate",
        Float,
        Computed(f"CASE WHEN impressions > 0 THEN min(1.0, ({_INTERACTIONS}) * 1.0 / impressions) END", persisted=True),
    ),
    one_of("format", Format),
    one_of("status", DeliveryStatus),
    UniqueConstraint("draft_id", "platform", "account"),
    Index(None, "user_id", "status", "retry_after"),
    Index(
        "ix_engagement_top",
        "user_id",
        "engagement_rate",
        "interactions",
        "id",
        **when("status = 'posted' AND interactions IS NOT NULL"),
    ),
)

# Readings of metrics, from the platform or by hand; `engagement` has the latest value of each metric.
engagement_reading = Table(
    "engagement_reading",
    metadata,
    Column("rid", ROW_ID, primary_key=True),
    owner(index=True),
    required("engagement_id", ID, ForeignKey("engagement.id", ondelete="CASCADE")),
    required("at", UTC),
    required("by_hand", Boolean),
    Column("likes", Integer),
    Column("replies", Integer),
    Column("reposts", Integer),
    Column("impressions", Integer),
    Column("clicks", Integer),
    Index(None, "engagement_id", "rid"),
)

account = Table(
    "account",
    metadata,
    id_(),
    owner(),
    required("platform", Text),
    required("server", Text),
    # The platform's id of the account.
    required("remote_id", Text),
    required("name", Text),
    required("details", Json(Account)),
    required("connected_at", UTC),
    Column("checked_at", UTC),
    # Why nothing can be posted until the user acts; NULL if nothing is wrong.
    Column("trouble", Text),
    # Lease of the process that posts to it; NULL if there is none.
    Column("owner", Text),
    Column("claim_id", ID),
    Column("lease_until", UTC),
    UniqueConstraint("user_id", "platform", "server", "remote_id"),
)

_OPEN = when("state IN ('planned', 'sending', 'unknown')")

# A draft on its way to an account. Its `engagement` row shows the same in the terms of the interface.
delivery = Table(
    "delivery",
    metadata,
    required("id", ID, ForeignKey("engagement.id", ondelete="CASCADE"), primary_key=True),
    owner(),
    of_draft(index=True),
    Column("account_id", ID, ForeignKey("account.id", ondelete="SET NULL"), index=True),
    required("state", Choice(State)),
    required("version", Integer, server_default=text("0")),
    Column("not_before", UTC),
    # The scheduled time.
    required("due_at", UTC),
    # Idempotency keys are derived from it. Its id at first, replaced each time the user sends it again.
    required("seed", ID),
    # True if it is sent even though the same text was posted before.
    required("anyway", Boolean, server_default=text("0")),
    # Digest of the text, to find duplicates.
    required("digest", Text),
    Column("sent_at", UTC),
    # The next reading of metrics; NULL for never.
    Column("figures_at", UTC),
    Column("gone_at", UTC),
    required("progress", Json(Delivery)),
    # The payload, settled before the first request.
    Column("intent", Json(Intent)),
    one_of("state", State),
    Index("ix_delivery_user_id_account_id_open", "user_id", "account_id", "not_before", **_OPEN),
    Index(None, "user_id", "digest"),
    # Ids sort by creation time.
    Index(None, "user_id", "id"),
    Index("ix_delivery_user_id_sent_at", "user_id", "sent_at", **when("sent_at IS NOT NULL")),
    Index("ix_delivery_user_id_figures_at", "user_id", "figures_at", **when("figures_at IS NOT NULL")),
)

# Append-only log of each delivery.
delivery_event = Table(
    "delivery_event",
    metadata,
    Column("rid", ROW_ID, primary_key=True),
    owner(index=True),
    required("delivery_id", ID, ForeignKey("delivery.id", ondelete="CASCADE")),
    required("at", UTC),
    required("what", Text),
    required("says", Text, server_default=""),
    Index(None, "delivery_id", "rid"),
)

# Totals of the published posts, maintained by triggers: a summary of a million posts reads a few rows.
engagement_total = Table(
    "engagement_total",
    metadata,
    owner(primary_key=True),
    required("platform", Text, primary_key=True),
    required("format", Choice(Format), primary_key=True),
    *(
        required(name, Integer, server_default=text("0"))
        for name in (
            *("posts", "measured", "rated", "likes", "replies", "reposts", "impressions", "clicks"),
            *("rated_interactions", "rated_impressions"),
        )
    ),
    sqlite_with_rowid=False,
)

experiment = Table(
    "experiment",
    metadata,
    id_(),
    owner(),
    required("name", Text),
    required("parameter", Text),
    required("status", Choice(ExperimentStatus)),
    # Not decoded into Variant: msgspec refuses the recursive type of its `config`.
    required("variants", Json(tuple[dict[str, Any], ...])),
    required("results", Json(dict[str, Any]), server_default="{}"),
    required("started_at", UTC),
    Column("ended_at", UTC),
    required("created_at", UTC),
    one_of("status", ExperimentStatus),
    Index(None, "user_id", "status", "id"),
)

# Number of drafts assigned per stratum: the next draft's position in the blocks.
experiment_turn = Table(
    "experiment_turn",
    metadata,
    owner(primary_key=True),
    required("experiment_id", ID, ForeignKey("experiment.id", ondelete="CASCADE"), primary_key=True, index=True),
    required("stratum", Text, primary_key=True),
    required("next", Integer),
    sqlite_with_rowid=False,
)

schedule_slot = Table(
    "schedule_slot",
    metadata,
    owner(primary_key=True),
    required("day_of_week", Integer, primary_key=True),
    required("hour", Integer, primary_key=True),
    required("minute", Integer, primary_key=True),
    CheckConstraint("day_of_week BETWEEN 0 AND 6", name="day_of_week"),
    CheckConstraint("hour BETWEEN 0 AND 23", name="hour"),
    CheckConstraint("minute BETWEEN 0 AND 59", name="minute"),
    sqlite_with_rowid=False,
)

job = Table(
    "job",
    metadata,
    owner(primary_key=True),
    required("name", Text, primary_key=True),
    # Lease of the process that runs it; NULL if there is none.
    Column("owner", Text),
    Column("claim_id", ID),
    Column("lease_until", UTC),
    Column("began_at", UTC),
    Column("ended_at", UTC),
    # The last error, until a run succeeds.
    Column("failed_at", UTC),
    Column("error", Text),
    sqlite_with_rowid=False,
)

clock_check = Table(
    "clock_check",
    metadata,
    owner(primary_key=True),
    # Both clocks, read together: the reference for later readings.
    required("boot", Text),
    required("wall", UTC),
    required("steady", Float),
    required("counts_sleep", Boolean),
    # The last time the wall clock was known to be right.
    required("seen", UTC),
    # Time of a jump that no one has confirmed yet, and its size in seconds.
    Column("doubt_since", UTC),
    Column("doubt_by", Float),
    sqlite_with_rowid=False,
)
