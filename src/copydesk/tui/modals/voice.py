"""The voice form, with a sample beside it: a real item as the writer renders it with the values in the form."""

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
"""Seconds without a keystroke after which a new sample is written."""
AS_IT_COMES = "as it comes"
_HINTS = {
    "maxLength": "of a post at most, 40 and more",
    "maxParts": "of a thread at most, 2 to 25",
    "targetWords": "of a blog post, 50 and more",
    "hashtags": "0 to 5",
}
_CHOICES = {
    name: {"": AS_IT_COMES} | {value.value: value.value for value in kind}
    for name, kind in (("emoji", Emoji), ("link", Link))
}


class Wish(NamedTuple):
    """A sample to write; `changes` are those of the form against the saved voice."""

    desk: "Desk"
    changes: dict[str, object]
    format: Format
    editing: int
    """`VoiceDialog._edit_id` at the time of the request: a sample of an earlier edit is dropped."""


class VoiceScreen(TypedForm, inherit_bindings=False):
    """The voice form: Ctrl+s saves, Esc leaves. Returns True if the voice was saved."""

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
        """A sample was written, or failed with `error`."""

        def __init__(self, wish: Wish, tried: Tried | None, error: CopydeskError | None = None) -> None:
            super().__init__()
            self.wish = wish
            self.tried = tried
            self.error = error

    def __init__(self) -> None:
        super().__init__()
        self._request: ToVoice | None = None
        self._edit_id = 0
        self._saved_values = voice_entered(Voice())
        self._formats = {kind: dict(settings) for kind, settings in self._saved_values.formats.items()}
        self._format = Format.SHORT
        self._sample_timer: Timer | None = None
        self._samples = Latest(self._write_sample)

    def compose(self) -> ComposeResult:
        with Vertical(id="voice"):
            yield Static(Content("How you write"), id="voice-title")
            with Container(id="voice-body"):
                with VerticalScroll(id="voice-form", can_focus=False):
                    yield from self._fields()
                yield Page(id="tried")
            yield Static(Content(""), id="voice-wrong")
            key_labels = {"save": "keeps it", "next": "next", "try": "tries it now", "leave": "leaves"}
            yield SaidKeys("voice", key_labels, id="voice-keys")

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
        for name, labels in _CHOICES.items():
            yield labelled(name, Choice(labels, "", id=name))
        yield labelled("instructions", TypingLine(id="instructions", max_length=5000, select_on_focus=False))

    def begin(self, asked: ToVoice) -> None:
        """Load `request` into the form, at once or when the form is mounted."""
        self._request = asked
        self._edit_id += 1
        if self.is_mounted:
            self._load(asked)

    def on_mount(self) -> None:
        """Load the request that was passed before the form was mounted."""
        self.tried.set_title("Tried on an item of yours")
        if self._request is not None:
            self._load(self._request)

    def _load(self, request: ToVoice) -> None:
        self.take_in(typing=True)
        self._saved_values = voice_entered(request.voice)
        values = request.typed or self._saved_values
        for name in ("style", "avoid", "examples"):
            self.query_one(f"#{name}", Typing).load_text(getattr(values, name))
        self._formats = {kind: dict(settings) for kind, settings in values.formats.items()}
        self._load_format(self._format)
        self.notice(request.notice)
        self.query_one("#style").focus()
        self._request_sample()

    def _load_format(self, kind: Format) -> None:
        self._format = kind
        self.query_one("#format", Choice).value = kind.value
        settings = self._formats[kind]
        for field in self.query(Input):
            # Otherwise every field would request a sample of a half-loaded form.
            with field.prevent(Input.Changed):
                field.value = settings[str(field.id)]
        for name in _CHOICES:
            self.query_one(f"#{name}", Choice).value = settings[name]

    @property
    def entered(self) -> VoiceEntered:
        """Return the current values of the fields, for all formats."""
        texts = {name: self.query_one(f"#{name}", Typing).text for name in ("style", "avoid", "examples")}
        return VoiceEntered(**texts, formats=self._formats)

    @property
    def _changes(self) -> dict[str, object]:
        return voice_changes(self._saved_values, self.entered)

    @property
    def changed(self) -> bool:
        """Return True if leaving the form would lose something."""
        return bool(self._changes)

    async def keep(self) -> None:
        """Write the fields to the autosave file. Raise OSError if that fails."""
        if self._request is not None:
            await self._request.keep(self.entered)

    @on(TextArea.Changed)
    def _follow_text(self) -> None:
        self._schedule_updates()

    @on(Input.Changed)
    def _follow_input(self, event: Input.Changed) -> None:
        self._formats[self._format][str(event.input.id)] = event.value
        self._schedule_updates()

    @on(Choice.Turned)
    def _follow_choice(self) -> None:
        kind = Format(self.query_one("#format", Choice).value)
        # Load the other format first: the choices below then hold its values, not those of the previous format.
        if kind is not self._format:
            self._load_format(kind)
        for name in _CHOICES:
            self._formats[kind][name] = self.query_one(f"#{name}", Choice).value
        self._schedule_updates()

    def _schedule_updates(self) -> None:
        """Schedule an autosave and a new sample."""
        self._schedule_sample()
        if self.changed:
            self.keep_later()

    def _schedule_sample(self) -> None:
        if self._sample_timer is not None:
            self._sample_timer.stop()
        self._sample_timer = self.set_timer(TRY_AFTER, self._request_sample)

    def _request_sample(self) -> None:
        if self.app.desk is not None:
            request = Wish(self.app.desk, self._changes, self._format, self._edit_id)
            self.app.ask(lambda _: self._samples.wish(request))

    async def _write_sample(self, request: Wish) -> None:
        try:
            self.post_message(self.TriedOut(request, await request.desk.voice.try_out(request.changes, request.format)))
        except CopydeskError as error:
            self.post_message(self.TriedOut(request, None, error))

    @on(TriedOut)
    def _show_sample(self, message: TriedOut) -> None:
        kind = message.wish.format
        # Samples for an earlier edit or for another format arrive too late.
        if message.wish.editing != self._edit_id or kind is not self._format:
            return
        if message.tried is not None:
            self.tried.set_title(f"{kind.value} by the {clean(message.tried.writer)} writer, of an item of yours")
            self.tried.show_more(tried_page(message.tried))
        elif message.error is not None:
            self.tried.show([plain(clean(str(message.error)), "warn")])

    def action_try_now(self) -> None:
        """Write a sample without waiting."""
        self._request_sample()

    async def action_save(self) -> None:
        """Save if anything was changed; otherwise close."""
        if self.changed:
            await super().action_save()
        else:
            await self.end(saved=False)

    async def save(self) -> str:
        """Update the desk's voice. Return an empty string; the desk's errors are raised."""
        if self.app.desk is not None:
            await self.app.desk.voice.update(self._changes)
        return ""

    async def forget(self) -> None:
        """Delete the autosave file and drop the request. Raise OSError if the file cannot be deleted."""
        if self._sample_timer is not None:
            self._sample_timer.stop()
            self._sample_timer = None
        # Drop the request before awaiting: the form may be started again while the file is being deleted.
        request, self._request = self._request, None
        if request is not None:
            await request.forget()
