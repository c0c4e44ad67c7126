"""Tests for posting drafts: each goes out once despite failures, and its reported state is true."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from copydesk.errors import ConflictError, InvalidError
from copydesk.model.delivery import Account, PostMetrics, PostResult
from copydesk.model.draft import Format, without_item
from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import Cost, DeliveryGuarantees, Limits, Post
from desk_fixtures import NOW, Watch, execute_sql, query_db
from posting_fixtures import (
    ME,
    YOU,
    connect_account,
    create_approved_draft,
    draft_status,
    fake_platforms,
    open_posting_desk,
)

MINUTE = timedelta(minutes=1)


async def test_draft_is_posted_to_all_accounts(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk), await connect_account(desk, "you")
        draft_id = await create_approved_draft(desk)
        result = await desk.posting.post(draft_id)
        assert (sorted(result.posted), result.failed, result.under_way) == ([ME, YOU], (), ())
        assert (result.draft.status, result.draft.posted_at) == ("posted", NOW)
        assert result.draft.post_id in {post.id for post in server.posts}
    assert sorted((post.account, post.text) for post in server.posts) == [
        ("me", "One thing worth saying."),
        ("you", "One thing worth saying."),
    ]


async def test_posting_without_account_is_refused(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        draft_id = await create_approved_draft(desk)
        with pytest.raises(ConflictError, match="No accounts connected; nothing was posted"):
            await desk.posting.post(draft_id)
        assert await draft_status(desk, draft_id) == "approved"


async def test_draft_is_posted_only_to_requested_accounts(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk), await connect_account(desk, "you")
        draft_id = await create_approved_draft(desk)
        with pytest.raises(InvalidError, match="mastodon is not connected; connected: fake:me, fake:you"):
            await desk.posting.post(draft_id, ["mastodon"])
        assert (await desk.posting.post(draft_id, [YOU])).posted == (YOU,)
        assert (await desk.posting.post(draft_id)).posted == (ME,)
        with pytest.raises(ConflictError, match="Already posted to fake:me, fake:you; nothing was sent"):
            await desk.posting.post(draft_id)
    assert [post.account for post in server.posts] == ["you", "me"]


async def test_refusal_names_the_account_in_doubt(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.LATE)
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk), await connect_account(desk, "you")
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id, [YOU], wait=0)
        await desk.posting.drain()
        (report,) = await desk.posting.list_deliveries(draft_id)
        await desk.posting.give_up(report.id)
        assert (await desk.posting.post(draft_id, [ME])).posted == (ME,)
        with pytest.raises(ConflictError, match="It may already be posted to fake:you; nothing was sent"):
            await desk.posting.post(draft_id)


async def test_change_with_action_post_posts(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk), await connect_account(desk, "you")
        draft_id = await create_approved_draft(desk)
        result = await desk.drafts.change(draft_id, {"action": "post", "platforms": [YOU]})
        assert result == PostResult(posted=(YOU,), failed=(), draft=without_item(await desk.drafts.get(draft_id)))
        assert (await desk.drafts.change(draft_id, {"action": "post"})).posted == (ME,)
        with pytest.raises(ConflictError, match="Already posted to fake:me, fake:you; nothing was sent"):
            await desk.drafts.change(draft_id, {"action": "post"})
    assert [post.account for post in server.posts] == ["you", "me"]


async def test_account_with_long_name_is_posted_to(tmp_path: Path) -> None:
    name = "example.com/" + "x" * 100
    label = f"fake:{name}"
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        await connect_account(desk), await connect_account(desk, name)
        first_id, second_id = await create_approved_draft(desk, "First."), await create_approved_draft(desk, "Second.")
        assert (await desk.posting.post(first_id, [label])).posted == (label,)
        assert (await desk.drafts.change(second_id, {"action": "post", "platforms": [label]})).posted == (label,)


@pytest.mark.parametrize(
    ("names", "field"), [(["x" * 2_001], "platforms[0]"), (["x", "\x1b"], "platforms[1]"), (["x"] * 21, "platforms")]
)
async def test_invalid_platform_names_are_refused(tmp_path: Path, names: list[str], field: str) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        with pytest.raises(InvalidError) as changed:
            await desk.drafts.change(draft_id, {"action": "post", "platforms": names})
        with pytest.raises(InvalidError) as posted:
            await desk.posting.post(draft_id, names)
    assert [problem.field for problem in changed.value.errors] == [field]
    assert posted.value.errors == changed.value.errors


async def test_edit_and_post_are_one_transaction(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        draft_id = await create_approved_draft(desk)
        change = {"action": "post", "text": "A better text."}
        with pytest.raises(ConflictError, match="No accounts connected"):
            await desk.drafts.change(draft_id, change)
        assert (await desk.drafts.get(draft_id)).text == "One thing worth saying."
        await connect_account(desk)
        assert (await desk.drafts.change(draft_id, change)).posted == (ME,)
        actions = [(event.kind, event.action) for event in await desk.drafts.history(draft_id)]
        assert actions[-3:-1] == [("change", "edit"), ("fixed", "post")]
        with pytest.raises(ConflictError, match="Cannot edit"):
            await desk.drafts.change(draft_id, {"action": "post", "text": "Too late."})
    assert [post.text for post in server.posts] == ["A better text."]


async def test_post_of_other_version_is_refused(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        version = (await desk.drafts.get(draft_id)).version
        await desk.drafts.edit(draft_id, "Not what was reviewed.")
        for change in ({"action": "post"}, {"action": "post", "text": "Mine."}):
            with pytest.raises(ConflictError, match="changed in the meantime"):
                await desk.drafts.change(draft_id, change, expected_version=version)
        assert server.posts == ()
        assert (await desk.drafts.change(draft_id, {"action": "post"}, expected_version=version + 1)).posted == (ME,)


async def test_draft_that_needs_review_is_not_edited_by_post(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.drafts.unapprove(draft_id, "Shorter.")
        with pytest.raises(ConflictError) as refused:
            await desk.drafts.change(draft_id, {"action": "post", "text": "Short."})
        assert refused.value.current_status == "changes_requested"
        assert (await desk.drafts.get(draft_id)).text == "One thing worth saying."


async def test_refused_draft_stays_approved_with_reason(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk, "x" * 600)
        assert [blocker.message for blocker in await desk.posting.blockers(draft_id)] == ["Longer than 500 characters."]
        result = await desk.posting.post(draft_id)
        assert (result.posted, result.failed, result.draft.status) == ((), (ME,), "approved")
        assert result.draft.last_error == f"{ME}: Longer than 500 characters."
        assert server.posts == ()
        await desk.drafts.edit(draft_id, "It is short now.")
        assert (await desk.posting.post(draft_id)).posted == (ME,)
    assert [post.text for post in server.posts] == ["It is short now."]


async def test_post_is_found_after_lost_response(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.CUT_AFTER)
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        result = await desk.posting.post(draft_id)
        assert (result.posted, result.draft.status) == ((ME,), "posted")
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.says.startswith("Posted (found on the account): https://fake.example/me/1")
    assert len(server.posts) == 1


async def test_lost_request_is_resent_after_quiet_period(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LATE)
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        result = await desk.posting.post(draft_id)
        assert (result.under_way, await draft_status(desk, draft_id)) == ((ME,), "posting")
        watch.now += timedelta(seconds=80)
        server.deliver_late_requests()
        watch.now += timedelta(seconds=10)
        assert await desk.posting.send_due() != ()
        assert await draft_status(desk, draft_id) == "posted"
    assert len(server.posts) == 1


async def test_interrupted_thread_is_continued(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.extend([None, None, Fault.NO_CONNECTION])
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk, "One.\n\n---\n\nTwo.\n\n---\n\nThree.", "THREAD")
        await desk.posting.post(draft_id, wait=1)
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.says.startswith("2 of 3 posts are online.")
        watch.now += MINUTE
        await desk.posting.send_due()
        assert await draft_status(desk, draft_id) == "posted"
    assert [(post.text, post.parent) for post in server.posts] == [("One.", None), ("Two.", "1"), ("Three.", "2")]


async def test_duplicate_text_within_30_days_is_refused(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        first, second = (
            await create_approved_draft(desk),
            await create_approved_draft(desk, "One  thing worth\nsaying."),
        )
        assert (await desk.posting.post(first)).posted == (ME,)
        assert [blocker.message for blocker in await desk.posting.blockers(second)] == [
            f"The same text was posted there on {NOW.day} {NOW:%B}."
        ]
        assert (await desk.posting.post(second)).failed == (ME,)
        (report,) = await desk.posting.list_deliveries(second)
        assert (await desk.posting.resend(report.id)).state == "sent"
        assert await draft_status(desk, second) == "posted"
    assert len(server.posts) == 2


async def test_day_of_a_duplicate_is_that_of_the_user(tmp_path: Path) -> None:
    watch = Watch()
    watch.now = datetime(2026, 10, 31, 1, 0, tzinfo=UTC)
    async with open_posting_desk(tmp_path, fake_platforms(FakeServer()), clock=watch) as desk:
        await desk.schedule.set_zone("America/Los_Angeles")
        await connect_account(desk)
        first, second = await create_approved_draft(desk), await create_approved_draft(desk)
        await desk.posting.post(first)
        (blocker,) = await desk.posting.blockers(second)
        await desk.posting.post(second)
        (report,) = await desk.posting.list_deliveries(second)
    day = "The same text was posted there on 30 October"
    assert blocker.message == f"{day}."
    assert report.says.startswith(f"Not posted: {day}; nothing was sent.")


async def test_account_that_needs_login_holds_posts(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LOGIN)
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        assert (await desk.posting.post(draft_id)).under_way == (ME,)
        watch.now += MINUTE
        assert await desk.posting.send_due() == ()
        await connect_account(desk)
        assert len(await desk.posting.send_due()) == 1
        assert await draft_status(desk, draft_id) == "posted"


async def test_undecidable_outcome_needs_user(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.CUT_AFTER)
    async with open_posting_desk(
        tmp_path, fake_platforms(server, guarantees=DeliveryGuarantees(can_read_back=False))
    ) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        server.faults.append(Fault.CUT_BEFORE)
        assert (await desk.posting.post(draft_id)).under_way == (ME,)
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.state == "needs_user"
        assert "Unknown whether it was posted." in report.says
        with pytest.raises(InvalidError, match="url: must start with https://"):
            await desk.posting.mark_posted(report.id, "URL")
        marked = await desk.posting.mark_posted(report.id, "https://fake.example/1")
        assert marked.says == "Posted (confirmed by you): https://fake.example/1"
        assert await draft_status(desk, draft_id) == "posted"


async def test_scheduled_draft_is_posted_when_due(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.drafts.schedule(draft_id, NOW + MINUTE)
        assert await desk.schedule.due_drafts.dispatch_due() == ()
        watch.now += MINUTE
        assert len(await desk.schedule.due_drafts.dispatch_due()) == 1
        assert len(await desk.posting.send_due()) == 1
        assert await draft_status(desk, draft_id) == "posted"
    assert len(server.posts) == 1


async def test_metrics_are_collected_at_fixed_ages(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        result = await desk.posting.post(await create_approved_draft(desk))
        assert result.draft.post_id is not None
        server.metrics[result.draft.post_id] = PostMetrics(likes=3, replies=0)
        assert await desk.posting.collect_metrics() == 0
        for hours in (1, 6, 24, 72, 168, 696):
            watch.now = NOW + timedelta(hours=hours)
            assert (await desk.posting.collect_metrics(), await desk.posting.collect_metrics()) == (1, 0)
        watch.now += timedelta(days=300)
        assert await desk.posting.collect_metrics() == 0
        (top,) = (await desk.engagement.summary()).top_posts
        assert (top.likes, top.replies, top.reposts, top.impressions) == (3, 0, None, None)
    assert query_db(tmp_path, "SELECT count(*) FROM engagement_reading") == [(6,)]


async def test_manual_metrics_fill_gaps(
    tmp_path: Path,
) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        result = await desk.posting.post(draft_id)
        manual = await desk.engagement.record({"draftId": draft_id, "platform": "fake", "impressions": 50, "likes": 1})
        assert (manual.account, manual.post_id) == ("me", result.draft.post_id)
        server.metrics[result.draft.post_id or ""] = PostMetrics(likes=5)
        watch.now += timedelta(hours=1)
        await desk.posting.collect_metrics()
        (top,) = (await desk.engagement.summary()).top_posts
        assert (top.likes, top.impressions, top.engagement_rate) == (5, 50, 0.1)
    readings = query_db(tmp_path, "SELECT by_hand, likes, impressions FROM engagement_reading ORDER BY rid")
    assert readings == [(1, 1, 50), (0, 5, None)]


async def test_deleted_post_keeps_metrics(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        post_id = (await desk.posting.post(draft_id)).draft.post_id or ""
        server.metrics[post_id] = PostMetrics(likes=5)
        watch.now = NOW + timedelta(hours=1)
        await desk.posting.collect_metrics()
        server.remove(post_id)
        watch.now = NOW + timedelta(hours=6)
        await desk.posting.collect_metrics()
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert "No longer online as of" in report.says
        assert (await desk.engagement.summary()).total_likes == 5
        watch.now = NOW + timedelta(days=2)
        assert await desk.posting.collect_metrics() == 0


async def test_missing_metrics_do_not_mean_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    platforms, watch = fake_platforms(), Watch()
    async with open_posting_desk(tmp_path, platforms, clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)

        async def no_metrics(*_: object) -> dict[str, PostMetrics | None]:
            return {}

        monkeypatch.setattr(platforms["fake"], "metrics", no_metrics)
        watch.now = NOW + timedelta(hours=1)
        await desk.posting.collect_metrics()
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.gone_at is None
        monkeypatch.undo()
        watch.now = NOW + timedelta(hours=6)
        assert await desk.posting.collect_metrics() == 1


BLOG_INFO = replace(FakePlatform.info, limits=Limits(formats=frozenset({Format.BLOG})))


async def test_accounts_are_selected_by_format(tmp_path: Path) -> None:
    server = FakeServer()
    blog_platform = FakePlatform(FakeServer())
    blog_platform.info = BLOG_INFO
    async with open_posting_desk(tmp_path, {"fake": FakePlatform(server), "paper": blog_platform}) as desk:
        await connect_account(desk)
        await connect_account(desk, "daily", platform="paper")
        short_id = await create_approved_draft(desk)
        assert (await desk.posting.post(short_id)).posted == (ME,)
        other_id = await create_approved_draft(desk, "Another one.", targetPlatforms=["paper"])
        assert (await desk.posting.post(other_id)).posted == ("paper:daily",)


async def test_posting_without_account_for_format_is_refused(tmp_path: Path) -> None:
    blog_platform = FakePlatform(FakeServer())
    blog_platform.info = BLOG_INFO
    async with open_posting_desk(tmp_path, {"paper": blog_platform}) as desk:
        await connect_account(desk, "daily", platform="paper")
        with pytest.raises(ConflictError, match="No connected account accepts the format SHORT"):
            await desk.posting.post(await create_approved_draft(desk))


async def test_account_where_it_is_posted_is_no_blocker(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms(FakeServer())) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        await connect_account(desk, "you")
        execute_sql(tmp_path, "UPDATE account SET trouble = 'The login has expired.'")
        assert [blocker.account for blocker in await desk.posting.blockers(draft_id)] == [YOU]


class PaidPlatform(FakePlatform):
    """A platform that charges for a post."""

    def cost(self, post: Post, account: Account) -> Cost:
        """Return the price."""
        return Cost(amount=Decimal("0.015"))


async def test_prices_are_those_of_accounts_where_it_is_not_posted(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, {"fake": PaidPlatform(FakeServer())}) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        await connect_account(desk, "you")
        assert [price.account for price in await desk.posting.prices(draft_id)] == [YOU]
