"""The command palette: the actions of every screen, and drafts and sources by name."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.fuzzy import Matcher

from copydesk.errors import CopydeskError
from copydesk.text import clean
from copydesk.tui import labels
from copydesk.tui.keys import SCREEN_NAMES, Key, KeyContext, format_keys

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft

MAX_DRAFTS = 10
MAX_NAME_LENGTH = 60
"""Characters of a draft's text that identify it."""
_BEST_SCORE = 1.0


class Command(NamedTuple):
    """An action as listed in the palette."""

    title: str
    keys: str
    run: Callable[[], object]


class PaletteApp(Protocol):
    """The console, as far as the palette calls it."""

    desk: "Desk | None"
    keys: tuple[Key, ...]

    @property
    def current_mode(self) -> str: ...
    def run_key_action(self, key: Key) -> None: ...
    def action_change_theme(self) -> None: ...
    def show_draft(self, draft_id: str) -> None: ...
    def show_source(self, source_id: str) -> None: ...


def list_commands(app: PaletteApp) -> Iterable[Command]:
    """Yield the actions of the current screen, then global ones, then those of other screens; no cursor movement."""
    current = app.current_mode.upper()
    order = [current, KeyContext.CONSOLE.name, *(name.upper() for name in SCREEN_NAMES if name.upper() != current)]
    used_titles: set[str] = set()
    for key in sorted(
        (key for key in app.keys if key.context.name in order), key=lambda key: order.index(key.context.name)
    ):
        title = _title(key, current)
        if title not in used_titles:
            used_titles.add(title)
            yield Command(title, format_keys(key)[0], partial(app.run_key_action, key))
    yield Command(labels.CHANGE_THEME, "", app.action_change_theme)


def _title(key: Key, current: str) -> str:
    if key.context.name in (current, KeyContext.CONSOLE.name):
        return key.description
    return f"{key.context.value}: {key.description}"


class CommandProvider(Provider):
    """Textual's source of palette entries."""

    @property
    def _console(self) -> PaletteApp:
        return cast("PaletteApp", self.app)

    async def discover(self) -> Hits:
        """Yield every action, before anything is typed."""
        for command in list_commands(self._console):
            yield DiscoveryHit(_line(Content(command.title), command.keys), command.run, text=command.title)

    async def search(self, query: str) -> Hits:
        """Yield the actions, sources and drafts that match the query."""
        matcher = self.matcher(query)
        for command in list_commands(self._console):
            if score := matcher.match(command.title):
                line = _line(_highlighted(command.title, matcher), command.keys)
                yield Hit(score, line, command.run, text=command.title)
        if (desk := self._console.desk) is not None:
            async for hit in self._sources(desk, matcher):
                yield hit
            async for hit in self._drafts(desk, query):
                yield hit

    async def _sources(self, desk: "Desk", matcher: Matcher) -> Hits:
        for source in await desk.sources.list():
            name = clean(source.name)
            if score := matcher.match(name):
                line = _line(_highlighted(name, matcher), labels.PALETTE_SOURCE)
                yield Hit(score, line, partial(self._console.show_source, source.id), text=name)

    async def _drafts(self, desk: "Desk", query: str) -> Hits:
        drafts: Iterable[ListedDraft] = ()
        with suppress(CopydeskError):  # a half-typed query need not be valid
            drafts = (await desk.drafts.search(query, half_typed=True, limit=MAX_DRAFTS)).items
        for draft in drafts:
            name = clean(draft.text)[:MAX_NAME_LENGTH]
            line = _line(Content(name), labels.palette_draft(draft.status))
            # The desk's search matched all words, which is as good as a match gets.
            yield Hit(_BEST_SCORE, line, partial(self._console.show_draft, draft.id), text=name)


def _line(title: Content, aside: str) -> Content:
    return Content.assemble(title, (f"  {aside}" if aside else "", "$text-muted"))


def _highlighted(text: str, matcher: Matcher) -> Content:
    """Highlight the match as Textual's matcher does, which would parse the text as markup."""
    _, offsets = matcher.fuzzy_search.match(matcher.query, text)
    content = Content(text)
    for offset in offsets:
        content = content.stylize(matcher.match_style, offset, offset + 1)
    return content
