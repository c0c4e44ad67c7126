"""Parse times as people write them, in their time zone, and format instants and weekly slots.

Parsed are `fri 14:30`, `tomorrow 9`, `in 2 hours` and ISO 8601. Ambiguous input is refused rather than guessed:
`30/11`, `next friday`, or a bare hour next to another number (`9 nov 10`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from copydesk.errors import FieldError, InvalidError
from copydesk.model.schedule import Slot
from copydesk.model.validation import scheduled_time_problem
from copydesk.scheduling.wall_time import (
    ScheduledTime,
    is_repeated,
    next_at_wall_time,
    scheduled_at_instant,
    scheduled_at_wall_time,
)
from copydesk.text import clean
from copydesk.text.formatting import format_relative

DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
"""Indexed by `day_of_week`: 0 is Sunday."""
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
MAX_TEXT_LENGTH = 100
"""Characters."""
_MERIDIEM = r" ?(?P<half>am|pm)"
UNAMBIGUOUS_TIME = r"(?:\d{1,2}[:.]\d\d(?: ?[ap]m)?|\d{1,2} ?[ap]m|noon)"
"""A time of the day that cannot be anything else: with minutes, with am or pm, or noon."""
TIME_OF_DAY = rf"(?:{UNAMBIGUOUS_TIME}|\d{{1,2}})"
_CLOCK = re.compile(rf"(?P<hour>\d{{1,2}})(?:[:.](?P<minute>\d\d))?(?:{_MERIDIEM})?", re.ASCII)
_SLOT = re.compile(rf"(?P<day>[a-z]{{3,9}}) (?:at )?(?P<clock>{TIME_OF_DAY})", re.ASCII)
_SLOT_EXAMPLES = "write it like mon 09:00, wednesday 14:30 or fri 9am"

TIME_EXAMPLES = "fri 14:30, tomorrow 9, 9am, in 2 hours, 30 nov 9:00 or 2026-11-30 14:30"
_ISO = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[t ](?P<minutes>\d{1,2}:\d\d)(?P<seconds>:\d\d(?:\.\d{1,6})?)?"
    r" ?(?P<offset>z|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII,
)
_AMOUNT = r"\d{1,5} ?[a-z]{1,7}"
_RELATIVE = re.compile(rf"in {_AMOUNT}(?:(?: and)? {_AMOUNT}){{0,3}}", re.ASCII)
_AMOUNT_PARTS = re.compile(r"(\d+) ?([a-z]+)", re.ASCII)
_UNITS = {
    "weeks": ("weeks", "week", "w"),
    "days": ("days", "day", "d"),
    "hours": ("hours", "hour", "hrs", "hr", "h"),
    "minutes": ("minutes", "minute", "mins", "min"),  # not m, which may be months
}
_UNIT_BY_WORD = {word: unit for unit, words in _UNITS.items() for word in words}
_TIME_ONLY = re.compile(rf"(?:at )?(?P<clock>{UNAMBIGUOUS_TIME})", re.ASCII)
_DAY_THEN_TIME = re.compile(rf"(?P<day>[^:]{{3,40}}?) (?:at )?(?P<clock>{TIME_OF_DAY})", re.ASCII)
_TIME_THEN_DAY = re.compile(rf"(?:at )?(?P<clock>{UNAMBIGUOUS_TIME}) (?:on )?(?P<day>[^:]{{3,40}})", re.ASCII)
_DAY_OF_MONTH = r"(?P<nth>\d{1,2})(?:st|nd|rd|th)?"
_MONTH = r"(?P<month>[a-z]{3,9})"
_WEEKDAY, _YEAR = r"(?:(?P<weekday>[a-z]{3,9}) )?", r"(?: (?P<year>\d{4}))?"
_MONTH_FIRST = re.compile(f"{_WEEKDAY}{_MONTH} {_DAY_OF_MONTH}{_YEAR}", re.ASCII)
_MONTH_LAST = re.compile(f"{_WEEKDAY}{_DAY_OF_MONTH} (?:of )?{_MONTH}{_YEAR}", re.ASCII)
# 29 February: 1896 and 1904, or 2096 and 2104, are eight years apart.
_MAX_LEAP_YEAR_GAP = 8
_MIDNIGHT = ("midnight", "at midnight")
"""The next midnight. Next to a day it is ambiguous (start or end of that day) and refused."""


def normalize_text(text: str) -> str:
    """Normalize user input: lower case, single spaces, no commas; empty if it is too long."""
    return " ".join(text.replace(",", " ").lower().split()) if len(text) <= MAX_TEXT_LENGTH else ""


def match_name(word: str, names: Sequence[str]) -> int | None:
    """Return the index of the name that `word` is or abbreviates, from three letters on; None if not exactly one."""
    # "ju" is too short, and a word that fits several names is ambiguous.
    matches = [index for index, name in enumerate(names) if len(word) >= 3 and name.startswith(word)]
    return matches[0] if len(matches) == 1 else None


def parse_clock(text: str) -> time | None:
    """Parse `9`, `09:00`, `9.30`, `9am`, `2:30pm` or `noon`; return None for anything else."""
    if text == "noon":
        return time(12)
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    if match["half"]:
        if not 1 <= hour <= 12:
            return None
        # 12 am is midnight, 12 pm noon.
        hour = hour % 12 + (12 if match["half"] == "pm" else 0)
    return time(hour, minute) if hour < 24 and minute < 60 else None


def parse_slot(text: str, *, field: str = "slots") -> Slot:
    """Parse a weekly slot: an English day, abbreviated to three letters or more, and a time of the day.

    Raise InvalidError with examples of the format.
    """
    match = _SLOT.fullmatch(normalize_text(text))
    day = match_name(match["day"], DAYS) if match else None
    clock = parse_clock(match["clock"]) if match else None
    if day is None or clock is None:
        raise InvalidError(FieldError(field, f"“{clean(text[:40])}” is not a weekly time; {_SLOT_EXAMPLES}"))
    return Slot(day_of_week=day, hour=clock.hour, minute=clock.minute)


def format_slot(slot: Slot) -> str:
    """Format a slot as `mon 09:00`, which `parse_slot` reads."""
    return f"{DAYS[slot.day_of_week][:3]} {slot.hour:02}:{slot.minute:02}"


def format_time(at: datetime, zone: ZoneInfo, now: datetime) -> str:
    """Return `at` as `Fri 27 Nov 2026 14:30 CET, UTC+01:00 (in 6 days)`.

    The offset is included because an hour may occur twice.
    """
    local = at.astimezone(zone)
    distance = format_relative(local, now.astimezone(zone))
    return f"{_format_date(local)} {local.year} {_format_clock(local)} {_format_zone(local)} ({distance})"


def format_short_time(at: datetime, zone: ZoneInfo, now: datetime) -> str:
    """Return `at` as `Fri 27 Nov 14:30`, with the year if it is not this one and the zone if the hour occurs twice."""
    local = at.astimezone(zone)
    year = f" {local.year}" if local.year != now.astimezone(zone).year else ""
    offset = f" {_format_zone(local)}" if is_repeated(local.replace(tzinfo=None), zone) else ""
    return f"{_format_date(local)}{year} {_format_clock(local)}{offset}"


def _format_date(local: datetime) -> str:
    # Not strftime's names, which follow the machine's locale.
    return f"{DAYS[local.isoweekday() % 7][:3].title()} {local.day} {MONTHS[local.month - 1][:3].title()}"


def _format_clock(local: datetime) -> str:
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


def _format_zone(local: datetime) -> str:
    name, offset = local.tzname() or "", f"UTC{local.isoformat(timespec='minutes')[16:]}"
    if name == "UTC":
        return name
    # Many zones have no abbreviation, and tzname() repeats the offset.
    return f"{name}, {offset}" if name.isalpha() else offset


def parse_time(
    text: str, zone: ZoneInfo, now: datetime, *, field: str = "scheduledAt", allow_past: bool = False
) -> ScheduledTime:
    """Parse one time in `zone`; whatever `text` leaves open is the next one after `now`.

    A weekday that is today means today until the time has passed. Hours and minutes after `in` are elapsed time,
    rounded up to a full minute; days and weeks keep the time of the day.

    Raise InvalidError, with examples of the format, if the text cannot be read in exactly one way, and if the time is
    more than ten years ahead or, unless `allow_past`, not in the future.
    """
    normalized = normalize_text(text)
    try:
        scheduled = (
            _parse_iso(normalized, zone, now)
            or _parse_relative(normalized, zone, now)
            or _parse_time_only(normalized, zone, now)
            or _parse_day_and_time(normalized, zone, now, field)
        )
    except OverflowError:  # in the years 1 and 9999, where local time or UTC has no date
        message = "is outside the supported date range" if allow_past else "is more than ten years in the future"
        raise InvalidError(FieldError(field, message)) from None
    if scheduled is None:
        quoted = clean(text[:40])
        raise InvalidError(FieldError(field, f"“{quoted}” is not a time; examples: {TIME_EXAMPLES}"))
    if scheduled.at > now:
        if problem := scheduled_time_problem(scheduled.at, now):
            raise InvalidError(FieldError(field, problem))
    elif not allow_past:
        raise InvalidError(FieldError(field, f"is in the past: {format_time(scheduled.at, zone, now)}"))
    return scheduled


def _parse_iso(normalized: str, zone: ZoneInfo, now: datetime) -> ScheduledTime | None:
    match = _ISO.fullmatch(normalized)
    if match is None:
        return None
    text = f"{match['day']}t{match['minutes']:0>5}{match['seconds'] or ''}{match['offset'] or ''}".upper()
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    return next_at_wall_time(parsed, zone, now) if parsed.tzinfo is None else scheduled_at_instant(parsed, zone)


def _parse_relative(normalized: str, zone: ZoneInfo, now: datetime) -> ScheduledTime | None:
    if not _RELATIVE.fullmatch(normalized):
        return None
    amounts: dict[str, int] = {}
    for number, word in _AMOUNT_PARTS.findall(normalized):
        unit = _UNIT_BY_WORD.get(word)
        if unit is None or unit in amounts:
            return None
        amounts[unit] = int(number)
    return _add_duration(amounts, zone, _round_up_to_minute(now))


def _add_duration(amounts: dict[str, int], zone: ZoneInfo, start: datetime) -> ScheduledTime:
    day_part = timedelta(weeks=amounts.get("weeks", 0), days=amounts.get("days", 0))
    time_part = timedelta(hours=amounts.get("hours", 0), minutes=amounts.get("minutes", 0))
    if not day_part:
        return scheduled_at_instant(start + time_part, zone)
    # Days are added to the wall time, so that they keep the time of the day over a clock change.
    day_later = scheduled_at_wall_time(start.astimezone(zone).replace(tzinfo=None) + day_part, zone)
    return scheduled_at_instant(day_later.at + time_part, zone) if time_part else day_later


def _round_up_to_minute(now: datetime) -> datetime:
    """Round up, never down: nothing goes out before the requested time."""
    minute = now.astimezone(UTC).replace(second=0, microsecond=0)
    return minute if minute == now else minute + timedelta(minutes=1)


def _parse_time_only(normalized: str, zone: ZoneInfo, now: datetime) -> ScheduledTime | None:
    match = _TIME_ONLY.fullmatch(normalized)
    clock = time(0) if normalized in _MIDNIGHT else parse_clock(match["clock"]) if match else None
    if clock is None:
        return None
    today = now.astimezone(zone).date()
    return _first_in_future((today, today + timedelta(days=1)), clock, zone, now)


def _parse_day_and_time(normalized: str, zone: ZoneInfo, now: datetime, field: str) -> ScheduledTime | None:
    match = _DAY_THEN_TIME.fullmatch(normalized) or _TIME_THEN_DAY.fullmatch(normalized)
    if match is None:
        return None
    day, clock = match["day"], parse_clock(match["clock"])
    # `9 nov 10` may be ten o'clock or the year; `fri 10` can only be an hour.
    is_ambiguous = match["clock"].isdecimal() and any(letter.isdecimal() for letter in day)
    if clock is None or is_ambiguous:
        return None
    today = now.astimezone(zone).date()
    days = _candidate_days(day, today)
    if days:
        return _first_in_future(days, clock, zone, now)
    return _parse_month_and_day(day, clock, zone, now, field)


def _candidate_days(day: str, today: date) -> tuple[date, ...]:
    """Return the possible dates of `today`, `tomorrow`, a weekday or an ISO date."""
    if day in {"today", "tomorrow"}:
        return (today + timedelta(days=day == "tomorrow"),)
    weekday = match_name(day, DAYS)
    if weekday is not None:
        # Both today and in a week, because today's time may have passed.
        days_ahead = (weekday - today.isoweekday()) % 7
        return today + timedelta(days=days_ahead), today + timedelta(days=days_ahead + 7)
    parsed = _parse_iso_date(day)
    return (parsed,) if parsed else ()


def _parse_month_and_day(day: str, clock: time, zone: ZoneInfo, now: datetime, field: str) -> ScheduledTime | None:
    """Parse a day of a month, in the given or the next possible year; a weekday must match the date."""
    match = _MONTH_FIRST.fullmatch(day) or _MONTH_LAST.fullmatch(day)
    month = match_name(match["month"], MONTHS) if match else None
    if match is None or month is None:
        return None
    this_year = now.astimezone(zone).year
    # 29 February may need a search over several years.
    years = (int(match["year"]),) if match["year"] else range(this_year, this_year + _MAX_LEAP_YEAR_GAP + 1)
    dates = tuple(_existing_dates(years, month + 1, int(match["nth"])))
    # A weekday that fits the first date means that one, even if it has passed: in the next year it is on another.
    if dates and match["weekday"] and match_name(match["weekday"], DAYS) == dates[0].isoweekday() % 7:
        dates = dates[:1]
    scheduled = _first_in_future(dates, clock, zone, now)
    if scheduled is not None and match["weekday"]:
        return scheduled if _matches_weekday(scheduled, match["weekday"], field) else None
    return scheduled


def _matches_weekday(scheduled: ScheduledTime, word: str, field: str) -> bool:
    """Return True if the wall time is on the weekday `word`, False if that is no weekday.

    Raise InvalidError if it is another weekday.
    """
    weekday, day = match_name(word, DAYS), date.fromisoformat(scheduled.wall_time.wall[:10])
    # Refused, not corrected: either the day or the date is a slip, and nobody knows which.
    if weekday is not None and weekday != day.isoweekday() % 7:
        raise InvalidError(FieldError(field, f"{day} is a {DAYS[day.isoweekday() % 7].title()}"))
    return weekday is not None


def _existing_dates(years: Iterable[int], month: int, nth: int) -> Iterator[date]:
    for year in years:
        try:
            yield date(year, month, nth)
        except ValueError:  # 29 February in most years, 31 November in all
            continue


def _parse_iso_date(day: str) -> date | None:
    try:
        # `fromisoformat` also accepts week dates and basic format; only YYYY-MM-DD is meant.
        return date.fromisoformat(day) if len(day) == len("2026-11-30") else None
    except ValueError:
        return None


def _first_in_future(days: Iterable[date], clock: time, zone: ZoneInfo, now: datetime) -> ScheduledTime | None:
    """Return the first of `days` on which the time is still ahead, else the last, which is then refused as past."""
    scheduled = None
    for day in days:
        scheduled = next_at_wall_time(datetime.combine(day, clock), zone, now)
        if scheduled.at > now:
            break
    return scheduled
