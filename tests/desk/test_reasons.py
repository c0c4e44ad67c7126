"""Why drafts were rejected, as the next rejection offers it; and how far a long bulk is."""

from pathlib import Path

from copydesk.desk import Desk
from copydesk.model.draft import Action
from desk_fixtures import open_at


async def some(desk: Desk, count: int) -> list[str]:
    """The ids of new drafts."""
    made = [await desk.drafts.create({"text": f"Draft number {number}."}) for number in range(count)]
    return [each.drafts[0].id for each in made]


async def test_the_reasons_of_rejections_are_offered_once_each_the_last_first(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        one, two, three, four = await some(desk, 4)
        await desk.drafts.reject(one, "Too long.")
        await desk.drafts.reject(two, "Not ours.")
        await desk.drafts.reject(three, "Too long.")
        await desk.drafts.reject(four)
        assert await desk.drafts.reasons() == ("Too long.", "Not ours.")
        assert await desk.drafts.reasons(1) == ("Too long.",)


async def test_what_was_said_with_another_action_is_no_reason(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        (one,) = await some(desk, 1)
        await desk.drafts.approve(one)
        await desk.drafts.unapprove(one, "Shorter, please.")
        assert await desk.drafts.reasons() == ()


async def test_a_long_bulk_tells_how_far_it_is(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        ids = await some(desk, 3)
        told: list[int] = []
        done = await desk.drafts.act(Action.ARCHIVE, [*ids, *(f"no-{n}" for n in range(100))], on_progress=told.append)
        assert (done.succeeded, done.failed, told) == (3, 100, [100, 103])


async def test_a_long_bulk_can_be_stopped_after_some_of_it(tmp_path: Path) -> None:
    async with open_at(tmp_path) as desk:
        ids = await some(desk, 3)
        every = [*ids, *(f"no-{n}" for n in range(200))]
        done = await desk.drafts.act(Action.ARCHIVE, every, stopped=lambda: True)
        assert (done.succeeded, done.failed) == (3, 97)
        assert len((await desk.drafts.undo()).succeeded) == 3
