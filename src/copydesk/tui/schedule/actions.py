"""The actions of the schedule screen on drafts and weekly slots, with their dialogs and the parser of typed slots."""

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate, groupby
from operator import itemgetter
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message

from copydesk.errors import ConflictError
from copydesk.model.draft import ListedDraft, Status
from copydesk.model.schedule import MAX_FIRST_LINE, NO_SLOTS_REASON, AutoSchedule, Slot, SlotAssignment, name_days
from copydesk.tui import labels
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.dialogs.pick import PickDialog
from copydesk.tui.dialogs.prompt import ConfirmDialog, PromptDialog
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.layout import Block, Table, paragraph
from copydesk.tui.review.draft_row import draft_row
from copydesk.tui.review.row_style import RowStyle
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.schedule.week import GridPosition, format_slot, shift_time
from copydesk.tui.schedule.week_pane import WeekEdits, WeekPane
from copydesk.tui.terminal.cells import safe_line
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.undo_stack import UndoStep
from copydesk.tui.widgets.lines import set_title
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.schedule import WeekDraft


MAX_APPROVED = 100
"""Approved drafts offered for a slot."""
MAX_LISTED_DRAFTS = 500
"""Drafts that are listed; the rest is counted."""
# Drafts that are being posted or were posted keep their time.
_MOVABLE = frozenset({Status.SCHEDULED, Status.MISSED})
_DAY_NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
"""Indexed by `day_of_week`: 0 is Sunday."""
_WEEK = (1, 2, 3, 4, 5, 6, 0)
_GROUPS = {
    "daily": _WEEK,
    "everyday": _WEEK,
    "day": _WEEK,
    "weekdays": _WEEK[:5],
    "weekday": _WEEK[:5],
    "weekends": _WEEK[5:],
    "weekend": _WEEK[5:],
}
_FILLER_WORDS = frozenset({"every", "at"})
_COMMA = re.compile(r",|\band\b")
_MIN_LETTERS = 3
"""Minimum letters of a day's abbreviation."""
_MINUTE = re.compile(r"(?:(\d{1,2})[:.])?(\d{1,2})", re.ASCII)
_CLOCK = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?", re.ASCII)


class PlanReady(Message, bubble=False):
    """The automatic schedule was computed."""

    def __init__(self, plan: AutoSchedule) -> None:
        super().__init__()
        self.plan = plan


class ApprovedLoaded(Message, bubble=False):
    """The approved drafts that can be scheduled for `at` were loaded."""

    def __init__(self, drafts: Sequence[ListedDraft], at: datetime, time_label: str) -> None:
        super().__init__()
        self.drafts = drafts
        self.at = at
        self.time_label = time_label


class DraftActions:
    """Move, schedule, unschedule and open the draft under the cursor."""

    def __init__(self, screen: DeskScreen, pane: WeekPane, edits: WeekEdits) -> None:
        self._screen = screen
        self._pane = pane
        self._edits = edits

    @property
    def _app(self) -> DeskApp:
        return self._screen.app

    def _movable_draft(self, verb: str) -> "WeekDraft | None":
        """Return the draft under the cursor if it can be rescheduled; otherwise notify why not and return None.

        `verb` completes the sentence "No draft to … here".
        """
        draft = self._pane.draft
        if draft is None:
            self._app.notify_latest(labels.no_draft_here(verb))
        elif draft.status not in _MOVABLE:
            self._app.notify_latest(labels.draft_not_movable(draft.status))
        else:
            return draft
        return None

    def shift(self, days: int, hours: int) -> None:
        """Move the draft under the cursor by days and hours; the cursor follows it."""
        draft = self._movable_draft("move")
        if draft is None:
            return
        at = shift_time(draft.at, self._pane.zone, days=days, hours=hours)
        if at <= self._pane.now():
            self._app.notify_latest(labels.MOVE_TO_PAST)
            return

        async def reschedule(desk: "Desk") -> None:
            await desk.drafts.reschedule(draft.id, at)
            self._edits.record((draft.id,))

        self._edits.enqueue(reschedule, keys_wait=False)
        # Show the new time at once; the write is queued, and the week is loaded again when the queue is empty.
        self._pane.show_rescheduled(draft.id, at)

    def cancel(self) -> None:
        """Unschedule the draft under the cursor."""
        draft = self._movable_draft("unschedule")
        if draft is None:
            return

        async def cancel(desk: "Desk") -> None:
            await desk.drafts.cancel_schedule(draft.id)
            self._edits.record((draft.id,))
            self._app.notify_latest(labels.draft_unscheduled())

        self._edits.enqueue(cancel)

    def open(self) -> None:
        """Show the draft under the cursor on the review screen."""
        draft = self._pane.draft
        if draft is None:
            self._app.notify_latest(labels.no_draft_here("open"))
            return
        self._app.show_draft(draft.id)

    def fill(self) -> None:
        """Choose an approved draft for the time under the cursor."""
        at = self._time_under_cursor()
        if at is None:
            return

        async def offer(desk: "Desk") -> None:
            page = await desk.drafts.list(limit=MAX_APPROVED, status=Status.APPROVED, archived="exclude")
            (time_label,) = await desk.schedule.format_times(at)
            self._screen.post_message(ApprovedLoaded(_best_first(page.items), at, time_label))

        self._app.run_desk_task(offer, hold_keys=Hold.SCREEN)

    def _time_under_cursor(self) -> datetime | None:
        """Return the time of the selected or else the first free slot, or the start of the hour.

        Notify and return None if the hour does not exist on that day or has passed.
        """
        cell = self._pane.grid.cell
        if cell is None:
            return None
        if cell.span is None:
            self._app.notify_latest(labels.HOUR_DOES_NOT_EXIST)
            return None
        # The selected entry comes first: a selected slot wins over an earlier one.
        free = [entry for entry in (self._pane.entry, *cell.entries) if entry and entry.draft is None]
        at = free[0].at if free else cell.span.start
        if at <= self._pane.now():
            self._app.notify_latest(labels.TIME_HAS_PASSED)
            return None
        return at

    def choose(self, message: ApprovedLoaded) -> None:
        """Open the list of approved drafts, to choose one for the time under the cursor."""
        if not message.drafts:
            self._app.notify_latest(labels.no_approved_drafts())
            return

        def schedule(draft: ListedDraft | None) -> None:
            if draft is not None:
                self._schedule(draft.id, message.at)

        limit = MAX_APPROVED if len(message.drafts) == MAX_APPROVED else 0
        title = labels.draft_picker_title(message.time_label, limit)
        self._app.push_if_current(self._screen, PickDraftDialog(message.drafts, title, self._pane.now()), schedule)

    def _schedule(self, draft_id: str, at: datetime) -> None:
        async def schedule(desk: "Desk") -> None:
            await desk.drafts.schedule(draft_id, at)
            self._edits.record((draft_id,))
            (time,) = await desk.schedule.format_times(at, short=True)
            self._app.notify_latest(labels.draft_scheduled(time))

        self._edits.enqueue(schedule)

    def auto_schedule(self) -> None:
        """Compute the automatic schedule and show it for confirmation."""

        async def plan(desk: "Desk") -> None:
            # A draft that was moved a moment ago has left its slot.
            await self._app.desk_tasks.wait_for_writes()
            self._screen.post_message(PlanReady(await desk.schedule.auto_schedule(dry_run=True)))

        self._app.run_desk_task(plan, hold_keys=Hold.SCREEN)

    def preview(self, plan: AutoSchedule) -> None:
        """Show the automatic schedule and apply it if it is accepted; notify if it schedules nothing."""
        if not plan.scheduled:
            advice = labels.slot_advice() if plan.reason == NO_SLOTS_REASON else ""
            self._app.notify_latest(
                labels.drafts_not_scheduled(plan.skipped, plan.reason) + advice
                if plan.skipped
                else labels.no_approved_drafts()
            )
            return

        def apply(yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
            if yes:
                self._edits.enqueue(lambda desk: self._apply_plan(desk, plan))

        self._app.push_if_current(self._screen, PlanDialog(plan, self._pane.zone, self._pane.now()), apply)

    async def _apply_plan(self, desk: "Desk", plan: AutoSchedule) -> None:
        """Schedule the drafts of the plan; notify what came out differently from the plan."""
        result = await desk.schedule.auto_schedule([placed.draft_id for placed in plan.scheduled])
        if result.scheduled:
            # Without drafts it would stand for the user's last change of any draft.
            self._edits.record(tuple(placed.draft_id for placed in result.scheduled))
            # They may all lie in another week than the one on the screen.
            first = min(result.scheduled, key=lambda placed: placed.scheduled_at)
            self._pane.follow(first.draft_id, first.scheduled_at)
        # Slots may have been taken, or drafts changed, while the plan was on the screen.
        planned = {(placed.draft_id, placed.scheduled_at) for placed in plan.scheduled}
        changed = sum((placed.draft_id, placed.scheduled_at) not in planned for placed in result.scheduled)
        self._app.notify_latest(labels.drafts_scheduled(len(result.scheduled), changed, result.skipped, result.reason))


def plan_page(plan: AutoSchedule, zone: ZoneInfo, now: datetime) -> list[Block]:
    """Return what the plan warns about, then the drafts with their planned times."""
    listed, blocks = plan.scheduled[:MAX_LISTED_DRAFTS], list[Block]()
    # Above the drafts: what is below a long plan is not seen before it is confirmed.
    if plan.without_account:
        note = labels.missing_account(plan.without_account, len(plan.scheduled))
        blocks += [paragraph(note, "warn"), paragraph()]
    if plan.lacking_approvals:
        note = labels.lacking_approvals(plan.lacking_approvals, len(plan.scheduled))
        blocks += [paragraph(note, "warn"), paragraph()]
    if plan.skipped:
        blocks += [paragraph(labels.drafts_not_scheduled(plan.skipped, safe_line(plan.reason)), "warn"), paragraph()]
    blocks.append(Table([_row(placed, zone, now) for placed in listed]))
    if remaining := len(plan.scheduled) - len(listed):
        blocks.append(paragraph(labels.more_drafts(remaining), "dim"))
    return blocks


def _best_first(drafts: Sequence[ListedDraft]) -> list[ListedDraft]:
    """Return the drafts in the order of the automatic schedule: by confidence, by score while that is not known."""
    by_confidence = all(draft.confidence_known for draft in drafts)

    def priority(draft: ListedDraft) -> tuple[float, datetime]:
        score = draft.score.total if draft.score else 0.0
        return -(draft.confidence if by_confidence else score), draft.created_at

    return sorted(drafts, key=priority)


def _format_and_confidence(assignment: SlotAssignment) -> str:
    confidence = f" {assignment.confidence:.0%}" if assignment.confidence_known else ""
    return f"{assignment.format.lower()}{confidence}"


def _row(assignment: SlotAssignment, zone: ZoneInfo, now: datetime) -> tuple[Content, ...]:
    is_cut = len(assignment.text) >= MAX_FIRST_LINE
    return (
        Content.styled(labels.format_date_time(assignment.scheduled_at, now.astimezone(zone)), "accent"),
        Content.styled(_format_and_confidence(assignment), "dim"),
        Content(safe_line(assignment.text) + "…" * is_cut),
    )


class PlanDialog(Dialog[bool], inherit_bindings=False):
    """Show what the automatic schedule would do; return True if it is accepted."""

    CSS_PATH = stylesheet_path("over.tcss")
    WHERE = (KeyContext.PAGE, KeyContext.PLAN)
    BINDINGS = bindings(KeyContext.PLAN)

    def __init__(self, plan: AutoSchedule, zone: ZoneInfo, now: datetime) -> None:
        super().__init__()
        self._plan = plan
        self._blocks = plan_page(plan, zone, now)

    def compose(self) -> ComposeResult:
        yield Page(self._blocks, id="over")

    def on_mount(self) -> None:
        set_title(self.query_one(Page), labels.plan_title(len(self._plan.scheduled)))

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001 - Textual passes it by position
        """Close with the answer."""
        self.close(yes)


class PickDraftDialog(PickDialog[ListedDraft]):
    """Choose one of the approved drafts."""

    def __init__(self, drafts: Sequence[ListedDraft], title: str, now: datetime) -> None:
        super().__init__(drafts, title)
        self._now = now

    def draw(self, choice: ListedDraft, width: int) -> Content:
        return draft_row(choice, self._now, width, RowStyle(usual_status=choice.status))

    def text_of(self, choice: ListedDraft) -> str:
        return choice.text


class SlotActions:
    """Create and delete the weekly slot under the cursor."""

    def __init__(self, pane: WeekPane, edits: WeekEdits) -> None:
        self._pane = pane
        self._edits = edits

    def new(self) -> None:
        """Prompt for the minute of a weekly slot in the hour under the cursor, or for other times."""
        if self._pane.grid.cursor is not None:
            self._prompt(self._pane.grid.cursor)

    def _prompt(self, position: GridPosition, value: str = "", error: str = "") -> None:
        # Slots count weekdays from Sunday (0).
        hour = Slot(day_of_week=position.day.isoweekday() % 7, hour=position.hour.hour, minute=0)

        def create(answer: str | None) -> None:
            slots = parse_slots(answer, hour) if answer is not None else ()
            if slots:
                self._create(slots)
            elif answer is not None:
                refusal = labels.AMBIGUOUS_SLOTS if is_ambiguous(answer) else labels.invalid_slot(hour.hour)
                self._prompt(position, answer, refusal)

        hint = error or labels.slot_prompt_hint(format_slot(hour))
        dialog = PromptDialog(labels.slot_prompt(hour.hour), value=value, hint=hint)
        self._pane.app.push_screen(dialog, create)

    def _create(self, slots: Sequence[Slot]) -> None:
        async def create(desk: "Desk") -> None:
            old = await desk.schedule.slots()
            new = tuple(slot for slot in slots if slot not in old)
            if not new:
                self._pane.app.notify_latest(labels.slots_exist(len(slots), _format_slots(slots)))
                return
            added = len(new), _format_slots(new)
            await self._replace(desk, old, (*old, *new), labels.slots_addition(*added))
            self._pane.app.notify_latest(labels.slots_added(*added))

        self._edits.enqueue(create)

    def delete(self) -> None:
        """Delete the weekly slot under the cursor, after a confirmation. A draft in it keeps its time."""
        entry = self._pane.entry
        if entry is None or entry.slot is None:
            self._pane.app.notify_latest(labels.no_slot_here())
            return
        slot = entry.slot.slot

        async def delete(desk: "Desk") -> None:
            old = await desk.schedule.slots()
            new = tuple(other for other in old if other != slot)
            if new == old:
                # Deleted elsewhere while the question was open.
                self._pane.app.notify_latest(labels.no_slot_here())
                return
            await self._replace(desk, old, new, labels.slot_deletion(format_slot(slot)))
            self._pane.app.notify_latest(labels.slot_deleted(format_slot(slot)))

        def on_answer(yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
            if yes:
                self._edits.enqueue(delete)

        dialog = ConfirmDialog(labels.delete_slot_prompt(format_slot(slot)), yes=labels.DELETE)
        self._pane.app.push_screen(dialog, on_answer)

    async def _replace(self, desk: "Desk", old: tuple[Slot, ...], new: tuple[Slot, ...], description: str) -> None:
        new = await desk.schedule.set_slots(new)
        step = UndoStep(
            description, lambda desk: _replace_slots(desk, new, old), lambda desk: _replace_slots(desk, old, new)
        )
        self._edits.record(step)


def _format_slots(slots: Sequence[Slot]) -> str:
    """Format slots, those that share a time as `Mon, Wed 09:30` or `weekdays 09:30`."""
    by_time: dict[str, list[str]] = {}
    for day, time in name_days(slots, (labels.DAYS[-1], *labels.DAYS[:-1])):
        by_time.setdefault(time, []).append(day)
    return ", ".join(f"{', '.join(days)} {time}" for time, days in by_time.items())


async def _replace_slots(desk: "Desk", expected: tuple[Slot, ...], new: tuple[Slot, ...]) -> None:
    """Replace the slots. Raise ConflictError if they were changed since and are no longer `expected`."""
    # Undo must not overwrite what another process has changed meanwhile.
    if await desk.schedule.slots() != expected:
        raise ConflictError(labels.SLOTS_CHANGED)
    await desk.schedule.set_slots(new)


def parse_slots(text: str, default: Slot) -> tuple[Slot, ...]:
    """Return the slots that `text` describes, Monday first; an empty tuple if it is invalid or ambiguous.

    An empty text means `default` itself; `30` and `4:30` are another minute or time of its day. After days a number is
    an hour: `weekdays 9:30 15`, `daily 9`, `mon,wed 9:30, sat 11`, `sat-sun 10`; days without a time take the time of
    `default`.
    """
    if not text.strip():
        return (default,)
    parts = _split_parts(text)
    words = [word for part in parts for word in part]
    if all(map(_is_time, words)):
        return _combine((default.day_of_week,), [_parse_time(time, default, _MINUTE) for time in words])
    if not any(map(_is_time, words)):
        return _combine(_parse_days(words), [(default.hour, default.minute)])
    slots: list[Slot] = []
    for days, times in _pair_days_times(parts):
        added = _combine(_parse_days(days), [_parse_time(time, default, _CLOCK) for time in times])
        if not added:
            return ()
        slots += added
    return tuple(dict.fromkeys(slots))


def is_ambiguous(text: str) -> bool:
    """Return True if `text` has days and times, but does not tell which of them belong together."""
    parts = _split_parts(text)
    kinds = {_is_time(word) for part in parts for word in part}
    return len(kinds) > 1 and not _pair_days_times(parts)


def _split_parts(text: str) -> list[list[str]]:
    """Return the words between commas, in lower case and without filler words."""
    # Remove blanks around hyphens, so that a range of days is one word.
    text = re.sub(r"\s*([-–])\s*", r"\1", text.lower())
    split = ([word for word in part.split() if word not in _FILLER_WORDS] for part in _COMMA.split(text))
    return [part for part in split if part]


def _pair_days_times(parts: Sequence[list[str]]) -> list[tuple[list[str], list[str]]]:
    """Return the days and times that belong together; an empty list if that is ambiguous.

    `parts` are the words between commas. Each part with both has its own order, `mon 9` or `9 mon`; one with only days
    or times belongs to the parts around it, which must have the same order.
    """
    # True if the time comes first; None if the parts around it tell.
    orders = [_is_time(part[0]) if len(_split_runs(part)) > 1 else None for part in parts]
    before = accumulate(orders, _last_known)
    after = list(accumulate(reversed(orders), _last_known))[::-1]
    resolved: list[bool] = []
    for nearest in zip(before, after, strict=True):
        possible = [order for order in dict.fromkeys(nearest) if order is not None]
        if len(possible) > 1:
            return []
        resolved.append(possible[0] if possible else _is_time(parts[0][0]))
    pairs: list[tuple[list[str], list[str]]] = []
    for time_first, section in groupby(zip(resolved, parts, strict=True), key=itemgetter(0)):
        runs = _split_runs([word for _, part in section for word in part])
        if len(runs) % 2 or _is_time(runs[0][0]) is not time_first:
            return []
        halves = zip(runs[::2], runs[1::2], strict=True)
        pairs += [(second, first) if time_first else (first, second) for first, second in halves]
    return pairs


def _split_runs(words: Sequence[str]) -> list[list[str]]:
    """Split words where days and times alternate."""
    return [list(run) for _, run in groupby(words, key=_is_time)]


def _last_known(known: bool | None, order: bool | None) -> bool | None:  # noqa: FBT001 - for `accumulate`
    return known if order is None else order


def _is_time(word: str) -> bool:
    return word[0].isdigit()


def _combine(days: Sequence[int], times: Sequence[tuple[int, int] | None]) -> tuple[Slot, ...]:
    """Return a slot for each time on each of the days; an empty tuple if a time is invalid."""
    valid = [time for time in times if time is not None]
    if len(valid) < len(times):
        return ()
    return tuple(Slot(day_of_week=day, hour=hour, minute=minute) for hour, minute in valid for day in days)


def _parse_time(text: str, default: Slot, pattern: "re.Pattern[str]") -> tuple[int, int] | None:
    """Return (hour, minute); None if invalid. A number alone is a minute by `_MINUTE`, an hour by `_CLOCK`."""
    match = pattern.fullmatch(text)
    if match is None:
        return None
    hour, minute = int(match[1] or default.hour), int(match[2] or 0)
    return (hour, minute) if hour < 24 and minute < 60 else None


def _parse_days(tokens: Sequence[str]) -> tuple[int, ...]:
    """Return the days, Monday first; an empty tuple if a word is not a day."""
    day_numbers: set[int] = set()
    for token in tokens:
        parsed = _parse_days_word(token)
        if not parsed:
            return ()
        day_numbers.update(parsed)
    return tuple(day for day in _WEEK if day in day_numbers)


def _parse_days_word(token: str) -> Sequence[int]:
    first, *last = re.split("[-–]", token)
    if token in _GROUPS or not last:
        return _GROUPS.get(token) or _parse_day(token)
    start, end = _parse_day(first), _parse_day(last[0])
    if len(last) > 1 or not start or not end:
        return ()
    # Modulo 7: a range such as sat-mon continues after Sunday.
    first_index, days = _WEEK.index(start[0]), (_WEEK.index(end[0]) - _WEEK.index(start[0])) % 7 + 1
    return [_WEEK[(first_index + offset) % 7] for offset in range(days)]


def _parse_day(token: str) -> Sequence[int]:
    """Parse `mon`, `monday` or `mondays`; return a sequence of one day, or an empty one."""
    if len(token) < _MIN_LETTERS:
        return ()
    return [number for number, name in enumerate(_DAY_NAMES) if name.startswith(token) or token == f"{name}s"]
