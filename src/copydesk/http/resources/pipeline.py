"""Pipeline runs: queue, list, statistics."""

from typing import Literal

from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.http.resources.drafts import EXAMPLE_ID
from copydesk.model.page import PageSize
from copydesk.model.run import Run, RunRequest, RunStatistics
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope

operations = Operations("Pipeline")


class QueuedRun(Struct, frozen=True):
    """The response to a request for a run."""

    message: str
    status: Literal["queued"]
    id: str
    """The run's id in `GET /pipeline/runs`."""


class RunsQuery(Struct, frozen=True):
    """Parameters of the list of runs."""

    limit: PageSize = 10
    """Runs of a page."""
    cursor: str | None = None
    """The `nextCursor` of the previous page."""


class RunList(Struct, frozen=True):
    """A page of runs, most recent first."""

    runs: tuple[Run, ...]
    next_cursor: str | None


@operations.add(
    "POST",
    "/pipeline",
    scope=Scope.DRAFT,
    body=RunRequest,
    body_required=False,
    response=QueuedRun,
    status=202,
    errors=(404,),
    example={"sourceIds": [EXAMPLE_ID], "formats": ["SHORT"], "maxDrafts": 5},
)
async def start_run(call: Call) -> QueuedRun:
    """Queue a run from sources to drafts. One run of a user executes at a time."""
    run = await call.desk.pipeline.queue(call.body)
    call.run_in_background(lambda: call.desk.pipeline.execute(run.id))
    return QueuedRun(message="The run is queued.", status="queued", id=run.id)


@operations.add("GET", "/pipeline/runs", scope=Scope.READ, query=RunsQuery, response=RunList)
async def list_runs(call: Call) -> RunList:
    """List runs, most recent first."""
    page = await call.desk.pipeline.list(**call.query)  # type: ignore[arg-type] # the desk validates them
    return RunList(runs=page.items, next_cursor=page.next_cursor)


@operations.add("GET", "/pipeline/stats", scope=Scope.READ, response=RunStatistics)
async def get_run_statistics(call: Call) -> RunStatistics:
    """Return totals, success rate and averages of the runs."""
    return await call.desk.pipeline.statistics()
