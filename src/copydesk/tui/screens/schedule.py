"""The schedule screen: the week with its slots and drafts, and the actions on them."""

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
"""Approved drafts offered for a slot."""
# Drafts that are being posted or were posted keep their time.
_MOVABLE = frozenset({Status.SCHEDULED, Status.MISSED})


class Planned(Message, bubble=False):
    """The automatic schedule was computed."""

    def __init__(self, plan: AutoSchedule) -> None:
        super().__init__()
        self.plan = plan


class Offered(Message, bubble=False):
    """The approved drafts that can be scheduled for `at` were loaded."""

    def __init__(self, drafts: "list[ListedDraft]", at: datetime, shown: str) -> None:
        super().__init__()
        self.drafts = drafts
        self.at = at
        self.shown = shown


class ScheduleScreen(WeekChanges):
    """Moves and schedules drafts, creates and deletes slots. Changes apply at once and can be undone with `u`."""

    NAME = "Schedule"
    WHERE = (Where.SCHEDULE,)
    CSS_PATH = sheet("schedule.tcss")
    BINDINGS = bindings(Where.SCHEDULE)

    def _movable_draft(self, verb: str) -> "WeekDraft | None":
        """Return the draft under the cursor if it can be rescheduled; otherwise notify why not and return None.

        `verb` completes the sentence "There is no draft here to …".
        """
        draft = self.grid.thing.draft if self.grid.thing else None
        if draft is None:
            self.app.say(f"There is no draft here to {verb}.")
        elif draft.status not in _MOVABLE:
            self.app.say(f"This draft is {STATUS[draft.status].words}: its time stays.")
        else:
            return draft
        return None

    def action_shift(self, days: int, hours: int) -> None:
        """Move the draft under the cursor by days and hours; the cursor follows it."""
        draft = self._movable_draft("move")
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
        # Show the new time at once; the write is queued, and the week is loaded again when the queue is empty.
        self.week = with_time(self.week, draft.id, at)
        self.show(place(at, self.zone), draft.id)

    def action_cancel(self) -> None:
        """Unschedule the draft under the cursor."""
        draft = self._movable_draft("take from its time")
        if draft is None:
            return

        async def cancel(desk: "Desk") -> None:
            await desk.drafts.cancel_schedule(draft.id)
            self.ways_back.did((draft.id,))
            self.app.say(f"The draft is approved again, without a time · {key('schedule.undo')} undo")

        self.carry_out(cancel)

    @on(WeekGrid.Opened)
    def action_open(self) -> None:
        """Show the draft under the cursor on the review screen."""
        draft = self.grid.thing.draft if self.grid.thing else None
        if draft is None:
            self.app.say("There is no draft here to open.")
            return

        self.app.show_draft(draft.id)

    def action_fill(self) -> None:
        """Choose an approved draft for the time under the cursor."""
        at = self._time_under_cursor()
        if at is None:
            return

        async def offer(desk: "Desk") -> None:
            page = await desk.drafts.list(limit=MOST_APPROVED, status=Status.APPROVED, archived="exclude")
            (time_label,) = await desk.schedule.shown(at)
            # Best first: by confidence, then the oldest.
            best = sorted(page.items, key=lambda draft: (-draft.confidence, draft.created_at))
            self.post_message(Offered(best, at, time_label))

        self.app.ask(offer, opens=True)

    def _time_under_cursor(self) -> datetime | None:
        """Return the time of the selected or else the first free slot, or the start of the hour.

        Notify and return None if the hour does not exist on that day or has passed.
        """
        cell = self.grid.cell
        if cell is None:
            return None
        if cell.span is None:
            self.app.say("This hour does not exist on that day.")
            return None
        # The selected entry comes first: a selected slot wins over an earlier one.
        free = [entry for entry in (self.grid.thing, *cell.things) if entry and entry.draft is None]
        at = free[0].at if free else cell.span.start
        if at <= self.now():
            self.app.say("That time has passed.")
            return None
        return at

    @on(Offered)
    def _open_pick_dialog(self, message: Offered) -> None:
        if not message.drafts:
            self.app.say("No approved draft waits for a time.")
            return

        def schedule(draft_id: str | None) -> None:
            if draft_id is not None:
                self._schedule(draft_id, message.at, message.shown)

        limit_note = f" · the newest {MOST_APPROVED}" if len(message.drafts) == MOST_APPROVED else ""
        title = f"{message.shown} · {key('list.open')} schedules{limit_note}"
        self.app.open_over(self, PickScreen(message.drafts, title, self.now()), schedule)

    def _schedule(self, draft_id: str, at: datetime, time_label: str) -> None:
        async def schedule(desk: "Desk") -> None:
            await desk.drafts.schedule(draft_id, at)
            self.ways_back.did((draft_id,))
            self.app.say(f"Scheduled for {time_label} · {key('schedule.undo')} undo")

        self.carry_out(schedule)

    def action_auto(self) -> None:
        """Compute the automatic schedule and show it for confirmation."""

        async def plan(desk: "Desk") -> None:
            self.post_message(Planned(await desk.schedule.auto(dry_run=True)))

        self.app.ask(plan, opens=True)

    @on(Planned)
    def _open_plan_dialog(self, message: Planned) -> None:
        plan = message.plan
        if not plan.scheduled:
            reason = f": {plan.reason}" if plan.reason else ""
            left_out = plural(plan.skipped, "approved draft")
            advice = f" {key('schedule.new_slot')} makes one." if plan.reason == NO_SLOTS else ""
            self.app.say(
                f"{left_out} left out{reason}.{advice}" if plan.skipped else "No approved draft waits for a time."
            )
            return

        def apply(yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
            if yes:
                self.carry_out(lambda desk: self._apply_plan(desk, plan))

        self.app.open_over(self, PlanScreen(plan, self.zone, self.now()), apply)

    async def _apply_plan(self, desk: "Desk", plan: AutoSchedule) -> None:
        """Schedule the drafts of the plan; notify what came out differently from the plan."""
        result = await desk.schedule.auto([placed.draft_id for placed in plan.scheduled])
        self.ways_back.did(tuple(placed.draft_id for placed in result.scheduled))
        # Slots may have been taken, or drafts changed, while the plan was on the screen.
        planned = {(placed.draft_id, placed.scheduled_at) for placed in plan.scheduled}
        changed = sum((placed.draft_id, placed.scheduled_at) not in planned for placed in result.scheduled)
        parts = [f"{plural(len(result.scheduled), 'draft')} scheduled"]
        parts += [f"{changed} for another time than was shown"] * bool(changed)
        parts += [f"{result.skipped} not: {result.reason}"] * bool(result.skipped)
        self.app.say(f"{', '.join(parts)} · {key('schedule.undo')} undo")
