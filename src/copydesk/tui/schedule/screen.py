"""The schedule screen: the week with its slots and drafts, and the actions on them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual import on
from textual.widget import Widget

from copydesk.errors import CopydeskError
from copydesk.tui import labels
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.dialogs.prompt import prompt_time_zone
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.schedule.actions import ApprovedLoaded, DraftActions, PlanReady, SlotActions
from copydesk.tui.schedule.week_grid import WeekGrid
from copydesk.tui.schedule.week_pane import WeekEdits, WeekPane
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.undo_stack import UndoStep

if TYPE_CHECKING:
    from copydesk.desk import Desk


class ScheduleScreen(DeskScreen):
    """Moves and schedules drafts, creates and deletes slots. Changes apply at once and can be undone with `u`."""

    NAME = labels.SCHEDULE
    WHERE = (KeyContext.SCHEDULE,)
    CSS_PATH = stylesheet_path("schedule.tcss")
    BINDINGS = bindings(KeyContext.SCHEDULE)
    # From 34 lines a day of 25 hours fits above a pane of some lines.
    VERTICAL_BREAKPOINTS = [(0, "-low"), (10, "-tall"), (34, "-high")]

    def __init__(self) -> None:
        super().__init__()
        self.week_pane = WeekPane(self)
        self.edits = WeekEdits(self, self.week_pane)
        self.slots = SlotActions(self.week_pane, self.edits)
        self.drafts = DraftActions(self, self.week_pane, self.edits)

    def body(self) -> Iterable[Widget]:
        yield self.week_pane

    def refresh_data(self) -> None:
        """Load the week again."""
        self.week_pane.reload()

    def show_error(self, error: CopydeskError) -> None:
        self.week_pane.show_error(self.error_note(error))

    def on_screen_resume(self) -> None:
        self.week_pane.update_time()

    # The cursor

    def action_move(self, days: int, hours: int) -> None:
        self.week_pane.grid.move_by(days, hours)

    def action_hour(self, at: int) -> None:
        self.week_pane.move_to_hour(at)

    def action_next_entry(self) -> None:
        self.week_pane.grid.select_next_entry()

    def action_week(self, by: int) -> None:
        self.week_pane.move_by_weeks(by)

    def action_today(self) -> None:
        self.week_pane.move_to_now()

    # Slots

    def action_new_slot(self) -> None:
        self.slots.new()

    def action_delete_slot(self) -> None:
        self.slots.delete()

    # Drafts

    def action_shift(self, days: int, hours: int) -> None:
        self.drafts.shift(days, hours)

    def action_cancel(self) -> None:
        self.drafts.cancel()

    @on(WeekGrid.Opened)
    def action_open(self) -> None:
        self.drafts.open()

    def action_fill(self) -> None:
        self.drafts.fill()

    @on(ApprovedLoaded)
    def _choose_draft(self, message: ApprovedLoaded) -> None:
        self.drafts.choose(message)

    def action_auto(self) -> None:
        self.drafts.auto_schedule()

    @on(PlanReady)
    def _preview_plan(self, message: PlanReady) -> None:
        self.drafts.preview(message.plan)

    def action_undo(self) -> None:
        self.edits.undo()

    def action_redo(self) -> None:
        self.edits.redo()

    def selected_draft_id(self) -> str | None:
        """Return the id of the draft under the cursor."""
        draft = self.week_pane.draft
        return draft.id if draft is not None else None

    # The time zone and the clock

    def action_zone(self, value: str = "", error: CopydeskError | None = None) -> None:
        """Prompt for the time zone; `value` and `error` are the rejected name and why, on a second try."""
        if self.week_pane.week is not None:
            prompt_time_zone(self, self.week_pane.week.zone, self._set_zone, value, error)

    def _set_zone(self, name: str | None) -> None:
        week = self.week_pane.week
        if not name or week is None or name.strip() == week.zone:
            return
        old, new = week.zone, name.strip()

        async def change(desk: "Desk") -> None:
            try:
                await desk.schedule.set_zone(new)
            except CopydeskError as error:
                # Ask again, with the rejected name in the line and the error below it.
                self.app.call_later(self.action_zone, new, error)
                return
            step = UndoStep(
                labels.time_zone_change(old, new),
                lambda desk: desk.schedule.set_zone(old),
                lambda desk: desk.schedule.set_zone(new),
            )
            self.edits.record(step)
            self.app.notify_latest(labels.time_zone_changed(new))

        self.edits.enqueue(change)

    def action_accept_clock(self) -> None:
        """Accept the clock's time as correct, after a warning about it."""

        async def accept(desk: "Desk") -> None:
            if await desk.schedule.accept_clock():
                self.app.notify_latest(labels.CLOCK_ACCEPTED)

        self.edits.enqueue(accept)
