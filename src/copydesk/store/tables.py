"""The tables. Every row belongs to a user, and the index of every query on a user's rows begins with user_id.

Long texts stand last in their rows: SQLite reads a row from its front, and stops at the last column it needs.
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
    """How a draft came to be."""

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
    # Kept by triggers.
    required("item_count", Integer, server_default=text("0")),
    # What is asked for in queries, beside the whole state in `fetch`.
    Column("last_fetch", UTC),
    Column("next_at", UTC),
    Column("not_before", UTC),
    required("health", Choice(Health), server_default="unknown"),
    required("fail_count", Integer, server_default=text("0")),
    Column("last_error", Text),
    # What names the rules that its items were last judged by; NULL until they are.
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
    # NULL for what the user gave: such an item belongs to no source.
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
    # What the user wants written, where the item is his own.
    Column("prompt", Text),
    required("summary", Text, server_default=""),
    required("text", Text, server_default=""),
    UniqueConstraint("source_id", "ident"),
    Index(None, "source_id", "alias"),
    Index(None, "user_id", "published"),
    # What waits for a run, and what filters left out and may wait again: by far the most is neither. SQLite takes them
    # for the better ones only where they have the state as a column too.
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
    # When it was queued, until it is running.
    required("started_at", UTC),
    Column("ended_at", UTC),
    # The process that runs it, and until when it may be thought alive.
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

# What the runs that ended came to, kept by triggers: statistics of many runs read one row.
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
    # The item's source, its type and its story, written once more: lists are filtered by them without a join.
    Column("source_id", ID),
    Column("source_type", Choice(SourceType)),
    required("story_id", ID),
    required("format", Choice(Format)),
    required("status", Choice(Status)),
    required("origin", Choice(Origin)),
    # Grows by one with each change: a change names the version it was decided on.
    required("version", Integer, server_default=text("1")),
    required("confidence", Float),
    Column("total_score", Float),
    required("created_at", UTC),
    required("updated_at", UTC),
    Column("scheduled_at", UTC),
    # What the user chose: 09:00 in Prague stays 09:00 when the rules of the zone change.
    Column("scheduled_wall", Text),
    Column("scheduled_zone", Text),
    Column("posted_at", UTC),
    Column("archived_at", UTC),
    # The events that the next undo and the next redo take back.
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
    # The title of its item and its tags, each on a line: what it is found by beside its text.
    required("about", Text, server_default=""),
    required("text", Text),
    required("checks", Json(Checks), server_default="{}"),
    required("sentences", Json(tuple[Trace, ...]), server_default="[]"),
    Column("score", Json(Score)),
    one_of("format", Format),
    one_of("status", Status),
    # Lists leave out what is archived, which may be nearly all of it, without reading it.
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
    # What is to be written, in the order in which it was asked for.
    Index("ix_draft_user_id_updated_at_pending", "user_id", "updated_at", "id", **_PENDING),
    Index(None, "user_id", "undo_rid", **when("undo_rid IS NOT NULL")),
    Index(None, "user_id", "redo_rid", **when("redo_rid IS NOT NULL")),
    # A story is drafted by runs once for each format, whatever two processes do at the same time.
    Index("uq_draft_user_id_story_id_format_pipeline", "user_id", "story_id", "format", unique=True, **_BY_PIPELINE),
    Index("ix_draft_user_id_story_id_generate", "user_id", "story_id", **when("origin = 'generate'")),
    # These let a delete find the rows that point at it.
    Index(None, "item_id"),
    Index(None, "regenerated_from_id"),
    Index(None, "run_id"),
    Index(None, "experiment_id"),
)

# How many drafts there are of each kind, kept by triggers. A draft without a source is counted under ''.
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
    # Under which url its bytes are kept; written once, when they are first read, so that all attempts send the same.
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
    # With the user, so that the tags of a page's drafts are read from the index alone.
    Index(None, "draft_id", "user_id"),
    sqlite_with_rowid=False,
)

# Written once and never changed. By `version` in the order of one draft, by `rid` in that of all of them.
draft_event = Table(
    "draft_event",
    metadata,
    Column("rid", ROW_ID, primary_key=True),
    owner(),
    of_draft(),
    # The draft's version after it.
    required("version", Integer),
    required("at", UTC),
    required("who", Text),
    required("kind", Choice(EventKind)),
    required("action", Text),
    Column("bulk_id", ID),
    # What an undo or a redo takes back.
    Column("of_rid", Integer),
    # What can be undone and redone when this one is taken back: events of a draft are a chain, and so two stacks.
    Column("undo_rid", Integer),
    Column("redo_rid", Integer),
    Column("feedback", Text),
    # The columns that it changed, with exactly the values that the database keeps.
    required("before", Json(dict[str, Any]), server_default="{}"),
    required("after", Json(dict[str, Any]), server_default="{}"),
    UniqueConstraint("draft_id", "version"),
    Index(None, "user_id", "bulk_id"),
    Index("ix_draft_event_user_id_change", "user_id", "rid", **when("kind = 'change'")),
    # A number that was given stands for no other event once a source was deleted with its drafts and theirs.
    sqlite_autoincrement=True,
)

# Who writes what: that a text is to be written is said by its draft's state, not by a row here.
generation = Table(
    "generation",
    metadata,
    of_draft(primary_key=True),
    owner(index=True),
    # Of the one who wrote or writes it: his claim, his process, and until when that may be thought alive.
    required("claim_id", ID),
    required("owner", Text),
    required("lease_until", UTC),
    # How many have begun and not come to an end.
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
    # The name of the account that it went to; empty where somebody recorded it by hand for a platform.
    required("account", Text, server_default=""),
    # The draft's, written once more: a draft that is deleted is gone before its posts are taken out of the sums.
    required("format", Choice(Format)),
    Column("post_id", Text),
    required("status", Choice(DeliveryStatus)),
    required("retry_count", Integer, server_default=text("0")),
    Column("retry_after", UTC),
    Column("error_message", Text),
    Column("failed_at", UTC),
    # NULL where the platform does not report a figure: unknown is not zero.
    Column("likes", Integer),
    Column("replies", Integer),
    Column("reposts", Integer),
    Column("impressions", Integer),
    Column("clicks", Integer),
    Column("measured_at", UTC),
    required("created_at", UTC),
    # What the figures come to, whoever wrote them; `model.engagement` says why so.
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

# What was read of a post, or said by the user, each time; `engagement` has the latest of each figure.
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
    # What the platform calls it.
    required("remote_id", Text),
    required("name", Text),
    required("details", Json(Account)),
    required("connected_at", UTC),
    Column("checked_at", UTC),
    # Why nothing can go there until the user does something; NULL where nothing stands in the way.
    Column("trouble", Text),
    # Who sends there, by which claim, and until when that may be thought alive; NULL where nobody does.
    Column("owner", Text),
    Column("claim_id", ID),
    Column("lease_until", UTC),
    UniqueConstraint("user_id", "platform", "server", "remote_id"),
)

_OPEN = when("state IN ('planned', 'sending', 'unknown')")

# One draft on its way to one account; its `engagement` row says the same in the interface's words.
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
    # When it was to go out.
    required("due_at", UTC),
    # What the keys follow from: its id, and another one each time the user has it sent again.
    required("seed", ID),
    # Whether it goes out although the same text did before.
    required("anyway", Boolean, server_default=text("0")),
    # Of the text, to find the same one.
    required("digest", Text),
    Column("sent_at", UTC),
    # When its figures are read next; NULL where they never are again.
    Column("figures_at", UTC),
    Column("gone_at", UTC),
    required("progress", Json(Delivery)),
    # What is sent, as it was settled before the first byte.
    Column("intent", Json(Intent)),
    one_of("state", State),
    Index("ix_delivery_user_id_account_id_open", "user_id", "account_id", "not_before", **_OPEN),
    Index(None, "user_id", "digest"),
    # Ids go by when they were made.
    Index(None, "user_id", "id"),
    Index("ix_delivery_user_id_sent_at", "user_id", "sent_at", **when("sent_at IS NOT NULL")),
    Index("ix_delivery_user_id_figures_at", "user_id", "figures_at", **when("figures_at IS NOT NULL")),
)

# Written once and never changed: what happened to a delivery.
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

# The sums of the posts that are live, kept by triggers: a summary of a million posts reads a few rows.
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

# How many drafts of a kind an experiment was given: the next one's place in its blocks.
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
    # Who is at it, by which claim, and until when it may be thought alive; NULL where nobody is.
    Column("owner", Text),
    Column("claim_id", ID),
    Column("lease_until", UTC),
    Column("began_at", UTC),
    Column("ended_at", UTC),
    # The last error, until the job ends well.
    Column("failed_at", UTC),
    Column("error", Text),
    sqlite_with_rowid=False,
)

clock_check = Table(
    "clock_check",
    metadata,
    owner(primary_key=True),
    # Both clocks, read together: what the wall clock is measured by.
    required("boot", Text),
    required("wall", UTC),
    required("steady", Float),
    required("counts_sleep", Boolean),
    # The last time that the wall clock was known to be right.
    required("seen", UTC),
    # When a jump was noticed that nobody has answered for yet, and how far it was, in seconds.
    Column("doubt_since", UTC),
    Column("doubt_by", Float),
    sqlite_with_rowid=False,
)
