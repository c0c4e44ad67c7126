"""The setup: accounts, voice, writer, time zone, and where things are."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import getters, on
from textual.containers import Vertical
from textual.events import DescendantFocus
from textual.message import Message
from textual.widget import Widget

from copydesk.errors import CopydeskError
from copydesk.tui.keys import Where, bindings
from copydesk.tui.latest import Latest
from copydesk.tui.layout import Block, plain
from copydesk.tui.naming import key
from copydesk.tui.pages import note
from copydesk.tui.pages.setup import (
    Section,
    Setup,
    account_page,
    places_page,
    voice_page,
    writer_page,
    zone_page,
)
from copydesk.tui.screens.setup_accounts import SetupAccounts
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.page import Page
from copydesk.tui.widgets.setup_lists import Accounts, Sections
from copydesk.tui.zone_asking import ask_zone

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.doctor import Examined


class SetupScreen(SetupAccounts):
    """Sections at the left, the one under the cursor at the right."""

    NAME = "Setup"
    WHERE = (Where.LIST, Where.SETUP)
    BINDINGS = bindings(Where.SETUP)
    CSS_PATH = sheet("setup.tcss")
    AUTO_FOCUS = "#sections"
    # One more than other screens have: two panes stand side by side where a queue could not.
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (40, "-slim"), (64, "-narrow"), (100, "-medium"), (150, "-wide")]

    sections = getters.query_one("#sections", Sections)
    about = getters.query_one("#about", Page)

    class Read(Message, bubble=False):
        """What the desk says."""

        def __init__(self, found: Setup) -> None:
            super().__init__()
            self.found = found

    class Looked(Message, bubble=False):
        """What the doctor says."""

        def __init__(self, found: "tuple[Examined, ...]") -> None:
            super().__init__()
            self.found = found

    def __init__(self) -> None:
        super().__init__()
        self._found: Setup | None = None
        self._examined: tuple[Examined, ...] | None = None
        self._reading: Latest[Desk] = Latest(self._read_setup)
        self._looking: Latest[Desk] = Latest(self._examine)

    def body(self) -> Iterable[Widget]:
        """Each is made once."""
        yield Sections(id="sections")
        yield Vertical(Accounts(self.app.clock, id="accounts"), Page(note.OPENING, id="about"), id="right")

    def on_mount(self) -> None:
        """Begin with the accounts."""
        self.sections.set_title("Setup")
        self.accounts.set_title("Accounts")
        self.sections.show(list(Section))
        self._select("sections")

    # The desk.

    def read(self) -> None:
        """Read what there is to set up; what the doctor says only where it is looked at."""
        self.ask_for(self._reading.settle)
        if self.section is Section.PLACES:
            self._look()

    async def _read_setup(self, desk: "Desk") -> None:
        from copydesk.desk.voice import unfollowed  # noqa: PLC0415 - not for the first paint

        voice = await desk.voice.read()
        try:
            kept = await desk.accounts.keys()
            keys = kept.says if kept.begun else f"none so far; they would go to {kept.says}"
        except CopydeskError as error:
            keys = error.message
        found = Setup(
            accounts=await desk.accounts.list(),
            keys=keys,
            voice=voice,
            unfollowed=unfollowed(voice),
            zone=await desk.schedule.zone(),
            shown=_now(*await desk.schedule.shown(self.app.clock().replace(second=0, microsecond=0))),
            slots=len(await desk.schedule.slots()),
        )
        self.post_message(self.Read(found))

    def _look(self) -> None:
        if self.app.desk is not None:
            self.app.ask(self._looking.wish)

    async def _examine(self, desk: "Desk") -> None:
        from contextlib import nullcontext  # noqa: PLC0415 - for this alone

        from copydesk.desk.doctor import examine  # noqa: PLC0415 - as above

        self.post_message(self.Looked(await examine(desk.settings, lambda: nullcontext(desk))))

    @on(Read)
    def _fill(self, message: Read) -> None:
        """The cursors stay where they are."""
        self._found, self.has_read = message.found, True
        current = self.accounts.current
        places = {each.id: at for at, each in enumerate(message.found.accounts)}
        if message.found.accounts:
            at = places.get(current.id, min(self.accounts.cursor, len(places) - 1)) if current else 0
            self.accounts.show(message.found.accounts, at)
        else:
            self.accounts.say([plain("None yet.", "dim")])
        self._show()

    @on(Looked)
    def _take_look(self, message: Looked) -> None:
        self._examined = message.found
        self._show()

    def say_trouble(self, error: CopydeskError) -> None:
        """Why there is nothing to set up."""
        self.about.show(self.trouble_note(error))

    # What is shown.

    @property
    def section(self) -> Section:
        """The one under the cursor."""
        return self.sections.current or Section.ACCOUNTS

    @on(LineList.Moved)
    def _moved(self) -> None:
        if self.section is Section.PLACES and self._examined is None:
            self._look()
        self._show()

    def _show(self) -> None:
        """The section at the right; what is the same stays where it was scrolled to."""
        self.accounts.display = self.section is Section.ACCOUNTS
        self.about.set_title(self.section.value if self.section is not Section.ACCOUNTS else "Account")
        if self._found is None:
            return
        show = self.about.show_more if self._shown_section is self.section else self.about.show
        show(partial(self._page, self._found))
        self._shown_section = self.section

    _shown_section: Section | None = None

    def _page(self, found: Setup) -> Sequence[Block]:
        if self.section is Section.ACCOUNTS:
            return account_page(self.accounts.current, found.keys, self.app.clock())
        if self.section is Section.VOICE:
            return voice_page(found)
        if self.section is Section.WRITER:
            return writer_page(found)
        if self.section is Section.ZONE:
            return zone_page(found)
        return places_page(self._examined) if self._examined else [plain("Looking …", "dim")]

    # Panes.

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """The footer shows the keys of what has the focus."""
        self._select(event.widget.id or "")

    def _select(self, pane: str) -> None:
        body = self.query_one("#body")
        body.set_class(pane == "sections", "-sections")
        body.set_class(pane != "sections", "-right")
        self.show_keys(Where.PAGE if pane == "about" else Where.LIST, Where.SETUP)

    @property
    def _panes(self) -> list[str]:
        accounts = ["accounts"] if self.section is Section.ACCOUNTS and self.accounts.rows else []
        return ["sections", *accounts, "about"]

    def action_pane(self, by: int) -> None:
        """The next pane, or the one before."""
        panes = self._panes
        here = panes.index(self.focused.id) if self.focused and self.focused.id in panes else 0
        self._go_to(panes[(here + by) % len(panes)])

    def _go_to(self, pane: str) -> None:
        # Displayed first: what is hidden cannot take the focus.
        self._select(pane)
        self.focus_when_shown(self.query_one(f"#{pane}"))

    def on_line_list_opened(self) -> None:
        """Enter goes into what the cursor is on."""
        self.action_pane(1)

    def action_back(self) -> None:
        """Back to the sections."""
        self._go_to("sections")

    def action_refresh(self) -> None:
        """Read the desk again, or try again to open it."""
        self._examined = None
        if self.app.desk is None:
            self.app.open()
        else:
            self.read()

    # What can be changed.

    def action_edit(self) -> None:
        """Edit what is shown."""
        if self._found is None:
            return
        if self.section in {Section.VOICE, Section.WRITER}:
            self.app.ask(self._edit_voice, opens=True)
        elif self.section is Section.ZONE:
            self._ask_zone(self._found.zone)
        elif self.section is Section.ACCOUNTS:
            keys = [key(f"setup.{each}") for each in ("connect", "check", "remove")]
            self.app.notify("An account is connected anew with {}, checked with {}, removed with {}.".format(*keys))
        else:
            self.app.notify("There is nothing to edit here: the settings file says where things are.")

    async def _edit_voice(self, desk: "Desk") -> None:
        from copydesk.tui.voicing import edit_voice  # noqa: PLC0415 - not for the first paint

        # What is shown may be older than what was saved last.
        await edit_voice(self, desk, await desk.voice.read(), self._voice_saved)

    def _voice_saved(self, saved: bool | None) -> None:  # noqa: FBT001 - Textual hands it over so
        if saved:
            self.app.notify("The voice is kept. Drafts that are written from now on follow it.")
            self.read()

    def _ask_zone(self, zone: str, value: str = "", wrong: CopydeskError | None = None) -> None:
        def answered(name: str | None) -> None:
            if name and name.strip() and name.strip() != zone:
                self.app.carry_out(lambda desk: self._set_zone(desk, zone, name.strip()), keys_wait=True)

        ask_zone(self, zone, answered, value, wrong)

    async def _set_zone(self, desk: "Desk", before: str, after: str) -> None:
        try:
            await desk.schedule.set_zone(after)
        except CopydeskError as error:
            self.app.call_later(self._ask_zone, before, after, error)
            return
        self.app.notify(f"Slots and times are on the clock of {after} from now on.")
        self.read_for_keys()


def _now(shown: str) -> str:
    """A moment as it is told, without how far it is from now."""
    return shown.partition(" (")[0]
