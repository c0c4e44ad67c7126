"""The console on a real desk with a few drafts to review."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from console_driver import ConsoleDriver, wait_until_idle
from copydesk.desk import Desk
from copydesk.model.draft import ListedDraft, Status
from copydesk.tui.app import Console
from copydesk.tui.preferences import Preferences
from copydesk.tui.review.draft_queue import DraftQueue
from copydesk.tui.review.marks import ResolvedDrafts, Selection
from copydesk.tui.review.screen import ReviewScreen
from delayed_responses import wait_until
from desk_fixtures import NOW, open_desk_at

TEXTS = (
    "Feeds outlive the apps that are built on them.",
    "A missing index made the search slow for a year.",
    "Alt text takes forty seconds to write.",
    "Two of three newsletters lose readers at the third link.",
    "A postmortem that names no culprit.",
)


class ReviewDriver(ConsoleDriver):
    """Drives the review screen; `desk` is the console's own desk."""

    def __init__(self, app: Console, pilot: Pilot[int]) -> None:
        super().__init__(app, pilot)
        assert isinstance(app.screen, ReviewScreen)
        self.screen = app.screen
        assert app.desk is not None
        self.desk: Desk = app.desk

    @property
    def current(self) -> ListedDraft:
        """The draft under the cursor."""
        draft = self.screen.queue.current
        assert draft is not None
        return draft

    def find_row(self, draft_id: str) -> ListedDraft:
        """Return the row of the queue that shows this draft."""
        return next(row for row in self.screen.query_one(DraftQueue).window.rows if row.id == draft_id)

    def select(self, *ids: str) -> None:
        """Make the next action apply to these drafts."""
        selection = select_ids(ids)
        self.screen.queue_pane.selection = lambda: selection  # type: ignore[method-assign]

    async def get_status(self, draft_id: str) -> Status:
        """Return the draft's status in the desk."""
        return (await self.desk.drafts.get(draft_id)).status

    async def wait_for(self, condition: Callable[[], object]) -> None:
        """Wait until `condition` is true without a key press; fail with the screen's text."""
        try:
            await wait_until(condition, lambda: asyncio.sleep(0.005))
        except TimeoutError:
            raise AssertionError(self.text) from None


def select_ids(ids: Sequence[str]) -> Selection:
    """Return the selection of several drafts."""

    async def resolve(_: Desk) -> ResolvedDrafts:
        return ResolvedDrafts(ids)

    return Selection(None, len(ids), resolve)


@asynccontextmanager
async def open_review(
    home: Path,
    *,
    texts: tuple[str, ...] = TEXTS,
    size: tuple[int, int] = (120, 32),
    preferences: Preferences | None = None,
    **overrides: str,
) -> AsyncIterator[ReviewDriver]:
    """Open the console on drafts with these texts."""
    async with open_desk_at(home, **overrides) as desk:
        existing = {draft.text for draft in (await desk.drafts.list(limit=100)).items}
        for text in texts:
            if text not in existing:
                await desk.drafts.create({"text": text})
    app = Console(lambda: open_desk_at(home, **overrides), clock=lambda: NOW, preferences=preferences)
    async with app.run_test(size=size, notifications=True) as pilot:
        await wait_until_idle(pilot)
        yield ReviewDriver(app, pilot)
