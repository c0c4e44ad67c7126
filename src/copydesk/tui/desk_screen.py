"""Base classes of the console's screens.

Each has a header and a footer, and loads from the desk when that opens or changes. Some can also start the pipeline and
show its progress.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from copydesk.errors import CopydeskError
from copydesk.tui import empty_states, labels
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import KeyContext
from copydesk.tui.messages import DeskChanged, DeskClosed, DeskOpened, RunChanged, WorkStatusChanged
from copydesk.tui.runtime.desk_tasks import DeskWork, to_copydesk_error
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.widgets.key_hints import KeyLine
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.lines import LineScrollView, TooSmall
from copydesk.tui.widgets.page import Page
from copydesk.tui.widgets.top_line import TopLine

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.runtime.pipeline_run import RunView
    from copydesk.tui.widgets.run_panel import RunPanel


AGE_REFRESH_INTERVAL = 60.0
"""Seconds between updates of displayed ages."""
RETRY_DELAY = 5.0
"""Seconds until a failed load is retried."""


class DeskScreen(Screen[None], inherit_bindings=False):
    """A screen reached by its number; it keeps its state while another one is shown.

    A subclass sets NAME and WHERE, composes its `body`, and loads its data in `refresh_data`. That is called when the
    desk is open, and again when something has changed: by another process, a job, or this console. It must not move a
    cursor.
    """

    NAME = ""
    WHERE: tuple[KeyContext, ...] = ()
    """The contexts whose keys the footer shows."""
    BINDINGS: ClassVar[list[BindingType]] = []
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (40, "-narrow"), (100, "-medium"), (150, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (10, "-tall")]

    app = getters.app(DeskApp)

    def __init__(self) -> None:
        super().__init__()
        self._loaded_version = -1
        """`app.change_count` at the last load; -1 before the first one."""
        self.is_loaded = False
        """True once data from the desk is displayed; until then an error takes its place."""
        self._retry_timer: Timer | None = None
        self._watching = False
        """True while a panel shows the run."""
        # Textual sets them after the first paint, and would then style, lay out and paint the screen a second time.
        self.add_class(*self._breakpoint_classes(), update=False)

    def _breakpoint_classes(self) -> Iterator[str]:
        """Yield the classes that the size of the terminal gives the screen."""
        width, height = self.app.size
        for length, breakpoints in ((width, self.HORIZONTAL_BREAKPOINTS), (height, self.VERTICAL_BREAKPOINTS)):
            yield max((least, name) for least, name in breakpoints if least <= length)[1]

    def compose(self) -> ComposeResult:
        yield TopLine(self.app.desk_name, self.NAME)
        yield from self.body()
        yield KeyLine((*self.WHERE, KeyContext.CONSOLE))
        yield TooSmall()

    def body(self) -> Iterable[Widget]:
        """Yield the widgets between header and footer. Called once."""
        return ()

    @property
    def can_go_back(self) -> bool:
        """True if quitting first returns to the main pane, which a narrow terminal hides."""
        return False

    def is_key_offered(self, key_id: str) -> bool:
        """Return False if the screen has nothing for the key now, whatever is selected."""
        return True

    def refusal(self, key_id: str) -> str:
        """Return why a key does nothing to what the screen shows now; empty if it does something."""
        return self.app.role_refusal(key_id)

    def shows_key(self, key_id: str) -> bool:
        """Return False to leave a key out of the footer: it can do nothing where the cursor is, whatever that holds."""
        return True

    def selected_draft_id(self) -> str | None:
        """Return the id of the draft under the cursor; None where there is none."""
        return None

    def refresh_data(self) -> None:
        """Load the displayed data from the desk, by `load_with_retry`."""

    def load_with_retry(self, work: DeskWork, *, keys_wait: bool = False) -> None:
        """Load data with `work` in the background; retry automatically after RETRY_DELAY as long as it fails."""
        hold = Hold.RESULT if self.is_loaded else Hold.DATA
        keys_wait = keys_wait or self.app.type_ahead.holds_by_default
        self.app.run_desk_task(lambda desk: self._load_or_retry(desk, work), hold_keys=hold if keys_wait else None)

    async def _load_or_retry(self, desk: "Desk", work: DeskWork, previous: str = "") -> None:
        """Run `work`; schedule a retry if it fails.

        Raise the error so that the user is notified, unless its message equals `previous`, that of the last attempt.
        """
        try:
            await work(desk)
        except Exception as error:
            reported = to_copydesk_error(error)
            if not self.is_loaded:
                self.show_error(reported)
            self._schedule_retry(lambda desk: self._load_or_retry(desk, work, f"{reported}"))
            if f"{reported}" != previous:
                raise
        else:
            # Cancel the retry that an earlier, failed load has scheduled.
            self._schedule_retry(None)

    def _schedule_retry(self, work: DeskWork | None) -> None:
        if self._retry_timer is not None:
            self._retry_timer.stop()

        def retry() -> None:
            # The desk may have been closed since the timer was started.
            if self.app.desk is not None and work is not None:
                self.app.run_desk_task(work)

        self._retry_timer = self.set_timer(RETRY_DELAY, retry) if work is not None else None

    def show_error(self, error: CopydeskError) -> None:
        """Show, in place of the data, why the desk could not be opened or read."""

    def error_note(self, error: CopydeskError) -> empty_states.Note:
        """Return a note with the error and what to do about it."""
        return empty_states.desk_error(error, is_open=self.app.desk is not None)

    def on_mount(self) -> None:
        # Both are docked to the same line, where the later one is drawn over the other.
        for toasts in self.query_children("ToastRack"):
            self.move_child(toasts, after=self.query_one(KeyLine))
        if self.app.open_error is not None:
            self.show_error(self.app.open_error)
        self._refresh_if_changed()
        self.set_interval(AGE_REFRESH_INTERVAL, self._refresh_ages)

    def on_screen_resume(self) -> None:
        """Load what changed while another screen was shown."""
        self._refresh_if_changed()
        if self.app.run_view is not None:
            self.query_one(TopLine).show_run(self.app.run_view)
        self._refresh_ages()
        self.call_after_refresh(self.app.remove_stale_toasts)

    def _refresh_ages(self) -> None:
        """Update the displayed ages; a covered screen does it when it is shown again."""
        if self.is_current:
            for widget in self.query(LineScrollView):
                if isinstance(widget, LineList | Page):
                    widget.refresh_times()

    def on_desk_opened(self, _: DeskOpened) -> None:
        self._refresh_if_changed()

    def on_desk_closed(self, message: DeskClosed) -> None:
        """Show why the desk could not be opened, or was closed; once it is open again, the data is loaded anew."""
        self._loaded_version = -1
        self.show_error(message.error)

    def on_desk_changed(self, _: DeskChanged) -> None:
        self._refresh_if_changed()

    def on_run_changed(self, message: RunChanged) -> None:
        """Show the progress of the run in the header; notify of the outcome if nobody is watching."""
        self.query_one(TopLine).show_run(message.view)
        if message.view.finished_run is not None and not self._watching:
            self.app.notify_run_finished(message.view.finished_run)

    @on(WorkStatusChanged)
    def _show_work(self, message: WorkStatusChanged) -> None:
        self.query_one(TopLine).show_work(message.text)

    @contextmanager
    def report_progress(self, word: str) -> Iterator[Callable[[int, int], None]]:
        """Yield a function that shows in the header how many of all drafts are done, after `word`: `Approving`."""
        reported = False

        def report(count: int, total: int) -> None:
            nonlocal reported
            reported = True
            self.post_message(WorkStatusChanged(labels.bulk_progress(word, count, total)))

        try:
            yield report
        finally:
            if reported:
                self.post_message(WorkStatusChanged(""))

    def show_keys(self, *where: KeyContext) -> None:
        """Show the keys of these contexts in the footer."""
        self.query_one(KeyLine).show((*where, KeyContext.CONSOLE))

    def update_keys(self) -> None:
        """Dim the keys in the footer that do nothing to what is under the cursor now."""
        self.query_one(KeyLine).refresh()

    def _refresh_if_changed(self) -> None:
        if self.app.desk is not None and self._loaded_version != self.app.change_count:
            # Keys typed while the desk was opening are meant for the first data; later loads must not hold up the keys.
            first, self._loaded_version = self._loaded_version < 0, self.app.change_count
            if first:
                self.refresh_for_keys()
            else:
                self.refresh_data()

    def refresh_for_keys(self) -> None:
        """Load the data; keys typed meanwhile wait and act on the new data."""
        with self.app.type_ahead.hold_by_default():
            self.refresh_data()

    def focus_after_layout(self, widget: Widget) -> None:
        """Focus `widget`, which was just made visible, after the next layout; keys typed meanwhile wait for it."""
        waiting = self.app.type_ahead.start_hold()
        # Clear the focus first: Textual moves the focus of a hidden pane to a neighbour, which would be made visible
        # instead.
        self.set_focus(None)

        def focus() -> None:
            with waiting:
                widget.focus()

        self.call_after_refresh(focus)


class RunScreen(DeskScreen, inherit_bindings=False):
    """A screen with a panel below its body while the run is watched.

    The app owns the run.
    """

    def __init__(self) -> None:
        super().__init__()
        self._run_panel: RunPanel | None = None

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
        """Show the progress."""
        self._show_run(message.view)

    def on_screen_resume(self) -> None:
        """Show the progress made while another screen was shown."""
        if self._watching and (view := self.app.run_view) is not None:
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
            self.mount(self._run_panel, before=self.query_one(KeyLine))
        return self._run_panel
