"""The palette: every action of every screen, and drafts and sources by name."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.fuzzy import Matcher

from copydesk.errors import CopydeskError
from copydesk.text import clean
from copydesk.tui.keys import SCREEN_NAMES, Key, Where, shown
from copydesk.tui.words import STATUS

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.tui.app import Console

MOST_DRAFTS = 10
LONGEST = 60
"""Characters of a draft by which it is known."""
_AT_BEST = 1.0


class Command(NamedTuple):
    """One action by its name."""

    title: str
    keys: str
    do: Callable[[], object]


def commands(app: "Console") -> Iterable[Command]:
    """The actions of the screen that is shown, then the console's, then the other screens'; none that only move."""
    here = app.current_mode.upper()
    order = [here, Where.CONSOLE.name, *(name.upper() for name in SCREEN_NAMES if name.upper() != here)]
    told: set[str] = set()
    for key in sorted(
        (key for key in app.keys if key.where.name in order), key=lambda key: order.index(key.where.name)
    ):
        title = _title(key, here)
        if title not in told:
            told.add(title)
            yield Command(title, shown(key)[0], partial(app.do, key))
    yield Command("Change the colours: the theme", "", app.action_change_theme)


def _title(key: Key, here: str) -> str:
    words = key.description[:1].upper() + key.description[1:]
    return words if key.where.name in (here, Where.CONSOLE.name) else f"{key.where.value}: {words}"


class Commands(Provider):
    """What the palette finds."""

    @property
    def _console(self) -> "Console":
        from copydesk.tui.app import Console  # noqa: PLC0415 - it imports this module

        assert isinstance(self.app, Console)
        return self.app

    async def discover(self) -> Hits:
        """Every action, before anything is typed."""
        for command in commands(self._console):
            yield DiscoveryHit(_line(Content(command.title), command.keys), command.do, text=command.title)

    async def search(self, query: str) -> Hits:
        """The actions, sources and drafts that what is typed may mean."""
        matcher = self.matcher(query)
        for command in commands(self._console):
            if score := matcher.match(command.title):
                line = _line(_highlighted(command.title, matcher), command.keys)
                yield Hit(score, line, command.do, text=command.title)
        if (desk := self._console.desk) is not None:
            async for hit in self._sources(desk, matcher):
                yield hit
            async for hit in self._drafts(desk, query):
                yield hit

    async def _sources(self, desk: "Desk", matcher: Matcher) -> Hits:
        for source in await desk.sources.list():
            name = clean(source.name)
            if score := matcher.match(name):
                line = _line(_highlighted(name, matcher), "source")
                yield Hit(score, line, partial(self._console.show_source, source.id), text=name)

    async def _drafts(self, desk: "Desk", query: str) -> Hits:
        found: Iterable[ListedDraft] = ()
        with suppress(CopydeskError):  # what is half typed need not be a query
            found = (await desk.drafts.search(query, half_typed=True, limit=MOST_DRAFTS)).items
        for draft in found:
            name = clean(draft.text)[:LONGEST]
            line = _line(Content(name), f"draft, {STATUS[draft.status].words}")
            # The desk has found all of the words in it, which is as good as a match can be.
            yield Hit(_AT_BEST, line, partial(self._console.show_draft, draft.id), text=name)


def _line(words: Content, aside: str) -> Content:
    return Content.assemble(words, (f"  {aside}" if aside else "", "$text-muted"))


def _highlighted(text: str, matcher: Matcher) -> Content:
    """As Textual's matcher does it, which would read the text as markup."""
    _, found = matcher.fuzzy_search.match(matcher.query, text)
    content = Content(text)
    for at in found:
        content = content.stylize(matcher.match_style, at, at + 1)
    return content
