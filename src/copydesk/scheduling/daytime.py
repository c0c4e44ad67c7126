"""Days of the week, months and times of the day as people write them, and slots as a day and a time."""

import re
from collections.abc import Sequence
from datetime import time

from copydesk.errors import FieldError, InvalidError
from copydesk.model.schedule import Slot
from copydesk.text import clean

DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
"""By `day_of_week`: 0 is Sunday."""
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
LONGEST_TEXT = 100
_HALF = r" ?(?P<half>am|pm)"
SURE_CLOCK = r"(?:\d{1,2}[:.]\d\d(?: ?[ap]m)?|\d{1,2} ?[ap]m|noon)"
"""A time of the day that can be nothing else: with minutes, with am or pm, or noon."""
CLOCK = rf"(?:{SURE_CLOCK}|\d{{1,2}})"
_CLOCK = re.compile(rf"(?P<hour>\d{{1,2}})(?:[:.](?P<minute>\d\d))?(?:{_HALF})?", re.ASCII)
_SLOT = re.compile(rf"(?P<day>[a-z]{{3,9}}) (?:at )?(?P<clock>{CLOCK})", re.ASCII)
_SLOT_EXAMPLES = "write it like mon 09:00, wednesday 14:30 or fri 9am"


def plain(text: str) -> str:
    """`text` in small letters, with one space between words and commas gone; empty where it is too long to be read."""
    return " ".join(text.replace(",", " ").lower().split()) if len(text) <= LONGEST_TEXT else ""


def index_of(word: str, names: Sequence[str]) -> int | None:
    """Which of `names` the word is: the whole name, or at least its first three letters."""
    found = [place for place, name in enumerate(names) if len(word) >= 3 and name.startswith(word)]
    return found[0] if len(found) == 1 else None


def clock_read(text: str) -> time | None:
    """`9`, `09:00`, `9.30`, `9am`, `2:30pm` or `noon` as a time of the day; None where it is none."""
    if text == "noon":
        return time(12)
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    if match["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match["half"] == "pm" else 0)
    return time(hour, minute) if hour < 24 and minute < 60 else None


def slot_read(text: str, *, field: str = "slots") -> Slot:
    """A slot as people write it: an English day, whole or from three letters on, and a time of the day.

    Raises InvalidError that shows how a slot is written.
    """
    match = _SLOT.fullmatch(plain(text))
    day = index_of(match["day"], DAYS) if match else None
    clock = clock_read(match["clock"]) if match else None
    if day is None or clock is None:
        raise InvalidError(FieldError(field, f"“{clean(text[:40])}” is no weekly time; {_SLOT_EXAMPLES}"))
    return Slot(day_of_week=day, hour=clock.hour, minute=clock.minute)


def slot_written(slot: Slot) -> str:
    """A slot as `mon 09:00`, which `slot_read` reads."""
    return f"{DAYS[slot.day_of_week][:3]} {slot.hour:02}:{slot.minute:02}"
