"""Format numbers, durations and times as text. Console, command line, desk and posting all use these functions."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import ceil

MINUTE_SECONDS, HOUR_SECONDS, DAY_SECONDS = 60, 3600, 86_400
_DURATION_UNITS = ((DAY_SECONDS, "day"), (HOUR_SECONDS, "hour"), (MINUTE_SECONDS, "minute"))
# No months: `m` means minutes.
_AGE_UNITS = ((7 * DAY_SECONDS, "w"), (DAY_SECONDS, "d"), (HOUR_SECONDS, "h"), (MINUTE_SECONDS, "m"))


def join_with_or(words: Sequence[str]) -> str:
    """Return the words, of which there is one at least, as `a`, `a or b` or `a, b or c`."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def plural(count: int, noun: str) -> str:
    """Return the number and its noun: `1 draft`, `4,083 drafts`, `2 entries`."""
    return f"{count:,} {noun if count == 1 else _pluralize(noun)}"


def _pluralize(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"


def describe_confidence(share: float, *, known: bool, decisions: int | None = None, needed: int = 0) -> str:
    """Return a draft's confidence, 0 to 1: `70%`, or `not known yet (7 of 20 decisions)` if it can tell how many."""
    if known:
        return f"{share:.0%}"
    # With all of them it is computed at the next refresh.
    missing = decisions is not None and decisions < needed
    return f"not known yet ({decisions} of {plural(needed, 'decision')})" if missing else "not known yet"


def format_duration(duration: timedelta | float) -> str:
    """Return a duration, given in seconds or as a timedelta, as text: `45 seconds`, `15 minutes`, `36 hours`, `3 days`.

    A unit is used for exactly one of it and from two of it on, because "90 minutes" says more than "2 hours".
    """
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    for length, unit in _DURATION_UNITS:
        if seconds >= 2 * length or seconds == length:
            return plural(round(seconds / length), unit)
    return plural(max(1, round(seconds)), "second")


def format_minutes_until(instant: datetime, now: datetime) -> str:
    """Return the time until `instant` in minutes, rounded up: after that long it has passed."""
    return plural(ceil((instant - now) / timedelta(minutes=1)), "minute")


def describe_growth(hours: int) -> str:
    """Return the remark beside metrics of a period that posts younger than `hours` make too low."""
    return f"Posts of the last {hours} hours still gain interactions."


def format_relative(instant: datetime, now: datetime) -> str:
    """Return the distance of `instant` from `now`: `just now`, `5 min ago`, `1 h 17 min ago`, `in 3 days`.

    Minutes are left out from a day on, where nobody counts them. From two days on calendar days are counted, in the
    time zone of the arguments.
    """
    seconds = instant.timestamp() - now.timestamp()
    minutes = int(abs(seconds) // MINUTE_SECONDS)
    if minutes < 1:
        return "in less than a minute" if seconds > 0 else "just now"
    if minutes < 60:
        amount = f"{minutes} min"
    elif minutes < 24 * 60:
        amount = f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")
    elif minutes < 48 * 60:
        amount = f"{round(minutes / 60)} h"
    else:
        days = abs((instant.date() - now.date()).days)
        amount = plural(days, "day") if days < 14 else plural(days // 7, "week")
    return f"in {amount}" if seconds > 0 else f"{amount} ago"


def format_age(instant: datetime, now: datetime) -> str:
    """Return the time since `instant` in at most three characters if it is under 100 weeks: `5m`, `3h`, `2d`, `40w`."""
    seconds = (now - instant).total_seconds()
    for length, unit in _AGE_UNITS:
        if seconds >= length:
            return f"{int(seconds // length)}{unit}"
    return "now"


def format_cost(dollars: float | None) -> str:
    """Return a cost in US dollars; `unknown` for None."""
    if dollars is None:
        return "unknown"
    return f"${dollars:.4f}" if 0 < dollars < 1 else f"${dollars:,.2f}"


def format_count(count: int | None) -> str:
    """Return a number with thousands separators; `unknown` for None."""
    return "unknown" if count is None else f"{count:,}"
