"""The pipeline's run: a bar per stage, figures as they come."""

from textual.content import Content

from copydesk.model.run import Run, RunStatus, Stage
from copydesk.tui.cells import cell, fit
from copydesk.tui.naming import key
from copydesk.tui.run_view import RunView, figures, funnel, share, summary
from copydesk.tui.widgets.drawn import Standing
from copydesk.tui.words import bar, plural

_NAME = 8
_FIGURES = 10
_NOTE = 32


class RunPanel(Standing):
    """Four stages and a line of what came of them."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._view = RunView()

    def show(self, view: RunView) -> None:
        """Take over how far the run is."""
        self._view = view
        back = key("review.back")
        running = f"{back} leaves it running · {key('review.cancel_run')} cancels it"
        self.set_title(f"Pipeline · {running if view.under_way else f'{back} closes'}")
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """A line a stage, and one for the end."""
        return [*(self._stage(stage, width) for stage in Stage), self._end(width)]

    def _stage(self, stage: Stage, width: int) -> Content:
        progress = self._view.of(stage)
        known = figures(progress) if progress else ""
        note = min(_NOTE, width // 3)
        full, empty = bar(share(progress), max(width - _NAME - _FIGURES - note - 2, 4))
        current = progress is not None and progress is self._view.current and self._view.under_way
        return Content.assemble(
            (f"{stage.value:<{_NAME}}", "" if progress else "dim"),
            (full, "accent"),
            (empty, "faint"),
            f" {known:>{_FIGURES - 1}}  ",
            (fit(self._note(stage, current=current), note), self._worry(stage)),
        )

    def _note(self, stage: Stage, *, current: bool) -> str:
        if current and self._view.current:
            return cell(self._view.current.note)
        if self._view.ended is None or stage not in self._view.ended.stats.stage_timing:
            return ""
        stats = self._view.ended.stats
        failed = f", {plural(stats.sources_failed, 'source')} failed" if self._worry(stage) == "warn" else ""
        return f"{stats.stage_timing[stage]:.1f} s{failed}"

    def _worry(self, stage: Stage) -> str:
        ended = self._view.ended
        return "warn" if stage is Stage.INGEST and ended is not None and ended.stats.sources_failed else "dim"

    def _end(self, width: int) -> Content:
        if self._view.ended is not None:
            return _outcome(self._view.ended).truncate(width, ellipsis=True)
        if self._view.failed:
            return Content.styled("It ended with an error.", "bad")
        return Content.styled("Cancelling …", "warn") if self._view.cancelling else Content("")


def _outcome(run: Run) -> Content:
    if run.status is RunStatus.SUCCEEDED:
        return Content.styled(funnel(run), "good")
    return Content.styled(cell(summary(run)), "bad")
