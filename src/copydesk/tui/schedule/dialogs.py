"""Dialogs of the schedule: confirming a preview of the automatic schedule, and choosing an approved draft."""

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from textual.app import ComposeResult
from textual.content import Content

from copydesk.model.draft import ListedDraft
from copydesk.model.schedule import AutoSchedule, SlotAssignment
from copydesk.text.formatting import plural
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.keys import KeyContext, bindings, key_label
from copydesk.tui.layout import Block, Table, paragraph
from copydesk.tui.review.draft_row import draft_row
from copydesk.tui.schedule.week_clock import format_day
from copydesk.tui.styles import stylesheet_path
from copydesk.tui.terminal.cells import safe_line
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.line_widget import ROLE_CLASSES
from copydesk.tui.widgets.page import Page

MAX_LISTED_DRAFTS = 500
"""Drafts that are listed; the rest is counted."""


def plan_page(plan: AutoSchedule, zone: ZoneInfo, now: datetime) -> list[Block]:
    """Return the drafts with their planned times, and how many are left out and why."""
    listed = plan.scheduled[:MAX_LISTED_DRAFTS]
    blocks: list[Block] = [Table([_row(placed, zone, now) for placed in listed])]
    if remaining := len(plan.scheduled) - len(listed):
        blocks.append(paragraph(f"and {remaining} more", "dim"))
    if plan.skipped:
        reason = f": {safe_line(plan.reason)}" if plan.reason else ""
        blocks += [paragraph(), paragraph(f"{plural(plan.skipped, 'draft')} left out{reason}.", "warn")]
    return blocks


def _row(assignment: SlotAssignment, zone: ZoneInfo, now: datetime) -> tuple[Content, ...]:
    local = assignment.scheduled_at.astimezone(zone)
    year = f" {local.year}" if local.year != now.astimezone(zone).year else ""
    return (
        Content.styled(f"{format_day(local.date())}{year} {local:%H:%M}", "accent"),
        Content.styled(f"{assignment.format.lower()} {assignment.confidence:.0%}", "dim"),
        Content(safe_line(assignment.text)),
    )


class PlanDialog(Dialog[bool], inherit_bindings=False):
    """Show what the automatic schedule would do; return True if it is accepted."""

    CSS_PATH = stylesheet_path("over.tcss")
    COMPONENT_CLASSES = set(ROLE_CLASSES)
    WHERE = (KeyContext.PAGE, KeyContext.PLAN)
    BINDINGS = bindings(KeyContext.PLAN)

    def __init__(self, plan: AutoSchedule, zone: ZoneInfo, now: datetime) -> None:
        super().__init__()
        self._plan = plan
        self._blocks = plan_page(plan, zone, now)

    def compose(self) -> ComposeResult:
        yield Page(self._blocks, id="over")

    def on_mount(self) -> None:
        count = plural(len(self._plan.scheduled), "draft")
        self.query_one(Page).set_title(
            f"Schedule {count} · {key_label('plan.do')} does it · {key_label('plan.leave')} leaves"
        )

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001 - Textual passes it by position
        """Close with the answer."""
        self.close(yes)


class DraftList(LineList[ListedDraft]):
    """A list of drafts, drawn as in the review queue."""

    def __init__(self, now: datetime, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now

    def draw(self, row: ListedDraft, width: int) -> Content:
        """Return the draft's line, fitted to `width` cells."""
        return draft_row(row, self._now, width)


class PickDraftDialog(Dialog[str | None], inherit_bindings=False):
    """Choose one of the approved drafts; return its id, or None if the dialog is left."""

    CSS_PATH = stylesheet_path("over.tcss")
    COMPONENT_CLASSES = set(ROLE_CLASSES)
    WHERE = (KeyContext.LIST, KeyContext.DRAFT_PICKER)
    BINDINGS = bindings(KeyContext.DRAFT_PICKER)

    def __init__(self, drafts: Sequence[ListedDraft], title: str, now: datetime) -> None:
        super().__init__()
        self._drafts = drafts
        self._title = title
        self._now = now

    def compose(self) -> ComposeResult:
        yield DraftList(self._now, id="over")

    def on_mount(self) -> None:
        drafts = self.query_one(DraftList)
        drafts.set_title(self._title)
        drafts.show(self._drafts)

    def on_line_list_opened(self) -> None:
        """Enter or a click on a line chooses it."""
        self.action_take()

    def action_take(self) -> None:
        """Choose the draft under the cursor."""
        current = self.query_one(DraftList).current
        self.close(current.id if current else None)

    def action_leave(self) -> None:
        """Close without a choice."""
        self.close(None)
