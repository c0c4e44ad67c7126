"""A screen from which the pipeline is run, and on which one can watch how it gets on."""

from typing import TYPE_CHECKING

from copydesk.tui.messages import RunChanged
from copydesk.tui.screens.desk_screen import DeskScreen
from copydesk.tui.widgets.top_line import TopLine

if TYPE_CHECKING:
    from copydesk.tui.run_view import RunView
    from copydesk.tui.widgets.run_panel import RunPanel


class RunScreen(DeskScreen, inherit_bindings=False):
    """It has a panel below its body as long as the run is watched; the app has the run."""

    def __init__(self) -> None:
        super().__init__()
        self._run_panel: RunPanel | None = None
        self._watching = False

    def action_run_pipeline(self) -> None:
        """Run the pipeline, or show again how the run gets on."""
        self._watching = True
        view = self.app.run_view
        if view is not None and view.under_way:
            self._show_run(view)
        else:
            self.app.start_run()

    def action_cancel_run(self) -> None:
        """Cancel the run."""
        self.app.cancel_run()

    def leave_run(self) -> bool:
        """Close the panel and leave the run to itself; False where no panel is open."""
        if self._run_panel is None or not self._run_panel.display:
            return False
        self._watching = False
        self._run_panel.display = False
        return True

    def on_run_changed(self, message: RunChanged) -> None:
        """Show how the run gets on; what came of one that nobody watches is told."""
        self._show_run(message.view)
        if message.view.ended is not None and not self._watching:
            self.app.say_ended(message.view.ended)

    def on_screen_resume(self) -> None:
        """The run got on while another screen was shown."""
        view = self.app.run_view
        if view is not None:
            self.query_one(TopLine).show_run(view)
            if self._watching:
                self._show_run(view)

    def _show_run(self, view: "RunView") -> None:
        if not self._watching and self._run_panel is None:
            return
        panel = self._panel()
        panel.show(view)
        panel.display = self._watching

    def _panel(self) -> "RunPanel":
        if self._run_panel is None:
            from copydesk.tui.widgets.run_panel import RunPanel  # noqa: PLC0415 - there may be no run

            self._run_panel = RunPanel(id="run")
            self.mount(self._run_panel, after="#body")
        return self._run_panel
