"""Tests for an account that was removed and connected again: its deliveries are the account's own again."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.desk.publishing import draft_deliveries
from copydesk.errors import ConflictError
from copydesk.model.delivery import Account, PostMetrics
from copydesk.posting.fake import FakeServer, Fault
from copydesk.posting.platform import ConnectResult
from desk_fixtures import NOW, Watch, execute_sql, query_db
from posting_fixtures import ME, connect_account, create_approved_draft, draft_status, fake_platforms, open_posting_desk

HOUR = timedelta(hours=1)


async def sign_in(desk: Desk, name: str = "me", *, server: str = "https://fake.example", handle: str = "") -> None:
    """Connect an account as signing in does."""
    details = Account(platform="fake", server=server, id=name, name=handle or name)
    await desk.accounts._save(ConnectResult(account=details, credentials={}))


async def test_new_handle_is_the_same_account(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await sign_in(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        await desk.accounts.remove(ME)
        await sign_in(desk, handle="me.new")
        with pytest.raises(ConflictError, match="Already posted to "):
            await desk.posting.post(draft_id)
    assert len(server.posts) == 1


async def test_delivery_without_account_is_one_to_the_account_of_its_identity(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await sign_in(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        await desk.accounts.remove(ME)
        # Without assigning its deliveries to it.
        await connect_account(desk, display_name="me.new")
        with pytest.raises(ConflictError, match="Already posted to "):
            await desk.posting.post(draft_id)
    assert len(server.posts) == 1


async def test_refused_delivery_does_not_hide_one_that_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await sign_in(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        await desk.accounts.remove(ME)
        await sign_in(desk, handle="me.new")
        # Earlier versions did not recognize the account.
        with monkeypatch.context() as earlier:
            earlier.setattr(draft_deliveries, "latest_delivery", lambda rows, account: None)
            server.faults.append(Fault.REFUSED)
            await desk.posting.post(draft_id)
        assert [report.state for report in await desk.posting.list_deliveries(draft_id)] == ["sent", "failed"]
        with pytest.raises(ConflictError, match="Already posted to "):
            await desk.posting.post(draft_id)
    assert len(server.posts) == 1


async def test_delivery_resent_many_times_is_the_accounts_own(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.extend([Fault.REFUSED] * 10)
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await sign_in(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
        for _ in range(10):
            watch.now += HOUR
            report = await desk.posting.resend(report.id)
        assert report.state == "sent"
        await desk.accounts.remove(ME)
        await sign_in(desk, handle="me.new")
        with pytest.raises(ConflictError, match="Already posted to "):
            await desk.posting.post(draft_id)
    assert len(server.posts) == 1


async def post_half_a_thread(desk: Desk, server: FakeServer) -> str:
    """Post the first of two posts as `fake:me`, and remove the account; return the id of the draft."""
    server.faults.extend([None, Fault.REFUSED])
    await sign_in(desk, "one", handle="me")
    draft_id = await create_approved_draft(desk, text="First one.\n\n---\n\nSecond one.", format="THREAD")
    await desk.posting.post(draft_id)
    await desk.accounts.remove(ME)
    return draft_id


async def test_account_of_the_same_handle_elsewhere_starts_the_thread_anew(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        draft_id = await post_half_a_thread(desk, server)
        await sign_in(desk, "two", handle="me", server="https://other.example")
        await desk.posting.post(draft_id)
    assert [(post.account, post.text) for post in server.posts] == [
        ("one", "First one."),
        ("two", "First one."),
        ("two", "Second one."),
    ]


async def test_reconnected_account_goes_on_with_its_thread(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        draft_id = await post_half_a_thread(desk, server)
        await sign_in(desk, "one", handle="me.new")
        await desk.posting.post(draft_id)
    assert [post.text for post in server.posts] == ["First one.", "Second one."]


@pytest.mark.parametrize("server_url", ["https://fake.example", "https://other.example"])
async def test_thread_of_unknown_account_is_neither_continued_nor_repeated(tmp_path: Path, server_url: str) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        draft_id = await post_half_a_thread(desk, server)
        # The account was removed before its identity was stored.
        execute_sql(tmp_path, "UPDATE delivery SET identity = NULL")
        await sign_in(desk, "one", handle="me", server=server_url)
        (targets, blockers) = await desk.posting.targets(draft_id), await desk.posting.blockers(draft_id)
        assert [skipped.reason for skipped in targets.skipped] == ["in_doubt"]
        assert [blocker.message[:24] for blocker in blockers] == ["1 of 2 posts are online."]
        with pytest.raises(ConflictError, match="It may already be posted to "):
            await desk.posting.post(draft_id)
    assert len(server.posts) == 1


async def test_delivery_of_unknown_account_that_failed_does_not_prevent_another(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await sign_in(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        await desk.accounts.remove(ME)
        execute_sql(tmp_path, "UPDATE delivery SET identity = NULL")
        await sign_in(desk, server="https://other.example")
        await desk.posting.post(draft_id)
        assert [report.state for report in await desk.posting.list_deliveries(draft_id)] == ["failed", "sent"]


async def test_account_removed_while_it_is_connected_again_gets_its_deliveries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    platforms = fake_platforms()
    async with open_posting_desk(tmp_path, platforms) as desk, open_posting_desk(tmp_path, platforms) as other:
        await sign_in(desk)
        await desk.posting.post(await create_approved_draft(desk))
        write_durable = desk._context.write_durable

        async def write(work: Callable[..., object], *values: object) -> object:
            # Between all that is read before the transaction and the transaction.
            await other.accounts.remove(ME)
            return await write_durable(work, *values)

        with monkeypatch.context() as patch:
            patch.setattr(desk._context, "write_durable", write)
            await sign_in(desk)
        (account,) = await desk.accounts.list()
    assert query_db(tmp_path, "SELECT account_id FROM delivery") == [(account.id,)]


async def test_account_whose_name_was_taken_is_the_same_account(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await sign_in(desk, "one", handle="me")
        await sign_in(desk, "two", handle="me")
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        _, second = await desk.accounts.list()
        await desk.accounts.remove(second.id)
        await sign_in(desk, second.details.id, handle="me")
        with pytest.raises(ConflictError, match="Already posted to "):
            await desk.posting.post(draft_id)
    assert len(server.posts) == 2


async def test_delivery_in_doubt_stays_in_doubt_and_can_be_resent(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LATE)
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await sign_in(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id, wait=0)
        await desk.posting.drain()
        (report,) = await desk.posting.list_deliveries(draft_id)
        await desk.posting.give_up(report.id)
        await desk.accounts.remove(ME)
        with pytest.raises(ConflictError, match="The account was removed"):
            await desk.posting.resend(report.id)
        await sign_in(desk)
        with pytest.raises(ConflictError, match=r"It may already be posted to .* copydesk delivery resend"):
            await desk.posting.post(draft_id)
        assert server.posts == ()
        watch.now += HOUR
        assert (await desk.posting.resend(report.id)).state == "sent"
    assert len(server.posts) == 1


async def test_same_text_is_not_sent_again_after_reconnecting(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await sign_in(desk)
        first_id, second_id = [await create_approved_draft(desk) for _ in range(2)]
        await desk.posting.post(first_id)
        await desk.accounts.remove(ME)
        await sign_in(desk)
        assert [blocker.message for blocker in await desk.posting.blockers(second_id)] == [
            "The same text was posted there on 10 February."
        ]
        assert (await desk.posting.post(second_id)).failed == (ME,)
    assert len(server.posts) == 1


async def test_metrics_are_read_again(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await sign_in(desk)
        result = await desk.posting.post(await create_approved_draft(desk))
        server.metrics[result.draft.post_id or ""] = PostMetrics(likes=3)
        await desk.accounts.remove(ME)
        watch.now += HOUR
        assert await desk.posting.collect_metrics() == 0
        await sign_in(desk)
        watch.now += 5 * HOUR
        assert await desk.posting.collect_metrics() == 1


async def test_scheduled_draft_goes_to_the_reconnected_account_once(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await sign_in(desk)
        draft_id = await create_approved_draft(desk, targetPlatforms=["fake"])
        await desk.drafts.schedule(draft_id, NOW + HOUR)
        await desk.accounts.remove(ME)
        watch.now += HOUR
        assert await desk.schedule.due_drafts.dispatch_due() == ()
        assert [missing.due for missing in await desk.posting.list_missing_accounts()] == [1]
        await sign_in(desk, handle="me.new")
        assert len(await desk.schedule.due_drafts.dispatch_due()) == 1
        await desk.posting.send_due()
        assert await draft_status(desk, draft_id) == "posted"
        assert await desk.schedule.due_drafts.dispatch_due() == ()
    assert len(server.posts) == 1


async def test_other_account_takes_nothing_over(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await sign_in(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
        await desk.accounts.remove(ME)
        await sign_in(desk, server="https://other.example")
        with pytest.raises(ConflictError, match="The account was removed"):
            await desk.posting.resend(report.id)
    assert server.posts == ()


async def test_posted_draft_names_the_target_that_was_not_connected(tmp_path: Path) -> None:
    watch = Watch()
    async with open_posting_desk(tmp_path, fake_platforms(), clock=watch) as desk:
        await sign_in(desk), await sign_in(desk, "you")
        draft_id = await create_approved_draft(desk, targetPlatforms=["fake:me", "fake:you"])
        await desk.drafts.schedule(draft_id, NOW + HOUR)
        await desk.accounts.remove("fake:you")
        watch.now += HOUR
        await desk.schedule.due_drafts.dispatch_due()
        await desk.posting.send_due()
        draft = await desk.drafts.get(draft_id)
        assert (draft.status, draft.last_error) == (
            "posted",
            f"fake:you: {draft_deliveries.NOT_CONNECTED_MESSAGE}",
        )


async def test_posted_target_written_in_another_case_is_not_missing(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        await sign_in(desk, "a", handle="My Blog"), await sign_in(desk, "you")
        draft_id = await create_approved_draft(desk, targetPlatforms=["fake:MY Blog", "fake:you"])
        await desk.drafts.schedule(draft_id, NOW + HOUR)
        await desk.posting.post(draft_id, ["fake:My Blog"])
        await desk.accounts.remove("fake:My Blog")
        await desk.posting.post(draft_id, ["fake:you"])
        assert (await desk.drafts.get(draft_id)).last_error is None
