"""A pipeline run started in the console, with its progress and result as text."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from copydesk.errors import ConflictError
from copydesk.model.run import Progress, Run, RunStatus, Stage, describe_declined
from copydesk.tui import labels

if TYPE_CHECKING:
    from copydesk.desk import Desk


class RunView(NamedTuple):
    """A run in progress, or the last finished one."""

    run_id: str | None = None
    """None until it is queued."""
    stages: tuple[Progress, ...] = ()
    """The latest progress of each started stage, in order."""
    finished_run: Run | None = None
    failed: bool = False
    """True if it ended with an error and no run result."""
    cancelling: bool = False

    @property
    def is_active(self) -> bool:
        """True while the run is in progress."""
        return self.finished_run is None and not self.failed

    def with_progress(self, progress: Progress) -> "RunView":
        """Return the view updated with `progress`."""
        earlier = tuple(stage_progress for stage_progress in self.stages if stage_progress.stage is not progress.stage)
        return self._replace(stages=(*earlier, progress))

    def stage_progress(self, stage: Stage) -> Progress | None:
        """Return the latest progress of a stage; None if it has not started."""
        return next((stage_progress for stage_progress in self.stages if stage_progress.stage is stage), None)

    @property
    def current(self) -> Progress | None:
        """The latest progress; None before the first."""
        return self.stages[-1] if self.stages else None


def progress_ratio(progress: Progress | None) -> float:
    """Return a stage's progress from 0 to 1. A stage with nothing to do is complete."""
    if progress is None or progress.total is None:
        return 0.0
    return progress.done / progress.total if progress.total else 1.0


def format_progress(progress: Progress) -> str:
    """Return `4/10`, or only the number done while the total is unknown."""
    return f"{progress.done}" if progress.total is None else f"{progress.done}/{progress.total}"


def format_summary(run: Run) -> str:
    """Return the result of a run in one sentence; if nothing was drafted, with the most frequent reason."""
    if run.status is RunStatus.CANCELLED:
        return labels.RUN_CANCELLED
    if run.status is not RunStatus.SUCCEEDED:
        return labels.run_outcome(run.status, run.error or "")
    declined = () if run.stats.drafts_created else describe_declined(run.stats)
    if declined:
        return labels.run_without_drafts(declined[0])
    return labels.run_summary(run.stats.drafts_created, run.stats.items_considered, run.duration or 0)


def format_funnel(run: Run) -> str:
    """Return what was left after each stage, in one line."""
    stats = run.stats
    return labels.run_funnel(
        stats.items_considered, stats.items_filtered, stats.items_ranked, stats.drafts_created, run.duration or 0
    )


def format_failures(run: Run) -> str:
    """Return the number of failed sources in one line; an empty string if there are none."""
    failed = run.stats.sources_failed
    if not failed:
        return ""
    return labels.run_failures(failed, failed + run.stats.sources_fetched)


class PipelineRun:
    """One pipeline run. `on_change` is called with every new view of it."""

    def __init__(self, on_change: Callable[[RunView], None]) -> None:
        self._on_change = on_change
        self.view: RunView | None = None
        """None until it is known that there is a source to read."""
        self.is_finished = False
        self._cancel_requested = False
        """True if it was cancelled before it was queued."""

    async def run(self, desk: "Desk") -> None:
        """Queue the run and execute it. Raise ConflictError if there is no source."""
        if not await desk.sources.list():
            raise ConflictError(labels.RUN_WITHOUT_SOURCES, hint=labels.run_without_sources_hint())
        await self._run(desk)

    def mark_finished(self) -> None:
        """Mark it as finished, even if it never started, so that another one can be started."""
        self.is_finished = True

    async def _run(self, desk: "Desk") -> None:
        self._set_view(RunView())
        try:
            # Queued before it is executed, so that the run is visible to other processes, and can be cancelled by id.
            queued = await desk.pipeline.queue()
            self._set_view(RunView(run_id=queued.id, cancelling=self._cancel_requested))
            if self._cancel_requested:
                run = await desk.pipeline.cancel(queued.id)
            else:
                run = await desk.pipeline.execute(queued.id, self._on_progress)
        except BaseException:
            # BaseException: a cancelled task must not leave a run that seems to go on.
            self._set_view(RunView(failed=True))
            raise
        self._set_view((self.view or RunView())._replace(finished_run=run, cancelling=False))

    async def cancel(self, desk: "Desk") -> None:
        """Cancel the run; one that is not queued yet is cancelled as soon as it is."""
        view = self.view
        if view is None or view.run_id is None:
            self._cancel_requested = True
        if view is not None and view.is_active:
            self._set_view(view._replace(cancelling=True))
            if view.run_id is not None:
                await desk.pipeline.cancel(view.run_id)

    def _on_progress(self, progress: Progress) -> None:
        # A worker thread may report progress after the run was cancelled.
        if self.view is not None and self.view.is_active:
            self._set_view(self.view.with_progress(progress))

    def _set_view(self, view: RunView) -> None:
        self.view = view
        self._on_change(view)
