"""A pipeline run started in the console."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from copydesk.errors import ConflictError
from copydesk.model.run import Progress
from copydesk.tui.naming import key_label
from copydesk.tui.run_view import RunView

if TYPE_CHECKING:
    from copydesk.desk import Desk


class PipelineRun:
    """One pipeline run. `on_change` is called with every new view of it."""

    def __init__(self, on_change: Callable[[RunView], None]) -> None:
        self._tell = on_change
        self.view: RunView | None = None
        """None until it is known that there is a source to read."""
        self.is_finished = False
        self._cancel_requested = False
        """True if it was cancelled before it was queued."""

    async def run(self, desk: "Desk") -> None:
        """Queue the run and execute it. Raise ConflictError if there is no source."""
        if not await desk.sources.list():
            hint = (
                f"Add one: {key_label('console.sources')} shows the sources, {key_label('sources.new')} there adds one."
            )
            raise ConflictError("There is no source to read.", hint=hint)
        await self._run(desk)

    def mark_finished(self) -> None:
        """Mark it as finished, even if it never started, so that another one can be started."""
        self.is_finished = True

    async def _run(self, desk: "Desk") -> None:
        self._set_view(RunView())
        try:
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
        if self.view is not None and self.view.is_active:
            self._set_view(self.view.with_progress(progress))

    def _set_view(self, view: RunView) -> None:
        self.view = view
        self._tell(view)
