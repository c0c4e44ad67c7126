"""Experiments, the assignment of drafts to their variants, and the results."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, exists, func, insert, literal, select, update

from copydesk.model.draft import Action, Format, Status
from copydesk.model.engagement import RecordStatus
from copydesk.model.experiment import Experiment, ExperimentStatus, PublishedPost, Reading, Variant
from copydesk.model.serialization import Struct
from copydesk.model.transitions import USER
from copydesk.store.column_types import UtcDateTime, json_text
from copydesk.store.draft_queries import UNINDEXED_COLUMNS
from copydesk.store.drafts import ACCEPTED_STATUSES
from copydesk.store.raw_sql import ColumnCodec, chunked, execute_sql, upsert
from copydesk.store.tables import (
    delivery,
    draft,
    draft_event,
    draft_variant,
    engagement,
    engagement_reading,
    experiment,
    experiment_turn,
)

_COLUMNS = ColumnCodec(experiment.c[name] for name in Experiment.__struct_fields__)
_TEXT_BEFORE = json_text(draft_event.c.before, "text")
_GENERATED_TEXT = (
    # The text before the user's first edit is the generated one.
    select(_TEXT_BEFORE)
    .where(draft_event.c.draft_id == draft.c.id, draft_event.c.who == USER, _TEXT_BEFORE.is_not(None))
    .order_by(draft_event.c.version)
    .limit(1)
    .scalar_subquery()
)
_DECIDED_AT = (
    select(func.max(draft_event.c.at, type_=UtcDateTime))
    .where(draft_event.c.draft_id == draft.c.id, draft_event.c.action.in_([Action.APPROVE, Action.REJECT]))
    .scalar_subquery()
)
_newer_draft = draft.alias("newer")
# Otherwise each new version of a text would count as a draft of its own.
_IS_SUPERSEDED = exists().where(_newer_draft.c.regenerated_from_id == draft.c.id)
_PARTICIPANTS = (
    select(
        *(draft.c[name] for name in ("id", "format", "target_platforms", "writer", "status", "created_at")),
        _DECIDED_AT.label("decided_at"),
        _GENERATED_TEXT.label("generated"),
        draft.c.text,
    )
    # Not by the index of the user's drafts, which SQLite prefers without statistics.
    .where(UNINDEXED_COLUMNS["user_id"] == bindparam("user"), ~_IS_SUPERSEDED)
    .order_by(draft.c.id)
)
_OF_DRAFTS = (
    engagement.c.user_id == bindparam("user"),
    engagement.c.draft_id.in_(bindparam("drafts", expanding=True)),
    engagement.c.status == RecordStatus.POSTED,
)
_POSTS = (
    select(
        engagement.c.id,
        engagement.c.draft_id,
        engagement.c.platform,
        func.coalesce(delivery.c.sent_at, draft.c.posted_at, engagement.c.created_at, type_=UtcDateTime).label(
            "published_at"
        ),
    )
    .select_from(
        engagement.join(draft, draft.c.id == engagement.c.draft_id).join(
            delivery, delivery.c.id == engagement.c.id, isouter=True
        )
    )
    .where(*_OF_DRAFTS)
    .order_by(engagement.c.id)
)
_READINGS = (
    select(
        engagement_reading.c.engagement_id,
        *(engagement_reading.c[name] for name in Reading.__struct_fields__),
    )
    .join(engagement, engagement.c.id == engagement_reading.c.engagement_id)
    .where(*_OF_DRAFTS)
    .order_by(engagement_reading.c.engagement_id, engagement_reading.c.rid)
)
_NEXT_POSITION = select(experiment_turn.c.next).where(
    experiment_turn.c.user_id == bindparam("user"),
    experiment_turn.c.experiment_id == bindparam("experiment"),
    experiment_turn.c.stratum == bindparam("stratum"),
)


class ParticipantRow(Struct, frozen=True):
    """A draft that takes part in an experiment, as it is stored."""

    id: str
    variant_id: str
    format: Format
    target_platforms: tuple[str, ...]
    writer: str
    status: Status
    created_at: datetime
    decided_at: datetime | None
    """The last time the user approved or rejected it."""
    generated: str | None
    """The text before the user's first edit; None if it was not edited."""
    text: str


def add(conn: Connection, user_id: str, new: Experiment) -> None:
    """Insert an experiment."""
    values = {name: getattr(new, name) for name in _COLUMNS.names}
    variants = msgspec.to_builtins(new.variants)
    conn.execute(insert(experiment).values(user_id=user_id, **values | {"variants": variants}))


def list_all(conn: Connection, user_id: str, status: ExperimentStatus | None) -> tuple[Experiment, ...]:
    """Return the user's experiments, or those in one state, newest first."""
    if status is None:
        return _select_experiments(conn, "ORDER BY id DESC", user_id)
    return _select_experiments(conn, "AND status = ? ORDER BY id DESC", user_id, status.value)


def get(conn: Connection, user_id: str, experiment_id: str) -> Experiment | None:
    """Return the experiment, or None if the user has no such experiment."""
    return next(iter(_select_experiments(conn, "AND id = ?", user_id, experiment_id)), None)


def update_experiment(conn: Connection, user_id: str, experiment_id: str, values: Mapping[str, object]) -> None:
    """Update columns of the experiment."""
    conditions = (experiment.c.user_id == user_id, experiment.c.id == experiment_id)
    conn.execute(update(experiment).where(*conditions).values(**values))


def list_active(conn: Connection, user_id: str) -> tuple[Experiment, ...]:
    """Return the experiments that new drafts take part in, oldest first."""
    return _select_experiments(conn, "AND status = ? ORDER BY id", user_id, ExperimentStatus.ACTIVE.value)


def next_position(conn: Connection, user_id: str, experiment_id: str, stratum: str) -> int:
    """Return the position of the next draft of a stratum, from 0."""
    values = {"user": user_id, "experiment": experiment_id, "stratum": stratum}
    return conn.execute(_NEXT_POSITION, values).scalar() or 0


def claim_position(conn: Connection, user_id: str, experiment_id: str, stratum: str, position: int) -> bool:
    """Claim a position; return False if another draft has claimed it or the experiment is no longer active."""
    is_active = exists().where(
        experiment.c.id == experiment_id,
        experiment.c.user_id == user_id,
        experiment.c.status == ExperimentStatus.ACTIVE,
    )
    new_row = select(literal(user_id), literal(experiment_id), literal(stratum), literal(position + 1)).where(is_active)
    columns = ["user_id", "experiment_id", "stratum", "next"]
    # A compare-and-set in one statement: `next` is advanced only if it is still this position.
    statement = upsert(conn, experiment_turn).from_select(columns, new_row)
    claimed = statement.on_conflict_do_update(
        index_elements=["user_id", "experiment_id", "stratum"],
        set_={"next": statement.excluded.next},
        where=experiment_turn.c.next == position,
    )
    return conn.execute(claimed).rowcount == 1


def count_assigned(conn: Connection, user_id: str, experiment_id: str) -> dict[str, int]:
    """Return the number of drafts assigned so far, by stratum."""
    columns = experiment_turn.c
    query = select(columns.stratum, columns.next).where(
        columns.user_id == user_id, columns.experiment_id == experiment_id
    )
    return {stratum: count for stratum, count in conn.execute(query)}  # noqa: C416 - a row is no pair to mypy


def list_participants(conn: Connection, user_id: str, experiment_id: str) -> tuple[ParticipantRow, ...]:
    """Return the drafts of the experiment. Of several versions of a text only the newest counts."""
    query = (
        _PARTICIPANTS.add_columns(draft_variant.c.variant_id)
        .join(draft_variant, draft_variant.c.draft_id == draft.c.id)
        .where(draft_variant.c.experiment_id == experiment_id)
    )
    return tuple(ParticipantRow(**row._mapping) for row in conn.execute(query, {"user": user_id}))


def list_newest_decided(conn: Connection, user_id: str, limit: int) -> tuple[ParticipantRow, ...]:
    """Return the newest drafts that the user approved or rejected, whether they took part in an experiment or not."""
    newest = (
        select(draft.c.id)
        .where(draft.c.user_id == bindparam("user"), draft.c.status.in_([*ACCEPTED_STATUSES, Status.REJECTED]))
        .order_by(draft.c.id.desc())
        .limit(limit)
    )
    query = _PARTICIPANTS.add_columns(literal("").label("variant_id")).where(draft.c.id.in_(newest))
    return tuple(ParticipantRow(**row._mapping) for row in conn.execute(query, {"user": user_id}))


def list_posts(conn: Connection, user_id: str, draft_ids: Sequence[str]) -> dict[str, tuple[PublishedPost, ...]]:
    """Return the published posts of the drafts with all readings of their metrics, by draft id."""
    posts: dict[str, list[PublishedPost]] = {}
    for chunk in chunked(draft_ids):
        values = {"user": user_id, "drafts": chunk}
        readings: dict[str, list[Reading]] = {}
        for row in conn.execute(_READINGS, values):
            columns = dict(row._mapping)
            readings.setdefault(columns.pop("engagement_id"), []).append(Reading(**columns))
        for row in conn.execute(_POSTS, values):
            post = PublishedPost(
                platform=row.platform, published_at=row.published_at, readings=tuple(readings.get(row.id, ()))
            )
            posts.setdefault(row.draft_id, []).append(post)
    return {draft_id: tuple(found) for draft_id, found in posts.items()}


def _select_experiments(conn: Connection, suffix: str, *values: object) -> tuple[Experiment, ...]:
    """Return the experiments that meet the SQL `suffix`; the first of `values` is the user id."""
    query = f"SELECT {_COLUMNS.column_list} FROM experiment WHERE user_id = ? {suffix}"  # noqa: S608 - names of our own
    return tuple(_experiment(row) for row in _COLUMNS.decode(execute_sql(conn, query, values)))


def _experiment(row: Sequence[Any]) -> Experiment:
    values = dict(zip(_COLUMNS.names, row, strict=True))
    # Built by hand: msgspec cannot decode the recursive type of a variant's config.
    variants = tuple(Variant(**variant) for variant in values.pop("variants"))
    return Experiment(variants=variants, **values)
