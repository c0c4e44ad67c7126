"""The dates of feeds: RFC 822 with its many deviations, ISO 8601, and what is left of the others -> UTC."""

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz

EARLIEST = 1990
"""A date in an earlier year is a mistake: there was no feed yet."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NUMBERS = {name.title(): f"{number:02}" for number, name in enumerate(_MONTHS, 1)}
# Hours from UTC. RFC 822 has the American ones; the others are what feeds mean by them. One that is not here is 0.
_ZONES: dict[str, float] = {
    **dict(ADT=-3, AST=-4, EDT=-4, EST=-5, CDT=-5, CST=-6, MDT=-6, MST=-7, PDT=-7, PST=-8),  # noqa: C408
    **dict(BST=1, WEST=1, MET=1, MEST=2, CET=1, CEST=2, EET=2, EEST=3, MSK=3, IST=5.5),  # noqa: C408
    **dict(JST=9, KST=9, AEST=10, AEDT=11, NZST=12, NZDT=13),  # noqa: C408
}
_ZONE = r"(?:(?:GMT|UTC)?([+-]\d\d?):?(\d\d)?|([A-Z]{1,5}))?"
_RFC_822 = re.compile(
    r"(?:[A-Z]{3,9}\.?,?\s+)?(?P<day>\d\d?)[\s-]+(?P<month>[A-Z]{3})[A-Z]{0,6}\.?,?[\s-]+(?P<year>\d{4}|\d\d)"
    r"(?:,?\s+(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d{1,9})?)?\s*" + _ZONE + ")?",
    re.IGNORECASE,
)
_ISO_8601 = re.compile(
    r"(?P<year>\d{4})-?(?P<month>\d\d?)?(?:[-/](?P<day>\d\d?))?"
    r"(?:(?:T|\s+)(?P<hour>\d\d?)(?::(?P<minute>\d\d))?(?::(?P<second>\d\d)(?:[.,]\d{1,12})?)?\s?" + _ZONE + ")?",
    re.IGNORECASE,
)
_LONGEST = 100


def parse_date(text: str) -> datetime | None:
    """The moment that `text` names, in UTC; None where it names none or one before 1990.

    A date without a time is midnight, one without a zone is UTC.
    """
    try:
        moment = _usual(text) or _unusual(text.strip()[:_LONGEST])
        if moment is None or moment.year < EARLIEST:
            return None
        if moment.tzinfo is UTC:
            return moment
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _usual(text: str) -> datetime | None:
    """What nearly all feeds write, `Tue, 17 Nov 2026 09:30:00 +0100` and `2026-11-17T09:30:00+01:00`, and fast."""
    if text[3:5] == ", ":
        zone = text[26:]
        text = f"{text[12:16]}-{_NUMBERS.get(text[8:11])}-{text[5:7]}T{text[17:25]}{'Z' if zone == 'GMT' else zone}"
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _unusual(text: str) -> datetime | None:
    found = _RFC_822.fullmatch(text) or _ISO_8601.fullmatch(text)
    if found:
        return _moment(found)
    try:
        parts = parsedate_tz(text)
    except (IndexError, TypeError):  # it was written for mail, and trusts it
        return None
    if parts is None:
        return None
    return datetime(*parts[:6], tzinfo=timezone(timedelta(seconds=parts[9] or 0)))


def _moment(found: re.Match[str]) -> datetime:
    """Raises ValueError for a day or an hour that there is none of."""
    part = found.groupdict(default="")
    month = part["month"].lower()
    year = int(part["year"])
    if year < 100:
        year += 1900 if year >= 90 else 2000
    return datetime(
        year,
        _MONTHS.index(month) + 1 if month.isalpha() else int(month or 1),
        int(part["day"] or 1),
        int(part["hour"] or 0),
        int(part["minute"] or 0),
        min(int(part["second"] or 0), 59),  # a leap second
        tzinfo=_zone(*found.groups(default="")[-3:]),
    )


def _zone(hours: str, minutes: str, name: str) -> timezone:
    offset = timedelta(hours=int(hours or 0), minutes=int(hours[:1] + minutes) if minutes else 0)
    return timezone(offset or timedelta(hours=_ZONES.get(name.upper(), 0)))
