"""The schedule: the week with its slots and drafts, and what can be done with them."""

from datetime import datetime
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message

from copydesk.model.draft import Status
from copydesk.model.schedule import NO_SLOTS, AutoSchedule
from copydesk.tui.keys import Where, bindings
from copydesk.tui.modals.schedule import PickScreen, PlanScreen
from copydesk.tui.naming import key
from copydesk.tui.screens.week_changes import WeekChanges
from copydesk.tui.styles import sheet
from copydesk.tui.week import with_time
from copydesk.tui.week_clock import moved, place
from copydesk.tui.widgets.week_grid import WeekGrid
from copydesk.tui.words import STATUS, plural

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.model.schedule import WeekDraft

MOST_APPROVED = 100
"""So many approved drafts are offered for a slot."""
_MOVABLE = frozenset({Status.SCHEDULED, Status.MISSED})


class Planned(Message, bubble=False):
    """What the automatic schedule would do."""

    def __init__(self, plan: AutoSchedule) -> None:
        super().__init__()
        self.plan = plan


class Offered(Message, bubble=False):
    """The approved drafts, for a time."""

    def __init__(self, drafts: "list[ListedDraft]", at: datetime, shown: str) -> None:
        super().__init__()
        self.drafts = drafts
        self.at = at
        self.shown = shown


class ScheduleScreen(WeekChanges):
    """Moves drafts, makes and deletes slots, schedules: at once, and taken back with `u`."""

    NAME = "Schedule"
    WHERE = (Where.SCHEDULE,)
    CSS_PATH = sheet("schedule.tcss")
    BINDINGS = bindings(Where.SCHEDULE)

    # Drafts.

    def _draft(self, to_do: str) -> "WeekDraft | None":
        """The draft under the cursor whose time can be changed; else say why there is none."""
        draft = self.grid.thing.draft if self.grid.thing else None
        if draft is None:
            self.app.say(f"There is no draft here to {to_do}.")
        elif draft.status not in _MOVABLE:
            self.app.say(f"This draft is {STATUS[draft.status].words}: its time stays.")
        else:
            return draft
        return None

    def action_shift(self, days: int, hours: int) -> None:
        """Move the draft under the cursor; the cursor goes with it."""
        draft = self._draft("move")
        if draft is None or self.week is None:
            return
        at = moved(draft.at, self.zone, days=days, hours=hours)
        if at <= self.now():
            self.app.say("That is in the past: the draft stays.")
            return

        async def reschedule(desk: "Desk") -> None:
            await desk.drafts.reschedule(draft.id, at)
            self.ways_back.did((draft.id,))

        self.carry_out(reschedule, keys_wait=False)
        self.week = with_time(self.week, draft.id, at)
        self.show(place(at, self.zone), draft.id)

    def action_cancel(self) -> None:
        """Take the time of the draft under the cursor away."""
        draft = self._draft("take from its time")
        if draft is None:
            return

        async def cancel(desk: "Desk") -> None:
            await desk.drafts.cancel_schedule(draft.id)
            self.ways_back.did((draft.id,))
            self.app.say(f"The draft is approved again, without a time · {key('schedule.undo')} undo")

        self.carry_out(cancel)

    @on(WeekGrid.Opened)
    def action_open(self) -> None:
        """Show the draft under the cursor on the review."""
        draft = self.grid.thing.draft if self.grid.thing else None
        if draft is None:
            self.app.say("There is no draft here to open.")
            return

        self.app.show_draft(draft.id)

    def action_fill(self) -> None:
        """Give an approved draft the time under the cursor."""
        at = self._time_here()
        if at is None:
            return

        async def offer(desk: "Desk") -> None:
            page = await desk.drafts.list(limit=MOST_APPROVED, status=Status.APPROVED, archived="exclude")
            (shown,) = await desk.schedule.shown(at)
            best = sorted(page.items, key=lambda draft: (-draft.confidence, draft.created_at))
            self.post_message(Offered(best, at, shown))

        self.app.ask(offer, opens=True)

    def _time_here(self) -> datetime | None:
        """The time of the chosen slot, or of the first free one, or the hour's first minute; else say why none."""
        cell = self.grid.cell
        if cell is None:
            return None
        if cell.span is None:
            self.app.say("This hour does not exist on that day.")
            return None
        free = [thing for thing in (self.grid.thing, *cell.things) if thing and thing.draft is None]
        at = free[0].at if free else cell.span.start
        if at <= self.now():
            self.app.say("That time has passed.")
            return None
        return at

    @on(Offered)
    def _offer(self, message: Offered) -> None:
        if not message.drafts:
            self.app.say("No approved draft waits for a time.")
            return

        def schedule(draft_id: str | None) -> None:
            if draft_id is not None:
                self._schedule(draft_id, message.at, message.shown)

        some = f" · the newest {MOST_APPROVED}" if len(message.drafts) == MOST_APPROVED else ""
        title = f"{message.shown} · {key('list.open')} schedules{some}"
        self.app.open_over(self, PickScreen(message.drafts, title, self.now()), schedule)

    def _schedule(self, draft_id: str, at: datetime, shown: str) -> None:
        async def schedule(desk: "Desk") -> None:
            await desk.drafts.schedule(draft_id, at)
            self.ways_back.did((draft_id,))
            self.app.say(f"Scheduled for {shown} · {key('schedule.undo')} undo")

        self.carry_out(schedule)

    # The automatic schedule.

    def action_auto(self) -> None:
        """Show what the automatic schedule would do."""

        async def plan(desk: "Desk") -> None:
            self.post_message(Planned(await desk.schedule.auto(dry_run=True)))

        self.app.ask(plan, opens=True)

    @on(Planned)
    def _propose(self, message: Planned) -> None:
        plan = message.plan
        if not plan.scheduled:
            reason = f": {plan.reason}" if plan.reason else ""
            left = plural(plan.skipped, "approved draft")
            advice = f" {key('schedule.new_slot')} makes one." if plan.reason == NO_SLOTS else ""
            self.app.say(f"{left} left out{reason}.{advice}" if plan.skipped else "No approved draft waits for a time.")
            return

        def do(yes: bool | None) -> None:  # noqa: FBT001 - Textual hands it over so
            if yes:
                self.carry_out(lambda desk: self._follow(desk, plan))

        self.app.open_over(self, PlanScreen(plan, self.zone, self.now()), do)

    async def _follow(self, desk: "Desk", plan: AutoSchedule) -> None:
        """Schedule the drafts of the plan, and say what came out otherwise than it said."""
        done = await desk.schedule.auto([each.draft_id for each in plan.scheduled])
        self.ways_back.did(tuple(each.draft_id for each in done.scheduled))
        meant = {(each.draft_id, each.scheduled_at) for each in plan.scheduled}
        other = sum((each.draft_id, each.scheduled_at) not in meant for each in done.scheduled)
        words = [f"{plural(len(done.scheduled), 'draft')} scheduled"]
        words += [f"{other} for another time than was shown"] * bool(other)
        words += [f"{done.skipped} not: {done.reason}"] * bool(done.skipped)
        self.app.say(f"{', '.join(words)} · {key('schedule.undo')} undo")
