"""Tests for recording engagement metrics and their summary."""

from collections.abc import AsyncIterator

import pytest

from copydesk.desk import Desk
from copydesk.errors import InvalidError, NotFoundError
from copydesk.model.engagement import EngagementSummary, RecordStatus
from copydesk.model.serialization import to_json_value
from copydesk.store import raw_sql
from desk_fixtures import NOW, Watch, open_desk_at
from store_fixtures import add_draft, add_item, add_source, add_user

UNKNOWN_ID = "01890000-0000-7000-8000-000000000000"


@pytest.fixture
def clock() -> Watch:
    return Watch()


@pytest.fixture
async def desk(tmp_path, clock) -> AsyncIterator[Desk]:
    async with open_desk_at(tmp_path, clock=clock) as opened:
        yield opened


async def create_draft(desk: Desk, **values: object) -> str:
    def insert(conn, user_id):
        return add_draft(conn, user_id, add_item(conn, user_id, add_source(conn, user_id)), **values)

    return await desk._context.write(insert)


async def create_foreign_draft(desk: Desk) -> str:
    def insert(conn, _user_id):
        owner = add_user(conn, "Bob")
        return add_draft(conn, owner, add_item(conn, owner, add_source(conn, owner)))

    return await desk._context.write(insert)


async def record(desk: Desk, draft_id: str, platform: str = "x", **values: object):
    return await desk.engagement.record({"draftId": draft_id, "platform": platform, **values})


def field_errors(exc_info: pytest.ExceptionInfo[InvalidError]) -> dict[str, str]:
    return {problem.field: problem.message for problem in exc_info.value.errors}


async def test_record_as_json(desk):
    draft_id = await create_draft(desk)
    created = await record(desk, draft_id, postId="99", likes=3, replies=0, impressions=100)

    assert to_json_value(created) == {
        "id": created.id,
        "draftId": draft_id,
        "platform": "x",
        "postId": "99",
        "status": "posted",
        "retryCount": 0,
        "retryAfter": None,
        "errorMessage": None,
        "failedAt": None,
        "likes": 3,
        "replies": 0,
        "reposts": None,
        "impressions": 100,
        "clicks": None,
        "engagementRate": 0.03,
        "measuredAt": "2026-02-10T12:00:00.000Z",
        "createdAt": "2026-02-10T12:00:00.000Z",
        "account": "",
    }


async def test_omitted_and_null_fields_keep_their_values(desk, clock):
    draft_id = await create_draft(desk)
    first = await record(desk, draft_id, postId="99", likes=3, impressions=100)
    clock.now = clock.now.replace(hour=13)
    second = await record(desk, draft_id, likes=4, clicks=1, impressions=None)

    assert (second.id, second.created_at, second.post_id) == (first.id, first.created_at, "99")
    assert (second.likes, second.clicks, second.impressions, second.replies) == (4, 1, 100, None)
    assert second.engagement_rate == 0.05
    assert second.measured_at == clock.now
    third = await record(desk, draft_id, errorMessage="They said no.", status="failed")
    assert (third.likes, third.measured_at) == (4, second.measured_at)


async def test_one_record_per_platform(desk):
    draft_id = await create_draft(desk)
    x, bluesky = await record(desk, draft_id, likes=1), await record(desk, draft_id, " bluesky ", likes=2)

    assert x.id != bluesky.id
    assert bluesky.platform == "bluesky"
    assert (await record(desk, draft_id, likes=5)).id == x.id


async def test_unreported_metrics_give_no_rate(desk):
    draft_id = await create_draft(desk)

    assert (await record(desk, draft_id, likes=3)).engagement_rate is None
    assert (await record(desk, draft_id, impressions=0)).engagement_rate is None
    assert (await record(desk, draft_id, "mastodon", impressions=10)).engagement_rate is None
    assert (await record(desk, draft_id, "mastodon", replies=0)).engagement_rate == 0


async def test_rate_is_at_most_one(desk):
    draft_id = await create_draft(desk)

    assert (await record(desk, draft_id, likes=30, impressions=10)).engagement_rate == 1
    assert (await desk.engagement.summary()).avg_engagement_rate == 1


async def test_empty_record_is_pending(desk):
    created = await record(desk, await create_draft(desk))

    assert (created.status, created.measured_at, created.failed_at) == (RecordStatus.PENDING, None, None)


async def test_error_is_cleared_when_post_is_live(desk):
    draft_id = await create_draft(desk)
    failed = await record(desk, draft_id, status="failed", errorMessage="They said no.")
    assert (failed.status, failed.failed_at, failed.error_message) == (RecordStatus.FAILED, NOW, "They said no.")

    live = await record(desk, draft_id, postId="7")
    assert (live.status, live.failed_at, live.error_message) == (RecordStatus.POSTED, None, None)


async def test_recording_does_not_change_draft(desk):
    draft_id = await create_draft(desk, status="approved", source_type="rss")
    before = await desk.drafts.get(draft_id)
    await record(desk, draft_id, postId="99", status="posted", likes=1)

    assert await desk.drafts.get(draft_id) == before


@pytest.mark.parametrize(
    ("fields", "field", "rule"),
    [
        ({"draftId": ""}, "draftId", "takes 1 to 100 characters, not 0"),
        ({"draftId": None}, "draftId", "is missing"),
        ({"draftId": 3}, "draftId", "takes text"),
        ({"platform": "  "}, "platform", "takes 1 to 50 characters, not 0"),
        ({"platform": None}, "platform", "is missing"),
        ({"platform": "p" * 51}, "platform", "takes 1 to 50 characters, not 51"),
        ({"platform": "a\x00b"}, "platform", "contains a NUL character"),
        ({"postId": "p" * 501}, "postId", "takes 1 to 500 characters, not 501"),
        ({"status": "sent"}, "status", "takes one of pending, posted, failed, abandoned"),
        ({"errorMessage": "e" * 2001}, "errorMessage", "takes 1 to 2,000 characters, not 2,001"),
        ({"likes": -1}, "likes", "takes a whole number from 0 to 1,000,000,000,000"),
        ({"replies": 1.5}, "replies", "takes a whole number from 0 to 1,000,000,000,000"),
        ({"reposts": True}, "reposts", "takes a whole number from 0 to 1,000,000,000,000"),
        ({"impressions": "7"}, "impressions", "takes a whole number from 0 to 1,000,000,000,000"),
        ({"clicks": 10**12 + 1}, "clicks", "takes a whole number from 0 to 1,000,000,000,000"),
        ({"views": 3}, "views", "unknown field"),
    ],
)
async def test_invalid_field_is_refused(desk, fields, field, rule):
    draft_id = await create_draft(desk)
    with pytest.raises(InvalidError) as error:
        await desk.engagement.record({"draftId": draft_id, "platform": "x", "likes": 1} | fields)

    assert field_errors(error) == {field: rule}
    assert (await desk.engagement.summary()).total_posted == 0


async def test_all_invalid_fields_are_listed(desk):
    with pytest.raises(InvalidError) as error:
        await desk.engagement.record({"platform": "", "likes": -1})

    assert list(field_errors(error)) == ["draftId", "platform", "likes"]


async def test_unknown_and_foreign_drafts_are_not_found(desk):
    messages = []
    for draft_id in (UNKNOWN_ID, await create_foreign_draft(desk)):
        with pytest.raises(NotFoundError) as error:
            await record(desk, draft_id, likes=1)
        messages.append(str(error.value).replace(draft_id, "ID"))

    assert messages[0] == messages[1]


async def test_summary_without_posts(desk):
    assert to_json_value(await desk.engagement.summary()) == {
        "totalPosted": 0,
        "totalWithMetrics": 0,
        "avgEngagementRate": 0.0,
        "totalLikes": 0,
        "totalReplies": 0,
        "totalReposts": 0,
        "totalImpressions": 0,
        "topPosts": [],
        "byFormat": [],
        "byPlatform": [],
        "rated": 0,
        "totalClicks": 0,
    }


async def record_samples(desk: Desk) -> EngagementSummary:
    """Record metrics for two drafts on several platforms, one without impressions; return the summary."""
    short = await create_draft(desk, posted_at=NOW, text="Short words.")
    blog = await create_draft(desk, format="BLOG", text="Long words.")
    await record(desk, short, "x", likes=8, reposts=2, impressions=1000)
    await record(desk, short, "mastodon", likes=40)
    await record(desk, blog, "x", likes=9, replies=1, impressions=100)
    await record(desk, blog, "mastodon", postId="1")
    await record(desk, blog, "bluesky", status="failed", likes=7)
    return await desk.engagement.summary()


async def test_summary_totals_live_posts(desk):
    summary = await record_samples(desk)

    assert (summary.total_posted, summary.total_with_metrics, summary.rated) == (4, 3, 2)
    assert (summary.total_likes, summary.total_replies, summary.total_reposts) == (57, 1, 2)
    assert summary.total_impressions == 1100


async def test_average_rate_is_weighted_by_impressions(desk):
    summary = await record_samples(desk)

    assert summary.avg_engagement_rate == 20 / 1100
    assert [(group.format, group.count, group.avg_engagement_rate) for group in summary.by_format] == [
        ("BLOG", 2, 0.1),
        ("SHORT", 2, 0.01),
    ]
    assert [(group.platform, group.count, group.avg_engagement_rate, group.rated) for group in summary.by_platform] == [
        ("mastodon", 2, 0.0, 0),
        ("x", 2, 20 / 1100, 2),
    ]


async def test_top_posts_by_interactions(desk):
    top = (await record_samples(desk)).top_posts

    assert [(post.draft_text, post.platform, post.engagement_rate) for post in top] == [
        ("Short words.", "mastodon", None),
        ("Long words.", "x", 0.1),
        ("Short words.", "x", 0.01),
    ]
    assert top[2].posted_at == NOW
    assert list(to_json_value(top[0])) == [
        *("draftId", "draftText", "format", "platform", "likes", "replies", "reposts", "impressions"),
        *("engagementRate", "postedAt"),
    ]
    assert (top[0].likes, top[0].impressions) == (40, None)


async def test_unknown_metrics_of_top_post_are_null(desk):
    created = to_json_value(await record(desk, await create_draft(desk), likes=0))
    (top_post,) = to_json_value((await desk.engagement.summary()).top_posts)

    shared = {name: created[name] for name in top_post if name in created}
    assert shared == {name: top_post[name] for name in shared}
    assert (top_post["likes"], top_post["replies"], top_post["impressions"], top_post["engagementRate"]) == (
        0,
        None,
        None,
        None,
    )
    assert top_post["postedAt"] is None


async def test_top_limits_posts(desk):
    await record_samples(desk)

    assert len((await desk.engagement.summary(top=2)).top_posts) == 2


@pytest.mark.parametrize("top", [0, 51, -1, True, "3", 2.5])
async def test_top_is_1_to_50(desk, top):
    with pytest.raises(InvalidError) as error:
        await desk.engagement.summary(top=top)

    assert field_errors(error) == {"top": "takes a whole number from 1 to 50"}


async def test_foreign_posts_are_not_counted(desk):
    draft_id = await create_foreign_draft(desk)

    def insert(conn, _user_id):
        raw_sql.execute_sql(
            conn,
            """INSERT INTO engagement (id, user_id, draft_id, platform, format, status, likes, created_at)
            SELECT 'e1', user_id, id, 'x', 'SHORT', 'posted', 5, 0 FROM draft WHERE id = ?""",
            (draft_id,),
        )

    await desk._context.write(insert)
    assert (await desk.engagement.summary()).total_posted == 0


async def test_groups_are_ordered_by_post_count(desk):
    for platform in ("bluesky", "x", "x", "mastodon"):
        await record(desk, await create_draft(desk, format="THREAD" if platform == "x" else "BLOG"), platform, likes=1)
    await record(desk, await create_draft(desk, format="THREAD"), "x", likes=1)
    summary = await desk.engagement.summary()
    assert [(group.platform, group.count) for group in summary.by_platform] == [
        ("x", 3),
        ("bluesky", 1),
        ("mastodon", 1),
    ]
    assert [(group.format, group.count) for group in summary.by_format] == [("THREAD", 3), ("BLOG", 2)]
