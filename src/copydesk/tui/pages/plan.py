"""The page that previews an automatic schedule."""

from datetime import datetime
from zoneinfo import ZoneInfo

from textual.content import Content

from copydesk.model.schedule import AutoSchedule, SlotAssignment
from copydesk.tui.cells import safe_line
from copydesk.tui.layout import Block, Table, paragraph
from copydesk.tui.week_clock import format_day
from copydesk.tui.words import plural

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


def _row(placed: SlotAssignment, zone: ZoneInfo, now: datetime) -> tuple[Content, ...]:
    local = placed.scheduled_at.astimezone(zone)
    year = f" {local.year}" if local.year != now.astimezone(zone).year else ""
    return (
        Content.styled(f"{format_day(local.date())}{year} {local:%H:%M}", "accent"),
        Content.styled(f"{placed.format.lower()} {placed.confidence:.0%}", "dim"),
        Content(safe_line(placed.text)),
    )
