"""The form of a source: a new one, which shows what it would bring before it is saved, or one that is there."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from copydesk.errors import CopydeskError
from copydesk.model.source import Source, SourceType
from copydesk.text import clean
from copydesk.tui.asking import Asked
from copydesk.tui.cells import cell
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import Where, bindings
from copydesk.tui.layout import Block, plain
from copydesk.tui.modals.over import Over
from copydesk.tui.pages.source import trial_page
from copydesk.tui.source_entry import SEARCHED, Entered, Place, changes, entered_of, type_of
from copydesk.tui.source_messages import PlaceTried, SourceRefused, SourceSaved
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.choice import Choice
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.page import Page
from copydesk.tui.widgets.said_keys import Prose, said_key
from copydesk.tui.widgets.typing import TypingLine
from copydesk.tui.words import SOURCE

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.sources import Tried

LONGEST = 4000
"""Characters of a field."""
_HINTS = {
    "url": "https://example.org, or its feed",
    "name": "as it calls itself",
    "query": "words to search for",
    "weight": "1; from 0 to 10, how much it counts in the ranking",
    "interval": "minutes between fetches; learnt from the source",
    "include": "words, /expressions/: one must be in it",
    "exclude": "words, /expressions/: none may be in it",
    "tags": "put on every draft made of it",
}
_ALL_THE_SAME = "saves it all the same"
_LABELS = {"url": "address", "query": "search"}


class SourceForm(Over[Source | None], inherit_bindings=False):
    """Fields, a line that says what is next, and the entries that were found. Gives the source that was saved."""

    CSS_PATH = sheet("sources.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.SOURCE_FORM,)
    BINDINGS = bindings(Where.SOURCE_FORM)
    NEW: ClassVar = ("url", "query", "name")
    OLD: ClassVar = ("name", "url", "query", "weight", "interval", "include", "exclude", "tags")

    app = getters.app(DeskApp)

    def __init__(self, source: Source | None = None) -> None:
        super().__init__()
        self._source = source
        self._begun = entered_of(source) if source else Entered(Place(SourceType.RSS, ""), "")
        self._chosen = source is not None
        """Whether the user said the type; until then the address does."""
        self._tried: tuple[Place, Tried] | None = None
        self._busy = False
        self._reading: Asked | None = None
        self._leaving = False

    def compose(self) -> ComposeResult:
        """The title, the fields, what is next, what was found."""
        title = f"Edit {clean(self._source.name)}" if self._source else "New source"
        with Vertical(id="form"):
            yield Static(Content(title), classes="-question")
            yield from self._fields()
            yield Prose(id="next")
            yield Page(id="found")

    def _fields(self) -> Iterable[Widget]:
        values = self._begun._asdict() | {"url": self._begun.place.url, "query": self._begun.place.query}
        for name in self.OLD if self._source else self.NEW:
            typed = TypingLine(
                values[name], placeholder=_HINTS[name], id=name, max_length=LONGEST, select_on_focus=False
            )
            yield Horizontal(Static(_LABELS.get(name, name), classes="-label"), typed, id=f"{name}-line")
            if name == "url" and self._source is None:
                words = {kind.value: SOURCE[kind] for kind in SourceType}
                choice = Choice(words, self._begun.place.type, id="type")
                yield Horizontal(Static("type", classes="-label"), choice)

    def on_mount(self) -> None:
        """Begin with the first field."""
        self._show_search()
        self._forget_found()
        self._say_next()
        self.query_one(Input).focus()

    # What is typed.

    @property
    def _entered(self) -> Entered:
        texts = {str(typed.id): typed.value.strip() for typed in self.query(Input)}
        url, query = texts.pop("url"), texts.pop("query")
        place = Place(self._type, url, query if self._type in SEARCHED else "")
        return self._begun._replace(place=place, **texts)

    @property
    def _type(self) -> SourceType:
        return self._source.type if self._source else SourceType(self.query_one(Choice).value)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        if event.input.id == "url" and not self._chosen:
            self.query_one(Choice).value = type_of(event.value.strip())
        self._show_search()
        self._leaving = False
        self._forget_found()
        self._say_next()

    @on(Choice.Turned)
    def _turned(self) -> None:
        self._chosen = True
        self._show_search()
        self._forget_found()
        self._say_next()

    def _forget_found(self) -> None:
        """What was found elsewhere is not shown."""
        if self._tried is None or self._tried[0] != self._entered.place:
            self.query_one("#found").display = False

    def _show_search(self) -> None:
        self.query_one("#query-line").display = self._type in SEARCHED

    # What is next.

    def _say_next(self) -> None:
        entered, leaves = self._entered, said_key("source_form.leave", "leaves")
        if self._busy:
            self._say("Reading it …", role="accent")
        elif not entered.place.url:
            self._say("Type its address. ", leaves, ".")
        elif self._is_read(entered.place):
            self._say(said_key("source_form.go_on", "saves it"), ". ", leaves, ".", role="good")
        elif self._tried is not None and self._tried[0] == entered.place:
            again, saves = said_key("source_form.go_on", "tries again"), said_key("source_form.save", _ALL_THE_SAME)
            self._say(again, ", ", saves, ", ", leaves, ".", role="warn")
        else:
            reads = said_key("source_form.go_on", "reads it once, to show what it holds")
            self._say(reads, ". ", leaves, ".")

    def _say(self, *words: str | Content, role: str = "dim") -> None:
        line = self.query_one("#next", Prose)
        line.set_classes(f"-{role}")
        line.update(Content.assemble(*words))

    def _is_read(self, place: Place) -> bool:
        """Whether what stands there was read, now or before."""
        if self._source is not None and place == self._begun.place:
            return True
        return self._tried is not None and self._tried[0] == place and self._tried[1].ok

    @on(Input.Submitted)
    def action_go_on(self) -> None:
        """Test what was not tested; else save."""
        place = self._entered.place
        if self._busy or not place.url or self.app.desk is None:
            return
        if self._is_read(place):
            self.action_save()
            return
        self._busy = True
        self._say_next()
        self._reading = self.app.ask(lambda desk: self._try(desk, place), ended=self._done)

    def _done(self) -> None:
        """What was asked for last has ended, whatever came of it."""
        self._busy = False

    async def _try(self, desk: "Desk", place: Place) -> None:
        try:
            result = await desk.sources.try_out(place.type, place.url, config=place.config)
        except Exception as error:
            self._refuse(error)
        else:
            self.post_message(PlaceTried(place, result))

    def _refuse(self, error: Exception) -> None:
        """Say it in the form; what nobody expected goes on to whoever tells it."""
        known = isinstance(error, CopydeskError)
        self.post_message(SourceRefused(str(error) if known else "That went wrong."))
        if not known:
            raise error

    @on(PlaceTried)
    def _show_tried(self, message: PlaceTried) -> None:
        """Unless another address stands there by now: what was found elsewhere is not shown."""
        self._tried = (message.place, message.result)
        if message.place == self._entered.place:
            self._show_found(trial_page(message.result))
            if message.result.title:
                self.query_one("#name", Input).placeholder = cell(message.result.title)
        self._say_next()

    @on(SourceRefused)
    def _show_refusal(self, message: SourceRefused) -> None:
        self._say_next()
        self._show_found([plain(cell(message.why), "bad")])

    def _show_found(self, blocks: Sequence[Block]) -> None:
        page = self.query_one("#found", Page)
        page.display = True
        page.show(blocks)

    # The end.

    def action_save(self) -> None:
        """Save it, tested or not."""
        entered = self._entered
        if entered.place.url and not self._busy and self.app.desk is not None:
            self._busy, self._reading = True, None
            self.app.ask(lambda desk: self._save(desk, entered), keys_wait=True, ended=self._done)

    async def _save(self, desk: "Desk", entered: Entered) -> None:
        try:
            saved = await self._change(desk, self._source, entered) if self._source else await self._add(desk, entered)
        except Exception as error:
            self._refuse(error)
        else:
            self.post_message(SourceSaved(saved))

    async def _add(self, desk: "Desk", entered: Entered) -> Source:
        place = entered.place
        found = self._tried[1] if self._tried and self._tried[0] == place else None
        url, title = (found.url, found.title) if found else (place.url, "")
        name = entered.name or clean(title).strip()[:200] or None
        return await desk.sources.create(place.type, url, name=name, config=place.config, test=False)

    async def _change(self, desk: "Desk", source: Source, entered: Entered) -> Source:
        found = self._tried[1].url if self._tried and self._tried[0] == entered.place else entered.place.url
        asked = changes(source, entered, found)
        return await desk.sources.update(source.id, asked, test=False) if asked else source

    @on(SourceSaved)
    def _end(self, message: SourceSaved) -> None:
        self.close(message.source)

    def action_leave(self) -> None:
        """Leave; where something was typed the second time only."""
        if self._busy and self._reading is None:
            self._say("It is being saved …", role="accent")
            return
        if self._leaving or self._entered == self._begun:
            if self._reading is not None:
                self._reading.cancel()
            self.close(None)
            return
        self._leaving = True
        self._say(said_key("source_form.leave", "again throws away what you typed"), ".", role="warn")

    def action_next_field(self) -> None:
        """The next one."""
        self.focus_next()

    def action_previous_field(self) -> None:
        """The one before."""
        self.focus_previous()
