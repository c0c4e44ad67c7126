"""Tests that posts of another draft are not taken for this one's, and that keys are reproducible."""

from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import DeliveryGuarantees, StepResult, first_seed, repeat_seed, tid_key, uuid_key
from copydesk.store.ids import creation_time, new_id
from desk_fixtures import NOW, Watch, execute_sql, query_db
from posting_fixtures import ME, connect_account, create_approved_draft, draft_status, fake_platforms, open_posting_desk

MINUTE = timedelta(minutes=1)
SEED = "019c465e-6f00-7000-8000-000000000000"


class FindsByText(FakePlatform):
    """Finds its posts by their text, like platforms without idempotency keys."""

    async def find_post(self, account, intent, completed, since):
        text = str(intent.steps[len(completed)].body["text"])
        matches = [post for post in self.server.posts if post.text == text]
        return StepResult(ids=(matches[-1].id,), urls=()) if matches else None


async def test_same_text_of_another_draft_is_not_matched(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, {"fake": FindsByText(server)}) as desk:
        await connect_account(desk)
        first, second = await create_approved_draft(desk), await create_approved_draft(desk)
        assert (await desk.posting.post(first)).posted == (ME,)
        (refused,) = (await desk.posting.post(second)).failed
        assert refused == ME
        (report,) = await desk.posting.list_deliveries(second)
        server.faults.append(Fault.CUT_BEFORE)
        await desk.posting.resend(report.id, wait=0.5)
        await desk.posting.drain()
        (resent,) = await desk.posting.list_deliveries(second)
        assert resent.state == "unknown"
        assert "another draft with the same text" in resent.says
    assert len(server.posts) == 1


async def test_keys_do_not_depend_on_when_or_how_it_is_posted(tmp_path: Path) -> None:
    seeds = []
    for name in ("scheduled", "late", "now"):
        folder, watch = tmp_path / name, Watch()
        async with open_posting_desk(folder, fake_platforms(), clock=watch) as desk:
            await connect_account(desk)
            draft_id = await create_approved_draft(desk)
            if name == "now":
                await desk.posting.post(draft_id)
            else:
                await desk.drafts.schedule(draft_id, NOW + MINUTE)
                watch.now += 2 * MINUTE if name == "late" else MINUTE
                await desk.schedule.due_drafts.dispatch_due()
            (seed,) = query_db(folder, "SELECT seed FROM delivery")
            seeds.append((seed[0], first_seed(draft_id, "fake:me@https://fake.example")))
    assert all(stored == expected for stored, expected in seeds)
    assert len(tid_key(seeds[0][0], 0)) == 13


def test_seeds_are_unique_uuid7_of_the_minute_before() -> None:
    draft_ids = [new_id(NOW) for _ in range(50)]
    seeds = {first_seed(draft_id, account) for draft_id in draft_ids for account in "xy"}
    seeds |= {repeat_seed(seed) for seed in seeds}
    assert len(seeds) == 200
    assert all(seed[14] == "7" and seed[19] in "89ab" for seed in seeds)
    assert len({tid_key(seed, index) for seed in seeds for index in range(3)}) == 600
    assert all(-2 * MINUTE <= creation_time(seed) - creation_time(draft_ids[0]) <= MINUTE for seed in seeds)


async def test_failed_delivery_keeps_keys_until_text_changes(tmp_path: Path) -> None:
    server = FakeServer()
    seeds = []
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        for text in (None, None, "Another text."):
            server.faults.append(Fault.REFUSED)
            await desk.posting.post(draft_id, text=text)
            seeds += query_db(tmp_path, "SELECT seed FROM delivery")
    assert (seeds[0] == seeds[1], seeds[2][0]) == (True, repeat_seed(str(seeds[0][0])))


async def test_resend_has_new_keys(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
        execute_sql(tmp_path, "UPDATE delivery SET seed = ?", SEED)
        assert (await desk.posting.resend(report.id)).state == "sent"
    assert [post.key for post in server.posts] == [uuid_key(repeat_seed(SEED), 0)]


@pytest.mark.sqlite("functions of SQLite")
async def test_stored_seed_is_kept(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.NO_CONNECTION)
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        await desk.posting.post(await create_approved_draft(desk), wait=0)
        await desk.posting.drain()
        execute_sql(tmp_path, "UPDATE delivery SET seed = ?, intent = NULL, not_before = NULL", SEED)
        execute_sql(tmp_path, "UPDATE delivery SET progress = json_remove(progress, '$.notBefore')")
        await desk.posting.send_due()
    assert [post.key for post in server.posts] == [uuid_key(SEED, 0)]


async def test_unknown_platform_does_not_block_posting(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk, "strange", platform="friendster")
        await connect_account(desk)
        first_id = await create_approved_draft(desk)
        result = await desk.posting.post(first_id, ["fake"])
        assert result.posted == (ME,)
        second_id = await create_approved_draft(desk, "Something else.")
        assert (await desk.posting.post(second_id)).posted == (ME,)
        assert await desk.posting.blockers(second_id) == ()
        third_id = await create_approved_draft(desk, "A third thing.")
        await desk.posting.post(third_id, ["friendster"], wait=0.5)
        assert await draft_status(desk, third_id) == "posting"
        assert await desk.posting.send_due() == ()
    assert [post.text for post in server.posts] == ["One thing worth saying.", "Something else."]


async def test_post_without_key_is_found_by_text(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.CUT_AFTER)
    async with open_posting_desk(tmp_path, {"fake": FindsByText(server, guarantees=DeliveryGuarantees())}) as desk:
        await connect_account(desk)
        assert (await desk.posting.post(await create_approved_draft(desk))).posted == (ME,)
    assert len(server.posts) == 1
