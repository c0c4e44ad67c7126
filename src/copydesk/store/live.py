"""Posts that are live, by when they went out: a delivery by when it was sent, any other one by its draft."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    FromClause,
    Row,
    RowMapping,
    Select,
    Subquery,
    bindparam,
    func,
    select,
    text,
    type_coerce,
    union_all,
)

from copydesk.model.delivery import Delivery, Intent
from copydesk.model.engagement import FIGURES
from copydesk.model.trend import KindSum, Known, LivePost, Rated
from copydesk.model.wire import Struct
from copydesk.store.tables import delivery, draft, engagement
from copydesk.store.types import ID, UTC

QUARTER = 15 * 60
"""Seconds. All zones differ by whole quarters of an hour, so what is summed up by these can be laid onto any clock."""
SHOWN_TEXT = 500
"""Characters."""

_USER = bindparam("owner", type_=ID)
_SINCE = bindparam("since", type_=UTC)
_NAMES = ("id", "draft_id", "platform", "account", "format", *FIGURES, "interactions", "engagement_rate", "measured_at")


class Quarter(Struct, frozen=True):
    """The posts that went out within a quarter of an hour."""

    number: int
    """Quarters since 1970."""
    rate: Rated


def _live(tables: FromClause, at: ColumnElement[Any], *conditions: ColumnElement[bool]) -> Select[Any]:
    """The posts of the user in `tables` that are live, and when each went out."""
    columns = (engagement.c[name] for name in _NAMES)
    posted = (engagement.c.user_id == _USER, engagement.c.status == text("'posted'"))
    return select(*columns, at.label("at")).select_from(tables).where(*posted, *conditions)


def _ever() -> Subquery:
    every = engagement.join(draft, draft.c.id == engagement.c.draft_id)
    every = every.join(delivery, delivery.c.id == engagement.c.id, isouter=True)
    return _live(every, func.coalesce(delivery.c.sent_at, draft.c.posted_at, type_=UTC)).subquery("post")


def _since() -> Subquery:
    """Two halves, for each has its index."""
    sent = _live(
        delivery.join(engagement, engagement.c.id == delivery.c.id),
        delivery.c.sent_at,
        delivery.c.user_id == _USER,
        delivery.c.sent_at >= _SINCE,
    )
    others = draft.join(engagement, engagement.c.draft_id == draft.c.id)
    by_hand = _live(
        others.join(delivery, delivery.c.id == engagement.c.id, isouter=True),
        draft.c.posted_at,
        draft.c.user_id == _USER,
        draft.c.posted_at >= _SINCE,
        delivery.c.sent_at.is_(None),
    )
    return union_all(sent, by_hand).subquery("post")


def _rated(post: Subquery) -> tuple[ColumnElement[Any], ...]:
    """As the sums that triggers keep: a platform that counts more interactions than impressions counts late."""
    rated = post.c.engagement_rate.is_not(None)
    interactions = func.min(post.c.interactions, post.c.impressions)
    return (
        func.count().label("posts"),
        func.count(post.c.engagement_rate).label("rated"),
        func.coalesce(func.sum(interactions).filter(rated), 0).label("rated_interactions"),
        func.coalesce(func.sum(post.c.impressions).filter(rated), 0).label("rated_impressions"),
    )


def _kinds(post: Subquery) -> Select[Any]:
    measured = func.count(func.coalesce(post.c.interactions, post.c.impressions)).label("measured")
    sums = [func.coalesce(func.sum(post.c[name]), 0).label(name) for name in FIGURES]
    known = [func.count(post.c[name]).label(f"known_{name}") for name in FIGURES]
    kind = (post.c.platform, post.c.format)
    return select(*kind, *_rated(post), measured, *sums, *known).group_by(*kind).order_by(*kind)


def _quarters(post: Subquery) -> Select[Any]:
    number = (type_coerce(post.c.at, BigInteger) // (QUARTER * 1_000_000)).label("number")
    return select(number, *_rated(post)).where(post.c.at.is_not(None)).group_by(number).order_by(number)


def _posts(post: Subquery) -> Select[Any]:
    best = select(post).order_by(post.c.engagement_rate.desc(), post.c.interactions.desc(), post.c.id.desc())
    best_ = best.limit(bindparam("most")).subquery("best")
    made: tuple[Column[Any], ...] = (delivery.c.progress, delivery.c.intent)
    return (
        select(best_, func.substr(draft.c.text, 1, SHOWN_TEXT).label("text"), *made)
        .join(draft, draft.c.id == best_.c.draft_id)
        .join(delivery, delivery.c.id == best_.c.id, isouter=True)
        .order_by(best_.c.engagement_rate.desc(), best_.c.interactions.desc(), best_.c.id.desc())
    )


KINDS = {False: _kinds(_ever()), True: _kinds(_since())}
"""By whether there is a time since when; made once."""
QUARTERS = {False: _quarters(_ever()), True: _quarters(_since())}
POSTS = {False: _posts(_ever()), True: _posts(_since())}


def kinds(conn: Connection, user_id: str, since: datetime | None) -> tuple[KindSum, ...]:
    """The sums of the posts that went out since, or of all, by platform and format."""
    found = []
    for row in conn.execute(KINDS[since is not None], _values(user_id, since)):
        values = row._mapping
        figures = {name: Known(total=values[name], posts=values[f"known_{name}"]) for name in FIGURES}
        found.append(
            KindSum(
                platform=row.platform,
                format=row.format,
                measured=row.measured,
                rate=_rate_of(row),
                figures=figures,
            )
        )
    return tuple(found)


def quarters(conn: Connection, user_id: str, since: datetime | None) -> tuple[Quarter, ...]:
    """The posts that went out since, or all of which it is known when, by quarters of an hour, in order."""
    rows = conn.execute(QUARTERS[since is not None], _values(user_id, since))
    return tuple(Quarter(number=row.number, rate=_rate_of(row)) for row in rows)


def posts(conn: Connection, user_id: str, since: datetime | None, most: int) -> tuple[LivePost, ...]:
    """The posts that went out since, or all: the best first, by rate; then by interactions; then those of which
    nothing is known, the newest first.
    """
    rows = conn.execute(POSTS[since is not None], _values(user_id, since) | {"most": most})
    return tuple(_post(row._mapping) for row in rows)


def _values(user_id: str, since: datetime | None) -> dict[str, object]:
    return {"owner": user_id} | ({"since": since} if since is not None else {})


def _rate_of(row: Row[Any]) -> Rated:
    return Rated(
        posts=row.posts, rated=row.rated, interactions=row.rated_interactions, impressions=row.rated_impressions
    )


def _post(row: RowMapping) -> LivePost:
    named = {name: row[name] for name in LivePost.__struct_fields__ if name != "url"}
    return LivePost(**named, url=_url(row["progress"], row["intent"]))


def _url(progress: Delivery | None, intent: Intent | None) -> str:
    """Where the first post of a delivery is."""
    seen = progress.seen(intent) if progress else ()
    return next((url for made in seen for url in made.urls), "")
