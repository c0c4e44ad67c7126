"""A draft goes out once, whatever happens on the way, and what is told of it is true."""

from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.errors import ConflictError, InvalidError
from copydesk.model.delivery import Figures
from copydesk.model.draft import Format
from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import Limits, Trust
from desk_fixtures import NOW, Watch, rows
from posting_fixtures import ME, YOU, approved, connect, fake, open_posting, status_of

MINUTE = timedelta(minutes=1)


async def test_a_draft_is_posted_to_every_account_at_once(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk), await connect(desk, "you")
        draft = await approved(desk)
        result = await desk.posting.post(draft)
        assert (sorted(result.posted), result.failed, result.under_way) == ([ME, YOU], (), ())
        assert (result.draft.status, result.draft.posted_at) == ("posted", NOW)
        assert result.draft.post_id in {post.id for post in server.posts}
    assert sorted((post.account, post.text) for post in server.posts) == [
        ("me", "One thing worth saying."),
        ("you", "One thing worth saying."),
    ]


async def test_without_an_account_nothing_is_posted(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake()) as desk:
        draft = await approved(desk)
        with pytest.raises(ConflictError, match="No account is connected; nothing was posted"):
            await desk.posting.post(draft)
        assert await status_of(desk, draft) == "approved"


async def test_it_goes_only_where_it_is_wanted(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk), await connect(desk, "you")
        draft = await approved(desk)
        with pytest.raises(InvalidError, match="mastodon is not connected; there is fake:me, fake:you"):
            await desk.posting.post(draft, ["mastodon"])
        assert (await desk.posting.post(draft, [YOU])).posted == (YOU,)
        assert (await desk.posting.post(draft)).posted == (ME,)
        with pytest.raises(ConflictError, match="It is live there already"):
            await desk.posting.post(draft)
    assert [post.account for post in server.posts] == ["you", "me"]


async def test_what_is_refused_leaves_the_draft_approved_and_says_why(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk)
        draft = await approved(desk, "x" * 600)
        assert [stop.message for stop in await desk.posting.stops(draft)] == ["It is longer than 500 characters."]
        result = await desk.posting.post(draft)
        assert (result.posted, result.failed, result.draft.status) == ((), (ME,), "approved")
        assert result.draft.last_error == f"{ME}: It is longer than 500 characters."
        assert server.posts == ()
        await desk.drafts.edit(draft, "It is short now.")
        assert (await desk.posting.post(draft)).posted == (ME,)
    assert [post.text for post in server.posts] == ["It is short now."]


async def test_a_lost_answer_is_looked_for_and_found(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.CUT_AFTER)
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        result = await desk.posting.post(draft)
        assert (result.posted, result.draft.status) == ((ME,), "posted")
        (report,) = await desk.posting.deliveries(draft)
        assert report.says.startswith("Posted: the connection broke, and it was found on the account")
    assert len(server.posts) == 1


async def test_a_lost_request_is_sent_again_only_after_the_quiet(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LATE)
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        result = await desk.posting.post(draft)
        assert (result.under_way, await status_of(desk, draft)) == ((ME,), "posting")
        watch.now += timedelta(seconds=80)
        server.arrive()
        watch.now += timedelta(seconds=10)
        assert await desk.posting.send_due() != ()
        assert await status_of(desk, draft) == "posted"
    assert len(server.posts) == 1


async def test_a_thread_goes_on_where_it_broke_off(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.extend([None, None, Fault.NO_CONNECTION])
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk, "One.\n\n---\n\nTwo.\n\n---\n\nThree.", "THREAD")
        await desk.posting.post(draft, wait=1)
        (report,) = await desk.posting.deliveries(draft)
        assert report.says.startswith("2 of 3 posts are there.")
        watch.now += MINUTE
        await desk.posting.send_due()
        assert await status_of(desk, draft) == "posted"
    assert [(post.text, post.parent) for post in server.posts] == [("One.", None), ("Two.", "1"), ("Three.", "2")]


async def test_the_same_text_is_not_posted_twice_within_a_month_unless_wanted(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk)
        first, second = await approved(desk), await approved(desk, "One  thing worth\nsaying.")
        assert (await desk.posting.post(first)).posted == (ME,)
        assert [stop.message for stop in await desk.posting.stops(second)] == [
            f"The same text went out there on {NOW:%-d %B}."
        ]
        assert (await desk.posting.post(second)).failed == (ME,)
        (report,) = await desk.posting.deliveries(second)
        assert (await desk.posting.send_again(report.id)).state == "sent"
        assert await status_of(desk, second) == "posted"
    assert len(server.posts) == 2


async def test_an_account_that_needs_a_login_holds_its_posts_back(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LOGIN)
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        assert (await desk.posting.post(draft)).under_way == (ME,)
        watch.now += MINUTE
        assert await desk.posting.send_due() == ()
        await connect(desk)
        assert len(await desk.posting.send_due()) == 1
        assert await status_of(desk, draft) == "posted"


async def test_where_it_cannot_be_told_the_user_says(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.CUT_AFTER)
    async with open_posting(tmp_path, fake(server, trust=Trust(can_look=False))) as desk:
        await connect(desk)
        draft = await approved(desk)
        server.faults.append(Fault.CUT_BEFORE)
        assert (await desk.posting.post(draft)).under_way == (ME,)
        (report,) = await desk.posting.deliveries(draft)
        assert report.state == "needs_user"
        assert "Not known whether it was posted." in report.says
        marked = await desk.posting.mark_posted(report.id, "https://fake.example/1")
        assert marked.says == "Posted, as you said: https://fake.example/1"
        assert await status_of(desk, draft) == "posted"


async def test_a_scheduled_draft_goes_out_when_its_time_has_come(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.drafts.schedule(draft, NOW + MINUTE)
        assert await desk.schedule.picking_up.pick_up() == ()
        watch.now += MINUTE
        assert len(await desk.schedule.picking_up.pick_up()) == 1
        assert len(await desk.posting.send_due()) == 1
        assert await status_of(desk, draft) == "posted"
    assert len(server.posts) == 1


async def test_figures_come_back_after_an_hour_six_hours_a_day_and_so_on(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        result = await desk.posting.post(await approved(desk))
        assert result.draft.post_id is not None
        server.figures[result.draft.post_id] = Figures(likes=3, replies=0)
        assert await desk.posting.read_figures() == 0
        for hours in (1, 6, 24, 72, 168, 696):
            watch.now = NOW + timedelta(hours=hours)
            assert (await desk.posting.read_figures(), await desk.posting.read_figures()) == (1, 0)
        watch.now += timedelta(days=300)
        assert await desk.posting.read_figures() == 0
        (top,) = (await desk.engagement.summary()).top_posts
        assert (top.likes, top.replies, top.reposts, top.impressions) == (3, 0, None, None)
    assert rows(tmp_path, "SELECT count(*) FROM engagement_reading") == [(6,)]


async def test_what_is_recorded_by_hand_fills_what_the_platform_does_not_report_and_is_kept_apart(
    tmp_path: Path,
) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        result = await desk.posting.post(draft)
        by_hand = await desk.engagement.record({"draftId": draft, "platform": "fake", "impressions": 50, "likes": 1})
        assert (by_hand.account, by_hand.post_id) == ("me", result.draft.post_id)
        server.figures[result.draft.post_id or ""] = Figures(likes=5)
        watch.now += timedelta(hours=1)
        await desk.posting.read_figures()
        (top,) = (await desk.engagement.summary()).top_posts
        assert (top.likes, top.impressions, top.engagement_rate) == (5, 50, 0.1)
    kept = rows(tmp_path, "SELECT by_hand, likes, impressions FROM engagement_reading ORDER BY rid")
    assert kept == [(1, 1, 50), (0, 5, None)]


async def test_a_post_that_vanished_is_gone_and_its_figures_stay(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting(tmp_path, fake(server), clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        post_id = (await desk.posting.post(draft)).draft.post_id or ""
        server.figures[post_id] = Figures(likes=5)
        watch.now = NOW + timedelta(hours=1)
        await desk.posting.read_figures()
        server.remove(post_id)
        watch.now = NOW + timedelta(hours=6)
        await desk.posting.read_figures()
        (report,) = await desk.posting.deliveries(draft)
        assert "It was not there any more on" in report.says
        assert (await desk.engagement.summary()).total_likes == 5
        watch.now = NOW + timedelta(days=2)
        assert await desk.posting.read_figures() == 0


async def test_a_post_of_which_nothing_is_told_is_not_taken_for_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    platforms, watch = fake(), Watch()
    async with open_posting(tmp_path, platforms, clock=watch) as desk:
        await connect(desk)
        draft = await approved(desk)
        await desk.posting.post(draft)

        async def nothing(*_: object) -> dict[str, Figures | None]:
            return {}

        monkeypatch.setattr(platforms["fake"], "figures", nothing)
        watch.now = NOW + timedelta(hours=1)
        await desk.posting.read_figures()
        (report,) = await desk.posting.deliveries(draft)
        assert report.gone_at is None
        monkeypatch.undo()
        watch.now = NOW + timedelta(hours=6)
        assert await desk.posting.read_figures() == 1


async def test_of_all_accounts_those_are_meant_that_take_the_format(tmp_path: Path) -> None:
    server = FakeServer()
    articles = FakePlatform(FakeServer())
    monthly = Limits(formats=frozenset({Format.BLOG}))
    articles.limits = monthly
    async with open_posting(tmp_path, {"fake": FakePlatform(server), "paper": articles}) as desk:
        await connect(desk)
        await connect(desk, "daily", platform="paper")
        short = await approved(desk)
        assert (await desk.posting.post(short)).posted == (ME,)
        other = await approved(desk, "Another one.", targetPlatforms=["paper"])
        assert (await desk.posting.post(other)).posted == ("paper:daily",)


async def test_where_no_account_takes_the_format_nothing_is_posted(tmp_path: Path) -> None:
    articles = FakePlatform(FakeServer())
    articles.limits = Limits(formats=frozenset({Format.BLOG}))
    async with open_posting(tmp_path, {"paper": articles}) as desk:
        await connect(desk, "daily", platform="paper")
        with pytest.raises(ConflictError, match="No connected account takes drafts of the format SHORT"):
            await desk.posting.post(await approved(desk))
