"""The form of the voice; beside it what the writer makes of a real item with the voice as it stands in the form."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from copydesk.errors import CopydeskError
from copydesk.model.draft import Format
from copydesk.model.voice import Emoji, Link, Tried, Voice
from copydesk.text import clean
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import Where, bindings
from copydesk.tui.latest import Latest
from copydesk.tui.layout import plain
from copydesk.tui.modals.ask import YesScreen
from copydesk.tui.modals.edit import Typing
from copydesk.tui.naming import said
from copydesk.tui.pages.setup import tried_page
from copydesk.tui.styles import sheet
from copydesk.tui.voice_entry import NUMBERS, VoiceEntered, voice_changes, voice_entered
from copydesk.tui.widgets.choice import Choice
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk

TRY_AFTER = 0.6
"""Seconds without a key after which the voice is tried."""
AS_IT_COMES = "as it comes"
_HINTS = {
    "maxLength": "characters of a post, 40 and more",
    "maxParts": "posts of a thread, 2 to 25",
    "targetWords": "words of a blog post, 50 and more",
    "hashtags": "0 to 5",
}
_WORDS = {
    name: {"": AS_IT_COMES} | {each.value: each.value for each in kind}
    for name, kind in (("emoji", Emoji), ("link", Link))
}
Wish = tuple["Desk", dict[str, object], Format]


class VoiceScreen(ModalScreen[bool], inherit_bindings=False):
    """Ctrl+s keeps it, Esc leaves; True where it was kept.

    There is one for the whole console, for Textual keeps every text area that there ever was.
    """

    CSS_PATH = sheet("setup.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.VOICE,)
    BINDINGS = bindings(Where.VOICE)
    AUTO_FOCUS = "#style"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (150, "-wide")]

    app = getters.app(DeskApp)
    tried = getters.query_one("#tried", Page)

    class TriedOut(Message, bubble=False):
        """What the writer made of it, or why it could not be tried."""

        def __init__(self, tried: Tried | None, error: CopydeskError | None = None) -> None:
            super().__init__()
            self.tried = tried
            self.error = error

    class Kept(Message, bubble=False):
        """The desk has it, or it does not."""

        def __init__(self, error: CopydeskError | None = None) -> None:
            super().__init__()
            self.error = error

    def __init__(self) -> None:
        super().__init__()
        self._begun = voice_entered(Voice())
        self._formats = {kind: dict(settings) for kind, settings in self._begun.formats.items()}
        self._shown = Format.SHORT
        self._timer: Timer | None = None
        self._trying = Latest(self._try_out)

    def compose(self) -> ComposeResult:
        """The fields, and what comes of them."""
        with Vertical(id="voice"):
            yield Static(Content("How you write"), id="voice-title")
            with Container(id="voice-body"):
                with VerticalScroll(id="voice-form", can_focus=False):
                    yield from self._fields()
                yield Page(id="tried")
            yield Static(Content(""), id="voice-wrong")
            does = {"save": "keeps it", "next": "next", "try": "tries it now", "leave": "leaves"}
            yield Static(Content(said("voice", does)), id="voice-keys")

    def _fields(self) -> Iterable[Widget]:
        for name, label in (
            ("style", "style, in words"),
            ("avoid", "never: a word or phrase a line"),
            ("examples", "posts of yours, --- between them"),
        ):
            yield Static(Content(label), classes="-label")
            yield Typing(id=name, soft_wrap=True, tab_behavior="focus")
        yield _line("format", Choice({kind.value: kind.value for kind in Format}, Format.SHORT, id="format"))
        for name in NUMBERS:
            number = Input(placeholder=_HINTS[name], id=name, restrict="[0-9]*", max_length=6, select_on_focus=False)
            yield _line(name, number)
        for name, words in _WORDS.items():
            yield _line(name, Choice(words, "", id=name))
        yield _line("instructions", Input(id="instructions", max_length=5000, select_on_focus=False))

    def begin(self, voice: Voice) -> None:
        """Edit this from now on."""
        self._begun = voice_entered(voice)
        if self.is_mounted:
            self._load()

    def on_mount(self) -> None:
        """Show what is to be edited."""
        self.tried.set_title("Tried on an item of yours")
        self._load()

    def _load(self) -> None:
        for name in ("style", "avoid", "examples"):
            self.query_one(f"#{name}", Typing).load_text(getattr(self._begun, name))
        self._formats = {kind: dict(settings) for kind, settings in self._begun.formats.items()}
        self._load_format(self._shown)
        self._wrong("")
        self.query_one("#style").focus()
        self._try()

    def _load_format(self, kind: Format) -> None:
        self._shown = kind
        self.query_one("#format", Choice).value = kind.value
        settings = self._formats[kind]
        for field in self.query(Input):
            with field.prevent(Input.Changed):
                field.value = settings[str(field.id)]
        for name in _WORDS:
            self.query_one(f"#{name}", Choice).value = settings[name]

    # What is typed.

    @property
    def entered(self) -> VoiceEntered:
        """What stands in the fields."""
        texts = {name: self.query_one(f"#{name}", Typing).text for name in ("style", "avoid", "examples")}
        return VoiceEntered(**texts, formats=self._formats)

    @property
    def _changes(self) -> dict[str, object]:
        return voice_changes(self._begun, self.entered)

    @on(TextArea.Changed)
    def _typed(self) -> None:
        self._try_later()

    @on(Input.Changed)
    def _set(self, event: Input.Changed) -> None:
        safe = clean(event.value)
        if safe != event.value:
            event.input.value = safe
            return
        self._formats[self._shown][str(event.input.id)] = safe
        self._try_later()

    @on(Choice.Turned)
    def _turned(self) -> None:
        kind = Format(self.query_one("#format", Choice).value)
        if kind is not self._shown:
            self._load_format(kind)
        for name in _WORDS:
            self._formats[kind][name] = self.query_one(f"#{name}", Choice).value
        self._try_later()

    # What comes of it.

    def _try_later(self) -> None:
        """Not while somebody types."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(TRY_AFTER, self._try)

    def _try(self) -> None:
        if self.app.desk is not None:
            wish = (self.app.desk, self._changes, self._shown)
            self.app.ask(lambda _: self._trying.wish(wish))

    async def _try_out(self, wish: Wish) -> None:
        desk, changes, kind = wish
        try:
            self.post_message(self.TriedOut(await desk.voice.try_out(changes, kind)))
        except CopydeskError as error:
            self.post_message(self.TriedOut(None, error))

    @on(TriedOut)
    def _show_tried(self, message: TriedOut) -> None:
        top = self.tried.scroll_offset.y
        if message.tried is not None:
            self.tried.set_title(
                f"{self._shown.value} by the {clean(message.tried.writer)} writer, of an item of yours"
            )
            self.tried.show(tried_page(message.tried))
            self.tried.scroll_to(y=top, animate=False)
        elif message.error is not None:
            self.tried.show([plain(clean(str(message.error)), "warn")])

    # The end.

    def action_try_now(self) -> None:
        """Try it without waiting."""
        self._try()

    def action_save(self) -> None:
        """Keep it."""
        if not self._changes:
            self._end(kept=False)
        else:
            self.app.ask(partial(self._save, self._changes), keys_wait=True)

    async def _save(self, changes: Mapping[str, object], desk: "Desk") -> None:
        try:
            await desk.voice.update(changes)
        except CopydeskError as error:
            self.post_message(self.Kept(error))
        else:
            self.post_message(self.Kept())

    @on(Kept)
    def _heard(self, message: Kept) -> None:
        if message.error is None:
            self._end(kept=True)
        else:
            self._wrong(str(message.error))

    def _end(self, *, kept: bool) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self.dismiss(kept)

    def _wrong(self, words: str) -> None:
        self.query_one("#voice-wrong", Static).update(Content(clean(words)))

    def action_leave(self) -> None:
        """Leave it; where something would be lost, ask."""
        if self._changes:
            self.app.push_screen(YesScreen("Leave, and lose what you changed?"), self._left)
        else:
            self._end(kept=False)

    def _left(self, yes: bool | None) -> None:  # noqa: FBT001 - Textual hands it over so
        if yes:
            self._end(kept=False)

    def action_next_field(self, by: int) -> None:
        """The next field, or the one before."""
        if by > 0:
            self.focus_next()
        else:
            self.focus_previous()


def _line(label: str, field: Widget) -> Horizontal:
    return Horizontal(Static(Content(label), classes="-label"), field, classes="-line")
