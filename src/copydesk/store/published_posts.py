"""Published posts and their metrics by publication time.

A delivery was published when it was sent, a post recorded by hand when its draft was marked as posted.
"""

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
from copydesk.model.engagement import METRICS, FormatSummary, LivePost, MetricSum, RateSummary
from copydesk.model.serialization import Struct
from copydesk.store.column_types import ID, UtcDateTime
from copydesk.store.tables import delivery, draft, engagement

QUARTER_HOUR_SECONDS = 15 * 60
"""Seconds. The offsets of all time zones are multiples of it, so sums by quarter can be mapped to any local day."""
MAX_TEXT_LENGTH = 500
"""Characters."""

_USER = bindparam("owner", type_=ID)
_SINCE = bindparam("since", type_=UtcDateTime)
_NAMES = ("id", "draft_id", "platform", "account", "format", *METRICS, "interactions", "engagement_rate", "measured_at")


class QuarterHour(Struct, frozen=True):
    """The posts published within a quarter of an hour."""

    number: int
    """Quarters of an hour since 1970."""
    rate: RateSummary


def _published(tables: FromClause, at: ColumnElement[Any], *conditions: ColumnElement[bool]) -> Select[Any]:
    """Return the published posts of the user in `tables`, with their publication time."""
    columns = (engagement.c[name] for name in _NAMES)
    # A literal, as in the partial index: with a bound value SQLite would not use it.
    posted = (engagement.c.user_id == _USER, engagement.c.status == text("'posted'"))
    return select(*columns, at.label("at")).select_from(tables).where(*posted, *conditions)


def _all_posts() -> Subquery:
    tables = engagement.join(draft, draft.c.id == engagement.c.draft_id)
    tables = tables.join(delivery, delivery.c.id == engagement.c.id, isouter=True)
    return _published(tables, func.coalesce(delivery.c.sent_at, draft.c.posted_at, type_=UtcDateTime)).subquery("post")


def _posts_since() -> Subquery:
    """Return the posts published since a time, as the union of two queries with an index each."""
    sent = _published(
        delivery.join(engagement, engagement.c.id == delivery.c.id),
        delivery.c.sent_at,
        delivery.c.user_id == _USER,
        delivery.c.sent_at >= _SINCE,
    )
    tables = draft.join(engagement, engagement.c.draft_id == draft.c.id)
    by_hand = _published(
        tables.join(delivery, delivery.c.id == engagement.c.id, isouter=True),
        draft.c.posted_at,
        draft.c.user_id == _USER,
        draft.c.posted_at >= _SINCE,
        delivery.c.sent_at.is_(None),
    )
    return union_all(sent, by_hand).subquery("post")


def _rate_columns(post: Subquery) -> tuple[ColumnElement[Any], ...]:
    """Return the sums over rated posts, computed as by the triggers: interactions count up to the impressions."""
    rated = post.c.engagement_rate.is_not(None)
    # A platform may report interactions before the impressions they belong to.
    interactions = func.min(post.c.interactions, post.c.impressions)
    return (
        func.count().label("posts"),
        func.count(post.c.engagement_rate).label("rated"),
        func.coalesce(func.sum(interactions).filter(rated), 0).label("rated_interactions"),
        func.coalesce(func.sum(post.c.impressions).filter(rated), 0).label("rated_impressions"),
    )


def _kinds_query(post: Subquery) -> Select[Any]:
    measured = func.count(func.coalesce(post.c.interactions, post.c.impressions)).label("measured")
    sums = [func.coalesce(func.sum(post.c[name]), 0).label(name) for name in METRICS]
    count_columns = [func.count(post.c[name]).label(f"known_{name}") for name in METRICS]
    kind = (post.c.platform, post.c.format)
    return select(*kind, *_rate_columns(post), measured, *sums, *count_columns).group_by(*kind).order_by(*kind)


def _quarters_query(post: Subquery) -> Select[Any]:
    number = (type_coerce(post.c.at, BigInteger) // (QUARTER_HOUR_SECONDS * 1_000_000)).label("number")
    return select(number, *_rate_columns(post)).where(post.c.at.is_not(None)).group_by(number).order_by(number)


def _posts_query(post: Subquery) -> Select[Any]:
    best = select(post).order_by(post.c.engagement_rate.desc(), post.c.interactions.desc(), post.c.id.desc())
    # Limit first: the texts and payloads are then read for the rows returned only.
    best_posts = best.limit(bindparam("most")).subquery("best")
    url_columns: tuple[Column[Any], ...] = (delivery.c.progress, delivery.c.intent)
    return (
        select(best_posts, func.substr(draft.c.text, 1, MAX_TEXT_LENGTH).label("text"), *url_columns)
        .join(draft, draft.c.id == best_posts.c.draft_id)
        .join(delivery, delivery.c.id == best_posts.c.id, isouter=True)
        .order_by(best_posts.c.engagement_rate.desc(), best_posts.c.interactions.desc(), best_posts.c.id.desc())
    )


KIND_QUERIES = {False: _kinds_query(_all_posts()), True: _kinds_query(_posts_since())}
"""By `since is not None`. Built once."""
QUARTER_QUERIES = {False: _quarters_query(_all_posts()), True: _quarters_query(_posts_since())}
POST_QUERIES = {False: _posts_query(_all_posts()), True: _posts_query(_posts_since())}


def sum_by_kind(conn: Connection, user_id: str, since: datetime | None) -> tuple[FormatSummary, ...]:
    """Return the sums of the posts published since `since`, or of all posts, by platform and format."""
    sums = []
    for row in conn.execute(KIND_QUERIES[since is not None], _bind_values(user_id, since)):
        values = row._mapping
        metrics = {name: MetricSum(total=values[name], posts=values[f"known_{name}"]) for name in METRICS}
        sums.append(
            FormatSummary(
                platform=row.platform,
                format=row.format,
                measured=row.measured,
                rate=_rate_of(row),
                metrics=metrics,
            )
        )
    return tuple(sums)


def sum_by_quarter_hour(conn: Connection, user_id: str, since: datetime | None) -> tuple[QuarterHour, ...]:
    """Return the posts published since `since`, or all with a known time, by quarter of an hour, ascending."""
    rows = conn.execute(QUARTER_QUERIES[since is not None], _bind_values(user_id, since))
    return tuple(QuarterHour(number=row.number, rate=_rate_of(row)) for row in rows)


def list_posts(conn: Connection, user_id: str, since: datetime | None, limit: int) -> tuple[LivePost, ...]:
    """Return at most `limit` posts published since `since`, or of all posts, best first.

    Ordered by rate, then by interactions; posts without metrics come last, newest first.
    """
    rows = conn.execute(POST_QUERIES[since is not None], _bind_values(user_id, since) | {"most": limit})
    return tuple(_post(row._mapping) for row in rows)


def _bind_values(user_id: str, since: datetime | None) -> dict[str, object]:
    return {"owner": user_id} | ({"since": since} if since is not None else {})


def _rate_of(row: Row[Any]) -> RateSummary:
    return RateSummary(
        posts=row.posts, rated=row.rated, interactions=row.rated_interactions, impressions=row.rated_impressions
    )


def _post(row: RowMapping) -> LivePost:
    values = {name: row[name] for name in LivePost.__struct_fields__ if name != "url"}
    return LivePost(**values, url=_url(row["progress"], row["intent"]))


def _url(progress: Delivery | None, intent: Intent | None) -> str:
    """Return the address of the first post of a delivery, or an empty string."""
    visible_posts = progress.public_results(intent) if progress else ()
    return next((url for visible_post in visible_posts for url in visible_post.urls), "")
