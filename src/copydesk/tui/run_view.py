"""How the pipeline's run gets on, as far as the console knows."""

from typing import NamedTuple

from copydesk.model.run import Progress, Run, RunStatus, Stage
from copydesk.tui.naming import key
from copydesk.tui.words import plural


class RunView(NamedTuple):
    """A run that is under way, or the last one that was."""

    run_id: str | None = None
    """None until it is queued."""
    stages: tuple[Progress, ...] = ()
    """The latest word of every stage that has begun, in their order."""
    ended: Run | None = None
    failed: bool = False
    """Whether it ended without a run to show for it."""
    cancelling: bool = False

    @property
    def under_way(self) -> bool:
        """Whether it is being worked on."""
        return self.ended is None and not self.failed

    def after(self, progress: Progress) -> "RunView":
        """The view after this word of the run."""
        before = tuple(known for known in self.stages if known.stage is not progress.stage)
        return self._replace(stages=(*before, progress))

    def of(self, stage: Stage) -> Progress | None:
        """The latest word of a stage."""
        return next((known for known in self.stages if known.stage is stage), None)

    @property
    def current(self) -> Progress | None:
        """The latest word."""
        return self.stages[-1] if self.stages else None


def share(progress: Progress | None) -> float:
    """0 to 1: how far a stage is. A stage without anything to do is done."""
    if progress is None or progress.total is None:
        return 0.0
    return progress.done / progress.total if progress.total else 1.0


def figures(progress: Progress) -> str:
    """`4/10`, or only what is done while nobody knows of how many."""
    return f"{progress.done}" if progress.total is None else f"{progress.done}/{progress.total}"


def summary(run: Run) -> str:
    """What came of a run, in one sentence."""
    if run.status is RunStatus.CANCELLED:
        return "The run was cancelled; what it stored is kept."
    if run.status is not RunStatus.SUCCEEDED:
        return f"The run {run.status.value}: {run.error or 'nobody knows why.'}"
    made, items = plural(run.stats.drafts_created, "new draft"), plural(run.stats.items_ingested, "item")
    return f"{made} from {items} in {run.duration or 0:.1f} s."


def funnel(run: Run) -> str:
    """What was left after each stage, in one line."""
    stats = run.stats
    stories = "story" if stats.items_filtered == 1 else "stories"
    parts = [
        plural(stats.items_ingested, "item"),
        f"{stats.items_filtered} {stories}",
        f"{stats.items_ranked} ranked",
        plural(stats.drafts_created, "new draft"),
        f"{run.duration or 0:.1f} s",
    ]
    return " · ".join(parts)


def failures(run: Run) -> str:
    """How many sources could not be read, in one line; empty where all could."""
    failed = run.stats.sources_failed
    if not failed:
        return ""
    tried = plural(failed + run.stats.sources_fetched, "source")
    return f"{failed} of {tried} could not be read: screen {key('console.sources')}, Sources, says why."
