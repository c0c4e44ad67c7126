"""Tests for past rejection reasons and for progress and stopping of long bulk actions."""

from pathlib import Path

from copydesk.desk import Desk
from copydesk.model.draft import Action
from desk_fixtures import open_desk_at


async def create_drafts(desk: Desk, count: int) -> list[str]:
    """Create drafts and return their ids."""
    created = [await desk.drafts.create({"text": f"Draft number {number}."}) for number in range(count)]
    return [result.drafts[0].id for result in created]


async def test_rejection_reasons_are_unique_newest_first(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        first, second, third, fourth = await create_drafts(desk, 4)
        await desk.drafts.reject(first, "Too long.")
        await desk.drafts.reject(second, "Not ours.")
        await desk.drafts.reject(third, "Too long.")
        await desk.drafts.reject(fourth)
        assert await desk.drafts.rejection_reasons() == ("Too long.", "Not ours.")
        assert await desk.drafts.rejection_reasons(1) == ("Too long.",)


async def test_feedback_of_other_actions_is_no_reason(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        (draft_id,) = await create_drafts(desk, 1)
        await desk.drafts.approve(draft_id)
        await desk.drafts.unapprove(draft_id, "Shorter, please.")
        assert await desk.drafts.rejection_reasons() == ()


async def test_long_bulk_reports_progress(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        ids = await create_drafts(desk, 3)
        progress: list[int] = []
        result = await desk.drafts.bulk_all(
            Action.ARCHIVE, [*ids, *(f"no-{n}" for n in range(100))], on_progress=progress.append
        )
        assert (result.succeeded, result.failed, progress) == (3, 100, [100, 103])


async def test_long_bulk_can_be_stopped(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        ids = await create_drafts(desk, 3)
        requested = [*ids, *(f"no-{n}" for n in range(200))]
        result = await desk.drafts.bulk_all(Action.ARCHIVE, requested, is_cancelled=lambda: True)
        assert (result.succeeded, result.failed) == (3, 97)
        assert len((await desk.drafts.undo()).succeeded) == 3
