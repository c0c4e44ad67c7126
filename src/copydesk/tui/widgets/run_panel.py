"""The progress panel of a pipeline run: a bar per stage, and counts as they change."""

from textual.content import Content

from copydesk.model.run import Run, RunStatus, Stage, describe_declined
from copydesk.text.formatting import plural
from copydesk.tui import labels
from copydesk.tui.layout import progress_bar
from copydesk.tui.runtime.pipeline_run import RunView, format_funnel, format_progress, format_summary, progress_ratio
from copydesk.tui.terminal.cells import fit, safe_line
from copydesk.tui.widgets.lines import StaticLines, set_title

_NAME_WIDTH = 8
_COUNT_WIDTH = 10
_NOTE_WIDTH = 32


class RunPanel(StaticLines):
    """Four stages and a line with the result."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._view = RunView()

    def show(self, view: RunView) -> None:
        """Show the progress of a run."""
        self._view = view
        set_title(self, labels.run_panel_title(active=view.is_active))
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """Return a line per stage, and one for the result."""
        return [*(self._stage_line(stage, width) for stage in Stage), self._result_line(width)]

    def _stage_line(self, stage: Stage, width: int) -> Content:
        progress = self._view.stage_progress(stage)
        count = format_progress(progress) if progress else ""
        note_width = min(_NOTE_WIDTH, width // 3)
        filled, empty = progress_bar(
            progress_ratio(progress), max(width - _NAME_WIDTH - _COUNT_WIDTH - note_width - 2, 4)
        )
        current = progress is not None and progress is self._view.current and self._view.is_active
        return Content.assemble(
            (f"{stage.value:<{_NAME_WIDTH}}", "" if progress else "dim"),
            (filled, "accent"),
            (empty, "faint"),
            f" {count:>{_COUNT_WIDTH - 1}}  ",
            (fit(self._note(stage, current=current), note_width), self._note_style(stage)),
        )

    def _note(self, stage: Stage, *, current: bool) -> str:
        if current and self._view.current:
            return safe_line(self._view.current.note)
        if self._view.finished_run is None or stage not in self._view.finished_run.stats.stage_timing:
            return ""
        stats = self._view.finished_run.stats
        failed = f", {plural(stats.sources_failed, 'source')} failed" if self._note_style(stage) == "warn" else ""
        return f"{stats.stage_timing[stage]:.1f} s{failed}"

    def _note_style(self, stage: Stage) -> str:
        run = self._view.finished_run
        return "warn" if stage is Stage.INGEST and run is not None and run.stats.sources_failed else "dim"

    def _result_line(self, width: int) -> Content:
        if self._view.finished_run is not None:
            return _outcome(self._view.finished_run).truncate(width, ellipsis=True)
        if self._view.failed:
            return Content.styled(labels.RUN_ENDED_WITH_ERROR, "bad")
        return Content.styled(labels.RUN_CANCELLING, "warn") if self._view.cancelling else Content("")


def _outcome(run: Run) -> Content:
    if run.status is RunStatus.SUCCEEDED and not run.stats.drafts_created and describe_declined(run.stats):
        return Content.styled(format_summary(run), "warn")
    if run.status is RunStatus.SUCCEEDED:
        return Content.styled(format_funnel(run), "good")
    return Content.styled(safe_line(format_summary(run)), "bad")
