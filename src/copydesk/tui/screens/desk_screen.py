"""Base class of the console's screens: header, footer, and loading from the desk when it opens or changes."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import getters
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from copydesk.errors import CopydeskError
from copydesk.tui.asking import DeskWork, to_copydesk_error
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import KeyContext
from copydesk.tui.messages import DeskChanged, DeskClosed, DeskOpened, RunChanged
from copydesk.tui.pages import note
from copydesk.tui.widgets.aged import TimestampedList
from copydesk.tui.widgets.drawn import LineScrollView
from copydesk.tui.widgets.ink import ROLE_CLASSES
from copydesk.tui.widgets.key_line import KeyLine
from copydesk.tui.widgets.page import Page
from copydesk.tui.widgets.too_small import TooSmall
from copydesk.tui.widgets.top_line import TopLine

if TYPE_CHECKING:
    from copydesk.desk import Desk

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
    COMPONENT_CLASSES = set(ROLE_CLASSES)
    BINDINGS: ClassVar[list[BindingType]] = []
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (40, "-narrow"), (100, "-medium"), (150, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (10, "-tall")]

    app = getters.app(DeskApp)

    def __init__(self) -> None:
        super().__init__()
        self._loaded_version = -1
        """`app.changes` at the last load; -1 before the first one."""
        self.is_loaded = False
        """True once data from the desk is displayed; until then an error takes its place."""
        self._retry_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield TopLine(self.app.desk_name, self.NAME)
        with Container(id="body"):
            yield from self.body()
        yield KeyLine((*self.WHERE, KeyContext.CONSOLE))
        yield TooSmall()

    def body(self) -> Iterable[Widget]:
        """Yield the widgets between header and footer. Called once."""
        return ()

    def refresh_data(self) -> None:
        """Load the displayed data from the desk, by `load_with_retry`."""

    def load_with_retry(self, work: DeskWork, *, keys_wait: bool = False) -> None:
        """Load data with `work` in the background; retry automatically after RETRY_DELAY as long as it fails."""
        self.app.run_desk_task(lambda desk: self._load_or_retry(desk, work), hold_keys=keys_wait)

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

    def error_note(self, error: CopydeskError) -> note.Note:
        """Return a note with the error and what to do about it."""
        return note.desk_error(error, is_open=self.app.desk is not None)

    def on_mount(self) -> None:
        if self.app.open_error is not None:
            self.show_error(self.app.open_error)
        self._refresh_if_changed()
        self.set_interval(AGE_REFRESH_INTERVAL, self._refresh_ages)

    def on_screen_resume(self) -> None:
        """Load what changed while another screen was shown."""
        self._refresh_if_changed()
        self._refresh_ages()

    def _refresh_ages(self) -> None:
        """Update the displayed ages; a covered screen does it when it is shown again."""
        if self.is_current:
            for widget in self.query(LineScrollView):
                if isinstance(widget, TimestampedList | Page):
                    widget.refresh_times()

    def on_desk_opened(self, _: DeskOpened) -> None:
        self._refresh_if_changed()

    def on_desk_closed(self, message: DeskClosed) -> None:
        """Show why the desk could not be opened."""
        self.show_error(message.error)

    def on_desk_changed(self, _: DeskChanged) -> None:
        self._refresh_if_changed()

    def on_run_changed(self, message: RunChanged) -> None:
        """Show the progress of the run in the header."""
        self.query_one(TopLine).show_run(message.view)

    def show_keys(self, *where: KeyContext) -> None:
        """Show the keys of these contexts in the footer."""
        self.query_one(KeyLine).show((*where, KeyContext.CONSOLE))

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
