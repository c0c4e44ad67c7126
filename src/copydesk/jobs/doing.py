"""What each job does, and what it says of it: nothing where there was nothing to do."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from copydesk.desk import Desk
from copydesk.errors import CopydeskError
from copydesk.model.delivery import State
from copydesk.model.job import JobName
from copydesk.model.run import RunRequest, RunStatus

_FAILED = frozenset({State.FAILED, State.ABANDONED, State.NEEDS_USER})


class Did(NamedTuple):
    """One thing that was done, in words."""

    says: str
    failed: bool = False


Doing = Callable[[Desk], Awaitable[Sequence[Did]]]


async def _zones(desk: Desk) -> Sequence[Did]:
    moved = await desk.schedule.picking_up.follow_zones()
    return _did(f"{_drafts(len(moved))} moved: the rules of a time zone changed") if moved else ()


async def _missed(desk: Desk) -> Sequence[Did]:
    missed = await desk.schedule.picking_up.miss()
    return _did(f"{_drafts(len(missed))} missed: nothing was sent") if missed else ()


async def _due(desk: Desk) -> Sequence[Did]:
    taken = await desk.schedule.picking_up.pick_up()
    return _did(f"{_drafts(len(taken))} picked up") if taken else ()


async def _posting(desk: Desk) -> Sequence[Did]:
    every = await desk.posting.send_due()
    return [Did(f"{each.draft_id} to {each.account}: {each.says}", each.state in _FAILED) for each in every]


async def _figures(desk: Desk) -> Sequence[Did]:
    read = await desk.posting.read_figures()
    return _did(f"the figures of {read} {'post' if read == 1 else 'posts'} read") if read else ()


async def _pipeline(desk: Desk) -> Sequence[Did]:
    run = await desk.pipeline.run(RunRequest(due=True))
    if run.status is RunStatus.FAILED:
        raise CopydeskError(run.error or "The run failed.")
    stats = run.stats
    failed = stats.sources_failed
    unread = f", {failed} {'source' if failed == 1 else 'sources'} could not be read" if failed else ""
    return _did(f"{run.status}: {_drafts(stats.drafts_created)} from {stats.items_ingested} items{unread}")


async def _generation(desk: Desk) -> Sequence[Did]:
    written = await desk.generation.work_off()
    return _did(f"the writing of {_drafts(written)} ended") if written else ()


DOING: Mapping[JobName, Doing] = {
    JobName.ZONES: _zones,
    JobName.MISSED: _missed,
    JobName.DUE: _due,
    JobName.POSTING: _posting,
    JobName.FIGURES: _figures,
    JobName.GENERATION: _generation,
    JobName.PIPELINE: _pipeline,
}


def _did(says: str) -> Sequence[Did]:
    return (Did(says),)


def _drafts(count: int) -> str:
    return "1 draft" if count == 1 else f"{count} drafts"
