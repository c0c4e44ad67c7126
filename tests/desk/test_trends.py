"""Posts over time, by hour, by kind: the sums are those that Python makes of the same posts."""

import random
from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Connection, insert

from copydesk.desk import Desk
from copydesk.desk.trends import over_time
from copydesk.model.delivery import Delivery, Made, State
from copydesk.model.engagement import FIGURES
from copydesk.model.trend import Rated, Step
from copydesk.store import live, tables
from copydesk.store.ids import new_id
from copydesk.store.live import QUARTER, Quarter
from desk_fixtures import NOW, open_at
from store_fixtures import add_draft, add_item, add_source, add_user

ZONES = ("UTC", "Europe/Prague", "Asia/Kathmandu", "America/St_Johns")
PLATFORMS = ("x", "bluesky", "mastodon")


@pytest.fixture
async def desk(tmp_path) -> AsyncIterator[Desk]:
    async with open_at(tmp_path) as opened:
        yield opened


def put(conn: Connection, user: str, values: dict[str, object], *, sent_at: datetime | None, draft_id: str) -> None:
    """A record, and its delivery where it went out by one."""
    record = {"id": new_id(NOW), "retry_count": 0, "created_at": NOW, "account": "me", **values}
    conn.execute(insert(tables.engagement).values(user_id=user, draft_id=draft_id, **record))
    if sent_at is None:
        return
    made = Delivery(state=State.SENT, made=(Made(ids=("1",), urls=("https://x.example/1",)),))
    kept = {"id": record["id"], "user_id": user, "draft_id": draft_id, "state": State.SENT, "due_at": sent_at}
    conn.execute(insert(tables.delivery).values(**kept, seed=record["id"], digest="d", sent_at=sent_at, progress=made))


def fill(conn: Connection, user: str, count: int, seed: int) -> list[dict[str, object]]:
    """Posts of all sorts; what stands in them, with the time at which each went out as `at`."""
    chance = random.Random(seed)
    item = add_item(conn, user, add_source(conn, user))
    every = []
    for number in range(count):
        moment = NOW - timedelta(minutes=chance.randrange(500 * 24 * 60))
        posted_at = chance.choice((moment, None))
        kind = chance.choice(("SHORT", "THREAD", "BLOG"))
        draft_id = add_draft(conn, user, item, format=kind, posted_at=posted_at, origin="direct")
        for platform in chance.sample(PLATFORMS, chance.randint(1, 3)):
            sent_at = chance.choice((moment + timedelta(minutes=number), None))
            figures = {name: chance.choice((None, 0, chance.randrange(200))) for name in FIGURES}
            status = chance.choice(("posted", "posted", "posted", "failed"))
            values = {"platform": platform, "format": kind, "status": status, **figures}
            put(conn, user, values, sent_at=sent_at, draft_id=draft_id)
            if status == "posted":
                every.append(values | {"at": sent_at or posted_at})
    return every


def rated(values: dict[str, object]) -> Rated:
    """One post, as the words of model.engagement have it."""
    known = [values[name] for name in ("likes", "replies", "reposts", "clicks") if values[name] is not None]
    impressions = values["impressions"]
    if not known or not impressions:
        return Rated(posts=1)
    return Rated(posts=1, rated=1, interactions=min(sum(known), impressions), impressions=impressions)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("days", [7, 90, None])
async def test_the_sums_are_those_of_a_plain_look_at_every_post(desk, zone, days):
    posts = await desk.ground.write(lambda conn, user: (fill(conn, add_user(conn), 9, 5), fill(conn, user, 120, 4))[1])
    await desk.schedule.set_zone(zone)
    since = await desk.engagement.since(days) if days else None
    some = [post for post in posts if since is None or (post["at"] and post["at"] >= since)]

    spans = await desk.engagement.over_time(since)
    by_day: defaultdict[date, Rated] = defaultdict(Rated)
    by_hour: defaultdict[tuple[int, int], Rated] = defaultdict(Rated)
    for post in some:
        if post["at"] is not None:
            local = post["at"].astimezone(ZoneInfo(zone))
            by_day[local.date()] += rated(post)
            by_hour[local.isoweekday() % 7, local.hour] += rated(post)
    assert {span.first: span.rate for span in spans if span.rate.posts} == by_day
    hours = await desk.engagement.by_hour(since)
    assert {(each.day_of_week, each.hour): each.rate for each in hours} == by_hour

    for kind in await desk.engagement.by_kind(since):
        own = [post for post in some if (post["platform"], post["format"]) == (kind.platform, kind.format)]
        assert kind.rate == sum(map(rated, own), Rated())
        assert kind.measured == sum(any(post[name] is not None for name in FIGURES) for post in own)
        for name, known in kind.figures.items():
            values = [post[name] for post in own if post[name] is not None]
            assert (known.total, known.posts) == (sum(values), len(values))
    listed = await desk.engagement.posts(since, 1000)
    assert len(listed) == len(some)
    assert [post.engagement_rate for post in listed] == sorted(
        (post.engagement_rate for post in listed), key=lambda rate: -1 if rate is None else rate, reverse=True
    )


async def test_all_posts_are_summed_up_as_in_the_summary(desk):
    await desk.ground.write(lambda conn, user: len(fill(conn, user, 80, 2)))
    summary, kinds = await desk.engagement.summary(), await desk.engagement.by_kind()
    whole = sum((kind.rate for kind in kinds), Rated())

    assert (whole.posts, whole.rated, whole.rate) == (summary.total_posted, summary.rated, summary.avg_engagement_rate)
    assert sum(kind.figures["likes"].total for kind in kinds) == summary.total_likes
    assert [post.draft_id for post in await desk.engagement.posts(None, 10)] == [
        post.draft_id for post in summary.top_posts
    ]


async def test_the_period_begins_with_a_day_of_the_user_s(desk):
    await desk.schedule.set_zone("America/New_York")

    assert await desk.engagement.since(1) == datetime(2026, 2, 10, 5, tzinfo=UTC)
    assert await desk.engagement.since(7) == datetime(2026, 2, 4, 5, tzinfo=UTC)
    assert [span.first for span in await desk.engagement.over_time(await desk.engagement.since(3))] == [
        date(2026, 2, 8),
        date(2026, 2, 9),
        date(2026, 2, 10),
    ]


async def test_a_post_says_where_it_is_and_how_much_it_holds_back(desk):
    await desk.ground.write(lambda conn, user: len(fill(conn, user, 40, 3)))
    posts = await desk.engagement.posts()

    assert {post.url for post in posts} == {"", "https://x.example/1"}
    assert {post.place for post in posts} <= {f"{platform}:me" for platform in PLATFORMS}


def quarter(moment: datetime, posts: int = 1) -> Quarter:
    return Quarter(number=int(moment.timestamp()) // QUARTER, rate=Rated(posts=posts))


def test_weeks_begin_on_monday_and_months_on_their_first():
    posts = [quarter(datetime(2026, 1, 28, 12, tzinfo=UTC)), quarter(datetime(2026, 2, 3, tzinfo=UTC))]
    first, last = date(2026, 1, 24), date(2026, 2, 4)

    weeks = over_time(posts, UTC, first, last, Step.WEEK)
    assert [(span.first.day, span.last.day, span.rate.posts) for span in weeks] == [(24, 25, 0), (26, 1, 1), (2, 4, 1)]
    months = over_time(posts, UTC, first, last, Step.MONTH)
    assert [(span.first, span.last, span.rate.posts) for span in months] == [
        (first, date(2026, 1, 31), 1),
        (date(2026, 2, 1), last, 1),
    ]


def test_an_hour_that_a_clock_change_leaves_out_or_doubles_is_counted_where_the_clock_stood():
    prague = ZoneInfo("Europe/Prague")
    before, after = datetime(2026, 3, 29, 0, 45, tzinfo=UTC), datetime(2026, 3, 29, 1, tzinfo=UTC)
    (day,) = over_time([quarter(before), quarter(after)], prague, None, date(2026, 3, 29), Step.DAY)

    assert day.rate.posts == 2


def test_nothing_posted_has_no_time():
    assert over_time([], UTC, None, date(2026, 2, 4), Step.DAY) == ()


@pytest.mark.parametrize("statement", [live.KINDS[True], live.QUARTERS[True], live.POSTS[True]])
async def test_what_is_older_is_not_read(desk, statement):
    def plan(conn: Connection, _: str) -> list[str]:
        sql = str(statement.compile(conn.engine))
        values = (1,) * sql.count("?")
        return [row.detail for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)]

    told = await desk.ground.read(plan)
    assert any("ix_delivery_user_id_sent_at (user_id=? AND sent_at>?)" in line for line in told)
    assert any("ix_draft_user_id_posted_at (user_id=? AND posted_at>?)" in line for line in told)
    assert not [line for line in told if line.startswith(("SCAN engagement", "SCAN draft", "SCAN delivery"))]
