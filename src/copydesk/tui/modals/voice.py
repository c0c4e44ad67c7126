"""The form of the voice; beside it what the writer makes of a real item with the voice as it stands in the form."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from copydesk.errors import CopydeskError
from copydesk.model.draft import Format
from copydesk.model.voice import Emoji, Link, Tried, Voice
from copydesk.text import clean
from copydesk.tui.keys import Where, bindings
from copydesk.tui.latest import Latest
from copydesk.tui.layout import plain
from copydesk.tui.modals.typed_form import TypedForm
from copydesk.tui.pages.setup import tried_page
from copydesk.tui.styles import sheet
from copydesk.tui.voice_entry import CALLED, NUMBERS, ToVoice, VoiceEntered, voice_changes, voice_entered
from copydesk.tui.widgets.choice import Choice
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.page import Page
from copydesk.tui.widgets.said_keys import SaidKeys
from copydesk.tui.widgets.typing import Typing, TypingLine, labelled

if TYPE_CHECKING:
    from copydesk.desk import Desk

TRY_AFTER = 0.6
"""Seconds without a key after which the voice is tried."""
AS_IT_COMES = "as it comes"
_HINTS = {
    "maxLength": "of a post at most, 40 and more",
    "maxParts": "of a thread at most, 2 to 25",
    "targetWords": "of a blog post, 50 and more",
    "hashtags": "0 to 5",
}
_WORDS = {
    name: {"": AS_IT_COMES} | {each.value: each.value for each in kind}
    for name, kind in (("emoji", Emoji), ("link", Link))
}


class Wish(NamedTuple):
    """What is to be tried."""

    desk: "Desk"
    changes: dict[str, object]
    format: Format
    editing: int
    """The how manieth time that the voice is edited here."""


class VoiceScreen(TypedForm, inherit_bindings=False):
    """Ctrl+s keeps it, Esc leaves; True where it was kept."""

    CSS_PATH = sheet("setup.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.VOICE,)
    BINDINGS = bindings(Where.VOICE)
    AUTO_FOCUS = "#style"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (150, "-wide")]
    NOTICE = "#voice-wrong"
    SAVE = "voice.save"
    LEAVING = "Leave, and lose what you changed?"

    tried = getters.query_one("#tried", Page)

    class TriedOut(Message, bubble=False):
        """What the writer made of it, or why it could not be tried."""

        def __init__(self, wish: Wish, tried: Tried | None, error: CopydeskError | None = None) -> None:
            super().__init__()
            self.wish = wish
            self.tried = tried
            self.error = error

    def __init__(self) -> None:
        super().__init__()
        self._asked: ToVoice | None = None
        self._editing = 0
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
            yield SaidKeys("voice", does, id="voice-keys")

    def _fields(self) -> Iterable[Widget]:
        for name, label in (
            ("style", "style, in words"),
            ("avoid", "never: a word or phrase a line"),
            ("examples", "posts of yours, --- between them"),
        ):
            yield Static(Content(label), classes="-label")
            yield Typing(id=name, soft_wrap=True, tab_behavior="focus")
        yield labelled("format", Choice({kind.value: kind.value for kind in Format}, Format.SHORT, id="format"))
        for name in NUMBERS:
            number = TypingLine(
                placeholder=_HINTS[name], id=name, restrict="[0-9]*", max_length=6, select_on_focus=False
            )
            yield labelled(CALLED.get(name, name), number)
        for name, words in _WORDS.items():
            yield labelled(name, Choice(words, "", id=name))
        yield labelled("instructions", TypingLine(id="instructions", max_length=5000, select_on_focus=False))

    def begin(self, asked: ToVoice) -> None:
        """Edit this from now on."""
        self._asked = asked
        self._editing += 1
        if self.is_mounted:
            self._load(asked)

    def on_mount(self) -> None:
        """Show what is to be edited."""
        self.tried.set_title("Tried on an item of yours")
        if self._asked is not None:
            self._load(self._asked)

    def _load(self, asked: ToVoice) -> None:
        self.take_in(typing=True)
        self._begun = voice_entered(asked.voice)
        shown = asked.typed or self._begun
        for name in ("style", "avoid", "examples"):
            self.query_one(f"#{name}", Typing).load_text(getattr(shown, name))
        self._formats = {kind: dict(settings) for kind, settings in shown.formats.items()}
        self._load_format(self._shown)
        self.notice(asked.notice)
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

    @property
    def changed(self) -> bool:
        """Whether there is anything to lose."""
        return bool(self._changes)

    async def keep(self) -> None:
        """Keep what stands there in its file; OSError."""
        if self._asked is not None:
            await self._asked.keep(self.entered)

    @on(TextArea.Changed)
    def _typed(self) -> None:
        self._follow()

    @on(Input.Changed)
    def _set(self, event: Input.Changed) -> None:
        self._formats[self._shown][str(event.input.id)] = event.value
        self._follow()

    @on(Choice.Turned)
    def _turned(self) -> None:
        kind = Format(self.query_one("#format", Choice).value)
        if kind is not self._shown:
            self._load_format(kind)
        for name in _WORDS:
            self._formats[kind][name] = self.query_one(f"#{name}", Choice).value
        self._follow()

    def _follow(self) -> None:
        """Keep it and try it, not while somebody types."""
        self._try_later()
        if self.changed:
            self.keep_later()

    # What comes of it.

    def _try_later(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(TRY_AFTER, self._try)

    def _try(self) -> None:
        if self.app.desk is not None:
            wish = Wish(self.app.desk, self._changes, self._shown, self._editing)
            self.app.ask(lambda _: self._trying.wish(wish))

    async def _try_out(self, wish: Wish) -> None:
        try:
            self.post_message(self.TriedOut(wish, await wish.desk.voice.try_out(wish.changes, wish.format)))
        except CopydeskError as error:
            self.post_message(self.TriedOut(wish, None, error))

    @on(TriedOut)
    def _show_tried(self, message: TriedOut) -> None:
        kind = message.wish.format
        if message.wish.editing != self._editing or kind is not self._shown:
            return
        if message.tried is not None:
            self.tried.set_title(f"{kind.value} by the {clean(message.tried.writer)} writer, of an item of yours")
            self.tried.show_more(tried_page(message.tried))
        elif message.error is not None:
            self.tried.show([plain(clean(str(message.error)), "warn")])

    # The end.

    def action_try_now(self) -> None:
        """Try it without waiting."""
        self._try()

    async def action_save(self) -> None:
        """Keep it, where there is anything to keep."""
        if self.changed:
            await super().action_save()
        else:
            await self.end(saved=False)

    async def save(self) -> str:
        """Have the desk keep it; why not, or nothing."""
        if self.app.desk is not None:
            await self.app.desk.voice.update(self._changes)
        return ""

    async def forget(self) -> None:
        """What was kept is not wanted; OSError."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        asked, self._asked = self._asked, None
        if asked is not None:
            await asked.forget()
