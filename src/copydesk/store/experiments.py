"""Experiments, the assignment of drafts to their variants, and the results."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Select, bindparam, exists, func, insert, literal, select, text, update
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.draft import Status
from copydesk.model.engagement import RecordStatus
from copydesk.model.experiment import Experiment, ExperimentStatus, Variant
from copydesk.model.serialization import Struct
from copydesk.model.transitions import USER
from copydesk.store.drafts import APPROVED_STATUSES
from copydesk.store.raw_sql import ColumnCodec, execute_sql
from copydesk.store.tables import draft, draft_event, engagement, experiment, experiment_turn

_COLUMNS = ColumnCodec(experiment.c[name] for name in Experiment.__struct_fields__)
_NEXT_POSITION = select(experiment_turn.c.next).where(
    experiment_turn.c.user_id == bindparam("user"),
    experiment_turn.c.experiment_id == bindparam("experiment"),
    experiment_turn.c.stratum == bindparam("stratum"),
)


class VariantTally(Struct, frozen=True):
    """Counts over one variant's drafts. Of several versions of a text only the newest counts."""

    drafted: int = 0
    accepted: int = 0
    rejected: int = 0
    published: int = 0
    measured: int = 0
    interactions: int = 0
    impressions: int | None = None
    """Of posts with a known rate; None if there are none."""
    rated_interactions: int = 0
    """Interactions of the posts with a known rate."""


class EditedDraft(Struct, frozen=True):
    """An accepted draft that the user edited: the generated text, and the current one."""

    variant_id: str
    generated: str
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


def get_oldest_active(conn: Connection, user_id: str) -> Experiment | None:
    """Return the experiment that new drafts take part in: the oldest active one, or None."""
    # A LIMIT in SQL, because this runs before every draft.
    return next(
        iter(_select_experiments(conn, "AND status = ? ORDER BY id LIMIT 1", user_id, ExperimentStatus.ACTIVE.value)),
        None,
    )


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
    statement = upsert(experiment_turn).from_select(columns, new_row)
    claimed = statement.on_conflict_do_update(
        ["user_id", "experiment_id", "stratum"],
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


def get_variant(conn: Connection, user_id: str, draft_id: str) -> tuple[str, str] | None:
    """Return (experiment id, variant id) of the draft, or None if it takes part in no experiment."""
    query = select(draft.c.experiment_id, draft.c.variant_id)
    row = conn.execute(query.where(draft.c.user_id == user_id, draft.c.id == draft_id)).first()
    return (row.experiment_id, row.variant_id) if row and row.experiment_id and row.variant_id else None


def tally_by_variant(conn: Connection, user_id: str, experiment_id: str) -> dict[str, VariantTally]:
    """Return the counts over the drafts, by variant id."""
    posts = _published_posts(user_id, experiment_id).subquery()
    is_published = draft.c.status.in_([Status.POSTED]) | posts.c.draft_id.is_not(None)
    count_where = func.count().filter
    query = (
        select(
            draft.c.variant_id,
            count_where(draft.c.text != "").label("drafted"),
            count_where(draft.c.status.in_(APPROVED_STATUSES)).label("accepted"),
            count_where(draft.c.status == Status.REJECTED).label("rejected"),
            count_where(is_published).label("published"),
            count_where(posts.c.measured > 0).label("measured"),
            func.coalesce(func.sum(posts.c.interactions), 0).label("interactions"),
            func.sum(posts.c.impressions).label("impressions"),
            func.coalesce(func.sum(posts.c.rated_interactions), 0).label("rated_interactions"),
        )
        .select_from(draft)
        .join(posts, posts.c.draft_id == draft.c.id, isouter=True)
        .where(*_is_newest(user_id, experiment_id))
        .group_by(draft.c.variant_id)
    )
    tallies_by_variant = {}
    for row in conn.execute(query):
        values = dict(row._mapping)
        variant_id = values.pop("variant_id")
        tallies_by_variant[variant_id] = VariantTally(**values)
    return tallies_by_variant


def list_edited(conn: Connection, user_id: str, experiment_id: str) -> tuple[EditedDraft, ...]:
    """Return the accepted drafts that the user edited."""
    text_before = func.json_extract(draft_event.c.before, "$.text")
    # The text before the user's first edit is the generated one.
    is_user_edit = (draft_event.c.draft_id == draft.c.id, draft_event.c.who == USER, text_before.is_not(None))
    generated_text = select(text_before).where(*is_user_edit).order_by(draft_event.c.version).limit(1).scalar_subquery()
    query = select(draft.c.variant_id, generated_text.label("generated"), draft.c.text).where(
        *_is_newest(user_id, experiment_id), draft.c.status.in_(APPROVED_STATUSES), text("generated IS NOT NULL")
    )
    return tuple(EditedDraft(**row._mapping) for row in conn.execute(query))


def _published_posts(user_id: str, experiment_id: str) -> Select[Any]:
    """Return a query for the published drafts with the sums of their metrics.

    Only posts with a known rate count in `impressions` and `rated_interactions`, which the rate is computed from.
    """
    is_rated = engagement.c.engagement_rate.is_not(None)
    is_measured = engagement.c.interactions.is_not(None) | engagement.c.impressions.is_not(None)
    return (
        select(
            engagement.c.draft_id,
            func.count().filter(is_measured).label("measured"),
            func.sum(engagement.c.interactions).label("interactions"),
            func.sum(engagement.c.impressions).filter(is_rated).label("impressions"),
            func.sum(engagement.c.interactions).filter(is_rated).label("rated_interactions"),
        )
        .join(draft, draft.c.id == engagement.c.draft_id)
        .where(
            draft.c.user_id == user_id,
            draft.c.experiment_id == experiment_id,
            engagement.c.user_id == user_id,
            engagement.c.status == RecordStatus.POSTED,
        )
        .group_by(engagement.c.draft_id)
    )


def _is_newest(user_id: str, experiment_id: str) -> tuple[Any, ...]:
    """Return the conditions for drafts of the experiment that were not replaced by a newer version."""
    newer = draft.alias("newer")
    # Otherwise each new version of a text would count as a draft of its own.
    superseded = exists().where(newer.c.regenerated_from_id == draft.c.id)
    return draft.c.user_id == user_id, draft.c.experiment_id == experiment_id, ~superseded


def _select_experiments(conn: Connection, suffix: str, *values: object) -> tuple[Experiment, ...]:
    """Return the experiments that meet the SQL `suffix`; the first of `values` is the user id."""
    query = f"SELECT {_COLUMNS.column_list} FROM experiment WHERE user_id = ? {suffix}"  # noqa: S608 - names of our own
    return tuple(_experiment(row) for row in _COLUMNS.decode(execute_sql(conn, query, values)))


def _experiment(row: Sequence[Any]) -> Experiment:
    values = dict(zip(_COLUMNS.names, row, strict=True))
    # Built by hand: msgspec cannot decode the recursive type of a variant's config.
    variants = tuple(Variant(**variant) for variant in values.pop("variants"))
    return Experiment(variants=variants, **values)
