"""The voice form, with a sample beside it: a real item as the offline writer renders it with the values in the form,
and what the change does to recent items. A chosen language model is asked only on request, because it costs money.

The form is autosaved while typing, and restored when it is opened again. Its state and its request to the desk are
pure functions of the fields.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from copydesk.editor import user_autosave
from copydesk.errors import CopydeskError
from copydesk.model.draft import Format
from copydesk.model.serialization import to_json_value
from copydesk.model.voice import Emoji, Link, Voice, VoiceComparison, VoicePreview
from copydesk.model.writer import OFFLINE
from copydesk.text import clean, clean_lines
from copydesk.tui import labels
from copydesk.tui.dialogs.autosaved_form import AutosavedForm, AutosavedText
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.layout import Block, paragraph
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.setup.pages import import_page, voice_comparison_page, voice_sample_page
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.inputs import Choice, SafeInput, SafeTextArea, describe_refusal, with_label
from copydesk.tui.widgets.key_hints import KeyHints
from copydesk.tui.widgets.lines import set_title
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.delivery import ConnectedAccount
    from copydesk.tui.desk_screen import DeskScreen


NUMBERS = ("maxLength", "maxParts", "targetWords", "hashtags")
SETTINGS = (*NUMBERS, "emoji", "link", "instructions")
EXAMPLE_SEPARATOR = "\n---\n"
# Three or more hyphens alone on a line.
_SEPARATOR_LINE = re.compile(r"(?:^|\n)[^\S\n]*-{3,}[^\S\n]*(?=\n|\Z)")
# The same with a backslash before the hyphens, as in Markdown: a line of a post.
_UNESCAPED_LINE = re.compile(r"^([^\S\n]*)(\\*-{3,}[^\S\n]*)$", re.MULTILINE)
_ESCAPED_LINE = re.compile(r"^([^\S\n]*)\\(\\*-{3,}[^\S\n]*)$", re.MULTILINE)

_SETTING_FIELD = re.compile(r"formats\.(\w+)\.(\w+)")

FormatSettings = Mapping[str, str]
"""The settings of one format by name; an empty text means the default."""


class VoiceFields(NamedTuple):
    """The values of the form fields."""

    style: str
    avoid: str
    """One word or phrase per line."""
    examples: str
    """Posts separated by lines of hyphens; a line of hyphens in a post has a backslash before it."""
    formats: Mapping[Format, FormatSettings]
    hashtag_list: str = ""
    """One hashtag per line."""


class VoiceSession(NamedTuple):
    """The voice to edit, and the callbacks that autosave the form."""

    voice: Voice
    save: Callable[[VoiceFields], Awaitable[None]]
    """Autosaves the form; raises OSError."""
    discard: Callable[[], Awaitable[None]]
    """Deletes the autosaved form."""
    restored: VoiceFields | None = None
    """The autosaved form of an earlier session."""
    notice: str = ""
    writer: str = OFFLINE
    """Name of the writer that is asked first."""


def dump_fields(fields: VoiceFields) -> str:
    """Encode the form as stored in its autosave file."""
    return msgspec.json.encode(fields).decode()


def parse_fields(text: str) -> VoiceFields | None:
    """Decode an autosave file into values that are safe to display; None for a file in another format."""
    try:
        entered = msgspec.json.decode(text, type=VoiceFields)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return VoiceFields(
        style=clean_lines(entered.style),
        avoid=clean_lines(entered.avoid),
        examples=clean_lines(entered.examples),
        formats={
            draft_format: {name: _valid_setting(entered, draft_format, name) for name in SETTINGS}
            for draft_format in Format
        },
        hashtag_list=clean_lines(entered.hashtag_list),
    )


def _valid_setting(entered: VoiceFields, draft_format: Format, name: str) -> str:
    """Return the value of a setting, or an empty string if it cannot be typed in the form."""
    # The file may come from another version of Copydesk, or have been edited by hand.
    value = clean(entered.formats.get(draft_format, {}).get(name, ""))
    choices = {"emoji": Emoji, "link": Link}.get(name)
    invalid = (name in NUMBERS and not (value.isascii() and value.isdigit())) or (choices and value not in set(choices))
    return "" if invalid else value


def voice_fields(voice: Voice) -> VoiceFields:
    """Return the form values of an existing voice, safe to display in the fields."""
    return VoiceFields(
        style=clean_lines(voice.style),
        avoid="\n".join(clean(phrase) for phrase in voice.avoid),
        examples=EXAMPLE_SEPARATOR.join(
            _UNESCAPED_LINE.sub(r"\1\\\2", clean_lines(example)) for example in voice.examples
        ),
        formats={draft_format: _settings(voice, draft_format) for draft_format in Format},
        hashtag_list="\n".join(clean(tag) for tag in voice.hashtag_list),
    )


def build_voice_update(voice: Voice, fields: VoiceFields) -> dict[str, object]:
    """Return the request that updates `voice` as JSON values; it contains only fields that were edited."""
    request: dict[str, object] = {}
    # Compare with the form before, not with the voice: cleaning a text for display is not an edit.
    initial = voice_fields(voice)
    if fields.style.strip() != initial.style.strip():
        request["style"] = fields.style.strip()
    if fields.avoid != initial.avoid:
        request["avoid"] = [line.strip() for line in fields.avoid.split("\n") if line.strip()]
    if fields.hashtag_list != initial.hashtag_list:
        request["hashtagList"] = [line.strip() for line in fields.hashtag_list.split("\n") if line.strip()]
    if fields.examples != initial.examples:
        pieces = _SEPARATOR_LINE.split(fields.examples)
        request["examples"] = [_ESCAPED_LINE.sub(r"\1\2", piece).strip() for piece in pieces if piece.strip()]
    if fields.formats != initial.formats:
        request["formats"] = {
            kind.value: _edited_settings(_stored_settings(voice, kind), initial.formats[kind], settings)
            for kind, settings in fields.formats.items()
        }
    return request


def _stored_settings(voice: Voice, draft_format: Format) -> Mapping[str, object]:
    wire = to_json_value(voice.format_settings(draft_format))
    assert isinstance(wire, Mapping)
    return wire


def _settings(voice: Voice, draft_format: Format) -> FormatSettings:
    wire = _stored_settings(voice, draft_format)
    return {name: clean(str(wire[name])) if name in wire else "" for name in SETTINGS}


def _edited_settings(
    stored: Mapping[str, object], initial: FormatSettings, settings: FormatSettings
) -> dict[str, object]:
    """Return the settings of a format as JSON values, those that were not edited as stored."""
    unchanged = {name: value for name, value in stored.items() if settings[name] == initial[name]}
    edited = {name: value.strip() for name, value in settings.items() if value != initial[name] and value.strip()}
    return unchanged | {name: int(value) if name in NUMBERS else value for name, value in edited.items()}


SAMPLE_DELAY = 0.6
"""Seconds without a keystroke after which a new sample is written."""
_CHOICES = {
    name: {"": labels.VOICE_DEFAULT} | {value.value: value.value for value in kind}
    for name, kind in (("emoji", Emoji), ("link", Link))
}
VOICE = "voice"
"""Name of the installed voice screen, of the autosave folder, and of the file in it."""


class SampleRequest(NamedTuple):
    """A sample to write; `changes` are those of the form against the saved voice."""

    desk: "Desk"
    changes: dict[str, object]
    format: Format
    writer: str
    """Name of the writer to ask."""
    edit_id: int
    """`VoiceDialog._edit_id` at the time of the request: a sample of an earlier edit is dropped."""


class Sample(NamedTuple):
    """A sample as it is shown."""

    title: str
    blocks: Sequence[Block]


class VoiceDialog(AutosavedForm, inherit_bindings=False):
    """The voice form: Ctrl+S saves, Esc leaves. Returns True if the voice was saved."""

    CSS_PATH = stylesheet_path("setup.tcss")
    WHERE = (KeyContext.VOICE,)
    BINDINGS = bindings(KeyContext.VOICE)
    # `_load` sets the focus; this one would scroll the label of the first field out of a small terminal.
    AUTO_FOCUS = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (150, "-wide")]
    NOTICE_SELECTOR = "#voice-wrong"
    SAVE_ACTION = "voice.save"

    sample_pane = getters.query_one("#tried", Page)

    class SampleReady(Message, bubble=False):
        """A sample was written, or failed with `error`."""

        def __init__(
            self,
            request: SampleRequest,
            sample: VoicePreview | None = None,
            compared: Sequence[VoiceComparison] = (),
            error: CopydeskError | None = None,
        ) -> None:
            super().__init__()
            self.request = request
            self.sample = sample
            self.compared = compared
            self.error = error

    def __init__(self) -> None:
        super().__init__()
        self._request: VoiceSession | None = None
        self._edit_id = 0
        self._voice = Voice()
        """The voice as saved."""
        self._formats = {kind: dict(settings) for kind, settings in voice_fields(self._voice).formats.items()}
        self._format = Format.SHORT
        self._sample_timer: Timer | None = None
        self._samples = Coalescer(self._write_sample)
        # Apart from the others: they would replace a request to a language model that waits, or wait for its answer.
        self._model_samples = Coalescer(self._write_sample)
        self._model_sample: Sample | None = None
        """What a language model was asked for last; shown until another one is asked for."""
        self._typed_sample: Sample | None = None
        """The offline writer's sample of what was typed since."""

    def compose(self) -> ComposeResult:
        with Vertical(id="voice"):
            yield Static(Content(labels.VOICE_TITLE), id="voice-title")
            with Container(id="voice-body"):
                with VerticalScroll(id="voice-form", can_focus=False):
                    yield from self._fields()
                yield Page(id="tried")
            yield Static(Content(""), id="voice-wrong")
            yield KeyHints("voice", labels.VOICE_KEYS, id="voice-keys")

    def _fields(self) -> Iterable[Widget]:
        for name, label in labels.VOICE_FIELDS.items():
            yield Static(Content(label), classes="-label")
            yield SafeTextArea(id=name, soft_wrap=True, tab_behavior="focus")
        formats = {kind.value: name for kind, name in labels.FORMAT_NAMES.items()}
        yield with_label("format", Choice(formats, Format.SHORT, id="format"))
        for name in NUMBERS:
            number = SafeInput(
                placeholder=labels.VOICE_PLACEHOLDERS[name],
                id=name,
                restrict="[0-9]*",
                max_length=6,
                select_on_focus=False,
            )
            yield with_label(labels.VOICE_SETTINGS.get(name, name), number)
        for name, choices in _CHOICES.items():
            yield with_label(name, Choice(choices, "", id=name))
        yield with_label("instructions", SafeInput(id="instructions", max_length=5000, select_on_focus=False))

    def start(self, request: VoiceSession) -> None:
        """Load `request` into the form, at once or when the form is mounted."""
        self._request = request
        self._edit_id += 1
        if self.is_mounted:
            self._load(request)

    def on_mount(self) -> None:
        """Load the request that was passed before the form was mounted."""
        set_title(self.sample_pane, labels.VOICE_PREVIEW)
        if self._request is not None:
            self._load(self._request)

    def _load(self, request: VoiceSession) -> None:
        self.set_editable(editable=True)
        self._voice = request.voice
        self._model_sample = self._typed_sample = None
        values = request.restored or voice_fields(request.voice)
        for name in labels.VOICE_FIELDS:
            self.query_one(f"#{name}", SafeTextArea).load_text(getattr(values, name))
        self._formats = {kind: dict(settings) for kind, settings in values.formats.items()}
        self._load_format(self._format)
        self.show_notice(request.notice)
        self.query_one("#style").focus(scroll_visible=False)
        self.query_one("#voice-form").scroll_home(animate=False)
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
    def entered(self) -> VoiceFields:
        """Return the current values of the fields, for all formats."""
        texts = {name: self.query_one(f"#{name}", SafeTextArea).text for name in labels.VOICE_FIELDS}
        return VoiceFields(**texts, formats=self._formats)

    @property
    def _changes(self) -> dict[str, object]:
        return build_voice_update(self._voice, self.entered)

    @property
    def has_changes(self) -> bool:
        """Return True if leaving the form would lose something."""
        return bool(self._changes)

    async def autosave(self) -> None:
        """Write the fields to the autosave file. Raise OSError if that fails."""
        if self._request is not None:
            await self._request.save(self.entered)

    @on(TextArea.Changed)
    def _follow_text(self) -> None:
        self._schedule_updates()

    @on(Input.Changed)
    def _follow_input(self, event: Input.Changed) -> None:
        self._formats[self._format][str(event.input.id)] = event.value
        self._schedule_updates()

    @on(Choice.Changed)
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
        if self.has_changes:
            self.schedule_autosave()

    def _schedule_sample(self) -> None:
        if self._sample_timer is not None:
            self._sample_timer.stop()
        self._sample_timer = self.set_timer(SAMPLE_DELAY, self._request_sample)

    def _request_sample(self, writer: str = OFFLINE) -> None:
        if self.app.desk is not None:
            request = SampleRequest(self.app.desk, self._changes, self._format, writer, self._edit_id)
            samples = self._samples if writer == OFFLINE else self._model_samples
            self.app.run_desk_task(lambda _: samples.submit(request))

    async def _write_sample(self, request: SampleRequest) -> None:
        voice, changes, kind = request.desk.voice, request.changes, request.format
        try:
            if request.writer != OFFLINE:
                self.post_message(self.SampleReady(request, compared=await voice.compare(changes, kind)))
                return
            sample = await voice.preview(changes, kind)
            compared = await voice.compare(changes, kind, offline=True) if changes else ()
            self.post_message(self.SampleReady(request, sample, compared))
        except CopydeskError as error:
            self.post_message(self.SampleReady(request, error=error))

    @on(SampleReady)
    def _show_sample(self, message: SampleReady) -> None:
        request = message.request
        # Samples for an earlier edit or for another format arrive too late; what a model wrote was paid for.
        if request.edit_id != self._edit_id or (request.writer == OFFLINE and request.format is not self._format):
            return
        if message.error is None:
            written = message.sample or next(iter(message.compared), None)
            sample = Sample(_sample_title(request, written), self._sample_blocks(message))
        else:
            # The title may still name the format of an earlier sample.
            refusal = clean(describe_refusal(message.error, self.label_of))
            sample = Sample(labels.VOICE_PREVIEW, [paragraph(refusal, "warn")])
        if request.writer == OFFLINE:
            self._typed_sample = sample
        else:
            self._model_sample = sample
        self._show_samples()

    def _show_samples(self) -> None:
        """Show what the language model wrote, and below it the sample of what was typed since."""
        first, *others = [sample for sample in (self._model_sample, self._typed_sample) if sample is not None]
        blocks = [*first.blocks]
        for sample in others:
            blocks += [paragraph(), paragraph(sample.title, "strong"), *sample.blocks]
        set_title(self.sample_pane, first.title)
        self.sample_pane.show_more(blocks)

    def _sample_blocks(self, message: SampleReady) -> list[Block]:
        blocks = voice_sample_page(message.sample) if message.sample else []
        if message.compared:
            blocks += [*([paragraph()] if blocks else []), *voice_comparison_page(message.compared)]
        if message.sample and self._writer != OFFLINE:
            blocks += [paragraph(), paragraph(labels.voice_preview_hint(clean(self._writer)), "dim")]
        return blocks

    @property
    def _writer(self) -> str:
        """Name of the writer that is asked first."""
        return self._request.writer if self._request is not None else OFFLINE

    def action_try_now(self) -> None:
        """Write a sample without waiting; with a language model, if one is chosen."""
        if self._sample_timer is not None:
            self._sample_timer.stop()
        if self._writer != OFFLINE:
            waits = paragraph(labels.voice_preview_waits(clean(self._writer)), "dim")
            self._model_sample, self._typed_sample = Sample(labels.VOICE_PREVIEW, [waits]), None
            self._show_samples()
        self._request_sample(self._writer)

    async def action_save(self) -> None:
        """Save if anything was changed; otherwise close."""
        if self.has_changes:
            await super().action_save()
        else:
            await self.finish(saved=False)

    async def save(self) -> str:
        """Update the desk's voice. Return an empty string; the desk's errors are raised."""
        if self.app.desk is not None:
            await self.app.desk.voice.update(self._changes)
        return ""

    def label_of(self, field: str) -> str:
        """Return the label of a field: `hashtag 2` for `hashtagList[1]`, `thread, max posts` for a setting."""
        if setting := _SETTING_FIELD.fullmatch(field):
            return f"{labels.FORMAT_NAMES[Format(setting[1])]}, {labels.VOICE_SETTINGS.get(setting[2], setting[2])}"
        name, _, index = field.rstrip("]").partition("[")
        return (
            f"{labels.VOICE_ENTRIES.get(name, name)} {int(index) + 1}" if index else labels.VOICE_LISTS.get(name, name)
        )

    async def discard_autosave(self) -> None:
        """Delete the autosave file and drop the request. Raise OSError if the file cannot be deleted."""
        if self._sample_timer is not None:
            self._sample_timer.stop()
            self._sample_timer = None
        # Drop the request before awaiting: the form may be started again while the file is being deleted.
        request, self._request = self._request, None
        if request is not None:
            await request.discard()


def _sample_title(request: SampleRequest, written: VoicePreview | VoiceComparison | None) -> str:
    writer = written.writer if written else request.writer
    return labels.voice_preview_title(labels.FORMAT_NAMES[request.format], clean(writer))


class ImportDialog(Dialog[bool], inherit_bindings=False):
    """The posts that an import adds to the examples; return True to add them."""

    CSS_PATH = stylesheet_path("deciding.tcss")
    WHERE = (KeyContext.PAGE, KeyContext.POST_IMPORT)
    BINDINGS = bindings(KeyContext.POST_IMPORT)

    def __init__(self, posts: Sequence[str], title: str) -> None:
        super().__init__()
        self._posts = posts
        self._title = title

    def compose(self) -> ComposeResult:
        yield Page(import_page(self._posts), id="reading")

    def on_mount(self) -> None:
        set_title(self.query_one(Page), self._title)

    def action_save(self) -> None:
        """Close, and add the posts."""
        self.close(result=True)

    def action_leave(self) -> None:
        """Close without adding any."""
        self.close()


async def import_posts(base: "DeskScreen", account: "ConnectedAccount", desk: "Desk") -> None:
    """Read the posts of an account, show those that would be added to the examples, and add them on a yes."""
    found = await desk.accounts.list_posts(account.id)
    new = await desk.voice.find_new_examples(found)
    if not new:
        nothing = labels.posts_not_new(len(found)) if found else labels.posts_not_found(account.label)
        base.app.notify(nothing, severity="warning")
        return

    async def add(desk: "Desk") -> None:
        imported = await desk.voice.import_posts(msgspec.json.encode(new).decode())
        base.app.notify(labels.examples_added(imported.added))
        base.refresh_for_keys()

    def add_if_confirmed(yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
        if yes:
            base.app.enqueue_write(add, hold_keys=Hold.RESULT)

    title = labels.posts_import_title(account.label, len(new), len(found))
    base.app.push_if_current(base, ImportDialog(new, title), add_if_confirmed)


async def edit_voice(
    base: "DeskScreen", desk: "Desk", voice: "Voice", callback: "Callable[[bool | None], None]"
) -> None:
    """Open the voice form, or continue with what was typed and not saved."""
    app, autosave = base.app, AutosavedText(user_autosave(desk, VOICE), VOICE)
    saved, writer = await autosave.load(), (await desk.writers.list()).writers[0].name
    typed = parse_fields(saved.text) if saved else None

    async def save(entered: VoiceFields) -> None:
        await autosave.save(dump_fields(entered))

    notice = labels.restored_text(saved.saved_at, app.clock()) if saved and typed else ""
    if not app.is_screen_installed(VOICE):
        app.install_screen(VoiceDialog(), VOICE)
    screen = app.get_screen(VOICE)
    assert isinstance(screen, VoiceDialog)
    if app.push_if_current(base, screen, callback):
        screen.start(VoiceSession(voice, save, autosave.delete, typed, notice, writer))
