"""What each job does, and what it says of it: nothing where there was nothing to do."""

from collections.abc import Awaitable, Callable, Mapping

from copydesk.desk import Desk
from copydesk.errors import CopydeskError
from copydesk.model.job import JobName
from copydesk.model.run import RunRequest, RunStatus

Doing = Callable[[Desk], Awaitable[str]]


async def _zones(desk: Desk) -> str:
    moved = await desk.schedule.picking_up.follow_zones()
    return f"{_drafts(len(moved))} moved: the rules of a time zone changed" if moved else ""


async def _missed(desk: Desk) -> str:
    missed = await desk.schedule.picking_up.miss()
    return f"{_drafts(len(missed))} missed: nothing was sent" if missed else ""


async def _due(desk: Desk) -> str:
    taken = await desk.schedule.picking_up.pick_up()
    return f"{_drafts(len(taken))} picked up" if taken else ""


async def _posting(desk: Desk) -> str:
    return "; ".join(await desk.posting.send_due())


async def _figures(desk: Desk) -> str:
    read = await desk.posting.read_figures()
    return f"the figures of {read} {'post' if read == 1 else 'posts'} read" if read else ""


async def _pipeline(desk: Desk) -> str:
    run = await desk.pipeline.run(RunRequest(due=True))
    if run.status is RunStatus.FAILED:
        raise CopydeskError(run.error or "The run failed.")
    stats = run.stats
    failed = stats.sources_failed
    unread = f", {failed} {'source' if failed == 1 else 'sources'} could not be read" if failed else ""
    return f"{run.status}: {_drafts(stats.drafts_created)} from {stats.items_ingested} items{unread}"


async def _generation(desk: Desk) -> str:
    written = await desk.generation.work_off()
    return f"the writing of {_drafts(written)} ended" if written else ""


DOING: Mapping[JobName, Doing] = {
    JobName.ZONES: _zones,
    JobName.MISSED: _missed,
    JobName.DUE: _due,
    JobName.POSTING: _posting,
    JobName.FIGURES: _figures,
    JobName.GENERATION: _generation,
    JobName.PIPELINE: _pipeline,
}


def _drafts(count: int) -> str:
    return "1 draft" if count == 1 else f"{count} drafts"
