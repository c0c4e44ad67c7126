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
from copydesk.tui.asking import Work, known
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import Where
from copydesk.tui.messages import DeskChanged, DeskClosed, DeskOpened, RunChanged
from copydesk.tui.pages import note
from copydesk.tui.widgets.aged import Aged
from copydesk.tui.widgets.drawn import Drawn
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.key_line import KeyLine
from copydesk.tui.widgets.page import Page
from copydesk.tui.widgets.too_small import TooSmall
from copydesk.tui.widgets.top_line import TopLine

if TYPE_CHECKING:
    from copydesk.desk import Desk

MINUTE = 60.0
"""Seconds between updates of displayed ages."""
AGAIN = 5.0
"""Seconds until a failed load is retried."""


class DeskScreen(Screen[None], inherit_bindings=False):
    """A screen reached by its number; it keeps its state while another one is shown.

    A subclass sets NAME and WHERE, composes its `body`, and loads its data in `refresh_data`. That is called when the
    desk is open, and again when something has changed: by another process, a job, or this console. It must not move a
    cursor.
    """

    NAME = ""
    WHERE: tuple[Where, ...] = ()
    """The contexts whose keys the footer shows."""
    COMPONENT_CLASSES = set(INK)
    BINDINGS: ClassVar[list[BindingType]] = []
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (40, "-narrow"), (100, "-medium"), (150, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (10, "-tall")]

    app = getters.app(DeskApp)

    def __init__(self) -> None:
        super().__init__()
        self._loaded_version = -1
        """`app.changes` at the last load; -1 before the first one."""
        self.has_read = False
        """True once data from the desk is displayed; until then an error takes its place."""
        self._retry_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield TopLine(self.app.desk_name, self.NAME)
        with Container(id="body"):
            yield from self.body()
        yield KeyLine((*self.WHERE, Where.CONSOLE))
        yield TooSmall()

    def body(self) -> Iterable[Widget]:
        """Yield the widgets between header and footer. Called once."""
        return ()

    def read(self) -> None:
        """Load the displayed data from the desk, by `load_with_retry`."""

    def ask_for(self, work: Work, *, keys_wait: bool = False) -> None:
        """Load data with `work` in the background; retry automatically after RETRY_DELAY as long as it fails."""
        self.app.ask(lambda desk: self._load_or_retry(desk, work), keys_wait=keys_wait)

    async def _load_or_retry(self, desk: "Desk", work: Work, previous: str = "") -> None:
        """Run `work`; schedule a retry if it fails.

        Raise the error so that the user is notified, unless its message equals `previous`, that of the last attempt.
        """
        try:
            await work(desk)
        except Exception as error:
            reported = known(error)
            if not self.has_read:
                self.say_trouble(reported)
            self._schedule_retry(lambda desk: self._load_or_retry(desk, work, f"{reported}"))
            if f"{reported}" != previous:
                raise
        else:
            # Cancel the retry that an earlier, failed load has scheduled.
            self._schedule_retry(None)

    def _schedule_retry(self, work: Work | None) -> None:
        if self._retry_timer is not None:
            self._retry_timer.stop()

        def retry() -> None:
            # The desk may have been closed since the timer was started.
            if self.app.desk is not None and work is not None:
                self.app.ask(work)

        self._retry_timer = self.set_timer(AGAIN, retry) if work is not None else None

    def say_trouble(self, error: CopydeskError) -> None:
        """Show, in place of the data, why the desk could not be opened or read."""

    def trouble_note(self, error: CopydeskError) -> note.Note:
        """Return a note with the error and what to do about it."""
        return note.trouble(error, is_open=self.app.desk is not None)

    def on_mount(self) -> None:
        if self.app.trouble is not None:
            self.say_trouble(self.app.trouble)
        self._read_changes()
        self.set_interval(MINUTE, self._refresh_ages)

    def on_screen_resume(self) -> None:
        """Load what changed while another screen was shown."""
        self._read_changes()
        self._refresh_ages()

    def _refresh_ages(self) -> None:
        """Update the displayed ages; a covered screen does it when it is shown again."""
        if self.is_current:
            for widget in self.query(Drawn):
                if isinstance(widget, Aged | Page):
                    widget.tell_time()

    def on_desk_opened(self, _: DeskOpened) -> None:
        self._read_changes()

    def on_desk_closed(self, message: DeskClosed) -> None:
        """Show why the desk could not be opened."""
        self.say_trouble(message.error)

    def on_desk_changed(self, _: DeskChanged) -> None:
        self._read_changes()

    def on_run_changed(self, message: RunChanged) -> None:
        """Show the progress of the run in the header."""
        self.query_one(TopLine).show_run(message.view)

    def show_keys(self, *where: Where) -> None:
        """Show the keys of these contexts in the footer."""
        self.query_one(KeyLine).show((*where, Where.CONSOLE))

    def _read_changes(self) -> None:
        if self.app.desk is not None and self._loaded_version != self.app.changes:
            # Keys typed while the desk was opening are meant for the first data; later loads must not hold up the keys.
            first, self._loaded_version = self._loaded_version < 0, self.app.changes
            if first:
                self.read_for_keys()
            else:
                self.read()

    def read_for_keys(self) -> None:
        """Load the data; keys typed meanwhile wait and act on the new data."""
        with self.app.type_ahead.for_keys():
            self.read()

    def focus_when_shown(self, widget: Widget) -> None:
        """Focus `widget`, which was just made visible, after the next layout; keys typed meanwhile wait for it."""
        waiting = self.app.type_ahead.waiting()
        # Clear the focus first: Textual moves the focus of a hidden pane to a neighbour, which would be made visible
        # instead.
        self.set_focus(None)

        def focus() -> None:
            with waiting:
                widget.focus()

        self.call_after_refresh(focus)
