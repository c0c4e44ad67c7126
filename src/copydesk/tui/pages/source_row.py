"""A source as one line of the list."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual.content import Content

from copydesk.model.source import Health
from copydesk.tui.cells import cell, fit
from copydesk.tui.words import SOURCE, Sign, age

if TYPE_CHECKING:
    from copydesk.desk.overviews import SourceOverview
    from copydesk.model.source import Source

HEALTH = {
    Health.HEALTHY: Sign("H", "good", "healthy"),
    Health.DEGRADED: Sign("D", "warn", "failed lately"),
    Health.STALE: Sign("S", "warn", "nothing new for long"),
    Health.ERROR: Sign("E", "bad", "cannot be read"),
    Health.UNKNOWN: Sign("?", "dim", "not read yet"),
}
OFF = Sign("-", "dim", "switched off")
DAYS_FROM = 72
"""From so many cells on a row has room for the last days and the next fetch."""
TYPE_FROM = 52
"""From so many cells on it has room for the type, the items and today's."""
TYPE = 11
_STEPS = "▁▂▃▄▅▆▇█"


def sign_of(source: "Source") -> Sign:
    """How it is doing, as a letter, a colour and words."""
    return HEALTH[source.health] if source.enabled else OFF


def source_row(row: "SourceOverview", now: datetime, width: int) -> Content:
    """Health, type, items, today's and those of the last days, last fetch, next one, failures in a row, and the name.

    The name stands last: terminals do not agree on the width of every character, and nothing may shift.
    """
    source = row.source
    sign = sign_of(source)
    last = age(source.last_fetch, now) if source.last_fetch else "never"
    fails = Content.styled(f"{source.fail_count:>5} ", "warn") if source.fail_count else Content(" " * 6)
    figures = f"{fit(SOURCE[source.type], TYPE)} {short(source.item_count):>6} {short(row.days[-1]):>5} "
    head = Content.assemble(
        (sign.letter, sign.role),
        " ",
        figures if width >= TYPE_FROM else "",
        (f"{sparkline(row.days)} " if width >= DAYS_FROM else "", "accent"),
        (f"{last:>5} ", "dim"),
        (f"{following(row, now):>4} " if width >= DAYS_FROM else "", "dim"),
    )
    head += fails
    return head + Content.styled(fit(cell(source.name), width - head.cell_length), "" if source.enabled else "dim")


def heads(width: int, days: int = 14) -> str:
    """What stands above the columns."""
    figures = f"{'type':<{TYPE}} {'items':>6} {'today':>5} " if width >= TYPE_FROM else ""
    spark = f"{f'{days} days':<{days}} " if width >= DAYS_FROM else ""
    following = f"{'next':>4} " if width >= DAYS_FROM else ""
    return f"  {figures}{spark}{'last':>5} {following}{'fails':>5} name"


def sparkline(counts: Sequence[int]) -> str:
    """A cell for each count, the most as high as a cell; a point for none."""
    most = max(counts, default=0)
    return "".join(_STEPS[(count * len(_STEPS) - 1) // most] if count > 0 else "·" for count in counts)


def following(row: "SourceOverview", now: datetime) -> str:
    """When it is fetched next by itself, in at most four characters."""
    if not row.source.enabled:
        return "off"
    if row.next_fetch is None or row.next_fetch <= now:
        return "due"
    return age(now, row.next_fetch).replace("now", "1m")


def short(number: int) -> str:
    """A number in at most six characters."""
    if number < 1_000_000:
        return str(number)
    return f"{number / 1_000_000:.1f}M" if number < 1_000_000_000 else "many"
