"""A list of feeds is added: a line for each as it is tested."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import Where, bindings
from copydesk.tui.layout import plain
from copydesk.tui.modals.over import Over
from copydesk.tui.naming import key
from copydesk.tui.source_messages import FeedsEnded, FeedSettled
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.source_lists import OUTCOME, FeedList
from copydesk.tui.words import bar

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.feed_import import TriedFeed
    from copydesk.desk.opml import Outline


class FeedImport(Over[None], inherit_bindings=False):
    """The feeds that are settled, a bar, and how many of them were added. What is not settled can be left."""

    CSS_PATH = sheet("sources.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.LIST, Where.FEEDS)
    BINDINGS = bindings(Where.FEEDS)

    app = getters.app(DeskApp)
    feeds = getters.query_one(FeedList)

    def __init__(self, feeds: "Sequence[Outline]") -> None:
        super().__init__()
        self._asked = feeds
        self._settled: list[TriedFeed] = []
        self._counts: Counter[str] = Counter()
        self._adding: asyncio.Task[None] | None = None
        self._over = False
        self._left = False
        """Whether nobody waits for it any more: what has not begun by then does not."""

    def compose(self) -> ComposeResult:
        """The list and two lines."""
        with Vertical(id="feeds"):
            yield FeedList()
            yield Static(id="progress")
            yield Static(id="next")

    def on_mount(self) -> None:
        """Begin."""
        self.feeds.set_title(f"Feeds of the list · {len(self._asked)}")
        self.feeds.say([plain("Reading them …", "dim")])
        self._begin(self._asked, test=True)

    def _begin(self, asked: "Sequence[Outline]", *, test: bool) -> None:
        self._over = False
        self._say()
        self.app.ask(lambda desk: self._add(desk, asked, test=test))

    async def _add(self, desk: "Desk", asked: "Sequence[Outline]", *, test: bool) -> None:
        if self._left:
            return

        def hear(tried: "TriedFeed") -> None:
            self.post_message(FeedSettled(tried))

        self._adding = asyncio.create_task(desk.sources.import_each(asked, hear, test=test))
        try:
            (outcome,) = await asyncio.gather(self._adding, return_exceptions=True)
            if isinstance(outcome, Exception):
                raise outcome
        finally:
            self.post_message(FeedsEnded())

    @on(FeedSettled)
    def _settle(self, message: FeedSettled) -> None:
        """One more line; the cursor follows where it stood on the last one."""
        at_end = self.feeds.cursor >= len(self._settled) - 1
        self._settled.append(message.tried)
        self._counts[message.tried.outcome] += 1
        self.feeds.show(self._settled, len(self._settled) - 1 if at_end else self.feeds.cursor)
        self._say()

    @on(FeedsEnded)
    def _end(self) -> None:
        self._over = True
        if not self._settled:
            self.feeds.say([plain("There is no feed in this file.", "warn")])
        self._say()

    @property
    def _failed(self) -> "list[Outline]":
        return [tried.feed for tried in self._settled if tried.outcome == "failed"]

    def _say(self) -> None:
        done, asked = len(self._settled), len(self._asked)
        full, empty = bar(done / asked if asked else 1.0, 20)
        counts = [f"{count} {sign.words}" for name, sign in OUTCOME.items() if (count := self._counts[name])]
        gauge = Content.assemble((full, "$accent"), (empty, "$border-blurred"))
        self.query_one("#progress", Static).update(gauge + Content(f" {done}/{asked}  {' · '.join(counts)}"))
        self.query_one("#next", Static).update(Content(self._next()))

    def _next(self) -> str:
        if not self._over:
            return f"{key('feeds.close')} stops it; what was added stays."
        closes = f"{key('feeds.close')} closes"
        return f"{key('feeds.add_failed')} adds those that failed all the same · {closes}" if self._failed else closes

    def action_add_failed(self) -> None:
        """Add those that could not be read, without a test."""
        failed = self._failed
        if self._over and failed:
            self._settled = [tried for tried in self._settled if tried.outcome != "failed"]
            del self._counts["failed"]
            self.feeds.show(self._settled)
            self._begin(failed, test=False)

    def action_close(self) -> None:
        """Stop, where it goes on; else close."""
        self._left = True
        if self._adding is not None:
            self._adding.cancel()
        self.close(None)
