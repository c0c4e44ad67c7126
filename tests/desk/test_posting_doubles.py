"""What could be taken for one's own, or be made once more, and is not."""

from datetime import timedelta
from pathlib import Path

from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.keys import first_seed, tid_key
from copydesk.posting.platform import Made, Trust
from desk_fixtures import NOW, Watch, rows
from posting_fixtures import ME, approved, connect, fake, open_posting, status_of

MINUTE = timedelta(minutes=1)


class ByText(FakePlatform):
    """Finds its posts by their words, as platforms do that know no keys."""

    async def look_up(self, account, intent, made, since):
        text = str(intent.steps[len(made)].body["text"])
        found = [post for post in self.server.posts if post.text == text]
        return Made(ids=(found[-1].id,), urls=()) if found else None


async def test_another_drafts_post_with_the_same_words_is_not_taken_for_this_one(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting(tmp_path, {"fake": ByText(server)}) as desk:
        await connect(desk)
        first, second = await approved(desk), await approved(desk)
        assert (await desk.posting.post(first)).posted == (ME,)
        (refused,) = (await desk.posting.post(second)).failed
        assert refused == ME
        (report,) = await desk.posting.deliveries(second)
        server.faults.append(Fault.CUT_BEFORE)
        again = await desk.posting.send_again(report.id, wait=0.5)
        assert again.state == "unknown"
        assert "another draft with the same text" in again.says
    assert len(server.posts) == 1


async def test_a_restored_database_comes_to_the_same_keys(tmp_path: Path) -> None:
    seeds = []
    for name in ("one", "two"):
        folder, watch = tmp_path / name, Watch()
        async with open_posting(folder, fake(), clock=watch) as desk:
            await connect(desk)
            draft = await approved(desk)
            await desk.drafts.schedule(draft, NOW + MINUTE)
            watch.now += 2 * MINUTE if name == "two" else MINUTE
            await desk.schedule.picking_up.pick_up()
            (seed,) = rows(folder, "SELECT seed FROM delivery")
            seeds.append((seed[0], first_seed(draft, "fake:me@https://fake.example", NOW + MINUTE)))
    assert all(kept == expected for kept, expected in seeds)
    assert len(tid_key(seeds[0][0], 0)) == 13


def test_first_seeds_are_uuids_of_version_7_that_differ_by_draft_account_and_time() -> None:
    every = {first_seed(draft, to, NOW + n * MINUTE) for draft in "ab" for to in "xy" for n in range(2)}
    assert len(every) == 8
    assert all(seed[14] == "7" and seed[19] in "89ab" for seed in every)


async def test_an_account_that_this_copydesk_does_not_know_keeps_no_other_from_being_sent_to(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting(tmp_path, fake(server)) as desk:
        await connect(desk, "strange", platform="friendster")
        await connect(desk)
        draft = await approved(desk)
        result = await desk.posting.post(draft, ["fake"])
        assert result.posted == (ME,)
        other = await approved(desk, "Something else.")
        assert (await desk.posting.post(other)).posted == (ME,)
        assert await desk.posting.stops(other) == ()
        third = await approved(desk, "A third thing.")
        await desk.posting.post(third, ["friendster"], wait=0.5)
        assert await status_of(desk, third) == "posting"
        assert await desk.posting.send_due() == ()
    assert [post.text for post in server.posts] == ["One thing worth saying.", "Something else."]


async def test_with_a_platform_that_can_look_and_no_key_nothing_of_this_changes_the_rest(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.CUT_AFTER)
    async with open_posting(tmp_path, {"fake": ByText(server, trust=Trust())}) as desk:
        await connect(desk)
        assert (await desk.posting.post(await approved(desk))).posted == (ME,)
    assert len(server.posts) == 1
