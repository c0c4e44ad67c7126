"""The tables. Every row belongs to a user, but for `removed_send`, and every query on a user's rows has an index that
starts with user_id. The indexes that start with a time are for the sweep of workers, which looks for what is due of all
users at once.

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

from copydesk.model.delivery import Account, Delivery, DeliveryState, Intent
from copydesk.model.draft import TO_REVIEW, Agent, Checks, Format, ImageSource, Score, Status, Trace
from copydesk.model.engagement import RecordStatus
from copydesk.model.event import EventType
from copydesk.model.experiment import ExperimentPlan, ExperimentStatus
from copydesk.model.item import ItemState
from copydesk.model.ranking import ChangeRanking
from copydesk.model.requests import ChangeDraft, CountedChange
from copydesk.model.role import Role
from copydesk.model.rule import RuleKind
from copydesk.model.run import RunRequest, RunStats, RunStatus, Stage
from copydesk.model.source import FetchState, Health, SourceConfig
from copydesk.model.token import Scope
from copydesk.model.transitions import EventKind
from copydesk.model.voice import FormatVoice
from copydesk.model.writer import Endpoint, ModelRequest
from copydesk.store.column_types import (
    ID,
    ROW_ID,
    Choice,
    JsonText,
    UtcDateTime,
    allowed_values,
    draft_id_column,
    id_column,
    partial_index,
    required_column,
    user_id_column,
)


class DraftOrigin(StrEnum):
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
    id_column(),
    required_column("name", Text),
    required_column("time_zone", Text),
    required_column("created_at", UtcDateTime),
    # Names of the writers that are asked for a draft, in this order.
    required_column("writers", JsonText(tuple[str, ...]), server_default='["offline"]'),
    # Interests, filters and weights in place of those in the settings file.
    required_column("ranking", JsonText(ChangeRanking), server_default="{}"),
    # Reviewers of the desk by name.
    required_column("roles", JsonText(dict[str, Role]), server_default="{}"),
)

# Endpoints of language models. Their keys are in the vault.
writer = Table(
    "writer",
    metadata,
    user_id_column(primary_key=True),
    required_column("name", Text, primary_key=True),
    required_column("endpoint", JsonText(Endpoint)),
    required_column("created_at", UtcDateTime),
    Column("tested_at", UtcDateTime),
    Column("error", Text),
    sqlite_with_rowid=False,
)

# What language models cost per calendar month, in UTC.
model_spending = Table(
    "model_spending",
    metadata,
    user_id_column(primary_key=True),
    required_column("month", Text, primary_key=True),
    required_column("requests", Integer),
    # Requests whose cost is not known.
    required_column("unpriced", Integer),
    # US dollars.
    required_column("cost", Float),
    sqlite_with_rowid=False,
)

# API tokens.
token = Table(
    "token",
    metadata,
    id_column(),
    user_id_column(),
    required_column("name", Text),
    required_column("scope", Choice(Scope)),
    required_column("prefix", Text),
    # SHA-256 of the secret.
    required_column("hash", LargeBinary, unique=True),
    required_column("created_at", UtcDateTime),
    Column("expires_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
    allowed_values("scope", Scope),
    Index(None, "user_id", "id"),
)

source = Table(
    "source",
    metadata,
    id_column(),
    user_id_column(),
    required_column("type", Text),
    required_column("name", Text),
    Column("url", Text),
    Column("config", JsonText(SourceConfig)),
    required_column("enabled", Boolean, server_default=text("1")),
    required_column("created_at", UtcDateTime),
    required_column("updated_at", UtcDateTime),
    # Maintained by triggers.
    required_column("item_count", Integer, server_default=text("0")),
    # Copies of values in `fetch` that queries need as columns.
    Column("last_fetch", UtcDateTime),
    Column("next_at", UtcDateTime),
    Column("not_before", UtcDateTime),
    required_column("health", Choice(Health), server_default="unknown"),
    required_column("fail_count", Integer, server_default=text("0")),
    Column("last_error", Text),
    # Fingerprint of the filter rules last applied to its items; NULL until they are.
    Column("judged_by", Text),
    required_column("fetch", JsonText(FetchState), server_default="{}"),
    # False also of the names from before revision 0025, of which it is not known.
    required_column("named_by_user", Boolean, server_default=text("0")),
    allowed_values("health", Health),
    Index(None, "user_id", "next_at"),
    Index(None, "enabled", "next_at", "user_id"),
)

host_cooldown = Table(
    "host_cooldown",
    metadata,
    user_id_column(primary_key=True),
    required_column("host", Text, primary_key=True),
    required_column("until", UtcDateTime),
)

_BY_STATE = ("user_id", "state", "published")
item = Table(
    "item",
    metadata,
    Column("rid", ROW_ID, primary_key=True),
    required_column("id", ID, unique=True),
    user_id_column(),
    # NULL for items that the user gave.
    Column("source_id", ID, ForeignKey("source.id", ondelete="CASCADE")),
    required_column("state", Choice(ItemState)),
    required_column("story_id", ID),
    required_column("published", UtcDateTime),
    required_column("seen", UtcDateTime),
    required_column("ident", Text),
    required_column("alias", Text),
    required_column("canonical", Text, server_default=""),
    Column("content_hash", LargeBinary),
    Column("points", Integer),
    Column("comments", Integer),
    Column("language", Text),
    Column("publisher", Text),
    Column("author", Text),
    required_column("title", Text),
    Column("url", Text),
    Column("image", Text),
    Column("image_alt", Text),
    Column("discussion", Text),
    Column("reason", Text),
    required_column("tags", JsonText(tuple[str, ...]), server_default="[]"),
    # The user's request, for an item the user gave.
    Column("prompt", Text),
    required_column("summary", Text, server_default=""),
    required_column("text", Text, server_default=""),
    UniqueConstraint("source_id", "ident"),
    Index(None, "source_id", "alias"),
    Index(None, "user_id", "published"),
    # Partial indexes, because nearly all items are in neither state. SQLite prefers them to the full one only if the
    # state is a column of theirs too.
    Index("ix_item_user_id_state_published_new", *_BY_STATE, **partial_index("state = 'new'")),
    Index("ix_item_user_id_state_published_filtered", *_BY_STATE, **partial_index("state = 'filtered'")),
)

run = Table(
    "run",
    metadata,
    id_column(),
    user_id_column(),
    required_column("status", Choice(RunStatus)),
    Column("stage", Choice(Stage)),
    # The time it was queued, until it is running.
    required_column("started_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
    # The process that runs it, and the time until which it is assumed alive.
    Column("owner", Text),
    Column("lease_until", UtcDateTime),
    required_column("cancel_requested", Boolean, server_default=text("0")),
    Column("error", Text),
    Column("error_category", Text),
    required_column("requested", JsonText(RunRequest), server_default="{}"),
    required_column("stats", JsonText(RunStats), server_default="{}"),
    allowed_values("status", RunStatus),
    Index(None, "user_id", "id"),
    Index(None, "user_id", "status", "id"),
    Index("uq_run_user_id_running", "user_id", unique=True, **partial_index("status = 'running'")),
)

# Totals of the finished runs, maintained by triggers: statistics over many runs read one row.
run_total = Table(
    "run_total",
    metadata,
    user_id_column(primary_key=True),
    *(
        required_column(name, Integer, server_default=text("0"))
        for name in ("ended", "succeeded", "microseconds", "items", "drafts")
    ),
    sqlite_with_rowid=False,
)

run_error = Table(
    "run_error",
    metadata,
    user_id_column(primary_key=True),
    required_column("category", Text, primary_key=True),
    required_column("runs", Integer, server_default=text("0")),
    sqlite_with_rowid=False,
)

# An id can be given by its end; see `id_ends`.
_ID_END = text("substr(id, -4)")
_SCHEDULED = partial_index("scheduled_at IS NOT NULL")
_BY_AGENT = partial_index("agent IS NOT NULL")
_BY_PIPELINE = partial_index("origin = 'pipeline'")
TO_REVIEW_CONDITION = f"status IN ({', '.join(repr(status.value) for status in TO_REVIEW)})"
"""Repeated in queries of drafts to review: with a parameter SQLite would not see that their indexes apply."""
_TO_REVIEW = partial_index(f"{TO_REVIEW_CONDITION} AND archived_at IS NULL")
_PENDING = partial_index("status IN ('pending_generation', 'pending_regeneration')")

draft = Table(
    "draft",
    metadata,
    Column("rid", ROW_ID, primary_key=True),
    required_column("id", ID, unique=True),
    user_id_column(),
    required_column("item_id", ID, ForeignKey("item.id", ondelete="CASCADE")),
    # Copies of the item's source, its type and its story: lists are filtered by them without a join.
    Column("source_id", ID),
    Column("source_type", Text),
    required_column("story_id", ID),
    required_column("format", Choice(Format)),
    required_column("status", Choice(Status)),
    required_column("origin", Choice(DraftOrigin)),
    # Incremented by each change, for compare-and-set.
    required_column("version", Integer, server_default=text("1")),
    required_column("confidence", Float),
    Column("total_score", Float),
    required_column("created_at", UtcDateTime),
    required_column("updated_at", UtcDateTime),
    Column("scheduled_at", UtcDateTime),
    # The wall clock time the user chose: 09:00 in Prague stays 09:00 when the rules of the zone change.
    Column("scheduled_wall", Text),
    Column("scheduled_zone", Text),
    Column("posted_at", UtcDateTime),
    Column("archived_at", UtcDateTime),
    # The events that the next undo and the next redo revert.
    Column("undo_rid", Integer),
    Column("redo_rid", Integer),
    Column("post_id", Text),
    Column("regenerated_from_id", ID, ForeignKey("draft.id", ondelete="SET NULL")),
    Column("run_id", ID, ForeignKey("run.id", ondelete="SET NULL")),
    required_column("writer", Text, server_default=""),
    required_column("target_platforms", JsonText(tuple[str, ...]), server_default="[]"),
    Column("feedback", Text),
    Column("rejection_feedback", Text),
    Column("last_error", Text),
    # For the full text index, besides the text: its item's title and its tags, each on its own line.
    required_column("about", Text, server_default=""),
    required_column("text", Text),
    required_column("checks", JsonText(Checks), server_default="{}"),
    required_column("sentences", JsonText(tuple[Trace, ...]), server_default="[]"),
    Column("score", JsonText(Score)),
    Column("agent", JsonText(Agent)),
    # False while the user has made too few decisions: then `confidence` is the prior's base rate.
    required_column("confidence_known", Boolean, server_default=text("0")),
    allowed_values("format", Format),
    allowed_values("status", Status),
    Index("ix_draft_user_id_id_end", "user_id", _ID_END),
    # Lists skip archived drafts, possibly nearly all, within the index.
    Index(None, "user_id", "id", "archived_at"),
    Index(None, "user_id", "status", "id", "archived_at"),
    Index("ix_draft_user_id_id_archived", "user_id", "id", **partial_index("archived_at IS NOT NULL")),
    Index(None, "user_id", "status", "total_score", "id", **partial_index("archived_at IS NULL")),
    # Drafts to review can be sorted by these, too.
    Index("ix_draft_user_id_status_confidence_to_review", "user_id", "status", "confidence", "id", **_TO_REVIEW),
    Index("ix_draft_user_id_status_source_id_to_review", "user_id", "status", "source_id", "id", **_TO_REVIEW),
    Index(None, "user_id", "format", "id"),
    Index(None, "user_id", "source_id", "id"),
    Index(None, "user_id", "source_type", "id"),
    Index(None, "user_id", "status", "format", "id"),
    Index(None, "user_id", "scheduled_at", "id", **_SCHEDULED),
    Index(None, "user_id", "id", "scheduled_at", **_SCHEDULED),
    Index(None, "user_id", "status", "scheduled_at", "id", "archived_at", **_SCHEDULED),
    Index("ix_draft_user_id_status_id_archived_at_agent", "user_id", "status", "id", "archived_at", **_BY_AGENT),
    Index("ix_draft_scheduled_at_scheduled", "scheduled_at", "user_id", **partial_index("status = 'scheduled'")),
    Index(None, "user_id", "posted_at", **partial_index("posted_at IS NOT NULL")),
    # Pending generation, in the order of the requests.
    Index("ix_draft_user_id_updated_at_pending", "user_id", "updated_at", "id", **_PENDING),
    Index(None, "user_id", "undo_rid", **partial_index("undo_rid IS NOT NULL")),
    Index(None, "user_id", "redo_rid", **partial_index("redo_rid IS NOT NULL")),
    # At most one pipeline draft per story and format, even if two processes draft at the same time.
    Index("uq_draft_user_id_story_id_format_pipeline", "user_id", "story_id", "format", unique=True, **_BY_PIPELINE),
    Index("ix_draft_user_id_story_id_generate", "user_id", "story_id", **partial_index("origin = 'generate'")),
    # For foreign keys: a delete looks up the rows that reference it.
    Index(None, "item_id"),
    Index(None, "regenerated_from_id"),
    Index(None, "run_id"),
)

# Draft counts, maintained by triggers. A draft without a source counts under ''.
draft_count = Table(
    "draft_count",
    metadata,
    user_id_column(primary_key=True),
    required_column("source_id", Text, primary_key=True),
    required_column("status", Choice(Status), primary_key=True),
    required_column("archived", Boolean, primary_key=True),
    required_column("drafts", Integer),
    sqlite_with_rowid=False,
)

# The requests to language models that led to a draft.
model_request = Table(
    "model_request",
    metadata,
    draft_id_column(primary_key=True),
    required_column("position", Integer, primary_key=True),
    user_id_column(index=True),
    required_column("request", JsonText(ModelRequest)),
    sqlite_with_rowid=False,
)

draft_image = Table(
    "draft_image",
    metadata,
    id_column(),
    user_id_column(index=True),
    draft_id_column(),
    required_column("url", Text),
    Column("alt", Text),
    required_column("position", Integer),
    required_column("source", Choice(ImageSource)),
    # URL of the stored copy. Written once, when the image is first fetched, so that all attempts post the same bytes.
    Column("stored", Text),
    # Not posted unless the user attaches it.
    required_column("proposed", Boolean, server_default=text("0")),
    Column("agency", Text),
    allowed_values("source", ImageSource),
    Index(None, "draft_id", "position"),
)

# The items of a draft that has several, the lead included.
draft_item = Table(
    "draft_item",
    metadata,
    draft_id_column(primary_key=True),
    required_column("position", Integer, primary_key=True),
    user_id_column(index=True),
    required_column("item_id", ID, ForeignKey("item.id", ondelete="CASCADE")),
    Index(None, "item_id"),
    sqlite_with_rowid=False,
)

# Who stored an image: the files are shared by all users, but a draft gets only those of its own user.
stored_image = Table(
    "stored_image",
    metadata,
    user_id_column(primary_key=True),
    # SHA-256 of the content, in hexadecimal.
    required_column("digest", Text, primary_key=True),
    required_column("stored_at", UtcDateTime),
    Index(None, "user_id", "stored_at"),
    sqlite_with_rowid=False,
)

tag = Table(
    "tag",
    metadata,
    id_column(),
    user_id_column(),
    required_column("name", Text),
    UniqueConstraint("user_id", "name"),
)

draft_tag = Table(
    "draft_tag",
    metadata,
    required_column("tag_id", ID, ForeignKey("tag.id", ondelete="CASCADE"), primary_key=True),
    draft_id_column(primary_key=True),
    user_id_column(index=True),
    # With the user id, so that the tags of a page's drafts are read from the index alone.
    Index(None, "draft_id", "user_id"),
    sqlite_with_rowid=False,
)

# Seconds from showing a draft to the decision on it. The newest ones of each user, without what was decided on.
decision_time = Table(
    "decision_time",
    metadata,
    Column("rid", ROW_ID, primary_key=True),
    user_id_column(),
    required_column("at", UtcDateTime),
    required_column("seconds", Float),
    Index(None, "user_id", "rid"),
)

# Append-only. `version` orders the events of one draft, `rid` those of all.
draft_event = Table(
    "draft_event",
    metadata,
    Column("rid", ROW_ID, primary_key=True),
    user_id_column(),
    draft_id_column(),
    # The draft's version after the event.
    required_column("version", Integer),
    required_column("at", UtcDateTime),
    required_column("who", Text),
    required_column("kind", Choice(EventKind)),
    required_column("action", Text),
    Column("bulk_id", ID),
    # The event that an undo or a redo reverts.
    Column("of_rid", Integer),
    # The draft's undo_rid and redo_rid after this event is reverted: the events of a draft form two stacks as linked
    # lists.
    Column("undo_rid", Integer),
    Column("redo_rid", Integer),
    Column("feedback", Text),
    # The changed columns, with exactly the stored values.
    required_column("before", JsonText(dict[str, Any]), server_default="{}"),
    required_column("after", JsonText(dict[str, Any]), server_default="{}"),
    UniqueConstraint("draft_id", "version"),
    Index(None, "user_id", "bulk_id"),
    Index("ix_draft_event_user_id_change", "user_id", "rid", **partial_index("kind = 'change'")),
    # Numbers are never reused, not even after a source was deleted with its drafts and their events.
    sqlite_autoincrement=True,
)

# Reviewers who have a draft open; renewed while it is.
draft_viewer = Table(
    "draft_viewer",
    metadata,
    draft_id_column(primary_key=True),
    required_column("reviewer", Text, primary_key=True),
    user_id_column(),
    required_column("until", UtcDateTime),
    Index(None, "user_id", "until"),
    sqlite_with_rowid=False,
)

# The edit of a draft that was begun last and not ended. Its lease keeps others from saving a text.
draft_edit = Table(
    "draft_edit",
    metadata,
    draft_id_column(primary_key=True),
    user_id_column(index=True),
    required_column("lease_id", ID),
    required_column("reviewer", Text),
    required_column("lease_until", UtcDateTime),
    # The draft's version when it began.
    required_column("version", Integer),
    # As typed by the last renewal; NULL before that.
    Column("text", Text),
)

# Texts of edits that somebody else took over. Ids are those of the leases.
unsaved_edit = Table(
    "unsaved_edit",
    metadata,
    id_column(),
    user_id_column(index=True),
    draft_id_column(),
    required_column("reviewer", Text),
    required_column("at", UtcDateTime),
    required_column("version", Integer),
    required_column("text", Text),
    Index(None, "draft_id", "id"),
)

# Reviewers who have approved a draft with its present text.
draft_approval = Table(
    "draft_approval",
    metadata,
    draft_id_column(primary_key=True),
    required_column("reviewer", Text, primary_key=True),
    user_id_column(index=True),
    required_column("at", UtcDateTime),
    sqlite_with_rowid=False,
)

# Comments on drafts, or on the words `quote`, which were at `position` when the comment was made.
draft_comment = Table(
    "draft_comment",
    metadata,
    id_column(),
    user_id_column(index=True),
    draft_id_column(),
    required_column("reviewer", Text),
    required_column("at", UtcDateTime),
    Column("resolved_at", UtcDateTime),
    Column("resolved_by", Text),
    Column("position", Integer),
    required_column("quote", Text, server_default=""),
    required_column("text", Text),
    Index(None, "draft_id", "id"),
)

# Claims on drafts to generate. Only the draft's state says that its text is to be generated, not a row here.
generation = Table(
    "generation",
    metadata,
    draft_id_column(primary_key=True),
    user_id_column(index=True),
    # The last claim, its process, and the time until which that is assumed alive.
    required_column("claim_id", ID),
    required_column("owner", Text),
    required_column("lease_until", UtcDateTime),
    # Attempts that were started and not finished.
    required_column("attempts", Integer),
    sqlite_with_rowid=False,
)

voice = Table(
    "voice",
    metadata,
    id_column(),
    user_id_column(unique=True),
    required_column("style", Text, server_default=""),
    required_column("avoid", JsonText(tuple[str, ...]), server_default="[]"),
    required_column("examples", JsonText(tuple[str, ...]), server_default="[]"),
    required_column("formats", JsonText(dict[Format, FormatVoice]), server_default="{}"),
    required_column("created_at", UtcDateTime),
    required_column("updated_at", UtcDateTime),
    required_column("hashtag_list", JsonText(tuple[str, ...]), server_default="[]"),
)

# What is learnt from the user's decisions: only those since `since` count.
learning = Table(
    "learning",
    metadata,
    user_id_column(primary_key=True),
    Column("since", UtcDateTime),
    # Of the reset before the last one, to take that one back; and the time of the last one.
    Column("since_before", UtcDateTime),
    Column("reset_at", UtcDateTime),
    # Decisions at the time when the stored confidences were last computed.
    required_column("confidence_decisions", Integer, server_default=text("0")),
    sqlite_with_rowid=False,
)

# Rules made from the reasons of rejections.
rejection_rule = Table(
    "rejection_rule",
    metadata,
    id_column(),
    user_id_column(),
    required_column("kind", Choice(RuleKind)),
    required_column("term", Text),
    # The draft that was rejected, and the reason given.
    Column("draft_id", ID, ForeignKey("draft.id", ondelete="SET NULL"), index=True),
    required_column("reason", Text, server_default=""),
    required_column("created_at", UtcDateTime),
    required_column("updated_at", UtcDateTime),
    required_column("enabled", Boolean, server_default=text("1")),
    UniqueConstraint("user_id", "kind", "term"),
)

_REPORTED = "coalesce(likes, replies, reposts, clicks) IS NOT NULL"
_INTERACTIONS = (
    f"CASE WHEN {_REPORTED} "
    "THEN coalesce(likes, 0) + coalesce(replies, 0) + coalesce(reposts, 0) + coalesce(clicks, 0) END"
)

_IS_LIVE = partial_index("status = 'posted'")

engagement = Table(
    "engagement",
    metadata,
    id_column(),
    user_id_column(),
    draft_id_column(),
    required_column("platform", Text),
    # Name of the account; empty if recorded by hand for a platform.
    required_column("account", Text, server_default=""),
    # Copy of the draft's: when a draft is deleted, its row is gone before the triggers subtract its posts from the
    # totals.
    required_column("format", Choice(Format)),
    Column("post_id", Text),
    required_column("status", Choice(RecordStatus)),
    required_column("retry_count", Integer, server_default=text("0")),
    Column("retry_after", UtcDateTime),
    Column("error_message", Text),
    Column("failed_at", UtcDateTime),
    # NULL if the platform does not report the metric: unknown is not zero.
    Column("likes", Integer),
    Column("replies", Integer),
    Column("reposts", Integer),
    Column("impressions", Integer),
    Column("clicks", Integer),
    Column("measured_at", UtcDateTime),
    required_column("created_at", UtcDateTime),
    # Computed from the metrics, however they were recorded; see `model.engagement` for the definition.
    Column("interactions", Integer, Computed(_INTERACTIONS, persisted=True)),
    Column(
        "engagement_rate",
        Float,
        Computed(f"CASE WHEN impressions > 0 THEN min(1.0, ({_INTERACTIONS}) * 1.0 / impressions) END", persisted=True),
    ),
    # When the post was published, maintained by triggers; NULL if only its metrics were recorded.
    Column("published_at", UtcDateTime),
    allowed_values("format", Format),
    allowed_values("status", RecordStatus),
    UniqueConstraint("draft_id", "platform", "account"),
    Index(None, "user_id", "status", "retry_after"),
    Index("ix_engagement_top_by_rate", "user_id", "engagement_rate", "interactions", "id", **_IS_LIVE),
    Index("ix_engagement_top_by_interactions", "user_id", "interactions", "engagement_rate", "id", **_IS_LIVE),
    Index("ix_engagement_user_id_published_at", "user_id", "published_at", **_IS_LIVE),
    Index("ix_engagement_user_id_id_live", "user_id", "id", **_IS_LIVE),
)

# Readings of metrics, from the platform or by hand; `engagement` has the latest value of each metric.
engagement_reading = Table(
    "engagement_reading",
    metadata,
    Column("rid", ROW_ID, primary_key=True),
    user_id_column(index=True),
    required_column("engagement_id", ID, ForeignKey("engagement.id", ondelete="CASCADE")),
    required_column("at", UtcDateTime),
    required_column("by_hand", Boolean),
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
    id_column(),
    user_id_column(),
    required_column("platform", Text),
    required_column("server", Text),
    # The platform's id of the account.
    required_column("remote_id", Text),
    required_column("name", Text),
    required_column("details", JsonText(Account)),
    required_column("connected_at", UtcDateTime),
    Column("checked_at", UtcDateTime),
    # Why nothing can be posted until the user acts; NULL if nothing is wrong.
    Column("trouble", Text),
    # Lease of the process that posts to it; NULL if there is none.
    Column("owner", Text),
    Column("claim_id", ID),
    Column("lease_until", UtcDateTime),
    # Reviewers who must have approved a draft before it is posted there.
    required_column("approvals", Integer, server_default=text("1")),
    UniqueConstraint("user_id", "platform", "server", "remote_id"),
)

_OPEN = partial_index("state IN ('planned', 'sending', 'unknown')")

# A draft on its way to an account. Its `engagement` row shows the same in the terms of the interface.
delivery = Table(
    "delivery",
    metadata,
    required_column("id", ID, ForeignKey("engagement.id", ondelete="CASCADE"), primary_key=True),
    user_id_column(),
    draft_id_column(index=True),
    Column("account_id", ID, ForeignKey("account.id", ondelete="SET NULL"), index=True),
    required_column("state", Choice(DeliveryState)),
    required_column("version", Integer, server_default=text("0")),
    Column("not_before", UtcDateTime),
    # The scheduled time.
    required_column("due_at", UtcDateTime),
    # Idempotency keys are derived from it; see `posting.platform`.
    required_column("seed", ID),
    # True if it is sent even though the same text was posted before.
    required_column("anyway", Boolean, server_default=text("0")),
    # Digest of the text, to find duplicates.
    required_column("digest", Text),
    Column("sent_at", UtcDateTime),
    # The next reading of metrics; NULL for never.
    Column("figures_at", UtcDateTime),
    Column("gone_at", UtcDateTime),
    required_column("progress", JsonText(Delivery)),
    # The payload, settled before the first request.
    Column("intent", JsonText(Intent)),
    # `Account.identity`, also after the account was removed; NULL if that was before revision 0024.
    Column("identity", Text),
    allowed_values("state", DeliveryState),
    Index("ix_delivery_user_id_account_id_open", "user_id", "account_id", "not_before", **_OPEN),
    Index(None, "user_id", "digest"),
    # Ids sort by creation time.
    Index(None, "user_id", "id"),
    Index("ix_delivery_user_id_id_end", "user_id", _ID_END),
    Index("ix_delivery_user_id_sent_at", "user_id", "sent_at", **partial_index("sent_at IS NOT NULL")),
    Index("ix_delivery_user_id_figures_at", "user_id", "figures_at", **partial_index("figures_at IS NOT NULL")),
    Index("ix_delivery_not_before_open", "not_before", "user_id", **_OPEN),
    Index("ix_delivery_due_at_planned", "due_at", "user_id", **partial_index("state = 'planned'")),
    Index("ix_delivery_figures_at", "figures_at", "user_id", **partial_index("figures_at IS NOT NULL")),
)

# Append-only log of each delivery.
delivery_event = Table(
    "delivery_event",
    metadata,
    Column("rid", ROW_ID, primary_key=True),
    user_id_column(index=True),
    required_column("delivery_id", ID, ForeignKey("delivery.id", ondelete="CASCADE")),
    required_column("at", UtcDateTime),
    required_column("what", Text),
    required_column("says", Text, server_default=""),
    Index(None, "delivery_id", "rid"),
)

# Requests whose delivery was deleted with its source or its user, maintained by a trigger. The marks outside the
# database still name them: without these rows it would look as if an older copy of the database had been restored.
removed_send = Table(
    "removed_send",
    metadata,
    required_column("delivery_id", ID, primary_key=True),
    required_column("at", UtcDateTime, primary_key=True),
    sqlite_with_rowid=False,
)

# Totals of the published posts, maintained by triggers: a summary of a million posts reads a few rows.
engagement_total = Table(
    "engagement_total",
    metadata,
    user_id_column(primary_key=True),
    required_column("platform", Text, primary_key=True),
    required_column("format", Choice(Format), primary_key=True),
    *(
        required_column(name, Integer, server_default=text("0"))
        for name in (
            *("posts", "measured", "rated", "likes", "replies", "reposts", "impressions", "clicks"),
            *("rated_interactions", "rated_impressions"),
        )
    ),
    sqlite_with_rowid=False,
)

# The same by quarter of an hour of publication, the finest offset of any time zone; -1 if the time is unknown.
engagement_quarter_hour = Table(
    "engagement_quarter_hour",
    metadata,
    user_id_column(primary_key=True),
    required_column("quarter_hour", Integer, primary_key=True),
    required_column("platform", Text, primary_key=True),
    required_column("format", Choice(Format), primary_key=True),
    *(
        required_column(name, Integer, server_default=text("0"))
        for name in (
            *("posts", "measured", "rated", "likes", "replies", "reposts", "impressions", "clicks"),
            *("rated_interactions", "rated_impressions", "with_interactions"),
            *("with_likes", "with_replies", "with_reposts", "with_impressions", "with_clicks"),
        )
    ),
    sqlite_with_rowid=False,
)

experiment = Table(
    "experiment",
    metadata,
    id_column(),
    user_id_column(),
    required_column("name", Text),
    required_column("parameter", Text),
    required_column("status", Choice(ExperimentStatus)),
    # Not decoded into Variant: msgspec refuses the recursive type of its `config`.
    required_column("variants", JsonText(tuple[dict[str, Any], ...])),
    # The user's conclusion.
    required_column("results", JsonText(dict[str, Any]), server_default="{}"),
    required_column("started_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
    required_column("created_at", UtcDateTime),
    required_column("plan", JsonText(ExperimentPlan), server_default="{}"),
    required_column("aa_test", Boolean, server_default=text("0")),
    allowed_values("status", ExperimentStatus),
    Index(None, "user_id", "status", "id"),
)

# The variants of the experiments in which a draft is written.
draft_variant = Table(
    "draft_variant",
    metadata,
    draft_id_column(primary_key=True),
    required_column("experiment_id", ID, ForeignKey("experiment.id", ondelete="CASCADE"), primary_key=True, index=True),
    user_id_column(),
    required_column("variant_id", Text),
    Index(None, "user_id", "experiment_id"),
    sqlite_with_rowid=False,
)

# Number of drafts assigned per stratum: the next draft's position in the blocks.
experiment_turn = Table(
    "experiment_turn",
    metadata,
    user_id_column(primary_key=True),
    required_column("experiment_id", ID, ForeignKey("experiment.id", ondelete="CASCADE"), primary_key=True, index=True),
    required_column("stratum", Text, primary_key=True),
    required_column("next", Integer),
    sqlite_with_rowid=False,
)

schedule_slot = Table(
    "schedule_slot",
    metadata,
    user_id_column(primary_key=True),
    required_column("day_of_week", Integer, primary_key=True),
    required_column("hour", Integer, primary_key=True),
    required_column("minute", Integer, primary_key=True),
    CheckConstraint("day_of_week BETWEEN 0 AND 6", name="day_of_week"),
    CheckConstraint("hour BETWEEN 0 AND 23", name="hour"),
    CheckConstraint("minute BETWEEN 0 AND 59", name="minute"),
    sqlite_with_rowid=False,
)

# Bulk actions under way. A row whose process has ended is one that was interrupted.
bulk_action = Table(
    "bulk_action",
    metadata,
    # The bulk id of its events.
    id_column(),
    user_id_column(index=True),
    required_column("kind", Choice(EventKind)),
    required_column("action", Text),
    # The bulk action that an undo or a redo reverts.
    Column("of_bulk_id", ID),
    required_column("started_at", UtcDateTime),
    required_column("owner", Text),
    required_column("total", Integer),
    # One request for all drafts, or several, each for the next ones of them; NULL for an undo or a redo.
    Column("request", JsonText(ChangeDraft | tuple[CountedChange, ...])),
    required_column("draft_ids", JsonText(tuple[str, ...])),
)

# Requests that were carried out under a key of their sender's; see `copydesk.desk.idempotency`.
idempotency_key = Table(
    "idempotency_key",
    metadata,
    id_column(),
    user_id_column(),
    required_column("key", Text),
    required_column("fingerprint", LargeBinary),
    # The process that carries it out.
    required_column("owner", Text),
    required_column("created_at", UtcDateTime),
    # NULL until it is known.
    Column("response", LargeBinary),
    UniqueConstraint("user_id", "key"),
    Index(None, "user_id", "created_at"),
)

# What happened, for event streams and webhooks, written by triggers. Ids count from 1 for each user, without gaps: a
# number says nothing about other users, and a missing one was deleted. The newest stays, so that none is used twice.
event = Table(
    "event",
    metadata,
    user_id_column(primary_key=True),
    required_column("id", Integer, primary_key=True),
    required_column("type", Text),
    required_column("created_at", UtcDateTime),
    # JSON with the ids of what is concerned and the facts that changed.
    required_column("data", Text),
    sqlite_with_rowid=False,
)

webhook = Table(
    "webhook",
    metadata,
    id_column(),
    user_id_column(),
    required_column("url", Text),
    # Types of the events that are sent; NULL for all.
    Column("types", JsonText(tuple[EventType, ...])),
    required_column("created_at", UtcDateTime),
    # Only if no credential store can keep it.
    Column("secret", Text),
    # Failed attempts in a row, since when, and the time before which nothing is sent.
    required_column("failures", Integer, server_default=text("0")),
    Column("failing_since", UtcDateTime),
    Column("not_before", UtcDateTime),
    Column("disabled_at", UtcDateTime),
    Index(None, "user_id", "id"),
)

# One row for each event and webhook, inserted by a trigger in the transaction of the event.
webhook_delivery = Table(
    "webhook_delivery",
    metadata,
    required_column("webhook_id", ID, ForeignKey("webhook.id", ondelete="CASCADE"), primary_key=True),
    required_column("event_id", Integer, primary_key=True),
    user_id_column(),
    required_column("attempts", Integer, server_default=text("0")),
    # The last attempt: its time, the status of the response, and why it failed.
    Column("attempted_at", UtcDateTime),
    Column("status", Integer),
    Column("error", Text),
    # The next attempt; NULL once it is delivered or given up.
    Column("next_at", UtcDateTime),
    Column("delivered_at", UtcDateTime),
    Index(None, "user_id", "event_id"),
    Index("ix_webhook_delivery_user_id_next_at", "user_id", "next_at", **partial_index("next_at IS NOT NULL")),
    Index("ix_webhook_delivery_next_at", "next_at", "user_id", **partial_index("next_at IS NOT NULL")),
    sqlite_with_rowid=False,
)

job = Table(
    "job",
    metadata,
    user_id_column(primary_key=True),
    required_column("name", Text, primary_key=True),
    # Lease of the process that runs it; NULL if there is none.
    Column("owner", Text),
    Column("claim_id", ID),
    Column("lease_until", UtcDateTime),
    Column("began_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
    # The last error, until a run succeeds.
    Column("failed_at", UtcDateTime),
    Column("error", Text),
    sqlite_with_rowid=False,
)

# No longer read: upgrades only add, since processes of the version before may still run.
clock_check = Table(
    "clock_check",
    metadata,
    user_id_column(primary_key=True),
    required_column("boot", Text),
    required_column("wall", UtcDateTime),
    required_column("steady", Float),
    required_column("counts_sleep", Boolean),
    required_column("seen", UtcDateTime),
    Column("doubt_since", UtcDateTime),
    Column("doubt_by", Float),
    sqlite_with_rowid=False,
)

clock_reading = Table(
    "clock_reading",
    metadata,
    user_id_column(primary_key=True),
    # Each machine compares its own clocks, and monotonic ones count from its boot.
    required_column("boot", Text, primary_key=True),
    # Host name, which finds the reading from before a reboot; empty if it is from before revision 0026.
    required_column("machine", Text),
    # Counts up with each write of a user's readings: the clocks cannot tell which is the last.
    required_column("number", Integer),
    # Both clocks, read together: the reference for later readings. NULL if that reading is of an earlier boot.
    required_column("wall", UtcDateTime),
    Column("steady", Float),
    required_column("counts_sleep", Boolean),
    # The last time the wall clock was known to be right.
    required_column("seen", UtcDateTime),
    # Time of a jump that no one has confirmed yet, and its size in seconds.
    Column("doubt_since", UtcDateTime),
    Column("doubt_by", Float),
    sqlite_with_rowid=False,
)
