"""What is tried out: the experiments, and the variants of the one under the cursor side by side."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from textual import getters, on
from textual.events import DescendantFocus
from textual.message import Message
from textual.widget import Widget

from copydesk.errors import CopydeskError
from copydesk.model.experiment import Experiment, ExperimentStatus, NewExperiment, Results
from copydesk.model.ways import PARAMETERS, variants_read
from copydesk.text import clean
from copydesk.tui.cells import cell
from copydesk.tui.keys import Where, bindings
from copydesk.tui.latest import Latest
from copydesk.tui.modals.ask import LineScreen
from copydesk.tui.modals.fields import Field, FieldsScreen
from copydesk.tui.pages import note
from copydesk.tui.pages.experiment import Tried, experiment_page, no_experiment
from copydesk.tui.screens.desk_screen import DeskScreen
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.experiments import ExperimentList
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk

MOST_WAYS = 5
PANES = ("experiments", "variants")
_ORDER = tuple(ExperimentStatus)
_FIELDS = (
    Field("name", "name", "for example Hashtags", longest=100),
    Field("parameter", "what differs", "for example hashtags", longest=100, offered=PARAMETERS),
    Field("1", "control", "for example none = 0"),
    Field("2", "another way", "for example two = 2"),
    *(Field(f"{number}", f"way {number}", "may stay empty") for number in range(3, MOST_WAYS + 1)),
)
_HINT = (
    f"What differs: {', '.join(PARAMETERS)}; the right arrow completes it. A way is label = value: a number, words, "
    "true, false, or null for as always."
)


class ExperimentsScreen(DeskScreen):
    """The list, and below it or beside it one experiment."""

    NAME = "Experiments"
    WHERE = (Where.LIST, Where.EXPERIMENTS)
    BINDINGS = bindings(Where.EXPERIMENTS)
    CSS_PATH = sheet("experiments.tcss")
    AUTO_FOCUS = "#experiments"

    list_pane = getters.query_one("#experiments", ExperimentList)
    page_pane = getters.query_one("#variants", Page)

    class Read(Message, bubble=False):
        """What the desk says."""

        def __init__(self, found: Sequence[Tried], chosen: str = "") -> None:
            super().__init__()
            self.found = found
            self.chosen = chosen
            """The experiment that the cursor is to go to."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: Tried | None = None
        self._trouble: note.Note = ()
        self._chosen = ""
        self._reading = Latest(self._read_all)

    def body(self) -> Iterable[Widget]:
        """Each is made once."""
        yield ExperimentList(self.app.clock, id="experiments")
        yield Page(id="variants")

    def on_mount(self) -> None:
        """Until the desk says more."""
        self.list_pane.set_title("Experiments")
        self.page_pane.set_title("Variants")
        self.list_pane.say(note.OPENING)

    # The desk.

    def read(self) -> None:
        """Read every experiment with what came of it."""
        self.ask_for(self._reading.settle)

    async def _read_all(self, desk: "Desk") -> None:
        chosen, self._chosen = self._chosen, ""
        self.post_message(self.Read(_tried(await desk.experiments.list()), chosen))

    @on(Read)
    def _fill(self, message: Read) -> None:
        """The cursor stays on its experiment."""
        self.has_read, self._trouble = True, ()
        if not message.found:
            self.list_pane.say(no_experiment())
        elif message.found != self.list_pane.rows or message.chosen:
            current = self.list_pane.current
            wanted = message.chosen or (current.experiment.id if current else "")
            places = {tried.experiment.id: at for at, tried in enumerate(message.found)}
            self.list_pane.show(message.found, places.get(wanted, 0))
        count = len(message.found)
        self.list_pane.set_title(f"Experiments · {count}" if count else "Experiments")

    def say_trouble(self, error: CopydeskError) -> None:
        """Why there is nothing: below, for the list may be too low for it."""
        self._trouble = self.trouble_note(error)
        self.list_pane.say(())

    @on(LineList.Moved)
    def _show_current(self) -> None:
        """What is read again and is the same stays where it was scrolled to."""
        tried = self.list_pane.current
        if tried is None or tried != self._shown:
            self._shown = tried
            self.page_pane.show((lambda: experiment_page(tried, self.app.clock())) if tried else self._trouble)

    # Panes.

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """The footer shows the keys of what has the focus."""
        self.show_keys(Where.LIST if isinstance(event.widget, LineList) else Where.PAGE, Where.EXPERIMENTS)

    def action_pane(self) -> None:
        """The other pane."""
        here = self.focused.id if self.focused else ""
        self.query_one(f"#{PANES[here == PANES[0]]}").focus()

    def on_line_list_opened(self) -> None:
        """Enter on an experiment goes into it."""
        self.page_pane.focus()

    def action_back(self) -> None:
        """Back to the list."""
        self.list_pane.focus()

    def action_refresh(self) -> None:
        """Read the desk again, or try again to open it."""
        if self.app.desk is None:
            self.app.open()
        else:
            self.read()

    # What can be done.

    def action_new(self) -> None:
        """Begin an experiment."""
        self.app.push_screen(FieldsScreen("A new experiment", _FIELDS, self._begin, hint=_HINT), self._say)

    async def _begin(self, desk: "Desk", values: Mapping[str, str]) -> str:
        made = await desk.experiments.create(_asked(values))
        self._chosen = made.id
        return f"Began {made.name}."

    def _say(self, said: str | None) -> None:
        if said is not None:
            self.app.notify(said)
            self.read()

    def action_conclude(self) -> None:
        """End the experiment under the cursor, with the winner's label where there is one."""
        tried = self.list_pane.current
        if tried is None or not self._allows(tried.experiment, ExperimentStatus.ACTIVE, "concluded"):
            return
        question = f"Conclude {clean(tried.experiment.name)}: which one won?"
        labels = [variant.label for variant in tried.experiment.variants]
        asked = LineScreen(question, hint="Enter alone: none did. It cannot be begun again.", offered=labels)
        self.app.push_screen(asked, lambda said: self._conclude(tried.experiment, said))

    def _conclude(self, experiment: Experiment, said: str | None) -> None:
        if said is None:
            return
        by_label = {each.label: each.id for each in experiment.variants}
        ids = {each.id for each in experiment.variants}
        answer = said.strip()
        winner = (answer if answer in ids else by_label.get(answer, answer)) or None

        async def work(desk: "Desk") -> None:
            await desk.experiments.conclude(experiment.id, winner)
            self.app.notify(f"Concluded {experiment.name}.")
            await self._reading.settle(desk)

        self.app.ask(work, keys_wait=True)

    def action_archive(self) -> None:
        """Put the concluded experiment under the cursor away."""
        tried = self.list_pane.current
        if tried is None or not self._allows(tried.experiment, ExperimentStatus.CONCLUDED, "archived"):
            return

        async def work(desk: "Desk") -> None:
            await desk.experiments.archive(tried.experiment.id)
            self.app.notify(f"Archived {tried.experiment.name}.")
            await self._reading.settle(desk)

        self.app.ask(work, keys_wait=True)

    def _allows(self, experiment: Experiment, wanted: ExperimentStatus, done: str) -> bool:
        if experiment.status is not wanted:
            says = f"It is {experiment.status}: only one that is {wanted} can be {done}."
            self.app.notify(says, severity="warning")
        return experiment.status is wanted


def _tried(every: Sequence[Experiment]) -> tuple[Tried, ...]:
    """Those that go on first, the newest of each state before the others."""
    from copydesk.desk.experiments import unfollowed  # noqa: PLC0415 - beside the store

    active = [each for each in every if each.status is ExperimentStatus.ACTIVE]
    shown = [
        Tried(
            experiment=each,
            results=msgspec.convert(each.results, Results, strict=False),
            waits_for=active[-1].name if each in active[:-1] else "",
            alike=each.status is ExperimentStatus.ACTIVE and unfollowed(each),
        )
        for each in every
    ]
    return tuple(sorted(shown, key=lambda tried: (_ORDER.index(tried.experiment.status), bool(tried.waits_for))))


def _asked(values: Mapping[str, str]) -> NewExperiment:
    """The form's lines as an experiment; a way without a label is called as its value is."""
    ways = [way for number in range(1, MOST_WAYS + 1) if (way := values[f"{number}"])]
    if not values["parameter"]:
        raise CopydeskError(f"Say what differs; for example {cell(PARAMETERS[0])}.")
    labelled = [way if "=" in way else f"{way}={way}" for way in ways]
    variants = variants_read(labelled, values["parameter"])
    return NewExperiment(name=values["name"], parameter=values["parameter"], variants=variants)
