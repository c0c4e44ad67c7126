"""A source as one row of the list."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual.content import Content

from copydesk.model.source import Health
from copydesk.tui.cells import fit, safe_line
from copydesk.tui.words import SOURCE, Badge, format_age

if TYPE_CHECKING:
    from copydesk.desk.overviews import SourceOverview
    from copydesk.model.source import Source

HEALTH_SIGNS = {
    Health.HEALTHY: Badge("H", "good", "healthy"),
    Health.DEGRADED: Badge("D", "warn", "failed lately"),
    Health.STALE: Badge("S", "warn", "nothing new for long"),
    Health.ERROR: Badge("E", "bad", "cannot be read"),
    Health.UNKNOWN: Badge("?", "dim", "not read yet"),
}
OFF_SIGN = Badge("-", "dim", "switched off")
MIN_WIDTH_FOR_DAYS = 72
"""Rows of at least this many cells show the last days and the next fetch."""
MIN_WIDTH_FOR_TYPE = 52
"""Rows of at least this many cells show the type, the number of items and today's."""
TYPE_WIDTH = 11
_SPARK_LEVELS = "▁▂▃▄▅▆▇█"


def health_sign(source: "Source") -> Badge:
    """Return the sign of the source's health, or of its being switched off."""
    return HEALTH_SIGNS[source.health] if source.enabled else OFF_SIGN


def source_row(overview: "SourceOverview", now: datetime, width: int) -> Content:
    """Return the source's row in `width` cells.

    From the left: health, type, items, today's items, a chart of the last days, last and next fetch, failures in a row,
    and the name. The name comes last: terminals disagree about the width of some characters, which would shift every
    later column.
    """
    source = overview.source
    sign = health_sign(source)
    last_fetch = format_age(source.last_fetch, now) if source.last_fetch else "never"
    failures = Content.styled(f"{source.fail_count:>5} ", "warn") if source.fail_count else Content(" " * 6)
    counts = f"{fit(SOURCE[source.type], TYPE_WIDTH)} {format_count(source.item_count):>6} {format_count(overview.days[-1]):>5} "
    head = Content.assemble(
        (sign.letter, sign.role),
        " ",
        counts if width >= MIN_WIDTH_FOR_TYPE else "",
        (f"{sparkline(overview.days)} " if width >= MIN_WIDTH_FOR_DAYS else "", "accent"),
        (f"{last_fetch:>5} ", "dim"),
        (f"{format_next_fetch(overview, now):>4} " if width >= MIN_WIDTH_FOR_DAYS else "", "dim"),
    )
    head += failures
    return head + Content.styled(fit(safe_line(source.name), width - head.cell_length), "" if source.enabled else "dim")


def source_header(width: int, days: int = 14) -> str:
    """Return the column header for `source_row`; `days` is the width of the chart."""
    counts = f"{'type':<{TYPE_WIDTH}} {'items':>6} {'today':>5} " if width >= MIN_WIDTH_FOR_TYPE else ""
    chart = f"{f'{days} days':<{days}} " if width >= MIN_WIDTH_FOR_DAYS else ""
    following = f"{'next':>4} " if width >= MIN_WIDTH_FOR_DAYS else ""
    return f"  {counts}{chart}{'last':>5} {following}{'fails':>5} name"


def sparkline(counts: Sequence[int]) -> str:
    """Return a bar of one cell per count, scaled to the highest; a dot for zero."""
    highest = max(counts, default=0)
    # Scaled so that the highest count reaches the last level and 1 at least the first.
    return "".join(_SPARK_LEVELS[(count * len(_SPARK_LEVELS) - 1) // highest] if count > 0 else "·" for count in counts)


def format_next_fetch(overview: "SourceOverview", now: datetime) -> str:
    """Format the time until the next automatic fetch, in at most four characters."""
    if not overview.source.enabled:
        return "off"
    if overview.next_fetch is None or overview.next_fetch <= now:
        return "due"
    # `age` says "now" below one minute; a future time is at least due in a minute.
    return format_age(now, overview.next_fetch).replace("now", "1m")


def format_count(number: int) -> str:
    """Format a number in at most six characters."""
    if number < 1_000_000:
        return str(number)
    return f"{number / 1_000_000:.1f}M" if number < 1_000_000_000 else "many"
