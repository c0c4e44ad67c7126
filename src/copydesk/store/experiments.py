"""Experiments as they are kept, and what became of their drafts."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Select, bindparam, exists, func, insert, literal, select, text, update
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.draft import Status
from copydesk.model.engagement import DeliveryStatus
from copydesk.model.experiment import Experiment, ExperimentStatus, Variant
from copydesk.model.history import USER
from copydesk.model.wire import Struct
from copydesk.store.counts import APPROVED
from copydesk.store.statements import Columns, run
from copydesk.store.tables import draft, draft_event, engagement, experiment, experiment_turn

_SHOWN = Columns(experiment.c[name] for name in Experiment.__struct_fields__)
_NEXT = select(experiment_turn.c.next).where(
    experiment_turn.c.user_id == bindparam("user"),
    experiment_turn.c.experiment_id == bindparam("experiment"),
    experiment_turn.c.stratum == bindparam("stratum"),
)


class Tally(Struct, frozen=True):
    """What is counted of one variant's drafts, each version of a text but the newest left out."""

    drafted: int = 0
    accepted: int = 0
    rejected: int = 0
    published: int = 0
    measured: int = 0
    interactions: int = 0
    impressions: int | None = None
    interactions_seen: int = 0


class Edited(Struct, frozen=True):
    """An accepted draft that the user edited: as it was written, and as it is."""

    variant_id: str
    written: str
    text: str


def add(conn: Connection, user_id: str, new: Experiment) -> None:
    """Keep a new experiment."""
    values = {name: getattr(new, name) for name in _SHOWN.names}
    variants = msgspec.to_builtins(new.variants)
    conn.execute(insert(experiment).values(user_id=user_id, **values | {"variants": variants}))


def every(conn: Connection, user_id: str, status: ExperimentStatus | None) -> tuple[Experiment, ...]:
    """The user's experiments, or those in one state, newest first."""
    if status is None:
        return _found(conn, "ORDER BY id DESC", user_id)
    return _found(conn, "AND status = ? ORDER BY id DESC", user_id, status.value)


def one(conn: Connection, user_id: str, experiment_id: str) -> Experiment | None:
    """One of the user's experiments."""
    return next(iter(_found(conn, "AND id = ?", user_id, experiment_id)), None)


def change(conn: Connection, user_id: str, experiment_id: str, values: Mapping[str, object]) -> None:
    """Change what its course changes."""
    mine = (experiment.c.user_id == user_id, experiment.c.id == experiment_id)
    conn.execute(update(experiment).where(*mine).values(**values))


def oldest_active(conn: Connection, user_id: str) -> Experiment | None:
    """The experiment that new drafts take part in: the oldest one that is active."""
    # Asked before every draft.
    return next(iter(_found(conn, "AND status = ? ORDER BY id LIMIT 1", user_id, ExperimentStatus.ACTIVE.value)), None)


def next_place(conn: Connection, user_id: str, experiment_id: str, stratum: str) -> int:
    """The place that the next draft of a stratum has, from 0."""
    values = {"user": user_id, "experiment": experiment_id, "stratum": stratum}
    return conn.execute(_NEXT, values).scalar() or 0


def take_place(conn: Connection, user_id: str, experiment_id: str, stratum: str, place: int) -> bool:
    """Take a place; False where another draft has taken it, or the experiment is no longer active."""
    active = exists().where(
        experiment.c.id == experiment_id,
        experiment.c.user_id == user_id,
        experiment.c.status == ExperimentStatus.ACTIVE,
    )
    row = select(literal(user_id), literal(experiment_id), literal(stratum), literal(place + 1)).where(active)
    columns = ["user_id", "experiment_id", "stratum", "next"]
    put = upsert(experiment_turn).from_select(columns, row)
    taken = put.on_conflict_do_update(
        ["user_id", "experiment_id", "stratum"],
        set_={"next": put.excluded.next},
        where=experiment_turn.c.next == place,
    )
    return conn.execute(taken).rowcount == 1


def places(conn: Connection, user_id: str, experiment_id: str) -> dict[str, int]:
    """How many drafts of each stratum were assigned."""
    turns = experiment_turn.c
    query = select(turns.stratum, turns.next).where(turns.user_id == user_id, turns.experiment_id == experiment_id)
    return {stratum: taken for stratum, taken in conn.execute(query)}  # noqa: C416 - a row is no pair to mypy


def variant_of(conn: Connection, user_id: str, draft_id: str) -> tuple[str, str] | None:
    """The experiment and the variant of a draft; None where it takes part in none."""
    query = select(draft.c.experiment_id, draft.c.variant_id)
    row = conn.execute(query.where(draft.c.user_id == user_id, draft.c.id == draft_id)).first()
    return (row.experiment_id, row.variant_id) if row and row.experiment_id and row.variant_id else None


def tallies(conn: Connection, user_id: str, experiment_id: str) -> dict[str, Tally]:
    """What became of the drafts, by variant."""
    posts = _posts(user_id, experiment_id).subquery()
    live = draft.c.status.in_([Status.POSTED]) | posts.c.draft_id.is_not(None)
    counted = func.count().filter
    query = (
        select(
            draft.c.variant_id,
            counted(draft.c.text != "").label("drafted"),
            counted(draft.c.status.in_(APPROVED)).label("accepted"),
            counted(draft.c.status == Status.REJECTED).label("rejected"),
            counted(live).label("published"),
            counted(posts.c.measured > 0).label("measured"),
            func.coalesce(func.sum(posts.c.interactions), 0).label("interactions"),
            func.sum(posts.c.impressions).label("impressions"),
            func.coalesce(func.sum(posts.c.interactions_seen), 0).label("interactions_seen"),
        )
        .select_from(draft)
        .join(posts, posts.c.draft_id == draft.c.id, isouter=True)
        .where(*_newest(user_id, experiment_id))
        .group_by(draft.c.variant_id)
    )
    found = {}
    for row in conn.execute(query):
        values = dict(row._mapping)
        variant_id = values.pop("variant_id")
        found[variant_id] = Tally(**values)
    return found


def edited(conn: Connection, user_id: str, experiment_id: str) -> tuple[Edited, ...]:
    """The accepted drafts that the user edited."""
    before = func.json_extract(draft_event.c.before, "$.text")
    own = (draft_event.c.draft_id == draft.c.id, draft_event.c.who == USER, before.is_not(None))
    written = select(before).where(*own).order_by(draft_event.c.version).limit(1).scalar_subquery()
    query = select(draft.c.variant_id, written.label("written"), draft.c.text).where(
        *_newest(user_id, experiment_id), draft.c.status.in_(APPROVED), text("written IS NOT NULL")
    )
    return tuple(Edited(**row._mapping) for row in conn.execute(query))


def _posts(user_id: str, experiment_id: str) -> Select[Any]:
    """The drafts that are live, with the sums of their figures; a rate is made of those with impressions alone."""
    rated = engagement.c.engagement_rate.is_not(None)
    known = engagement.c.interactions.is_not(None) | engagement.c.impressions.is_not(None)
    return (
        select(
            engagement.c.draft_id,
            func.count().filter(known).label("measured"),
            func.sum(engagement.c.interactions).label("interactions"),
            func.sum(engagement.c.impressions).filter(rated).label("impressions"),
            func.sum(engagement.c.interactions).filter(rated).label("interactions_seen"),
        )
        .join(draft, draft.c.id == engagement.c.draft_id)
        .where(
            draft.c.user_id == user_id,
            draft.c.experiment_id == experiment_id,
            engagement.c.user_id == user_id,
            engagement.c.status == DeliveryStatus.POSTED,
        )
        .group_by(engagement.c.draft_id)
    )


def _newest(user_id: str, experiment_id: str) -> tuple[Any, ...]:
    """The drafts of an experiment that no newer version stands for."""
    newer = draft.alias("newer")
    superseded = exists().where(newer.c.regenerated_from_id == draft.c.id)
    return draft.c.user_id == user_id, draft.c.experiment_id == experiment_id, ~superseded


def _found(conn: Connection, which: str, *values: object) -> tuple[Experiment, ...]:
    """Experiments of the user, who is the first of `values`."""
    query = f"SELECT {_SHOWN.text} FROM experiment WHERE user_id = ? {which}"  # noqa: S608 - names of our own
    return tuple(_experiment(row) for row in _SHOWN.read(run(conn, query, values)))


def _experiment(row: Sequence[Any]) -> Experiment:
    values = dict(zip(_SHOWN.names, row, strict=True))
    # As they were given: a variant's config is JSON of any shape.
    variants = tuple(Variant(**variant) for variant in values.pop("variants"))
    return Experiment(variants=variants, **values)
