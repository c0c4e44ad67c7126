"""Parse and format days of the week, months, times of the day and weekly slots."""

import re
from collections.abc import Sequence
from datetime import time

from copydesk.errors import FieldError, InvalidError
from copydesk.model.schedule import Slot
from copydesk.text import clean

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
        raise InvalidError(FieldError(field, f"“{clean(text[:40])}” is no weekly time; {_SLOT_EXAMPLES}"))
    return Slot(day_of_week=day, hour=clock.hour, minute=clock.minute)


def format_slot(slot: Slot) -> str:
    """Format a slot as `mon 09:00`, which `parse_slot` reads."""
    return f"{DAYS[slot.day_of_week][:3]} {slot.hour:02}:{slot.minute:02}"
