"""Base of the screens that can start the pipeline and show its progress."""

from typing import TYPE_CHECKING

from copydesk.tui.messages import RunChanged
from copydesk.tui.screens.desk_screen import DeskScreen
from copydesk.tui.widgets.top_line import TopLine

if TYPE_CHECKING:
    from copydesk.tui.run_view import RunView
    from copydesk.tui.widgets.run_panel import RunPanel


class RunScreen(DeskScreen, inherit_bindings=False):
    """A screen with a panel below its body while the run is watched.

    The app owns the run.
    """

    def __init__(self) -> None:
        super().__init__()
        self._run_panel: RunPanel | None = None
        self._watching = False

    def action_run_pipeline(self) -> None:
        """Start the pipeline, or show the progress of the run in progress again."""
        self._watching = True
        view = self.app.run_view
        if view is not None and view.is_active:
            self._show_run(view)
        else:
            self.app.start_run()

    def action_cancel_run(self) -> None:
        self.app.cancel_run()

    def close_run_panel(self) -> bool:
        """Close the panel; the run continues. Return False if no panel is open."""
        if self._run_panel is None or not self._run_panel.display:
            return False
        self._watching = False
        self._run_panel.display = False
        return True

    def on_run_changed(self, message: RunChanged) -> None:
        """Show the progress; notify of the outcome if nobody is watching."""
        self._show_run(message.view)
        if message.view.finished_run is not None and not self._watching:
            self.app.notify_run_finished(message.view.finished_run)

    def on_screen_resume(self) -> None:
        """Show the progress made while another screen was shown."""
        view = self.app.run_view
        if view is not None:
            self.query_one(TopLine).show_run(view)
            if self._watching:
                self._show_run(view)

    def _show_run(self, view: "RunView") -> None:
        # The panel was never opened: do not import it for a run that nobody watches.
        if not self._watching and self._run_panel is None:
            return
        panel = self._panel()
        panel.show(view)
        panel.display = self._watching

    def _panel(self) -> "RunPanel":
        if self._run_panel is None:
            from copydesk.tui.widgets.run_panel import RunPanel  # noqa: PLC0415 - only needed for a run

            self._run_panel = RunPanel(id="run")
            self.mount(self._run_panel, after="#body")
        return self._run_panel
