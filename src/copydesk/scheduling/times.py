"""Times as people write them, on the clock of their zone: `fri 14:30`, `tomorrow 9`, `in 2 hours`, ISO.

What could be read in two ways is refused rather than guessed: `30/11`, `next friday`, or a bare hour beside another
number (`9 nov 10`).
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from copydesk.errors import FieldError, InvalidError
from copydesk.model.asked import wrong_with_time
from copydesk.scheduling.daytime import CLOCK, DAYS, MONTHS, SURE_CLOCK, clock_read, index_of, plain
from copydesk.scheduling.meant import Moment, moment_at, moment_on
from copydesk.scheduling.shown import shown
from copydesk.text import clean

EXAMPLES = "fri 14:30, tomorrow 9, 9am, in 2 hours, 30 nov 9:00 or 2026-11-30 14:30"
_ISO = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[t ](?P<minutes>\d{1,2}:\d\d)(?P<seconds>:\d\d(?:\.\d{1,6})?)?"
    r" ?(?P<offset>z|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII,
)
_AMOUNT = r"\d{1,5} ?[a-z]{1,7}"
_IN = re.compile(rf"in {_AMOUNT}(?:(?: and)? {_AMOUNT}){{0,3}}", re.ASCII)
_EACH_AMOUNT = re.compile(r"(\d+) ?([a-z]+)", re.ASCII)
_UNITS = {
    "weeks": ("weeks", "week", "w"),
    "days": ("days", "day", "d"),
    "hours": ("hours", "hour", "hrs", "hr", "h"),
    "minutes": ("minutes", "minute", "mins", "min"),  # not m, which may be months
}
_BY_UNIT = {word: unit for unit, words in _UNITS.items() for word in words}
_CLOCK_ALONE = re.compile(rf"(?:at )?(?P<clock>{SURE_CLOCK})", re.ASCII)
_CLOCK_LAST = re.compile(rf"(?P<day>[^:]{{3,40}}?) (?:at )?(?P<clock>{CLOCK})", re.ASCII)
_CLOCK_FIRST = re.compile(rf"(?:at )?(?P<clock>{SURE_CLOCK}) (?:on )?(?P<day>[^:]{{3,40}})", re.ASCII)
_NTH = r"(?P<nth>\d{1,2})(?:st|nd|rd|th)?"
_MONTH = r"(?P<month>[a-z]{3,9})"
_WEEKDAY, _YEAR = r"(?:(?P<weekday>[a-z]{3,9}) )?", r"(?: (?P<year>\d{4}))?"
_MONTH_FIRST = re.compile(f"{_WEEKDAY}{_MONTH} {_NTH}{_YEAR}", re.ASCII)
_MONTH_LAST = re.compile(f"{_WEEKDAY}{_NTH} (?:of )?{_MONTH}{_YEAR}", re.ASCII)
_LEAP_YEARS_APART = 8
_MIDNIGHT = ("midnight", "at midnight")
"""The next one. Beside a day it may be that day's first minute or its end: not guessed."""


def time_read(text: str, zone: ZoneInfo, now: datetime, *, field: str = "scheduledAt") -> Moment:
    """The time that `text` says, on the clocks of `zone`; what it leaves open is the next one after `now`.

    A weekday that is today counts as today until the time has passed. `in` hours and minutes are counted by the
    instant, rounded up to a full minute; `in` days and weeks keep the time of the day.

    Raises InvalidError that shows how times are written where the text cannot be read in exactly one way, and where
    the time is not in the future or is over ten years ahead.
    """
    words = plain(text)
    try:
        moment = (
            _by_iso(words, zone)
            or _by_distance(words, zone, now)
            or _by_clock(words, zone, now)
            or _by_day(words, zone, now, field)
        )
    except OverflowError:  # in the years 1 and 9999, where one of wall time and UTC has no date
        raise InvalidError(FieldError(field, "is at an end of the calendar; ten years ahead is the most")) from None
    if moment is None:
        told = clean(text[:40])
        raise InvalidError(FieldError(field, f"“{told}” cannot be read as one time; write it like {EXAMPLES}"))
    if moment.at <= now:
        raise InvalidError(FieldError(field, f"is not in the future: {shown(moment.at, zone, now)}"))
    if wrong := wrong_with_time(moment.at, now):
        raise InvalidError(FieldError(field, wrong))
    return moment


def _by_iso(words: str, zone: ZoneInfo) -> Moment | None:
    match = _ISO.fullmatch(words)
    if match is None:
        return None
    text = f"{match['day']}t{match['minutes']:0>5}{match['seconds'] or ''}{match['offset'] or ''}".upper()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment_on(moment, zone) if moment.tzinfo is None else moment_at(moment, zone)


def _by_distance(words: str, zone: ZoneInfo, now: datetime) -> Moment | None:
    if not _IN.fullmatch(words):
        return None
    amounts: dict[str, int] = {}
    for number, word in _EACH_AMOUNT.findall(words):
        unit = _BY_UNIT.get(word)
        if unit is None or unit in amounts:
            return None
        amounts[unit] = int(number)
    return _ahead(amounts, zone, _full_minute(now))


def _ahead(amounts: dict[str, int], zone: ZoneInfo, start: datetime) -> Moment:
    days = timedelta(weeks=amounts.get("weeks", 0), days=amounts.get("days", 0))
    rest = timedelta(hours=amounts.get("hours", 0), minutes=amounts.get("minutes", 0))
    if not days:
        return moment_at(start + rest, zone)
    then = moment_on(start.astimezone(zone).replace(tzinfo=None) + days, zone)
    return moment_at(then.at + rest, zone) if rest else then


def _full_minute(now: datetime) -> datetime:
    """Up, never down: nothing goes out before the time that was asked for."""
    minute = now.astimezone(UTC).replace(second=0, microsecond=0)
    return minute if minute == now else minute + timedelta(minutes=1)


def _by_clock(words: str, zone: ZoneInfo, now: datetime) -> Moment | None:
    match = _CLOCK_ALONE.fullmatch(words)
    clock = time(0) if words in _MIDNIGHT else clock_read(match["clock"]) if match else None
    if clock is None:
        return None
    today = now.astimezone(zone).date()
    return _next((today, today + timedelta(days=1)), clock, zone, now)


def _by_day(words: str, zone: ZoneInfo, now: datetime, field: str) -> Moment | None:
    match = _CLOCK_LAST.fullmatch(words) or _CLOCK_FIRST.fullmatch(words)
    if match is None:
        return None
    day, clock = match["day"], clock_read(match["clock"])
    bare_beside_number = match["clock"].isdecimal() and any(letter.isdecimal() for letter in day)
    if clock is None or bare_beside_number:
        return None
    today = now.astimezone(zone).date()
    named = _named_days(day, today)
    if named:
        return _next(named, clock, zone, now)
    return _by_date(day, clock, zone, now, field)


def _named_days(day: str, today: date) -> tuple[date, ...]:
    """The days that may be meant by today, tomorrow, a weekday or an ISO date."""
    if day in {"today", "tomorrow"}:
        return (today + timedelta(days=day == "tomorrow"),)
    weekday = index_of(day, DAYS)
    if weekday is not None:
        ahead = (weekday - today.isoweekday()) % 7
        return today + timedelta(days=ahead), today + timedelta(days=ahead + 7)
    found = _date(day)
    return (found,) if found else ()


def _by_date(day: str, clock: time, zone: ZoneInfo, now: datetime, field: str) -> Moment | None:
    """A day of a month, with the year or the next one that comes; a weekday before it must be that of the date."""
    match = _MONTH_FIRST.fullmatch(day) or _MONTH_LAST.fullmatch(day)
    month = index_of(match["month"], MONTHS) if match else None
    if match is None or month is None:
        return None
    this_year = now.astimezone(zone).year
    years = (int(match["year"]),) if match["year"] else range(this_year, this_year + _LEAP_YEARS_APART + 1)
    found = _next(_dates(years, month + 1, int(match["nth"])), clock, zone, now)
    if found is not None and match["weekday"]:
        return found if _is_on(found, match["weekday"], field) else None
    return found


def _is_on(moment: Moment, word: str, field: str) -> bool:
    """Whether the wall time is on the weekday `word`; False where that is none, an error where it is another."""
    wanted, day = index_of(word, DAYS), date.fromisoformat(moment.meant.wall[:10])
    if wanted is not None and wanted != day.isoweekday() % 7:
        raise InvalidError(FieldError(field, f"{day} is a {DAYS[day.isoweekday() % 7].title()}"))
    return wanted is not None


def _dates(years: Iterable[int], month: int, nth: int) -> Iterator[date]:
    for year in years:
        try:
            yield date(year, month, nth)
        except ValueError:  # 29 February of most years, 31 November of all
            continue


def _date(day: str) -> date | None:
    try:
        return date.fromisoformat(day) if len(day) == len("2026-11-30") else None
    except ValueError:
        return None


def _next(days: Iterable[date], clock: time, zone: ZoneInfo, now: datetime) -> Moment | None:
    """The first of the days on which the clock is still to come; else the last of them, to be refused as past."""
    moment = None
    for day in days:
        moment = moment_on(datetime.combine(day, clock), zone)
        if moment.at > now:
            break
    return moment
