"""The page that previews an automatic schedule."""

from datetime import datetime
from zoneinfo import ZoneInfo

from textual.content import Content

from copydesk.model.schedule import AutoSchedule, Placed
from copydesk.tui.cells import cell
from copydesk.tui.layout import Block, Table, plain
from copydesk.tui.week_clock import day_shown
from copydesk.tui.words import plural

MOST_SHOWN = 500
"""Drafts that are listed; the rest is counted."""


def plan_page(plan: AutoSchedule, zone: ZoneInfo, now: datetime) -> list[Block]:
    """Return the drafts with their planned times, and how many are left out and why."""
    listed = plan.scheduled[:MOST_SHOWN]
    blocks: list[Block] = [Table([_row(placed, zone, now) for placed in listed])]
    if remaining := len(plan.scheduled) - len(listed):
        blocks.append(plain(f"and {remaining} more", "dim"))
    if plan.skipped:
        reason = f": {cell(plan.reason)}" if plan.reason else ""
        blocks += [plain(), plain(f"{plural(plan.skipped, 'draft')} left out{reason}.", "warn")]
    return blocks


def _row(placed: Placed, zone: ZoneInfo, now: datetime) -> tuple[Content, ...]:
    local = placed.scheduled_at.astimezone(zone)
    year = f" {local.year}" if local.year != now.astimezone(zone).year else ""
    return (
        Content.styled(f"{day_shown(local.date())}{year} {local:%H:%M}", "accent"),
        Content.styled(f"{placed.format.lower()} {placed.confidence:.0%}", "dim"),
        Content(cell(placed.text)),
    )
