"""Tests for engagement over time, by platform and format and by hour, compared with sums computed in Python."""

import random
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, date, datetime, timedelta
from math import log
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace
from sqlalchemy import Connection, insert

from copydesk.desk import Desk
from copydesk.errors import InvalidCursorError, InvalidError
from copydesk.model.delivery import Delivery, DeliveryState, StepResult
from copydesk.model.engagement import METRICS, EngagementFigures, EngagementMetric
from copydesk.store import engagement, tables
from copydesk.store.ids import new_id
from desk_fixtures import NOW, open_desk_at
from store_fixtures import add_draft, add_item, add_source, add_user

ZONES = ("UTC", "Europe/Prague", "Asia/Kathmandu", "America/St_Johns")
PLATFORMS = ("x", "bluesky", "mastodon")
INTERACTIONS = ("likes", "replies", "reposts", "clicks")
Values = dict[str, object]


@pytest.fixture
async def desk(tmp_path) -> AsyncIterator[Desk]:
    async with open_desk_at(tmp_path) as opened:
        yield opened


def insert_post(conn: Connection, user: str, values: Values, *, sent_at: datetime | None, draft_id: str) -> None:
    """Insert an engagement record, and its delivery if it has `sent_at`."""
    record = {"id": new_id(NOW), "retry_count": 0, "created_at": NOW, "account": "me", **values}
    conn.execute(insert(tables.engagement).values(user_id=user, draft_id=draft_id, **record))
    if sent_at is None:
        return
    progress = Delivery(state=DeliveryState.SENT, results=(StepResult(ids=("1",), urls=("https://x.example/1",)),))
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


def insert_random_posts(conn: Connection, user: str, count: int, seed: int) -> list[Values]:
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
            sent_at = rng.choice((min(time + timedelta(minutes=number), NOW), None))
            metrics = {name: rng.choice((None, 0, rng.randrange(200))) for name in METRICS}
            status = rng.choice(("posted", "posted", "posted", "failed"))
            values = {"platform": platform, "format": format_name, "status": status, **metrics}
            insert_post(conn, user, values, sent_at=sent_at, draft_id=draft_id)
            if status == "posted":
                posted.append(values | {"at": sent_at or posted_at})
    return posted


def add_up(posts: Iterable[Values]) -> EngagementFigures:
    """Return the figures of the posts, as `model.engagement` defines them."""
    posts = list(posts)
    sums = {
        name: sum(values) if (values := [post[name] for post in posts if post[name] is not None]) else None
        for name in METRICS
    }
    totals = [
        (sum(known), post["impressions"])
        for post in posts
        if (known := [post[name] for name in INTERACTIONS if post[name] is not None])
    ]
    rated = [(min(made, impressions), impressions) for made, impressions in totals if impressions]
    interactions = sum(made for made, _ in totals) if totals else None
    return EngagementFigures(
        posts=len(posts),
        measured=sum(any(post[name] is not None for name in METRICS) for post in posts),
        interactions=interactions,
        interactions_per_post=interactions / len(totals) if totals else None,
        with_interactions=len(totals),
        engagement_rate=sum(made for made, _ in rated) / sum(seen for _, seen in rated) if rated else None,
        rated=len(rated),
        **sums,
    )


def local_day(post: Values, zone: str) -> date:
    return post["at"].astimezone(ZoneInfo(zone)).date()


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("days", [7, 90, 400, 0])
async def test_sums_equal_python_sums(desk, zone, days):
    posts = await desk._context.write(
        lambda conn, user: (insert_random_posts(conn, add_user(conn), 9, 5), insert_random_posts(conn, user, 120, 4))[1]
    )
    await desk.schedule.set_zone(zone)
    trends = await desk.engagement.trends(days)
    dated = [post for post in posts if post["at"] is not None]
    some = [post for post in dated if not days or local_day(post, zone) >= trends.first]

    assert trends.last == NOW.astimezone(ZoneInfo(zone)).date()
    assert trends.figures == add_up(some if days else posts)
    assert trends.undated == (0 if days else len(posts) - len(dated))
    covered = trends.first
    for span in trends.over_time:
        assert span.first == covered
        assert span.figures == add_up(post for post in some if span.first <= local_day(post, zone) <= span.last)
        covered = span.last + timedelta(days=1)
    assert covered == trends.last + timedelta(days=1)
    for group in trends.by_platform:
        assert group.figures == add_up(post for post in (some if days else posts) if post["platform"] == group.platform)
    for group in trends.by_format:
        assert group.figures == add_up(post for post in (some if days else posts) if post["format"] == group.format)


async def test_period_before_has_the_same_length(desk):
    posts = await desk._context.write(lambda conn, user: insert_random_posts(conn, user, 150, 7))
    trends = await desk.engagement.trends(90)

    assert trends.before is not None
    assert trends.before.last == trends.first - timedelta(days=1)
    assert trends.before.last - trends.before.first == trends.last - trends.first
    earlier = [
        post for post in posts if post["at"] and trends.before.first <= local_day(post, "UTC") <= trends.before.last
    ]
    assert trends.before.figures == add_up(earlier)
    assert earlier
    assert (await desk.engagement.trends(0)).before is None


@pytest.mark.parametrize(
    ("posts", "earlier", "is_compared"), [(5, 5, True), (4, 9, False), (9, 4, False), (9, 0, False)]
)
async def test_periods_with_few_posts_are_not_compared(desk, posts, earlier, is_compared):
    trends = await desk.engagement.trends(30)
    before = replace(trends.before, figures=replace(trends.before.figures, posts=earlier))
    trends = replace(trends, figures=replace(trends.figures, posts=posts), before=before)
    assert trends.compared == (before if is_compared else None)


async def test_all_time_without_posts(desk):
    trends = await desk.engagement.trends(0)

    assert (trends.first, trends.over_time, trends.by_platform, trends.hours) == (None, (), (), ())
    assert (trends.figures.posts, trends.figures.interactions, trends.figures.engagement_rate) == (0, None, None)


async def test_period_starts_at_users_midnight(desk):
    await desk.schedule.set_zone("America/New_York")
    trends = await desk.engagement.trends(3)

    assert [span.first for span in trends.over_time] == [date(2026, 2, 8), date(2026, 2, 9), date(2026, 2, 10)]


@pytest.mark.parametrize(
    ("platforms", "metric"), [(("x",), "rate"), (("bluesky",), "interactions"), (("x", "bluesky"), "interactions")]
)
async def test_metric_is_one_that_all_posts_have(desk, platforms, metric):
    def insert_posts(conn: Connection, user: str) -> int:
        item = add_item(conn, user, add_source(conn, user))
        for platform in platforms:
            draft = add_draft(conn, user, item, origin="direct")
            values = {"likes": 4, "impressions": 100 if platform == "x" else None}
            record = {"platform": platform, "format": "SHORT", "status": "posted", **values}
            insert_post(conn, user, record, sent_at=NOW - timedelta(days=3), draft_id=draft)
        return 0

    await desk._context.write(insert_posts)
    assert (await desk.engagement.trends()).metric == metric
    assert (await desk.engagement.trends(metric="rate")).metric is EngagementMetric.RATE


async def test_time_that_stands_out(desk):
    """Posts at nine on working days in Kathmandu get three times the interactions."""
    zone = ZoneInfo("Asia/Kathmandu")

    def insert_posts(conn: Connection, user: str) -> int:
        rng = random.Random(1)
        item = add_item(conn, user, add_source(conn, user))
        for number in range(200):
            local = (NOW - timedelta(days=3 + number // 2)).astimezone(zone)
            at = local.replace(hour=rng.choice((9, 14, 20)), minute=rng.randrange(60)).astimezone(UTC)
            better = at.astimezone(zone).hour == 9 and at.astimezone(zone).weekday() < 5
            likes = int(rng.lognormvariate(log(30 if better else 10), 0.5))
            record = {"platform": "bluesky", "format": "SHORT", "status": "posted", "likes": likes}
            draft = add_draft(conn, user, item, origin="direct")
            insert_post(conn, user, record, sent_at=at, draft_id=draft)
        return 0

    await desk.schedule.set_zone(zone.key)
    await desk._context.write(insert_posts)
    trends = await desk.engagement.trends(0)

    best = trends.best_time.best
    assert best is not None
    assert (best.weekend, best.first_hour, best.last_hour) == (False, 9, 12)
    lifts = {(hour.day_of_week, hour.hour): hour.lift for hour in trends.hours}
    assert min(lifts[day, 9] for day in range(1, 6)) > max(lifts[day, 14] for day in range(7))
    assert await desk.engagement.trends(0) == trends


async def test_new_posts_are_not_compared(desk):
    """Their metrics still grow."""

    def insert_posts(conn: Connection, user: str) -> int:
        item = add_item(conn, user, add_source(conn, user))
        for hours in (1, 47, 49):
            record = {"platform": "x", "format": "SHORT", "status": "posted", "likes": 1}
            draft = add_draft(conn, user, item, origin="direct")
            insert_post(conn, user, record, sent_at=NOW - timedelta(hours=hours), draft_id=draft)
        return 0

    await desk._context.write(insert_posts)
    trends = await desk.engagement.trends()
    assert (trends.figures.posts, trends.best_time.posts) == (3, 1)


async def test_sums_equal_summary(desk):
    await desk._context.write(lambda conn, user: len(insert_random_posts(conn, user, 80, 2)))
    summary, trends = await desk.engagement.summary(), await desk.engagement.trends(0)

    assert (trends.figures.posts, trends.figures.rated) == (summary.total_posted, summary.rated)
    assert trends.figures.engagement_rate == summary.avg_engagement_rate
    assert trends.figures.likes == summary.total_likes
    best = await desk.engagement.top_posts(0, 10)
    assert [post.draft_id for post in best] == [post.draft_id for post in summary.top_posts]


@pytest.mark.parametrize(("metric", "name"), [("interactions", "interactions"), ("rate", "engagement_rate")])
@pytest.mark.parametrize("days", [0, 200])
async def test_top_posts_are_ordered_by_metric(desk, metric, name, days):
    posts = await desk._context.write(lambda conn, user: insert_random_posts(conn, user, 40, 3))
    top = await desk.engagement.top_posts(days, 50, metric)

    values = [getattr(post, name) for post in top]
    assert values == sorted(values, key=lambda value: -1 if value is None else value, reverse=True)
    start = (await desk.engagement.trends(200)).first
    expected = [post for post in posts if not days or (post["at"] and local_day(post, "UTC") >= start)]
    assert len(top) == min(50, len(expected))


async def test_pages_contain_every_post_once(desk):
    posts = await desk._context.write(lambda conn, user: insert_random_posts(conn, user, 40, 3))
    found, cursor = [], None
    while True:
        page = await desk.engagement.posts(7, cursor)
        found += page.items
        if (cursor := page.next_cursor) is None:
            break
    assert len(found) == len(posts)
    assert [post.id for post in found] == sorted({post.id for post in found}, reverse=True)
    assert {post.url for post in found} == {"", "https://x.example/1"}
    assert {post.target_label for post in found} <= {f"{platform}:me" for platform in PLATFORMS}


async def test_cursor_belongs_to_its_period(desk):
    await desk._context.write(lambda conn, user: len(insert_random_posts(conn, user, 20, 3)))
    cursor = (await desk.engagement.posts(1)).next_cursor

    with pytest.raises(InvalidCursorError):
        await desk.engagement.posts(1, cursor, days=30)


@pytest.mark.parametrize("days", [-1, 3651, "many"])
async def test_days_are_limited(desk, days):
    with pytest.raises(InvalidError, match="days: takes a whole number"):
        await desk.engagement.trends(days)


QUERIES = [
    *engagement.VALUE_QUERIES.values(),
    *(query for (_, is_limited), query in engagement.POST_QUERIES.items() if not is_limited),
    *(query for (is_limited, _), query in engagement.PAGE_QUERIES.items() if not is_limited),
    *map(str, (engagement._SUMS["sqlite"], engagement._FIRST_QUARTER)),
]


@pytest.mark.sqlite("plans of SQLite")
@pytest.mark.parametrize("statement", QUERIES)
async def test_queries_scan_no_table(desk, statement):
    def explain(conn: Connection, _: str) -> list[str]:
        sql = statement if isinstance(statement, str) else str(statement.compile(conn.engine))
        values = ("[[1, 2]]", *(1,) * sql.count("?"))[: sql.count("?")]
        return [row.detail for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)]

    plan_lines = await desk._context.read(explain)
    scans = [line for line in plan_lines if line.startswith("SCAN")]
    assert not [line for line in scans if not line.startswith(("SCAN best", "SCAN span"))]
