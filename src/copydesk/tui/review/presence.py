"""What the other reviewers of a desk see of this console: the draft that it shows, and the lease of an edit."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from copydesk.errors import ConflictError, CopydeskError
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.review.preview_pane import PreviewPane

if TYPE_CHECKING:
    from copydesk.desk import Desk

VIEW_DELAY = 2.0
"""Seconds that a draft must be displayed before the others see that: moving through the list writes nothing."""
VIEW_RENEWAL = 40.0
"""Seconds after which the others are told again; less than `activity.VIEW_DURATION`."""
AWAY_AFTER = 300.0
"""Seconds without a key after which the reviewer does not count as looking at the draft."""
EDIT_RENEWAL = 5.0
"""Seconds between two renewals of a lease while the user types: each is a change that all consoles look at. A takeover
keeps the text of the last one.
"""


class Presence:
    """Records which draft this console shows."""

    def __init__(self, screen: DeskScreen, pane: PreviewPane) -> None:
        self._screen = screen
        self._pane = pane
        self._displayed: str | None = None
        """The draft that was displayed at the last update."""
        self._recorded = ""
        """The draft that the others see; "" for none."""
        self._recorded_at = -math.inf
        screen.app.exit_work.add(self._leave)

    def start(self) -> None:
        """Record what is displayed from now on."""
        self._screen.set_interval(VIEW_DELAY, self.update)

    def update(self) -> None:
        """Record the draft if it is still the one of the last update; notice reviewers who have left it."""
        if self._pane.drop_expired():
            self._screen.refresh_data()
        before, self._displayed = self._displayed, self._find_displayed()
        # No desk, or the cursor is on its way to another draft.
        if self._screen.app.desk is None or before != self._displayed:
            return
        has_expired = time.monotonic() - self._recorded_at > VIEW_RENEWAL
        if self._displayed == (self._recorded or None) and not (has_expired and self._displayed):
            return
        # Who is alone writes once in a while, so that a second reviewer is noticed, not with each draft.
        if not has_expired and not self._pane.is_shared:
            return
        draft_id, self._recorded, self._recorded_at = self._recorded, self._displayed or "", time.monotonic()
        self._screen.app.run_desk_task(lambda desk: self._record(desk, draft_id, self._recorded))

    def _find_displayed(self) -> str | None:
        app = self._screen.app
        # A dialog over the review is about the draft.
        is_current = bool(app.screen_stack) and app.screen_stack[0] is self._screen
        return self._screen.selected_draft_id() if is_current and app.idle_time < AWAY_AFTER else None

    async def _leave(self, desk: "Desk") -> None:
        if self._recorded:
            await desk.drafts.activity.leave(self._recorded)

    async def _record(self, desk: "Desk", before: str, draft_id: str) -> None:
        # The draft may be deleted by now, and nothing depends on this.
        with suppress(CopydeskError):
            if draft_id:
                await desk.drafts.activity.view(draft_id, instead_of=before if before != draft_id else "")
            elif before:
                await desk.drafts.activity.leave(before)


class EditLease:
    """The lease of one edit: taken with the first key, renewed while others follow, ended with the edit."""

    def __init__(self, desk: "Desk", draft_id: str, on_conflict: Callable[[ConflictError], object]) -> None:
        self._desk = desk
        self._draft_id = draft_id
        self._on_conflict = on_conflict
        self._id: str | None = None
        self._renewed_at: float | None = None
        self._has_ended = False
        self._lock = asyncio.Lock()
        """Held by what changes the lease: a renewal that was begun before the end must not take it after that."""

    @property
    def renewal_delay(self) -> float:
        """Seconds until the lease may be renewed; infinite once somebody else has it."""
        return 0.0 if self._renewed_at is None else max(self._renewed_at + EDIT_RENEWAL - time.monotonic(), 0.0)

    async def renew(self, text: str) -> None:
        """Take or renew the lease, unless that was done just now. Report once that somebody else has it."""
        if self.renewal_delay > 0:
            return
        # Before the first await: the next autosave may come while this one waits for the database.
        self._renewed_at = time.monotonic()
        async with self._lock:
            if not self._has_ended:
                await self._renew(text)

    async def _renew(self, text: str) -> None:
        try:
            if self._id is None:
                self._id = (await self._desk.drafts.activity.start_edit(self._draft_id)).id
            await self._desk.drafts.activity.renew_edit(self._draft_id, self._id, text)
        except ConflictError as error:
            self._id, self._renewed_at = None, math.inf
            self._on_conflict(error)
        except CopydeskError:
            pass  # saving the text fails for the same reason, and reports it

    async def take(self) -> None:
        """Take the lease. Raise EditedByOtherError if another reviewer has it."""
        self._id = (await self._desk.drafts.activity.start_edit(self._draft_id)).id

    async def keep(self, read_text: Callable[[], str]) -> None:
        """Renew the lease with the text as `read_text` returns it, until cancelled. It runs in a thread."""
        while True:
            await asyncio.sleep(EDIT_RENEWAL)
            # The file may be half written; the next renewal reads it again.
            with suppress(CopydeskError, OSError):
                await self.renew(await asyncio.to_thread(read_text))

    async def take_over(self) -> None:
        """End the edit of another reviewer, whose text is kept."""
        self._id = (await self._desk.drafts.activity.start_edit(self._draft_id, take_over=True)).id
        # Renewed again from now on, if the text cannot be saved and the edit goes on.
        self._renewed_at = time.monotonic()

    async def end_by(self, save: Callable[[], Awaitable[object]]) -> None:
        """Save the text, which ends the edit unless it fails."""
        async with self._lock:
            await save()
            self._has_ended, self._id = True, None

    async def end(self) -> None:
        """End the edit, if it has the lease."""
        self._has_ended = True
        async with self._lock:
            lease, self._id = self._id, None
            if lease is not None:
                # It expires anyway.
                with suppress(CopydeskError):
                    await self._desk.drafts.activity.end_edit(self._draft_id)
