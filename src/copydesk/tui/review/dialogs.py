"""The dialogs of the review: filters, the editor of a draft's text, the time to schedule for, and "post now".

The editor shows the length of the text per platform, each counted by the platform's own rules, and what the checks
find in the text as it is typed.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace
from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static, TextArea

from copydesk.errors import CopydeskError
from copydesk.model.delivery import DeliveryReport
from copydesk.model.draft import Checks, Format, Severity
from copydesk.model.filters import MAX_TAGS, DraftView
from copydesk.model.source import Source
from copydesk.model.targets import TextLimit
from copydesk.text import clean, clean_lines
from copydesk.text.formatting import plural
from copydesk.text.thread import split_parts
from copydesk.tui import labels
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.dialogs.autosaved_form import AutosavedForm
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.dialogs.prompt import ConfirmDialog, PromptDialog
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.labels import SEVERITY
from copydesk.tui.layout import paragraph
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.terminal.cells import fit, safe_line
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.inputs import SafeTextArea
from copydesk.tui.widgets.key_hints import key_hints
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.lines import StaticLines, set_title
from copydesk.tui.widgets.narrowed_list import NarrowedList

GAP = Content("  ")


# Filter.


class FilterOption(NamedTuple):
    """A value that drafts can be filtered by; `kind` is "format", "source" or "tag"."""

    kind: str
    value: str
    name: str


class TabChange(NamedTuple):
    """A change of the user's own tabs; `kind` is "save", "rename", "remove", "left" or "right"."""

    kind: str
    view: DraftView
    """The view with the selected filters."""


_EXCLUSIVE_KINDS = frozenset({"format", "source"})
"""Kinds of which a filter has at most one option."""


class FilterDialog(Dialog[DraftView | TabChange | None], inherit_bindings=False):
    """Choose the filters of a tab; return the view with them, or None if the dialog is left.

    Return a `TabChange` if the user wants to save the filters as a tab, or to change the displayed `tab` of their own.
    """

    CSS_PATH = stylesheet_path("filters.tcss")
    WHERE = (KeyContext.LIST, KeyContext.FILTER)
    BINDINGS = bindings(KeyContext.FILTER)

    AUTO_FOCUS = "LineList"

    options: getters.query_one[LineList[FilterOption]] = getters.query_one(LineList)
    narrowed = getters.query_one(NarrowedList)

    def __init__(self, view: DraftView, sources: Sequence[Source], tags: Sequence[str], tab: str = "") -> None:
        super().__init__()
        self._view = view
        self._tab = clean(tab)
        self._selected: frozenset[FilterOption] = frozenset()
        self._is_untouched = not view.is_filtered
        """True until an option is toggled, if none was active before."""
        self._options = [
            *(FilterOption("format", kind.value, labels.FORMAT_NAMES[kind]) for kind in Format),
            *(FilterOption("source", source.id, source.name) for source in sources),
            FilterOption("agent", "agent", labels.FILTERED_BY_AGENT),
            *(FilterOption("tag", name, name) for name in tags),
        ]

    def compose(self) -> ComposeResult:
        yield NarrowedList(LineList(self._draw_option), labels.NARROW_PLACEHOLDER, id="filter")

    def _draw_option(self, option: FilterOption, width: int) -> Content:
        is_selected = option in self._selected
        left, right = "()" if option.kind in _EXCLUSIVE_KINDS else "[]"
        head = Content.assemble(
            (f"{left}{'x' if is_selected else ' '}{right} ", "accent" if is_selected else "dim"),
            (f"{option.kind:<7} ", "dim"),
        )
        return head + fit(safe_line(option.name), max(width - head.cell_length, 0))

    def on_mount(self) -> None:
        """Check the current filters and put the cursor on the first of them."""
        active = {("format", self._view.format), ("source", self._view.source_id)}
        active |= {("tag", tag) for tag in self._view.tags}
        active |= {("agent", "agent" if self._view.by_agent else None)}
        self._selected = frozenset(option for option in self._options if (option.kind, option.value) in active)
        first = next((index for index, option in enumerate(self._options) if option in self._selected), 0)
        self.options.show(self._options, first)
        set_title(self.options, labels.filter_title(self._tab))

    def action_take(self) -> None:
        """Toggle the option under the cursor.

        A new format or source replaces the old one; up to `MAX_TAGS` tags add up.
        """
        option = self.options.current
        if option is None:
            return
        self._is_untouched = False
        selected = self._selected - {option}
        if option not in self._selected:
            replaced = {option.kind} & _EXCLUSIVE_KINDS
            selected = frozenset(other for other in selected if other.kind not in replaced) | {option}
        if sum(other.kind == "tag" for other in selected) <= MAX_TAGS:
            self._selected = selected
            self.options.painter.redraw()

    @on(NarrowedList.Narrowed)
    def _show_matching(self) -> None:
        """Show the options with all typed words in their kind or name; hidden ones stay selected."""
        found = [option for option in self._options if self.narrowed.matches(f"{option.kind} {option.name}")]
        if found:
            self.options.show(found)
        else:
            self.options.show_note([paragraph(labels.NO_MATCH)])

    def action_narrow(self) -> None:
        """Type words that the options must contain."""
        self.narrowed.open_line()

    @on(Input.Submitted)
    def _take_first(self) -> None:
        """Enter after the typed words selects the option under the cursor and applies the filters."""
        if self.options.current is not None:
            if self.options.current not in self._selected:
                self.action_take()
            self.action_show()

    def on_line_list_opened(self) -> None:
        """Enter applies the filters, as `action_show` does."""
        self.action_show()

    def action_show(self) -> None:
        """Close with the selected filters.

        If none was selected or active before, filter by the option under the cursor: Enter alone is enough.
        """
        if self._is_untouched:
            self.action_take()
        self.close(self._selected_view())

    def _selected_view(self) -> DraftView:
        """Return the view with the selected filters."""
        by_kind = {option.kind: option.value for option in self._selected}
        kind = by_kind.get("format")
        tags = tuple(sorted(option.value for option in self._selected if option.kind == "tag"))
        changed = {"format": Format(kind) if kind else None, "source_id": by_kind.get("source"), "tags": tags}
        return replace(self._view, **changed, by_agent="agent" in by_kind)

    def action_save_tab(self) -> None:
        """Close in order to save the selected filters as a tab."""
        self.close(TabChange("save", self._selected_view()))

    def action_change_tab(self, kind: str) -> None:
        """Close in order to change the displayed tab, if it is one of the user's own."""
        if self._tab:
            self.close(TabChange(kind, self._selected_view()))

    def action_clear(self) -> None:
        """Uncheck all options."""
        self._is_untouched = False
        self._selected = frozenset()
        self.options.painter.redraw()

    def action_leave(self) -> None:
        """Show all options again; if they are shown, close without changing the filters."""
        if not self.narrowed.clear():
            self.close(None)


# Edit.


class EditRequest(NamedTuple):
    """The text to edit, and the callbacks that autosave, save and discard it."""

    title: str
    text: str
    format: Format
    limits: Sequence[TextLimit]
    """How long it may be on the platforms that the draft goes to, the tightest first."""
    autosave: Callable[[str], Awaitable[None]]
    """Write the typed text to the autosave file. Raises OSError."""
    save: Callable[[str], Awaitable[str]]
    """Save the text; return why it was refused, or an empty string."""
    discard_autosave: Callable[[], Awaitable[None]]
    """Delete the autosave file."""
    check: Callable[[str], Awaitable[Checks]]
    """Check the text without saving it."""
    unsaved_text: str | None = None
    """Text restored from an earlier autosave, or None."""
    notice: str = ""


def length_lines(text: str, format: Format, limits: Sequence[TextLimit], width: int) -> list[Content]:
    """Return the counts in lines of at most `width` cells.

    A text that is too long is marked in words, not by colour alone.
    """
    parts = split_parts(text) if format is Format.THREAD else [text]
    # Put the exceeded limits first: there may be no room for the rest.
    lengths = sorted(
        filter(None, (_platform_length(parts, limit) for limit in limits)), key=lambda found: found[0] <= 0
    )
    if format is Format.BLOG or not lengths:
        return [Content.styled(f"{plural(len(text.split()), 'word')}, {plural(len(text), 'character')}", "dim")]
    counts = [count for _, count in lengths]
    if format is Format.THREAD:
        counts.insert(0, Content.styled(plural(len(parts), "post"), "dim"))
    return _wrap(counts, width)


def _platform_length(parts: Sequence[str], limit: TextLimit) -> tuple[int, Content] | None:
    """Return the excess, and `X 257/280` or, for the longest post of a thread, `X 3: 291/280, 11 too long`."""
    from copydesk.desk.catalog import PLATFORMS  # noqa: PLC0415 - the first paint does without the desk

    info = PLATFORMS.get(limit.platform)
    if info is None:
        return None
    # A thread without text has no parts.
    counts = [info.count(part) for part in parts] or [0]
    longest = max(counts)
    position = f"{counts.index(longest) + 1}: " if len(counts) > 1 else ""
    label = f"{info.label} {position}{longest}/{limit.max_length}"
    excess = longest - limit.max_length
    if excess > 0:
        return excess, Content.styled(labels.length_over_limit(label, excess), "bad")
    return excess, Content.styled(label, "dim")


def _wrap(counts: Sequence[Content], width: int) -> list[Content]:
    lines: list[Content] = []
    for count in counts:
        if lines and lines[-1].cell_length + GAP.cell_length + count.cell_length <= width:
            lines[-1] = lines[-1] + GAP + count
        else:
            lines.append(count)
    return lines


class LengthLines(StaticLines):
    """The length of the text on each platform, wrapped to the widget's width."""

    def __init__(self) -> None:
        super().__init__(id="lengths")
        self._counted: tuple[str, Format, Sequence[TextLimit]] | None = None

    def show(self, text: str, format: Format, limits: Sequence[TextLimit]) -> None:
        """Count this text for `limits` and redraw."""
        self._counted = (text, format, limits)
        self.refresh()

    def clear(self) -> None:
        """Show no counts."""
        self._counted = None
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """Return the counts in as many lines as they take."""
        return length_lines(*self._counted, width) if self._counted is not None else []


CHECK_DELAY = 0.4
"""Seconds without a keystroke after which the text is checked."""
MAX_FINDINGS = 3
"""Findings listed below the text; the preview lists all of them."""


class FindingLines(StaticLines):
    """Errors and warnings of the text as it is typed, and its claims."""

    def __init__(self) -> None:
        super().__init__(id="edit-checks")
        self._checks = Checks()

    def show(self, checks: Checks) -> None:
        """Show the findings of `checks`, errors first."""
        self._checks = checks
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """Return a line per finding, and one for the claims."""
        severities = (Severity.ERROR, Severity.WARNING)
        findings = [found for severity in severities for found in self._checks.findings if found.severity is severity]
        lines = [
            Content.assemble((badge.letter, badge.role), " ", clean(found.message))
            for found in findings[:MAX_FINDINGS]
            for badge in (SEVERITY[found.severity],)
        ]
        if claims := labels.claims_summary(Counter(claim.verdict for claim in self._checks.claims)):
            lines.append(Content.styled(f"{labels.CLAIMS_HEADING}  {claims}", "dim"))
        return [line.truncate(width, ellipsis=True) for line in lines]


def text_end(text: str) -> tuple[int, int]:
    """Return line and column where one writes on: before the last lines, if these are links and hashtags."""
    lines = text.split("\n")
    rest = len(lines)
    while rest and all(word.startswith(("https://", "http://", "#")) for word in lines[rest - 1].split()):
        rest -= 1
    if not rest or not any(line.strip() for line in lines[rest:]):
        rest = len(lines)
    return rest - 1, len(lines[rest - 1].rstrip() if rest < len(lines) else lines[rest - 1])


class EditDialog(AutosavedForm, inherit_bindings=False):
    """The text editor: Ctrl+S saves, Esc leaves. Returns True if the text was saved."""

    CSS_PATH = stylesheet_path("deciding.tcss")
    WHERE = (KeyContext.EDIT,)
    BINDINGS = bindings(KeyContext.EDIT)
    AUTO_FOCUS = "#typing"
    NOTICE_SELECTOR = "#edit-notice"
    SAVE_ACTION = "edit.save"

    class Checked(Message):
        """A typed text has been checked."""

        def __init__(self, request: EditRequest, text: str, checks: Checks) -> None:
            super().__init__()
            self.request = request
            self.text = text
            self.checks = checks

    def __init__(self) -> None:
        super().__init__()
        self._request: EditRequest | None = None
        self._loaded = ""
        self._load_id = 0
        """Identifies the text that is loading or shown. Incremented on leaving, too, so that a text which arrives later
        is dropped."""
        self._check_timer: Timer | None = None
        self._checks = Coalescer(self._run_check)

    def compose(self) -> ComposeResult:
        with Vertical(id="edit"):
            yield Static(id="edit-title")
            yield SafeTextArea(id="typing", soft_wrap=True, tab_behavior="focus")
            yield Static(id="edit-notice")
            yield LengthLines()
            yield FindingLines()

    def start_loading(self) -> int:
        """Announce a text that is being loaded; return its id for `start` or `cancel_loading`."""
        self._load_id += 1
        return self._load_id

    def start(self, request: EditRequest, load_id: int) -> None:
        """Edit the text of `request`, unless the dialog was left while the text was loading."""
        if load_id == self._load_id:
            self._request = request
            self._load(request)

    def cancel_loading(self, load_id: int) -> None:
        """Close the dialog if the text with this id was not loaded."""
        if load_id == self._load_id and self._request is None:
            self._load_id += 1
            self.close(False)  # noqa: FBT003 - `dismiss` takes it by position

    def on_screen_resume(self) -> None:
        """Empty and lock the editor until the text has been loaded."""
        if self._request is None:
            # Still locked since the previous text was saved, and a locked form cannot be left.
            self.set_editable(editable=True)
            self.query_one(SafeTextArea).read_only = True
            self.query_one(SafeTextArea).load_text("")
            self.query_one(LengthLines).clear()
            self.query_one(FindingLines).show(Checks())
            self.query_one("#edit-title", Static).update(Content("…"))
            self.show_notice("")

    def _load(self, request: EditRequest) -> None:
        text = request.text if request.unsaved_text is None else request.unsaved_text
        self._loaded = clean_lines(text)
        self.query_one("#edit-title", Static).update(Content(clean(request.title)))
        # The text area cannot show control characters; `clean_lines` dropped them from what is edited here.
        hidden_notice = labels.hidden_characters() if self._loaded != text else ""
        self.show_notice(" ".join(part for part in (request.notice, hidden_notice) if part))
        area = self.query_one(SafeTextArea)
        area.read_only = False
        area.load_text(self._loaded)
        area.move_cursor(text_end(self._loaded))
        self._update_lengths()
        self._submit_check()

    def _schedule_check(self) -> None:
        if self._check_timer is not None:
            self._check_timer.stop()
        self._check_timer = self.set_timer(CHECK_DELAY, self._submit_check)

    def _submit_check(self) -> None:
        request, text = self._request, self._text
        if request is not None:
            self.app.run_desk_task(lambda _: self._checks.submit((request, text)))

    async def _run_check(self, typed: tuple[EditRequest, str]) -> None:
        request, text = typed
        self.post_message(self.Checked(request, text, await request.check(text)))

    @on(Checked)
    def _show_findings(self, message: Checked) -> None:
        # The text may have been changed or left while it was checked.
        if message.request is self._request and message.text == self._text:
            self.query_one(FindingLines).show(message.checks)

    def _update_lengths(self) -> None:
        if self._request is not None:
            self.query_one(LengthLines).show(self._text, self._request.format, self._request.limits)

    @property
    def _text(self) -> str:
        return self.query_one(SafeTextArea).text

    @property
    def has_changes(self) -> bool:
        """Return True if leaving the editor would lose something, including a restored autosave."""
        request = self._request
        return request is not None and (self._text != self._loaded or request.unsaved_text is not None)

    @property
    def is_waiting(self) -> bool:
        """Return True while the text is loading or being saved."""
        return self._request is None or super().is_waiting

    @on(TextArea.Changed)
    def _typed(self) -> None:
        self._update_lengths()
        self._schedule_check()
        # Loading the text counts as a change for Textual, but there is nothing to autosave.
        if self._text != self._loaded:
            self.schedule_autosave()

    async def autosave(self) -> None:
        """Write the text to the autosave file. Raise OSError if that fails."""
        if self._request is not None:
            await self._request.autosave(self._text)

    async def action_save(self) -> None:
        """Save, once the text is loaded."""
        if self._request is not None:
            await super().action_save()

    async def save(self) -> str:
        """Save the text. Return why it was refused, or an empty string."""
        return await self._request.save(self._text) if self._request is not None else ""

    async def discard_autosave(self) -> None:
        """Delete the autosave file in the background and drop the request."""
        self._load_id += 1
        if self._check_timer is not None:
            self._check_timer.stop()
        if self._request is not None:
            # Queued behind the writes in progress, and completed even if the console is closing.
            discard = self._request.discard_autosave
            self.app.enqueue_write(lambda _: discard())
        self._request = None


# Schedule and post.


class ParsedTime(NamedTuple):
    """The interpretation of a typed time, or why it cannot be parsed."""

    message: str
    is_valid: bool


class TimePrompt(PromptDialog):
    """A line with its interpretation below it; Enter accepts it once it can be parsed. `parse` parses it."""

    app = getters.app(DeskApp)

    def __init__(self, question: str, parse: Callable[[str], Awaitable[ParsedTime]]) -> None:
        super().__init__(question, hint=labels.TIME_EXAMPLES)
        self._parse = parse
        self._parser = Coalescer(self._update_meaning)

    @on(Input.Changed)
    def _parse_typed(self, event: Input.Changed) -> None:
        self.app.run_desk_task(lambda _: self._parser.submit(event.value))

    async def _update_meaning(self, text: str) -> None:
        self._show_meaning(await self._parse(text) if text.strip() else ParsedTime(labels.TIME_EXAMPLES, is_valid=True))

    def _show_meaning(self, meaning: ParsedTime) -> None:
        if not self.is_attached:  # closed while the time was parsed
            return
        style = "$success" if meaning.is_valid else "$warning"
        hint = self.query_one(".-hint", Static)
        is_example = meaning.message == labels.TIME_EXAMPLES
        hint.update(Content(meaning.message) if is_example else Content.styled(clean(meaning.message), style))

    @on(Input.Submitted)
    def _submit_parsed(self, event: Input.Submitted) -> None:
        # Parse once more before answering: the interpretation on the screen may belong to an earlier keystroke.
        event.prevent_default()
        self.app.run_desk_task(lambda _: self._answer_if_valid(event.value), hold_keys=Hold.FORM)

    async def _answer_if_valid(self, text: str) -> None:
        meaning = await self._parse(text)
        if meaning.is_valid:
            self.close(text)
        else:
            self._show_meaning(meaning)


class PostPlan(NamedTuple):
    """The question to confirm, and warnings. `possible` is False if the draft cannot be posted now."""

    question: str
    warnings: Sequence[str] = ()
    possible: bool = True
    resend: DeliveryReport | None = None
    """The delivery to send again, instead of posting to other accounts."""


class PostDialog(ConfirmDialog):
    """A yes counts only once the target accounts are on the screen.

    If posting is refused for one reason, the dialog closes with a toast that says it.
    """

    app = getters.app(DeskApp)

    def __init__(self, load_plan: Callable[[], Awaitable[PostPlan]]) -> None:
        super().__init__(labels.POST_QUESTION)
        self._load_plan = load_plan
        self.plan: PostPlan | None = None
        """What is asked; None until it is loaded."""
        self._loaded = False
        self._ready = False

    def compose(self) -> ComposeResult:
        with Vertical(id="ask"):
            yield Static(Content(labels.POST_LOADING), classes="-question")
            yield Static(Content(""), classes="-warning")
            yield Static(key_hints("yes", {"no": labels.CANCEL}), classes="-hint")

    @property
    def is_waiting(self) -> bool:
        """Return True until the question can be answered with yes."""
        return not self._ready

    def on_mount(self) -> None:
        """Load the plan."""
        self.app.run_desk_task(lambda _: self._show())

    async def _show(self) -> None:
        try:
            plan = await self._load_plan()
        except CopydeskError as error:
            plan = PostPlan(self.app.name_keys(str(error)), possible=False)
        # The dialog may have been closed while the plan was loading.
        if not self.is_attached:
            return
        if not plan.possible and not plan.warnings:
            # Nothing is asked, and the key that the reason names works on the screen below.
            self.close(result=False)
            self.app.notify(plan.question, severity="warning")
            return
        self.query_one(".-question", Static).update(Content(clean(plan.question)))
        self.query_one(".-warning", Static).update(Content("\n".join(clean(warning) for warning in plan.warnings)))
        self.query_one(".-hint", Static).update(
            key_hints("yes", {"yes": labels.SEND_AGAIN if plan.resend else labels.POST_YES, "no": labels.CANCEL})
            if plan.possible
            else key_hints("yes", {"no": labels.POST_NOT_POSSIBLE})
        )
        self.plan, self._loaded, self._ready = plan, True, plan.possible

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001 - Textual passes it by position
        """Close with the answer; a yes does not count until the plan is shown."""
        if not yes or self._ready:
            self.close(yes)
        elif not self._loaded:
            self.query_one(".-question", Static).update(Content(labels.POST_TOO_EARLY))
