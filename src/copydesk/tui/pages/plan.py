"""What an automatic schedule would do."""

from datetime import datetime
from zoneinfo import ZoneInfo

from textual.content import Content

from copydesk.model.schedule import AutoSchedule, Placed
from copydesk.tui.cells import cell
from copydesk.tui.layout import Block, Table, plain
from copydesk.tui.week_clock import day_shown
from copydesk.tui.words import plural

MOST_SHOWN = 500
"""Drafts that are listed; the others are counted."""


def plan_page(plan: AutoSchedule, zone: ZoneInfo, now: datetime) -> list[Block]:
    """What goes where, and what is left out and why."""
    shown = plan.scheduled[:MOST_SHOWN]
    blocks: list[Block] = [Table([_row(each, zone, now) for each in shown])]
    if left := len(plan.scheduled) - len(shown):
        blocks.append(plain(f"and {left} more", "dim"))
    if plan.skipped:
        reason = f": {cell(plan.reason)}" if plan.reason else ""
        blocks += [plain(), plain(f"{plural(plan.skipped, 'draft')} left out{reason}.", "warn")]
    return blocks


def _row(each: Placed, zone: ZoneInfo, now: datetime) -> tuple[Content, ...]:
    here = each.scheduled_at.astimezone(zone)
    year = f" {here.year}" if here.year != now.astimezone(zone).year else ""
    return (
        Content.styled(f"{day_shown(here.date())}{year} {here:%H:%M}", "accent"),
        Content.styled(f"{each.format.lower()} {each.confidence:.0%}", "dim"),
        Content(cell(each.text)),
    )
