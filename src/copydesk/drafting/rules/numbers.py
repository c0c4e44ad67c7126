"""Extract numbers with their units, to compare a draft's with its source's."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_NUMBER = re.compile(
    r"(?<![\w.,])(\d+(?:[.,]\d+)*)"
    r"(?:[ \u00a0-]?(%|percent\b|per cent\b|k\b|m\b|bn\b|tn\b|thousand\b|million\b|billion\b|trillion\b|x\b|times\b))?"
    r"(?![^\W\d_])",
    re.IGNORECASE,
)
_SCALE = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9, "tn": 1e12, "trillion": 1e12}
_UNITS = {"%": "%", "percent": "%", "per cent": "%", "x": "x", "times": "x"}
_POST_COUNTER = re.compile(r"\b\d{1,3}/\d{1,3}(?=\s*(?:\n|\Z))|^\s*\d{1,3}[.)](?=\s)", re.MULTILINE)
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ONES = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_ONES += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_ROUND_NUMBERS = {12: "dozen", 100: "hundred", 1000: "thousand"}
_THOUSANDS = re.compile(r",(?=\d{3}(?:\D|$))")


class Amount(NamedTuple):
    """A number as written, its value including the scale, and `%` or `x` for a share or a multiple."""

    text: str
    value: float | str
    unit: str
    start: int
    end: int


class Amounts(NamedTuple):
    """The numbers of a source: with unit and scale, and without."""

    exact: frozenset[tuple[str, float | str]]
    bare: frozenset[float | str]

    def contains(self, amount: Amount) -> bool:
        """Return True if the source contains it. A number without a unit also matches one with a unit in the source."""
        return (amount.unit, amount.value) in self.exact or (
            not amount.unit and amount.text[-1:].isdigit() and amount.value in self.bare
        )


def find_numbers(text: str) -> Iterator[Amount]:
    """Yield the numbers of `text`, except for the counters of thread posts and list items."""
    # The 2 of "2/5" and of "2. Second item" are the draft's own numbering.
    counter_positions = {position for match in _POST_COUNTER.finditer(text) for position in range(*match.span())}
    for match in _NUMBER.finditer(text):
        if match.start() in counter_positions:
            continue
        unit = (match[2] or "").lower()
        value = _value(match[1])
        # Rounded, because 8.2 * 1e6 is not exactly 8,200,000.
        if unit in _SCALE and isinstance(value, float):
            value = round(value * _SCALE[unit], 6)
        yield Amount(match[0].strip(), value, _UNITS.get(unit, ""), *match.span())


def collect_amounts(text: str) -> Amounts:
    """Return all numbers of `text` that are written in digits."""
    exact: set[tuple[str, float | str]] = set()
    bare: set[float | str] = set()
    for match in _NUMBER.finditer(text):
        unit = (match[2] or "").lower()
        value = _value(match[1])
        scaled = round(value * _SCALE.get(unit, 1), 6) if isinstance(value, float) else value
        exact.add((_UNITS.get(unit, ""), scaled))
        bare.add(value)
    return Amounts(frozenset(exact), frozenset(bare))


def spellings(amount: Amount) -> Iterator[str]:
    """Yield spellings of a whole number without unit, up to a thousand: `twelve` and `dozen`, `twenty one`."""
    if amount.unit or not isinstance(amount.value, float) or not amount.value.is_integer():
        return
    value = int(amount.value)
    if value in _ROUND_NUMBERS:
        yield _ROUND_NUMBERS[value]
    if value < 20:
        yield _ONES[value]
    elif value < 100:
        yield f"{_TENS[value // 10]} {_ONES[value % 10]}".strip()


def _value(text: str) -> float | str:
    """Return 1455 for `1,455` and 2.5 for `2.5`; a version such as `3.11.7` stays a string."""
    digits = _THOUSANDS.sub("", text) if "," in text else text
    try:
        return float(digits)
    except ValueError:
        return text
