"""Dates of feeds and pages: RFC 822 with its many deviations, ISO 8601, and whatever `email.utils` can read."""

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz

EARLIEST_YEAR = 1990
"""Dates in earlier years are mistakes: feeds did not exist yet."""

_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTHS = tuple(name[:3] for name in _MONTH_NAMES)
_MONTH_NUMBERS = {name.title(): f"{number:02}" for number, name in enumerate(_MONTHS, 1)}
# Hours from UTC. The American names are RFC 822's, the others are what feeds use in practice; unknown names count as
# UTC.
_ZONE_OFFSETS: dict[str, float] = {
    **dict(ADT=-3, AST=-4, EDT=-4, EST=-5, CDT=-5, CST=-6, MDT=-6, MST=-7, PDT=-7, PST=-8),  # noqa: C408
    **dict(BST=1, WEST=1, MET=1, MEST=2, CET=1, CEST=2, EET=2, EEST=3, MSK=3, IST=5.5),  # noqa: C408
    **dict(JST=9, KST=9, AEST=10, AEDT=11, NZST=12, NZDT=13),  # noqa: C408
}
_ZONE = r"(?:(?:GMT|UTC)?([+-]\d\d?):?(\d\d)?|([A-Z]{1,5}))?"
_WEEKDAY = r"(?:[A-Z]{3,9}\.?,?\s+)?"
_TIME = r"(?:,?\s+(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d{1,9})?)?\s*" + _ZONE + ")?"
_RFC_822 = re.compile(
    _WEEKDAY + r"(?P<day>\d\d?)[\s-]+(?P<month>[A-Z]{3})[A-Z]{0,6}\.?,?[\s-]+(?P<year>\d{4}|\d\d)" + _TIME,
    re.IGNORECASE,
)
# Only names of months: "Marketing 17, 2026" is no date.
_MONTH = f"(?P<month>{'|'.join(_MONTH_NAMES)}|(?:{'|'.join(_MONTHS)}|sept)\\.?)"
_MONTH_FIRST = re.compile(_WEEKDAY + _MONTH + r"\s+(?P<day>\d\d?),?\s+(?P<year>\d{4})" + _TIME, re.IGNORECASE)
# Only a day after the 12th tells the order: 11/12/2026 is in November or in December.
_SLASHES_DAY = r"(?P<day>1[3-9]|2\d|3[01])"
_SLASHES_MONTH = r"(?P<month>0?[1-9]|1[0-2])"
_SLASHES = tuple(
    re.compile(rf"{_WEEKDAY}{first}/{second}/(?P<year>\d{{4}}){_TIME}", re.IGNORECASE)
    for first, second in ((_SLASHES_MONTH, _SLASHES_DAY), (_SLASHES_DAY, _SLASHES_MONTH))
)
_ISO_8601 = re.compile(
    r"(?P<year>\d{4})-?(?P<month>\d\d?)?(?:[-/](?P<day>\d\d?))?"
    r"(?:(?:T|\s+)(?P<hour>\d\d?)(?::(?P<minute>\d\d))?(?::(?P<second>\d\d)(?:[.,]\d{1,12})?)?\s?" + _ZONE + ")?",
    re.IGNORECASE,
)
_FORMS = (_RFC_822, _ISO_8601, _MONTH_FIRST, *_SLASHES)
# `PM` would be taken for an unknown zone. What follows a colon are minutes: 17:11:00 PM.
_TWELVE_HOURS = re.compile(r"(?<![\d:])(0?\d|1[0-2])(:\d\d(?::\d\d)?)\s?([ap])\.?m\b\.?", re.IGNORECASE)
_MAX_LENGTH = 100


def parse_date(text: str) -> datetime | None:
    """Return the instant in UTC, or None if `text` is no date or lies before 1990.

    A date without a time is midnight; one without a zone is UTC.
    """
    try:
        parsed = _parse_common(text) or _parse_lenient(text.strip()[:_MAX_LENGTH])
        if parsed is None or parsed.year < EARLIEST_YEAR:
            return None
        if parsed.tzinfo is UTC:
            return parsed
        return parsed.astimezone(UTC) if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _parse_common(text: str) -> datetime | None:
    """Parse the two forms that nearly all feeds use: `Tue, 17 Nov 2026 09:30:00 +0100` and `2026-11-17T09:30:00+01:00`.

    The first is rewritten as ISO 8601, because `datetime.fromisoformat` is far faster than a regular expression.
    """
    if text[3:5] == ", ":
        zone = text[26:]
        text = (
            f"{text[12:16]}-{_MONTH_NUMBERS.get(text[8:11])}-{text[5:7]}T{text[17:25]}{'Z' if zone == 'GMT' else zone}"
        )
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _parse_lenient(text: str) -> datetime | None:
    text = _TWELVE_HOURS.sub(lambda match: f"{int(match[1]) % 12 + 12 * (match[3] in 'pP'):02}{match[2]}", text)
    for form in _FORMS:
        if match := form.fullmatch(text):
            return _from_match(match)
    try:
        parts = parsedate_tz(text)
    except (IndexError, TypeError):  # email.utils raises these on malformed input
        return None
    if parts is None:
        return None
    return datetime(*parts[:6], tzinfo=timezone(timedelta(seconds=parts[9] or 0)))


def _from_match(match: re.Match[str]) -> datetime:
    """Build the datetime; raise ValueError if the day or the hour does not exist."""
    parts = match.groupdict(default="")
    month = parts["month"].lower()[:3]
    year = int(parts["year"])
    if year < 100:
        # Two-digit years: 90 to 99 are the 1990s.
        year += 1900 if year >= 90 else 2000
    return datetime(
        year,
        _MONTHS.index(month) + 1 if month.isalpha() else int(month or 1),
        int(parts["day"] or 1),
        int(parts["hour"] or 0),
        int(parts["minute"] or 0),
        min(int(parts["second"] or 0), 59),  # leap second
        tzinfo=_zone(*match.groups(default="")[-3:]),
    )


def _zone(hours: str, minutes: str, name: str) -> timezone:
    # The sign stands before the hours only, and applies to the minutes too.
    offset = timedelta(hours=int(hours or 0), minutes=int(hours[:1] + minutes) if minutes else 0)
    return timezone(offset or timedelta(hours=_ZONE_OFFSETS.get(name.upper(), 0)))
