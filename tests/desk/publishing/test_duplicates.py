"""Tests that posts of another draft are not taken for this one's, and that keys are reproducible."""

from datetime import timedelta
from pathlib import Path

from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import DeliveryGuarantees, StepResult, first_seed, tid_key
from desk_fixtures import NOW, Watch, query_db
from posting_fixtures import ME, connect_account, create_approved_draft, draft_status, fake_platforms, open_posting_desk

MINUTE = timedelta(minutes=1)


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
        resent = await desk.posting.resend(report.id, wait=0.5)
        assert resent.state == "unknown"
        assert "another draft with the same text" in resent.says
    assert len(server.posts) == 1


async def test_restored_database_produces_same_keys(tmp_path: Path) -> None:
    seeds = []
    for name in ("one", "two"):
        folder, watch = tmp_path / name, Watch()
        async with open_posting_desk(folder, fake_platforms(), clock=watch) as desk:
            await connect_account(desk)
            draft_id = await create_approved_draft(desk)
            await desk.drafts.schedule(draft_id, NOW + MINUTE)
            watch.now += 2 * MINUTE if name == "two" else MINUTE
            await desk.schedule.due_drafts.dispatch_due()
            (seed,) = query_db(folder, "SELECT seed FROM delivery")
            seeds.append((seed[0], first_seed(draft_id, "fake:me@https://fake.example", NOW + MINUTE)))
    assert all(stored == expected for stored, expected in seeds)
    assert len(tid_key(seeds[0][0], 0)) == 13


def test_first_seed_is_a_unique_uuid7() -> None:
    seeds = {first_seed(draft_id, to, NOW + n * MINUTE) for draft_id in "ab" for to in "xy" for n in range(2)}
    assert len(seeds) == 8
    assert all(seed[14] == "7" and seed[19] in "89ab" for seed in seeds)


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
