"""Numbers in a text, so that one that the source does not have is seen."""

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
_PARTS = {"%": "%", "percent": "%", "per cent": "%", "x": "x", "times": "x"}
_COUNTER = re.compile(r"\b\d{1,3}/\d{1,3}(?=\s*(?:\n|\Z))|^\s*\d{1,3}[.)](?=\s)", re.MULTILINE)
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ONES = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_ONES += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_ROUND = {12: "dozen", 100: "hundred", 1000: "thousand"}
_THOUSANDS = re.compile(r",(?=\d{3}(?:\D|$))")


class Amount(NamedTuple):
    """A number as it is written, its value with its scale, and `%` or `x` where it is a share or a multiple."""

    shown: str
    value: float | str
    kind: str
    start: int
    end: int


class Amounts(NamedTuple):
    """The numbers of a source: with their kind and scale, and as bare figures."""

    exact: frozenset[tuple[str, float | str]]
    figures: frozenset[float | str]

    def have(self, amount: Amount) -> bool:
        """Whether the source has it; a bare figure also where the source gives it a unit."""
        return (amount.kind, amount.value) in self.exact or (
            not amount.kind and amount.shown[-1:].isdigit() and amount.value in self.figures
        )


def numbers(text: str) -> Iterator[Amount]:
    """The numbers of `text` but for the counters of posts and lists."""
    counters = {place for match in _COUNTER.finditer(text) for place in range(*match.span())}
    for match in _NUMBER.finditer(text):
        if match.start() in counters:
            continue
        unit = (match[2] or "").lower()
        value = _value(match[1])
        if unit in _SCALE and isinstance(value, float):
            value = round(value * _SCALE[unit], 6)
        yield Amount(match[0].strip(), value, _PARTS.get(unit, ""), *match.span())


def amounts_in(text: str) -> Amounts:
    """Every number of a source's `text` that is written in figures."""
    exact: set[tuple[str, float | str]] = set()
    figures: set[float | str] = set()
    for match in _NUMBER.finditer(text):
        unit = (match[2] or "").lower()
        value = _value(match[1])
        scaled = round(value * _SCALE.get(unit, 1), 6) if isinstance(value, float) else value
        exact.add((_PARTS.get(unit, ""), scaled))
        figures.add(value)
    return Amounts(frozenset(exact), frozenset(figures))


def in_words(amount: Amount) -> Iterator[str]:
    """How a source may write a bare number of up to a thousand as a word: `twelve` and `dozen`, `twenty one`."""
    if amount.kind or not isinstance(amount.value, float) or not amount.value.is_integer():
        return
    value = int(amount.value)
    if value in _ROUND:
        yield _ROUND[value]
    if value < 20:
        yield _ONES[value]
    elif value < 100:
        yield f"{_TENS[value // 10]} {_ONES[value % 10]}".strip()


def _value(written: str) -> float | str:
    """`1,455` is 1455 and `2.5` is 2.5; a version such as 3.11.7 stays as it is written."""
    plain = _THOUSANDS.sub("", written) if "," in written else written
    try:
        return float(plain)
    except ValueError:
        return written
