"""Tests that a database restored from a backup posts nothing a second time, on every platform."""

from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.posting.fake import FakeServer, Fault
from desk_fixtures import query_db
from fake_mastodon import FakeMastodon
from fake_mastodon import Fault as MastodonFault
from fake_threads import FakeThreads
from posting_fixtures import create_approved_draft
from restored_desk import ARTICLES, MARKS, TARGETS, UNREADABLE, RestoredDesk, states

MINUTE = timedelta(minutes=1)
SHORT, THREAD = "Only one post.", "First part.\n\n---\n\nSecond part.\n\n---\n\nThird part."
CASES = [
    *[(name, "SHORT", SHORT) for name in TARGETS if name not in ARTICLES],
    *[(name, "THREAD", THREAD) for name in TARGETS if name not in (*ARTICLES, "linkedin")],
    *[(name, "BLOG", "# One title\n\nA text of two\n\nparagraphs.") for name in (*ARTICLES, "webhook")],
]
CASE_IDS = [f"{name} {kind}" for name, kind, _ in CASES]
MISSING = {"kept": False, "lost": True}


def expected_texts(name: str, format: str, text: str) -> list[str]:
    if name in ARTICLES:
        return ["One title"]
    return ["A text of two\n\nparagraphs."] if format == "BLOG" else text.split("\n\n---\n\n")


@pytest.mark.parametrize("marks", MISSING)
@pytest.mark.parametrize(("name", "format", "text"), CASES, ids=CASE_IDS)
async def test_posted_now_again(tmp_path: Path, name: str, format: str, text: str, marks: str) -> None:
    setup = RestoredDesk(tmp_path, name)
    async with setup.open() as desk:
        await setup.connect(desk)
        # The mark of an earlier send is in the backup.
        await desk.posting.post(await create_approved_draft(desk, "# Before\n\nThis.", format), wait=60)
        await setup.finish(desk)
        draft_id = await create_approved_draft(desk, text, format)
        copy = setup.back_up()
        setup.watch.now += 5 * MINUTE
        await desk.posting.post(draft_id, wait=60)
        assert await setup.finish(desk) == ()
    before = setup.target.list_texts()
    assert [text for text in expected_texts(name, format, text) if before.count(text) != 1] == []
    setup.restore(copy)
    if MISSING[marks]:
        (tmp_path / MARKS).unlink()
    setup.watch.now += 60 * MINUTE
    async with setup.open() as desk:
        await desk.posting.post(draft_id, wait=60)
        expected_states = ["needs_user"] if name in UNREADABLE else []
        assert states(await setup.finish(desk)) == expected_states
    assert setup.target.list_texts() == before


@pytest.mark.parametrize(("name", "format", "text"), CASES, ids=CASE_IDS)
async def test_scheduled_is_sent_again(tmp_path: Path, name: str, format: str, text: str) -> None:
    setup = RestoredDesk(tmp_path, name)
    async with setup.open() as desk:
        await setup.connect(desk)
        draft_id = await create_approved_draft(desk, text, format)
        await desk.drafts.schedule(draft_id, setup.watch.now + 10 * MINUTE)
        copy = setup.back_up()
        setup.watch.now += 10 * MINUTE
        assert await setup.finish(desk) == ()
    before = setup.target.list_texts()
    assert sorted(before) == sorted(expected_texts(name, format, text))
    setup.restore(copy)
    setup.watch.now += MINUTE
    async with setup.open() as desk:
        await setup.finish(desk)
        assert query_db(tmp_path, "SELECT state FROM delivery") == [("needs_user" if name in UNREADABLE else "sent",)]
    assert setup.target.list_texts() == before


@pytest.mark.parametrize("name", ["fake with keys", "fake without keys"])
async def test_thread_that_was_half_way_in_the_backup(tmp_path: Path, name: str) -> None:
    setup = RestoredDesk(tmp_path, name)
    assert isinstance(setup.target.server, FakeServer)
    setup.target.server.faults.extend([None, Fault.NO_CONNECTION])
    async with setup.open() as desk:
        await setup.connect(desk)
        draft_id = await create_approved_draft(desk, THREAD, "THREAD")
        await desk.posting.post(draft_id, wait=0)
        await desk.posting.drain()
        assert setup.target.list_texts() == ["First part."]
        copy = setup.back_up()
        setup.watch.now += 5 * MINUTE
        assert await setup.finish(desk) == ()
    setup.restore(copy)
    async with setup.open() as desk:
        assert await setup.finish(desk) == ()
    assert setup.target.list_texts() == ["First part.", "Second part.", "Third part."]


async def test_lost_post_that_the_user_sent_again(tmp_path: Path) -> None:
    setup = RestoredDesk(tmp_path, "gotosocial")
    server = setup.target.server
    assert isinstance(server, FakeMastodon)
    server.faults["POST /api/v1/statuses"].append(MastodonFault.CUT_BEFORE)
    async with setup.open() as desk:
        await setup.connect(desk)
        draft_id = await create_approved_draft(desk, SHORT)
        await desk.posting.post(draft_id, wait=0)
        await desk.posting.drain()
        copy = setup.back_up()
        setup.watch.now += 5 * MINUTE
        (report,) = await desk.posting.list_deliveries(draft_id)
        await desk.posting.give_up(report.id)
        assert (await desk.posting.resend(report.id)).state == "sent"
    setup.restore(copy)
    setup.watch.now += MINUTE
    async with setup.open() as desk:
        assert await setup.finish(desk) == ()
    assert setup.target.list_texts() == [SHORT]


async def test_post_that_is_listed_late(tmp_path: Path) -> None:
    setup = RestoredDesk(tmp_path, "threads")
    server = setup.target.server
    assert isinstance(server, FakeThreads)
    async with setup.open() as desk:
        await setup.connect(desk)
        draft_id = await create_approved_draft(desk, SHORT)
        copy = setup.back_up()
        assert (await desk.posting.post(draft_id)).posted
    setup.restore(copy)
    server.lists_posts = False
    async with setup.open() as desk:
        await desk.posting.post(draft_id, wait=1)
        server.lists_posts = True
        assert await setup.finish(desk) == ()
    assert setup.target.list_texts() == [SHORT]


@pytest.mark.parametrize("name", ["fake with keys", "bluesky", "mastodon", "wordpress", "ghost", "webhook"])
async def test_keys_alone_prevent_a_second_post(tmp_path: Path, name: str) -> None:
    """As after restoring the whole data folder."""
    setup = RestoredDesk(tmp_path, name)
    async with setup.open() as desk:
        await setup.connect(desk)
        draft_id = await create_approved_draft(desk, "# Title\n\nText.", "BLOG" if name in ARTICLES else "SHORT")
        copy = setup.back_up()
        assert (await desk.posting.post(draft_id)).posted
    setup.restore(copy)
    (tmp_path / MARKS).unlink()
    setup.watch.now += 20 * MINUTE
    async with setup.open() as desk:
        await desk.posting.post(draft_id)
        assert await setup.finish(desk) == ()
    assert len(setup.target.list_texts()) == 1


async def test_missed_draft_says_that_it_may_be_posted(tmp_path: Path) -> None:
    setup = RestoredDesk(tmp_path, "gotosocial")
    async with setup.open() as desk:
        await setup.connect(desk)
        draft_id = await create_approved_draft(desk, SHORT)
        await desk.drafts.schedule(draft_id, setup.watch.now + 10 * MINUTE)
        copy = setup.back_up()
        setup.watch.now += 10 * MINUTE
        assert await setup.finish(desk) == ()
    setup.restore(copy)
    setup.watch.now += 300 * MINUTE
    async with setup.open() as desk:
        assert await desk.schedule.due_drafts.mark_missed() == (draft_id,)
        message = (await desk.drafts.get(draft_id)).last_error
        assert message == (
            "Missed: more than 30 minutes late. The database was restored or copied, so it may already be posted; "
            "posting it checks the account first."
        )
        await desk.posting.post(draft_id)
        assert await setup.finish(desk) == ()
    assert setup.target.list_texts() == [SHORT]


async def test_late_delivery_of_the_backup_is_looked_for_before_it_is_given_up(tmp_path: Path) -> None:
    setup = RestoredDesk(tmp_path, "gotosocial")
    server = setup.target.server
    assert isinstance(server, FakeMastodon)
    server.faults["POST /api/v1/statuses"].append(MastodonFault.NO_CONNECTION)
    async with setup.open() as desk:
        await setup.connect(desk)
        draft_id = await create_approved_draft(desk, SHORT)
        await desk.posting.post(draft_id, wait=0)
        await desk.posting.drain()
        copy = setup.back_up()
        setup.watch.now += 5 * MINUTE
        assert await setup.finish(desk) == ()
    setup.restore(copy)
    setup.watch.now += 300 * MINUTE
    async with setup.open() as desk:
        await desk.posting.give_up_late()
        assert await setup.finish(desk) == ()
        assert (await desk.drafts.get(draft_id)).status == "posted"
    assert setup.target.list_texts() == [SHORT]
