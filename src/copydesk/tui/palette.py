"""The command palette: the actions of every screen, and drafts and sources by name."""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.worker import Worker, WorkerState

from copydesk.errors import CopydeskError
from copydesk.text import clean
from copydesk.tui import labels
from copydesk.tui.keys import SCREEN_NAMES, Key, KeyContext, format_keys
from copydesk.tui.runtime.key_buffer import Hold, TypeAhead
from copydesk.tui.setup.pages import Section

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft

MAX_DRAFTS = 10
MAX_NAME_LENGTH = 60
"""Characters of a draft's text that identify it."""
OFFERED_ELSEWHERE = frozenset(
    {
        "review.undo",
        "review.redo",
        "review.run",
        "review.cancel_run",
        "review.why",
        "schedule.auto",
        "schedule.zone",
        "schedule.accept_clock",
        "sources.new",
        "sources.import",
        "sources.export",
        "experiments.new",
        "engagement.fetch",
        "setup.connect",
    }
)
"""Actions that are offered on other screens too: they do not act on a row, which the user would not see there."""
SYNONYMS: Mapping[str, str] = {
    "console.review": "queue inbox",
    "console.schedule": "calendar week",
    "console.sources": "feeds rss subscriptions delete remove",
    "console.engagement": "metrics statistics analytics likes",
    "console.setup": "settings preferences configuration options",
    "console.help": "help shortcuts keyboard bindings",
    "console.log": "errors messages notifications",
    "console.quit": "exit close",
    "console.compose": "create compose",
    "review.archive": "delete remove trash",
    "review.post": "publish send",
    "review.run": "fetch generate update",
    "schedule.zone": "timezone",
    "sources.new": "feed rss subscribe url",
    "setup.connect": "login log in sign in password platform webhook bluesky mastodon linkedin threads wordpress"
    " llm openai anthropic ollama provider",
    "setup.remove": "delete log out sign out",
}
"""Other words by which users look for an action."""
SECTION_SYNONYMS: Mapping[Section, str] = {
    Section.ACCOUNTS: "login log in sign in password platforms credentials",
    Section.VOICE: "style tone examples hashtags emoji import posts",
    Section.LEARNING: "confidence preference forget reset",
    Section.WRITERS: "model llm ai api key cost price budget spending",
    Section.RANKING: "interests filters weights score",
    Section.RULES: "block avoid rejections",
    Section.LOCATIONS: "settings configuration proxy database backup doctor check folder",
}
"""The sections of Setup that are offered as pages, with words for what they show. The time zone is an action."""
THEME_SYNONYMS = "colors colours dark light appearance contrast"
_WHOLE_WORDS, _BEGINNINGS, _SYNONYMS, _PARTS, _PURPOSE, _INITIALS = 4.0, 3.0, 2.5, 2.0, 1.5, 1.0
"""Scores of a match of all words of the query, in a title, in its synonyms or in what a shell command is for; and of
its letters as beginnings of words."""


class Match(NamedTuple):
    """A query found in a text."""

    score: float
    offsets: tuple[int, ...]
    """Of the characters to highlight."""


class Command(NamedTuple):
    """An action as listed in the palette."""

    title: str
    keys: str
    run: Callable[[], object]
    refusal: str = ""
    """Why it does nothing to what the screen shows."""
    synonyms: str = ""
    """Other words that find it."""
    synonym_score: float = _SYNONYMS

    @property
    def aside(self) -> str:
        """What stands beside the title: the keys, and why it does nothing."""
        return f"{self.keys}  {self.refusal}" if self.refusal else self.keys

    def match(self, query: str) -> Match | None:
        """Return where the query is in the title; no offsets if its words are found with the help of synonyms."""
        found = match_words(query, self.title)
        # "engagement" means the screen, and only then the actions that it has.
        if found is not None and max(found.offsets) < self.title.find(": "):
            found = found._replace(score=min(found.score, self.synonym_score))
        words, text = query.split(), f"{self.title} {self.synonyms}"
        if (found is not None and found.score > self.synonym_score) or not words:
            return found
        begin_words = all(re.search(rf"\b{re.escape(word)}", text, re.IGNORECASE) for word in words)
        return Match(self.synonym_score, ()) if begin_words else found


class PaletteApp(Protocol):
    """The console, as far as the palette calls it."""

    desk: "Desk | None"
    keys: tuple[Key, ...]
    type_ahead: TypeAhead

    @property
    def current_mode(self) -> str: ...
    def run_key_action(self, key: Key) -> None: ...
    def action_change_theme(self) -> None: ...
    def is_key_offered(self, key_id: str) -> bool: ...
    def key_refusal(self, key_id: str) -> str: ...
    def show_draft(self, draft_id: str) -> None: ...
    def show_source(self, source_id: str) -> None: ...
    def show_setup_section(self, section: Section) -> None: ...
    def show_shell_command(self, name: str) -> None: ...


def list_commands(app: PaletteApp) -> Iterable[Command]:
    """Yield the actions of the current screen, then global ones, then those of other screens; no cursor movement.

    An action that works on the selected row is offered only on its own screen.
    """
    current = app.current_mode.upper()
    order = [current, KeyContext.CONSOLE.name, *(name.upper() for name in SCREEN_NAMES if name.upper() != current)]
    used_titles: set[str] = set()
    for key in sorted(
        (key for key in app.keys if key.context.name in order), key=lambda key: order.index(key.context.name)
    ):
        is_here = key.context.name in (current, KeyContext.CONSOLE.name)
        title = key.description if is_here else f"{key.context.value}: {key.description}"
        if title not in used_titles and (app.is_key_offered(key.id) if is_here else key.id in OFFERED_ELSEWHERE):
            used_titles.add(title)
            refusal = app.key_refusal(key.id) if is_here else ""
            synonyms = SYNONYMS.get(key.id, "")
            yield Command(title, format_keys(key)[0], partial(app.run_key_action, key), refusal, synonyms)
    for section, words in SECTION_SYNONYMS.items():
        yield Command(f"{labels.SETUP_TITLE}: {section}", "", partial(app.show_setup_section, section), "", words)
    yield Command(labels.CHANGE_THEME, "", app.action_change_theme, "", THEME_SYNONYMS)


def list_shell_commands(app: PaletteApp) -> Iterable[Command]:
    """Yield the commands for what the console has no key for. They are found, but not listed before a search."""
    for name, purpose in labels.SHELL_COMMANDS.items():
        yield Command(f"copydesk {name}", purpose, partial(app.show_shell_command, name), "", purpose, _PURPOSE)


def match_words(query: str, text: str) -> Match | None:
    """Return where the query is in the text, None if it is not.

    Words rank above beginnings of words, these above parts of words, and those above letters that begin words. Letters
    that are scattered do not match: some are in nearly every text.
    """
    words = query.split()
    if not words:
        return None
    matches = [match for word in words if (match := _find_word(word, text))]
    if len(matches) == len(words):
        offsets = {offset for match in matches for offset in range(match.start, match.start + match.length)}
        # Earlier words break ties, so that an action that begins with the query comes first.
        score = min(match.score for match in matches) - matches[0].start / (len(text) + 1) / 2
        return Match(score, tuple(sorted(offsets)))
    initials = _find_initials("".join(words), text)
    return Match(_INITIALS, initials) if initials else None


class _WordMatch(NamedTuple):
    score: float
    start: int
    length: int


def _find_word(word: str, text: str) -> _WordMatch | None:
    """Return the best occurrence of a word, the first one among equals."""
    escaped = re.escape(word)
    for score, pattern in ((_WHOLE_WORDS, rf"\b{escaped}\b"), (_BEGINNINGS, rf"\b{escaped}"), (_PARTS, escaped)):
        if match := re.search(pattern, text, re.IGNORECASE):
            return _WordMatch(score, match.start(), match.end() - match.start())
    return None


def _find_initials(letters: str, text: str) -> tuple[int, ...]:
    """Return the offsets of letters that begin words or follow each other: `npa` in `Next Pane`. Empty for no match."""
    # Letter by letter, so that the offsets are those of the text.
    text, letters = "".join(letter.lower()[:1] for letter in text), letters.lower()
    starts = [match.start() for match in re.finditer(r"\b\w", text)]
    # By the offset of the last letter found: the offsets of all of them.
    paths: dict[int, tuple[int, ...]] = {-1: ()}
    for letter in letters:
        following: dict[int, tuple[int, ...]] = {}
        for last, path in paths.items():
            for at in (*([last + 1] if path else []), *(start for start in starts if start > last)):
                if text[at : at + 1] == letter:
                    following.setdefault(at, (*path, at))
        paths = following
    return min(paths.values(), default=())


class Palette(CommandPalette):
    """Textual's palette, whose keys wait for the search of the whole text typed.

    Its list is filled by a worker: Enter right after the last letter would run what fewer letters have found.
    """

    TYPES_WHILE_LOADING = True

    def __init__(self) -> None:
        super().__init__(id="--command-palette")
        self._search: Worker[object] | None = None
        """The latest one, which replaces all others."""
        self._hold = ExitStack()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Hold keys from the start of a search until its hits are listed, or another search replaces it."""
        if event.state is WorkerState.RUNNING:
            # A search that was cancelled before its first step never reports its end: the next one ends its hold.
            self._hold.close()
            self._search = event.worker
            self._hold = cast("PaletteApp", self.app).type_ahead.start_hold(Hold.DATA)
        elif event.worker is self._search:
            self._hold.close()

    def on_unmount(self) -> None:
        """Release the keys of a search that closing has cancelled."""
        self._hold.close()


class CommandProvider(Provider):
    """Textual's source of palette entries."""

    @property
    def _console(self) -> PaletteApp:
        return cast("PaletteApp", self.app)

    async def discover(self) -> Hits:
        """Yield every action, before anything is typed."""
        for command in list_commands(self._console):
            line = _line(Content(command.title), command.aside, dimmed=bool(command.refusal))
            yield DiscoveryHit(line, command.run, text=command.title)

    async def search(self, query: str) -> Hits:
        """Yield the actions, sources and drafts that match the query."""
        for command in (*list_commands(self._console), *list_shell_commands(self._console)):
            if match := command.match(query):
                line = _line(_highlight(command.title, match), command.aside, dimmed=bool(command.refusal))
                yield Hit(match.score, line, command.run, text=command.title)
        if (desk := self._console.desk) is not None:
            async for hit in self._sources(desk, query):
                yield hit
            async for hit in self._drafts(desk, query):
                yield hit

    async def _sources(self, desk: "Desk", query: str) -> Hits:
        for source in await desk.sources.list():
            name = clean(source.name)
            if match := match_words(query, name):
                line = _line(_highlight(name, match), labels.PALETTE_SOURCE)
                yield Hit(match.score, line, partial(self._console.show_source, source.id), text=name)

    async def _drafts(self, desk: "Desk", query: str) -> Hits:
        drafts: Iterable[ListedDraft] = ()
        with suppress(CopydeskError):  # a half-typed query need not be valid
            drafts = (await desk.drafts.search(query, half_typed=True, limit=MAX_DRAFTS)).items
        for draft in drafts:
            text = clean(draft.text)
            name = text if len(text) <= MAX_NAME_LENGTH else f"{text[: MAX_NAME_LENGTH - 1].rstrip()}…"
            # The desk's search has matched all words, but some may be further down in the text.
            match = max(match_words(query, name) or _IN_TEXT, _IN_TEXT)
            line = _line(_highlight(name, match), labels.palette_draft(draft))
            yield Hit(match.score, line, partial(self._console.show_draft, draft.id), text=name)


_IN_TEXT = Match(_PARTS, ())


def _line(title: Content, aside: str, *, dimmed: bool = False) -> Content:
    if dimmed:
        title = title.stylize("$text-muted")
    return Content.assemble(title, (f"  {aside}" if aside else "", "$text-muted"))


def _highlight(text: str, match: Match) -> Content:
    content = Content(text)
    for offset in match.offsets:
        content = content.stylize("bold underline", offset, offset + 1)
    return content
