"""Handlers of the background jobs. Each returns its outcomes, empty if there was nothing to do."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from copydesk.desk import Desk
from copydesk.errors import CopydeskError
from copydesk.model.delivery import DeliveryState
from copydesk.model.job import JobName
from copydesk.model.run import RunRequest, RunStatus
from copydesk.text.formatting import plural

_FAILED = frozenset({DeliveryState.FAILED, DeliveryState.ABANDONED, DeliveryState.NEEDS_USER})


class JobOutcome(NamedTuple):
    """A message about something a job did."""

    message: str
    failed: bool = False


JobHandler = Callable[[Desk], Awaitable[Sequence[JobOutcome]]]


async def _apply_zone_changes(desk: Desk) -> Sequence[JobOutcome]:
    draft_ids = await desk.schedule.due_drafts.apply_zone_changes()
    return _single_outcome(f"{plural(len(draft_ids), 'draft')} moved: time zone rules changed") if draft_ids else ()


async def _mark_missed(desk: Desk) -> Sequence[JobOutcome]:
    draft_ids = await desk.schedule.due_drafts.mark_missed()
    return _single_outcome(f"{plural(len(draft_ids), 'draft')} missed: nothing was sent") if draft_ids else ()


async def _dispatch_due(desk: Desk) -> Sequence[JobOutcome]:
    dispatched = await desk.schedule.due_drafts.dispatch_due()
    return _single_outcome(f"{plural(len(dispatched), 'draft')} picked up") if dispatched else ()


async def _send_due(desk: Desk) -> Sequence[JobOutcome]:
    reports = await desk.posting.send_due()
    return [
        JobOutcome(f"{report.draft_id} to {report.account}: {report.says}", report.state in _FAILED)
        for report in reports
    ]


async def _collect_metrics(desk: Desk) -> Sequence[JobOutcome]:
    count = await desk.posting.collect_metrics()
    return _single_outcome(f"metrics of {plural(count, 'post')} updated") if count else ()


async def _run_pipeline(desk: Desk) -> Sequence[JobOutcome]:
    run = await desk.pipeline.run(RunRequest(due=True))
    if run.status is RunStatus.FAILED:
        # Fail the job too, so that it is not started again before the error backoff is over.
        raise CopydeskError(run.error or "The run failed.")
    stats = run.stats
    failed = stats.sources_failed
    failures = f", {plural(failed, 'source')} failed" if failed else ""
    return _single_outcome(
        f"{run.status}: {plural(stats.drafts_created, 'draft')} from {plural(stats.items_ingested, 'item')}{failures}"
    )


async def _generate_texts(desk: Desk) -> Sequence[JobOutcome]:
    count = await desk.generation.drain()
    return _single_outcome(f"{plural(count, 'draft')} generated") if count else ()


HANDLERS: Mapping[JobName, JobHandler] = {
    JobName.ZONES: _apply_zone_changes,
    JobName.MISSED: _mark_missed,
    JobName.DUE: _dispatch_due,
    JobName.POSTING: _send_due,
    JobName.METRICS: _collect_metrics,
    JobName.GENERATION: _generate_texts,
    JobName.PIPELINE: _run_pipeline,
}


def _single_outcome(message: str) -> Sequence[JobOutcome]:
    return (JobOutcome(message),)
