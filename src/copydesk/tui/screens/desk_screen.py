"""What every screen of the console shares: the line above and below, what it does when the desk opens or changes."""

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
"""Seconds after which an age may have another word."""
AGAIN = 5.0
"""Seconds after which what could not be read is read again."""


class DeskScreen(Screen[None], inherit_bindings=False):
    """One of the screens that the numbers lead to. It keeps its state while another one is shown.

    A subclass says its NAME and WHERE, composes its `body`, and reads from the desk in `read`, which is called when the
    desk is open, and again when something has changed: by another process, a job, or this console. It moves no cursor.
    """

    NAME = ""
    WHERE: tuple[Where, ...] = ()
    """The places whose keys the footer shows."""
    COMPONENT_CLASSES = set(INK)
    BINDINGS: ClassVar[list[BindingType]] = []
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (40, "-narrow"), (100, "-medium"), (150, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (10, "-tall")]

    app = getters.app(DeskApp)

    def __init__(self) -> None:
        super().__init__()
        self._seen = -1
        """The desk's changes that this screen has read."""
        self.has_read = False
        """Whether what is shown is from the desk; until then its place says what went wrong."""
        self._again: Timer | None = None

    def compose(self) -> ComposeResult:
        """The line above, the body, the line below."""
        yield TopLine(self.app.desk_name, self.NAME)
        with Container(id="body"):
            yield from self.body()
        yield KeyLine((*self.WHERE, Where.CONSOLE))
        yield TooSmall()

    def body(self) -> Iterable[Widget]:
        """What is between the lines; each widget is made once."""
        return ()

    def read(self) -> None:
        """Read from the desk what is shown: `self.ask_for(...)`."""

    def ask_for(self, work: Work, *, keys_wait: bool = False) -> None:
        """Ask the desk for what this screen shows: where that fails it is asked again, after a while and by itself."""
        self.app.ask(lambda desk: self._asked_for(desk, work), keys_wait=keys_wait)

    async def _asked_for(self, desk: "Desk", work: Work, told: str = "") -> None:
        """Do `work`; what fails is done again later, and is no news where it was `told` already."""
        try:
            await work(desk)
        except Exception as error:
            trouble = known(error)
            if not self.has_read:
                self.say_trouble(trouble)
            self._ask_later(lambda desk: self._asked_for(desk, work, f"{trouble}"))
            if f"{trouble}" != told:
                raise
        else:
            self._ask_later(None)

    def _ask_later(self, work: Work | None) -> None:
        if self._again is not None:
            self._again.stop()

        def ask() -> None:
            if self.app.desk is not None and work is not None:
                self.app.ask(work)

        self._again = self.set_timer(AGAIN, ask) if work is not None else None

    def say_trouble(self, error: CopydeskError) -> None:
        """Say that the desk could not be opened, or not be read, in the place of what is shown."""

    def trouble_note(self, error: CopydeskError) -> note.Note:
        """What went wrong, and what can be done."""
        return note.trouble(error, is_open=self.app.desk is not None)

    def on_mount(self) -> None:
        """Read, or say why there is nothing to read."""
        if self.app.trouble is not None:
            self.say_trouble(self.app.trouble)
        self._read_changes()
        self.set_interval(MINUTE, self._tell_time)

    def on_screen_resume(self) -> None:
        """What changed while another screen was shown."""
        self._read_changes()
        self._tell_time()

    def _tell_time(self) -> None:
        """The ages of what is shown, as they are now; a screen that is not seen tells them when it is shown again."""
        if self.is_current:
            for drawn in self.query(Drawn):
                if isinstance(drawn, Aged | Page):
                    drawn.tell_time()

    def on_desk_opened(self, _: DeskOpened) -> None:
        """Now it can be asked."""
        self._read_changes()

    def on_desk_closed(self, message: DeskClosed) -> None:
        """It could not be opened."""
        self.say_trouble(message.error)

    def on_desk_changed(self, _: DeskChanged) -> None:
        """Something was written."""
        self._read_changes()

    def on_run_changed(self, message: RunChanged) -> None:
        """Say in the line above how the run gets on."""
        self.query_one(TopLine).show_run(message.view)

    def show_keys(self, *where: Where) -> None:
        """Show the keys of these places in the line below."""
        self.query_one(KeyLine).show((*where, Where.CONSOLE))

    def _read_changes(self) -> None:
        if self.app.desk is not None and self._seen != self.app.changes:
            first, self._seen = self._seen < 0, self.app.changes
            if first:
                self.read_for_keys()
            else:
                self.read()

    def read_for_keys(self) -> None:
        """Read, and let the keys that are typed meanwhile act on what is there then."""
        with self.app.type_ahead.for_keys():
            self.read()

    def focus_when_shown(self, widget: Widget) -> None:
        """Give what was just displayed the focus; the keys that are typed meanwhile are for it."""
        waiting = self.app.type_ahead.waiting()
        # Until then nothing has it: that of a hidden pane Textual gives to a neighbour, which is shown in its place.
        self.set_focus(None)

        def focus() -> None:
            with waiting:
                widget.focus()

        self.call_after_refresh(focus)
