"""Time zones by their IANA names, and the instant at which a zone's clocks show a wall time."""

from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from copydesk.errors import FieldError, NoZoneError
from copydesk.text import clean

LONGEST_NAME = 64
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def zone_named(name: str, *, field: str = "timeZone") -> ZoneInfo:
    """The zone with this IANA name, such as `Europe/Prague`.

    Raises InvalidError, with names that look like it as the hint, where the database has none of that name.
    """
    # Only a name from the list becomes a path: neither ../etc nor, where case does not matter, europe/prague.
    if name not in _names():
        shown = clean(name[:LONGEST_NAME]) or "nothing"
        like = _like(name)
        hint = (
            f"Did you mean {' or '.join(like)}?" if like else "It is a name such as Europe/Prague or America/New_York."
        )
        raise NoZoneError(FieldError(field, f"{shown} is no time zone of the IANA database"), like, hint=hint)
    return ZoneInfo(name)


def instant_of_wall(wall: datetime, zone: ZoneInfo, *, second: bool = False) -> datetime:
    """The instant (UTC) at which the clocks of `zone` show `wall`, a time without a zone.

    A wall time that a clock change skips is the first full minute after the gap. One that is shown twice is the
    first of the two, or the second where `second` says so.
    """
    here = wall.replace(tzinfo=zone, fold=int(second))
    if _skipped(here):
        return _after_gap(here)
    return here.astimezone(UTC)


def is_repeated(wall: datetime, zone: ZoneInfo) -> bool:
    """Whether a clock change makes the clocks of `zone` show `wall` twice."""
    before, after = _offsets(wall.replace(tzinfo=zone))
    return before > after


def is_skipped(wall: datetime, zone: ZoneInfo) -> bool:
    """Whether a clock change makes the clocks of `zone` never show `wall`."""
    return _skipped(wall.replace(tzinfo=zone))


def _skipped(here: datetime) -> bool:
    before, after = _offsets(here)
    return before < after


def _offsets(here: datetime) -> tuple[timedelta, timedelta]:
    """The offsets from UTC before and after a clock change at this wall time, which PEP 495 tells by the fold.

    They are the same where there is no change.
    """
    before, after = here.replace(fold=0).utcoffset(), here.replace(fold=1).utcoffset()
    assert before is not None
    assert after is not None
    return before, after


def _after_gap(here: datetime) -> datetime:
    """The first full minute that the clocks show after the gap in which `here` lies."""
    before, after = _offsets(here)
    whole = here.replace(tzinfo=UTC, microsecond=0, fold=0)
    # The change lies between these two, for the gap is as wide as they are apart.
    early, late = whole - after, whole - before
    while late - early > SECOND:
        middle = early + timedelta(seconds=(late - early) // SECOND // 2)
        if middle.astimezone(here.tzinfo).utcoffset() == before:
            early = middle
        else:
            late = middle
    past_the_minute = timedelta(seconds=late.astimezone(here.tzinfo).second)
    return late + (MINUTE - past_the_minute) % MINUTE


@cache
def _names() -> frozenset[str]:
    # `localtime` is a file that some machines have among their zones: what it means differs from one to the next.
    return frozenset(available_timezones() - {"localtime"})


def _like(name: str) -> list[str]:
    """Names that look like `name`, whole or by their last part, which is the city."""
    wanted = name[:LONGEST_NAME].strip().lower().replace(" ", "_")
    by_word: dict[str, str] = {}
    for known in sorted(_names(), key=lambda known: ("/" not in known, known)):
        by_word.setdefault(known.lower(), known)
        by_word.setdefault(known.lower().rpartition("/")[2], known)
    return list(dict.fromkeys(by_word[word] for word in get_close_matches(wanted, by_word, n=3, cutoff=0.7)))
