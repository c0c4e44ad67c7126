"""When drafts go out: at a slot, at a time, now; and what would stop them."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from copydesk.errors import CopydeskError, InvalidError
from copydesk.model.account import named
from copydesk.model.change import ChangeDraft
from copydesk.model.delivery import State
from copydesk.model.draft import TO_REVIEW, Action, Status
from copydesk.tui.chosen import Chosen, one
from copydesk.tui.deciding.acting import Acts
from copydesk.tui.deciding.outcomes import name_of
from copydesk.tui.naming import key
from copydesk.tui.saying import is_refusal
from copydesk.tui.words import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.tui.modals.moment import Said
    from copydesk.tui.modals.posting import Plan
    from copydesk.tui.screens.deciding import Decides

MOST_LOOKED_AT = 20
"""Drafts of a bulk of which it is said what would stop them."""
LISTED = 3
AFTER = 0.5
"""Seconds after an approval: of many in a row it is looked for once."""
APPROVE = ChangeDraft(action=Action.APPROVE)


class Sends(Acts):
    """Times and posts."""

    def __init__(self, screen: "Decides") -> None:
        super().__init__(screen)
        self._unchecked: list[str] = []
        self._checking = False

    # Times.

    def schedule(self) -> None:
        """Give what is chosen the next free slot; a draft that is under review is approved with it."""
        self._schedule(ChangeDraft(action=Action.SCHEDULE, smart_schedule=True), self.screen.chosen())

    def _schedule(self, asked: ChangeDraft, chosen: Chosen | None) -> None:
        if chosen is None:
            return
        draft = chosen.draft
        first = (APPROVE,) if draft and self.standing(draft).status in TO_REVIEW else ()
        self.act(*first, asked, on=chosen, then=self.look_for_stops)

    def schedule_at(self) -> None:
        """Ask for a time, and give it to what is chosen."""
        from copydesk.tui.modals.moment import MomentScreen  # noqa: PLC0415 - for those who are asked

        chosen = self.screen.chosen()
        if chosen is None:
            return
        draft = chosen.draft
        of = name_of(draft.text) if draft else plural(chosen.number, "draft")

        async def read(text: str) -> "Said":
            return await self._read_time(text, draft.id if draft else None)

        def answered(text: str | None) -> None:
            if text is not None:
                self.app.ask(lambda desk: self._schedule_at(desk, text, chosen), keys_wait=True)

        self.app.push_screen(MomentScreen(f"When is {of} to go out?", read), answered)

    async def _read_time(self, text: str, draft_id: str | None) -> "Said":
        from copydesk.tui.modals.moment import Said  # noqa: PLC0415

        desk = self.app.desk
        if desk is None:
            return Said("The desk is not open yet.", good=False)
        try:
            time = await desk.schedule.read_time(text)
            near = await desk.schedule.conflicts(time.at, draft_id)
        except InvalidError as error:
            return Said(error.errors[0].message, good=False)
        except CopydeskError as error:
            return Said(str(error), good=False)
        also = f"{plural(near.count, 'draft')} within 30 minutes" if near.count else ""
        return Said(" · ".join(part for part in (time.shown, time.note, also) if part), good=True)

    async def _schedule_at(self, desk: "Desk", text: str, chosen: Chosen) -> None:
        at = (await desk.schedule.read_time(text)).at
        timed = chosen.draft is not None and self.standing(chosen.draft).status in (Status.SCHEDULED, Status.MISSED)
        action = Action.RESCHEDULE if timed else Action.SCHEDULE
        self._schedule(ChangeDraft(action=action, scheduled_at=at), chosen)

    # Now.

    def post(self) -> None:
        """Ask, naming the accounts, and post the draft under the cursor."""
        from copydesk.tui.modals.posting import PostScreen  # noqa: PLC0415 - for those who are asked

        chosen = self.screen.chosen()
        if chosen is None:
            return
        draft = chosen.draft
        if draft is None:
            instead = f"{key('review.schedule')} schedules them, {key('review.back')} clears the marks."
            self.app.notify(f"Drafts are posted one at a time. {instead}", severity="warning")
            return

        def answered(yes: bool | None) -> None:  # noqa: FBT001 - Textual hands it over so
            if yes:
                self._post(draft)

        self.app.push_screen(PostScreen(lambda: self._plan(draft)), answered)

    def _post(self, draft: "ListedDraft") -> None:
        if self.standing(draft).status in TO_REVIEW:
            self.act(APPROVE, on=one(draft), then=lambda _: self._post_now(draft))
        else:
            self._post_now(draft)

    def _post_now(self, draft: "ListedDraft") -> None:
        self.rows.fade([draft.id], Status.POSTING)
        self.begun.begin(draft.id, Status.POSTING)
        self.app.ask(lambda desk: self._post_behind(desk, draft), name="post", ended=lambda: self._posted(draft))

    def _posted(self, draft: "ListedDraft") -> None:
        self.begun.end(draft.id)
        self.screen.call_later(self.screen.read)

    async def _plan(self, draft: "ListedDraft") -> "Plan":
        from copydesk.tui.modals.posting import Plan  # noqa: PLC0415

        desk = self.app.desk
        if desk is None:
            return Plan("The desk is not open yet.", possible=False)
        await _ready(desk)
        connected = await desk.accounts.list()
        live = {each.account for each in await desk.posting.deliveries(draft.id) if each.state is State.SENT}
        to = [each.label for each in named(connected, draft.target_platforms) if each.label not in live]
        if not connected:
            way = f"On screen {key('console.setup')}, Setup, {key('setup.connect')} connects one."
            return Plan(f"No account is connected. {way}", possible=False)
        if not to:
            return Plan("There is no account to post it to where it is not live already.", possible=False)
        stops = [f"{each.account}: {each.message}" for each in await desk.posting.stops(draft.id, to)]
        prices = [
            f"{each.account} costs {each.amount} {each.currency}." for each in await desk.posting.prices(draft.id, to)
        ]
        return Plan(f"Post {name_of(draft.text)} now to {_listed(to)}?", [*stops, *prices])

    async def _post_behind(self, desk: "Desk", draft: "ListedDraft") -> None:
        before = {each.id: each.attempts for each in await desk.posting.deliveries(draft.id)}
        try:
            result = await desk.posting.post(draft.id)
        except CopydeskError as error:
            self.screen.call_later(self._bring_back, draft.id)
            words = f"{name_of(draft.text)}: {error}"
            self.app.notify(words, severity="warning" if is_refusal(error) else "error")
            return
        self.remember(draft, result.draft)
        self.screen.call_later(self.rows.fade, [draft.id], result.draft.status)
        for report in await desk.posting.deliveries(draft.id):
            if before.get(report.id) != report.attempts:
                sent = report.account in result.posted
                self.app.notify(f"{report.account}: {report.says}", severity="information" if sent else "warning")

    # What would stop them.

    def look_for_stops(self, ids: Sequence[str]) -> None:
        """Look, behind everything else, what would stop these from going out as they are, and say it."""
        self._unchecked = [*self._unchecked, *ids[:MOST_LOOKED_AT]][-MOST_LOOKED_AT:]
        if not self._checking:
            self._checking = True
            self.screen.set_timer(AFTER, lambda: self.app.ask(self._look_for_stops, ended=self._looked))

    def _looked(self) -> None:
        self._checking = False

    async def _look_for_stops(self, desk: "Desk") -> None:
        found: list[str] = []
        await _ready(desk)
        connected = await desk.accounts.list()
        while self._unchecked:
            draft_id = self._unchecked.pop(0)
            if connected:
                found += await self._stops(desk, draft_id)
        if found:
            left = f" And {len(found) - LISTED} more." if len(found) > LISTED else ""
            self.app.notify(" ".join(found[:LISTED]) + left, severity="warning")

    async def _stops(self, desk: "Desk", draft_id: str) -> list[str]:
        stops = await desk.posting.stops(draft_id)
        if not stops:
            return []
        name = name_of((await desk.drafts.get(draft_id)).text)
        first = stops[0]
        part = f", post {first.part + 1}" if first.part is not None else ""
        return [f"{name} would not go to {first.account}{part}: {first.message}"]


async def _ready(desk: "Desk") -> None:
    """Import what posting takes, where the keys do not wait for it."""
    await asyncio.to_thread(lambda: (desk.accounts, desk.posting, desk.schedule))


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
