"""The claims of drafts: planted faults found, warnings without a reason, and how often "supported" is right."""

from pathlib import Path

from table_row import Row

from planted_faults import HELD_OUT, MAX_FALSE_ALARMS, MIN_FOUND, MIN_RIGHT, TUNING
from planted_faults import measure as measure_faults


def measure() -> list[Row]:
    """Return the rows of both halves of the suite."""
    return [*_rows("held out", HELD_OUT), *_rows("tuned on", TUNING)]


def _rows(half: str, path: Path) -> list[Row]:
    figures = measure_faults(path)
    faults, alarms, right = figures.found_share, figures.false_alarm_share, figures.right_share
    return [
        Row(
            f"{figures.faults.total()} planted faults, {half}: found",
            f"{faults:.1%}", "", "", f"at least {MIN_FOUND:.0%}", faults >= MIN_FOUND,
        ),
        Row(
            f"{figures.faithful} faithful sentences, {half}: warned of",
            f"{alarms:.1%}", "", "", f"under {MAX_FALSE_ALARMS:.0%}", alarms < MAX_FALSE_ALARMS,
        ),
        Row(
            f"claims called supported, {half}: right",
            f"{right:.1%}", "", "", f"at least {MIN_RIGHT:.0%}", right >= MIN_RIGHT,
        ),
    ]  # fmt: skip
