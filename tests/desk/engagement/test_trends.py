"""Tests for engagement over time, by hour and by kind, compared with sums computed in Python."""

import random
from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Connection, insert

from copydesk.desk import Desk
from copydesk.desk.engagement import metrics_by_span
from copydesk.model.delivery import Delivery, DeliveryState, StepResult
from copydesk.model.engagement import METRICS, Interval, RateSummary
from copydesk.store import engagement, tables
from copydesk.store.engagement import QUARTER_HOUR_SECONDS, QuarterHour
from copydesk.store.ids import new_id
from desk_fixtures import NOW, open_desk_at
from store_fixtures import add_draft, add_item, add_source, add_user

ZONES = ("UTC", "Europe/Prague", "Asia/Kathmandu", "America/St_Johns")
PLATFORMS = ("x", "bluesky", "mastodon")


@pytest.fixture
async def desk(tmp_path) -> AsyncIterator[Desk]:
    async with open_desk_at(tmp_path) as opened:
        yield opened


def insert_post(
    conn: Connection, user: str, values: dict[str, object], *, sent_at: datetime | None, draft_id: str
) -> None:
    """Insert an engagement record, and its delivery if it has `sent_at`."""
    record = {"id": new_id(NOW), "retry_count": 0, "created_at": NOW, "account": "me", **values}
    conn.execute(insert(tables.engagement).values(user_id=user, draft_id=draft_id, **record))
    if sent_at is None:
        return
    progress = Delivery(state=DeliveryState.SENT, made=(StepResult(ids=("1",), urls=("https://x.example/1",)),))
    columns = {
        "id": record["id"],
        "user_id": user,
        "draft_id": draft_id,
        "state": DeliveryState.SENT,
        "due_at": sent_at,
    }
    conn.execute(
        insert(tables.delivery).values(**columns, seed=record["id"], digest="d", sent_at=sent_at, progress=progress)
    )


def insert_random_posts(conn: Connection, user: str, count: int, seed: int) -> list[dict[str, object]]:
    """Insert random posts; return the values of the posted ones, with the time of posting as `at`."""
    rng = random.Random(seed)
    item = add_item(conn, user, add_source(conn, user))
    posted = []
    for number in range(count):
        time = NOW - timedelta(minutes=rng.randrange(500 * 24 * 60))
        posted_at = rng.choice((time, None))
        format_name = rng.choice(("SHORT", "THREAD", "BLOG"))
        draft_id = add_draft(conn, user, item, format=format_name, posted_at=posted_at, origin="direct")
        for platform in rng.sample(PLATFORMS, rng.randint(1, 3)):
            sent_at = rng.choice((time + timedelta(minutes=number), None))
            metrics = {name: rng.choice((None, 0, rng.randrange(200))) for name in METRICS}
            status = rng.choice(("posted", "posted", "posted", "failed"))
            values = {"platform": platform, "format": format_name, "status": status, **metrics}
            insert_post(conn, user, values, sent_at=sent_at, draft_id=draft_id)
            if status == "posted":
                posted.append(values | {"at": sent_at or posted_at})
    return posted


def rate_of(values: dict[str, object]) -> RateSummary:
    """Return the rate of one post, as `model.engagement` defines it."""
    interactions = [values[name] for name in ("likes", "replies", "reposts", "clicks") if values[name] is not None]
    impressions = values["impressions"]
    if not interactions or not impressions:
        return RateSummary(posts=1)
    return RateSummary(posts=1, rated=1, interactions=min(sum(interactions), impressions), impressions=impressions)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("days", [7, 90, None])
async def test_sums_equal_python_sums(desk, zone, days):
    posts = await desk._context.write(
        lambda conn, user: (insert_random_posts(conn, add_user(conn), 9, 5), insert_random_posts(conn, user, 120, 4))[1]
    )
    await desk.schedule.set_zone(zone)
    since = await desk.engagement.period_start(days) if days else None
    some = [post for post in posts if since is None or (post["at"] and post["at"] >= since)]

    spans = await desk.engagement.over_time(since)
    by_day: defaultdict[date, RateSummary] = defaultdict(RateSummary)
    by_hour: defaultdict[tuple[int, int], RateSummary] = defaultdict(RateSummary)
    for post in some:
        if post["at"] is not None:
            local = post["at"].astimezone(ZoneInfo(zone))
            by_day[local.date()] += rate_of(post)
            by_hour[local.isoweekday() % 7, local.hour] += rate_of(post)
    assert {span.first: span.rate for span in spans if span.rate.posts} == by_day
    hours = await desk.engagement.by_hour(since)
    assert {(hour.day_of_week, hour.hour): hour.rate for hour in hours} == by_hour

    for kind in await desk.engagement.by_platform_and_format(since):
        own = [post for post in some if (post["platform"], post["format"]) == (kind.platform, kind.format)]
        assert kind.rate == sum(map(rate_of, own), RateSummary())
        assert kind.measured == sum(any(post[name] is not None for name in METRICS) for post in own)
        for name, metric in kind.metrics.items():
            values = [post[name] for post in own if post[name] is not None]
            assert (metric.total, metric.posts) == (sum(values), len(values))
    listed = await desk.engagement.posts(since, 1000)
    assert len(listed) == len(some)
    assert [post.engagement_rate for post in listed] == sorted(
        (post.engagement_rate for post in listed), key=lambda rate: -1 if rate is None else rate, reverse=True
    )


async def test_sums_equal_summary(desk):
    await desk._context.write(lambda conn, user: len(insert_random_posts(conn, user, 80, 2)))
    summary, kinds = await desk.engagement.summary(), await desk.engagement.by_platform_and_format()
    total = sum((kind.rate for kind in kinds), RateSummary())

    assert (total.posts, total.rated, total.rate) == (summary.total_posted, summary.rated, summary.avg_engagement_rate)
    assert sum(kind.metrics["likes"].total for kind in kinds) == summary.total_likes
    assert [post.draft_id for post in await desk.engagement.posts(None, 10)] == [
        post.draft_id for post in summary.top_posts
    ]


async def test_period_starts_at_users_midnight(desk):
    await desk.schedule.set_zone("America/New_York")

    assert await desk.engagement.period_start(1) == datetime(2026, 2, 10, 5, tzinfo=UTC)
    assert await desk.engagement.period_start(7) == datetime(2026, 2, 4, 5, tzinfo=UTC)
    assert [span.first for span in await desk.engagement.over_time(await desk.engagement.period_start(3))] == [
        date(2026, 2, 8),
        date(2026, 2, 9),
        date(2026, 2, 10),
    ]


async def test_posts_have_url_and_account(desk):
    await desk._context.write(lambda conn, user: len(insert_random_posts(conn, user, 40, 3)))
    posts = await desk.engagement.posts()

    assert {post.url for post in posts} == {"", "https://x.example/1"}
    assert {post.target_label for post in posts} <= {f"{platform}:me" for platform in PLATFORMS}


def quarter_at(time: datetime, posts: int = 1) -> QuarterHour:
    return QuarterHour(number=int(time.timestamp()) // QUARTER_HOUR_SECONDS, rate=RateSummary(posts=posts))


def test_week_and_month_boundaries():
    posts = [quarter_at(datetime(2026, 1, 28, 12, tzinfo=UTC)), quarter_at(datetime(2026, 2, 3, tzinfo=UTC))]
    first, last = date(2026, 1, 24), date(2026, 2, 4)

    weeks = metrics_by_span(posts, UTC, first, last, Interval.WEEK)
    assert [(span.first.day, span.last.day, span.rate.posts) for span in weeks] == [(24, 25, 0), (26, 1, 1), (2, 4, 1)]
    months = metrics_by_span(posts, UTC, first, last, Interval.MONTH)
    assert [(span.first, span.last, span.rate.posts) for span in months] == [
        (first, date(2026, 1, 31), 1),
        (date(2026, 2, 1), last, 1),
    ]


def test_clock_change_counts_local_day():
    prague = ZoneInfo("Europe/Prague")
    before_change, after_change = datetime(2026, 3, 29, 0, 45, tzinfo=UTC), datetime(2026, 3, 29, 1, tzinfo=UTC)
    (day,) = metrics_by_span(
        [quarter_at(before_change), quarter_at(after_change)], prague, None, date(2026, 3, 29), Interval.DAY
    )

    assert day.rate.posts == 2


def test_no_posts_have_no_spans():
    assert metrics_by_span([], UTC, None, date(2026, 2, 4), Interval.DAY) == ()


@pytest.mark.parametrize(
    "statement",
    [engagement.KIND_QUERIES[True], engagement.QUARTER_QUERIES[True], engagement.POST_QUERIES[True]],
)
async def test_queries_use_time_indexes(desk, statement):
    def explain(conn: Connection, _: str) -> list[str]:
        sql = str(statement.compile(conn.engine))
        values = (1,) * sql.count("?")
        return [row.detail for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)]

    plan_lines = await desk._context.read(explain)
    assert any("ix_delivery_user_id_sent_at (user_id=? AND sent_at>?)" in line for line in plan_lines)
    assert any("ix_draft_user_id_posted_at (user_id=? AND posted_at>?)" in line for line in plan_lines)
    assert not [line for line in plan_lines if line.startswith(("SCAN engagement", "SCAN draft", "SCAN delivery"))]
