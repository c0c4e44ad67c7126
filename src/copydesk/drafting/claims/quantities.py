"""The quantities and dates of a sentence: numbers with their unit, currency and magnitude, days, months and years."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from copydesk.drafting.claims.language import Language
from copydesk.text.folding import fold

_CONVERSION = 0.06
"""Allowed difference of a converted quantity, such as kilometres for miles."""

_UNITS: dict[str, dict[str, float]] = {
    "share": {"%": 0.01, "percent": 0.01, "per cent": 0.01, "prozent": 0.01, "pour cent": 0.01, "por ciento": 0.01},
    "points": {"percentage points": 1, "prozentpunkte": 1},
    "time": {
        "ns nanosecond nanoseconds": 1e-9,
        "µs μs microsecond microseconds": 1e-6,
        "ms millisecond milliseconds millisekunden millisecondes milisegundos": 1e-3,
        "s sec second seconds sekunde sekunden seconde secondes segundo segundos": 1,
        "min minute minutes minuten minuto minutos": 60,
        "h hour hours stunde stunden heure heures hora horas": 3600,
        "day days tag tage tagen jour jours dia dias": 86_400,
        "week weeks woche wochen semaine semaines semana semanas": 604_800,
        "month months monat monate monaten mois mes meses": 2_629_800,
        "year years jahr jahre jahren an ans annee annees ano anos": 31_557_600,
        "decade decades jahrzehnte": 315_576_000,
    },
    "weekends": {"weekend weekends wochenende wochenenden": 1},
    "length": {
        "mm millimetre millimetres millimeter millimeters": 1e-3,
        "cm centimetre centimetres centimeter centimeters zentimeter": 1e-2,
        "inch inches": 0.0254,
        "ft feet foot": 0.3048,
        "metre metres meter meters metern metros": 1,
        "km kilometre kilometres kilometer kilometers kilometern kilometros": 1000,
        "mile miles meilen millas": 1609.344,
    },
    "mass": {
        "mg milligram milligrams": 1e-6,
        "g gram grams gramm grammes gramos": 1e-3,
        "kg kilo kilos kilogram kilograms kilogramm kilogrammes kilogramos": 1,
        "lb lbs": 0.4536,
        "tonne tonnes ton tons tonnen toneladas": 1000,
    },
    "data": {"kb kilobytes": 1e3, "mb megabytes": 1e6, "gb gigabytes": 1e9, "tb terabytes": 1e12, "pb petabytes": 1e15},
    "celsius": {"degrees celsius": 1, "°c": 1, "grad celsius": 1},
    "fahrenheit": {"degrees fahrenheit": 1, "°f": 1},
    "speed": {
        "km/h kph": 1, "kilometres per hour": 1, "kilometers per hour": 1,
        "mph": 1.609344, "miles per hour": 1.609344,
    },
    "area": {"hectares hectare hektar": 1, "acres acre": 0.4047},
    "volume": {"litre litres liter liters litros": 1, "gallon gallons": 3.785},
    "power": {"kw": 1e3, "mw": 1e6, "gw": 1e9},
    "pixels": {"px pixel pixels": 1},
    "factor": {"x times": 1},
}  # fmt: skip
_CURRENCIES = {
    "USD": "$ us$ usd dollar dollars dolares",
    "CAD": "c$ ca$ cad",
    "AUD": "a$ au$ aud",
    "EUR": "€ eur euro euros",
    "GBP": "£ gbp pound pounds pfund",
    "JPY": "¥ jpy yen",
    "CNY": "cny rmb yuan",
    "INR": "₹ inr rupee rupees",
    "CHF": "chf franc francs franken",
    "SEK": "sek kronor",
    "NOK": "nok kroner",
    "KR": "kr",
    "RUB": "rouble roubles ruble rubles",
}
_SCALES = {
    "k thousand tausend mille mil tsd": 1e3,
    "m mn million millions mio millionen millones": 1e6,
    "bn billion billions mrd milliarde milliarden milliard milliards": 1e9,
    "tn trillion trillions": 1e12,
    "hundred": 100,
    "dozen": 12,
}
# Written apart, because what it is depends on what follows.
_FRACTIONS = {
    "half": 0.5,
    "third": 1 / 3,
    "quarter": 0.25,
    "fifth": 0.2,
    "tenth": 0.1,
    "thirds": 1 / 3,
    "quarters": 0.25,
    "fifths": 0.2,
}

_PHRASE_STARTS = ("per", "pour", "por", "percentage", "degrees", "grad", "kilometres", "kilometers", "miles")
_SCALE_TABLE = {word: factor for words, factor in _SCALES.items() for word in words.split()}
# Atomic: of "1,000th" no part is a number.
_DIGITS = r"(?>\d+(?:[.,\u202f\u00a0 ]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)*)"
_SYMBOLS = r"(?:US|CA?|AU?)?\$|[€£¥₹]|(?:CHF|EUR|USD|GBP) ?"

_FRACTION = re.compile(
    r"\b(?:(?P<count>a|one|two|three|four)[ -])?(?P<part>half|thirds?|quarters?|fifths?|tenth)\b"
    r"(?! (?:quarter|year|time|day|week)|[ -]a[ -]dozen)",
    re.IGNORECASE,
)
_HALF_DOZEN = re.compile(r"\bhalf[ -]a[ -]dozen\b", re.IGNORECASE)
_MULTIPLE = re.compile(r"\b(?P<word>doubl|tripl|quadrupl)\w+|\btwice\b", re.IGNORECASE)
_RATE = re.compile(
    r" (?:a|an|per|par|im|pro|al) (second|minute|hour|day|night|week|month|year|jahr|monat|mois|an|mes|ano)\b",
    re.IGNORECASE,
)
_CLOCK_TIME = re.compile(
    r"(?<![\w.,:/])(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?![\d:])|\.(?P<dotted>\d\d)(?= ?[ap]\.?m\b))?"
    r"(?: ?(?P<half>[ap])(?:m|\.m\b\.?))?(?!\w)",
    re.IGNORECASE,
)
_CLOCK = "clock"
_HALF_DAY = 12 * 60
_YEAR = re.compile(r"(?<![\w.,$€£-])(1[89]\d\d|20\d\d)(?![\w%]|[.,]\d)")
_ISO_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")


class Quantity(NamedTuple):
    """A number with its unit; `value` is in the base unit of its dimension."""

    text: str
    value: float
    dimension: str
    """Such as `time` or `currency`; empty for a number without a unit."""
    unit: str
    start: int
    end: int
    digits: int
    """Significant digits, so that a rounded number can be told from another one."""
    rate: str = ""
    """The unit of a rate, such as `month` in "9.99 euros a month"."""


class Date(NamedTuple):
    """A date as far as it is given: a weekday, a month, a day of a month, a year."""

    text: str
    start: int
    end: int
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None


def _spread(table: dict[str, float]) -> dict[str, float]:
    return {
        word: factor
        for words, factor in table.items()
        for word in ([words] if " " in words and words.split()[0] in _PHRASE_STARTS else words.split())
    }


_UNIT_TABLE = {
    word: (dimension, word if dimension in ("celsius", "fahrenheit") else dimension, factor)
    for dimension, table in _UNITS.items()
    for word, factor in _spread(table).items()
} | {word: ("currency", code, 1.0) for code, words in _CURRENCIES.items() for word in words.split()}
# "miles" is both a phrase start and a unit.
_UNIT_TABLE |= {
    "miles": ("length", "length", 1609.344),
    "kilometres": ("length", "length", 1000.0),
    "kilometers": ("length", "length", 1000.0),
}


@lru_cache(maxsize=8)
def _number_pattern(language: Language) -> re.Pattern[str]:
    numerals = "|".join(sorted(language.numerals, key=len, reverse=True))
    # Only there: "one" alone is seldom a number.
    later = rf"{numerals}|(?<=ty-)one"
    words = rf"|\b(?:{numerals})(?:(?:[ -]|(?<=hundred) and )(?:{later}))*\b" if numerals else ""
    scales = "|".join(sorted(map(re.escape, _SCALE_TABLE), key=len, reverse=True))
    units = "|".join(sorted(map(re.escape, _UNIT_TABLE), key=len, reverse=True))
    number = rf"(?<![\w.,/-])(?:{_DIGITS})|(?<=[$€£¥₹])(?:{_DIGITS})|(?<=\d-)\d+(?![\w-]){words}"
    return re.compile(
        # After a letter or a digit a hyphen is no minus: COVID-19, 3-1.
        rf"(?P<minus>(?<![^\s(])[-−])?(?P<prefix>(?<!\w)(?:{_SYMBOLS}))?"
        rf"(?P<number>(?(minus)(?:{_DIGITS})|(?:{number})))"
        rf"(?:[ \u00a0\u202f-]?(?P<scale>{scales})\b\.?)?"
        rf"(?:[ \u00a0\u202f-]?(?:d'|de )?(?P<unit>{units})(?![\w]))?"
        # Nor a part of a number: "1" in "19th".
        r"(?![^\W_])",
        re.IGNORECASE,
    )


def find_quantities(text: str, language: Language, dates: tuple[Date, ...]) -> Iterator[Quantity]:
    """Yield the quantities of `text` that are no part of one of its `dates`."""
    taken = [(date.start, date.end) for date in dates]
    for quantity in _find_clock_times(text, language):
        taken.append((quantity.start, quantity.end))
        yield quantity
    if language.code == "en":
        for quantity in _find_fractions(text):
            taken.append((quantity.start, quantity.end))
            yield quantity
    for match in _number_pattern(language).finditer(text):
        if not _overlaps(match.span("number"), taken) and (parsed := _parse(match, language)):
            taken.append(match.span())
            yield parsed


def _overlaps(span: tuple[int, int], taken: list[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in taken)


def _parse(match: re.Match[str], language: Language) -> Quantity | None:
    number = _number(match["number"], language)
    if number is None:
        return None
    scale, unit_word = fold(match["scale"] or ""), match["unit"] or (match["prefix"] or "").strip()
    value = number * _SCALE_TABLE.get(scale, 1) * (-1 if match["minus"] else 1)
    dimension, unit, factor = _UNIT_TABLE.get(unit_word.lower(), _UNIT_TABLE.get(fold(unit_word), ("", "", 1.0)))
    digits = (
        re.sub(r"\D", "", match["number"]).strip("0") if match["number"][0].isdigit() else str(int(number)).strip("0")
    )
    rate = _RATE.match(match.string, match.end())
    return Quantity(
        match[0].strip(),
        value * factor,
        dimension,
        unit,
        *match.span(),
        max(1, len(digits)),
        rate[1].lower() if rate else "",
    )


def _number(text: str, language: Language) -> float | None:
    if not text[0].isdigit():
        values = {"one": 1.0, **language.numerals}
        return _spelled_number([values[word] for word in re.split("[ -]", fold(text)) if word != "and"])
    text = re.sub("[\u202f\u00a0 ]", "", text)
    thousands, decimal = (".", ",") if language.decimal_comma else (",", ".")
    if re.fullmatch(rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+(?:{re.escape(decimal)}\d+)?", text):
        text = text.replace(thousands, "")
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def _spelled_number(values: Iterable[float]) -> float:
    """Return the number that is spelled by words of these values."""
    number = 0.0
    for value in values:
        # A larger word multiplies, a smaller one is added: two hundred, fifteen hundred, quatre-vingt; twenty-five.
        number = number * value if 0 < number < value else number + value
    return number


def _find_clock_times(text: str, language: Language) -> Iterator[Quantity]:
    """Yield the times of the day, in minutes; the unit says if the half of the day is known."""
    for match in _CLOCK_TIME.finditer(text):
        minutes = match["minute"] or match["dotted"]
        hour, minute, half = int(match["hour"]), int(minutes or 0), (match["half"] or "").lower()
        if language.code == "de" and half == "a":
            # "12 am Montag" are 12 on Monday.
            half = ""
        if not (minutes or half) or hour > (12 if half else 24) or minute > 59:
            continue
        if half:
            hour = hour % 12 + (12 if half == "p" else 0)
        # Only times of 24 hours begin with a zero: 08:00 is not in the evening.
        unit = "day" if half or hour > 12 or match["hour"][0] == "0" else "half"
        yield Quantity(match[0], hour * 60 + minute, _CLOCK, unit, *match.span(), digits=4)


def _find_fractions(text: str) -> Iterator[Quantity]:
    counts = {"two": 2, "three": 3, "four": 4}
    for match in _FRACTION.finditer(text):
        # "The third ramp" is a position, "a third" a share.
        if match["count"] or match["part"].lower() == "half":
            value = counts.get((match["count"] or "").lower(), 1) * _FRACTIONS[match["part"].lower()]
            yield Quantity(match[0], value, "share", "share", *match.span(), 1)
    for match in _HALF_DOZEN.finditer(text):
        yield Quantity(match[0], 6.0, "", "", *match.span(), 1)
    for match in _MULTIPLE.finditer(text):
        value = {"tripl": 3.0, "quadrupl": 4.0}.get((match["word"] or "").lower(), 2.0)
        yield Quantity(match[0], value, "factor", "factor", *match.span(), 1)


def find_dates(text: str, language: Language) -> Iterator[Date]:
    """Yield the dates of `text`."""
    for match in _ISO_DATE.finditer(text):
        yield Date(match[0], *match.span(), int(match[1]), int(match[2]), int(match[3]))
    pattern = _date_pattern(language)
    for match in pattern.finditer(text) if pattern else ():
        if date := _date(match, language):
            yield date
    spans = [match.span() for match in pattern.finditer(text)] if pattern else []
    for match in _YEAR.finditer(text):
        if not _overlaps(match.span(), spans):
            yield Date(match[0], *match.span(), year=int(match[1]))


@lru_cache(maxsize=8)
def _date_pattern(language: Language) -> re.Pattern[str] | None:
    if not language.months:
        return None
    months, weekdays = "|".join(language.months), "|".join(language.weekdays)
    year = r"(?:,? (?:de )?(?:of )?(?P<{}>(?:19|20)\d\d))?"
    # Accents are folded letter by letter before the search.
    return re.compile(
        rf"\b(?P<weekday>{weekdays})s?\b"
        rf"|\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)? (?:of |de )?(?P<month>{months})\b\.?{year.format('year')}"
        rf"|\b(?P<month2>{months})\b\.?(?: (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?{year.format('year2')}",
    )


def _date(match: re.Match[str], language: Language) -> Date | None:
    groups = match.groupdict()
    if groups["weekday"]:
        return Date(match[0], *match.span(), weekday=language.weekdays[groups["weekday"]])
    name, day = groups["month"] or groups["month2"], groups["day"] or groups["day2"]
    year = groups["year"] or groups["year2"]
    return Date(match[0], *match.span(), int(year) if year else None, language.months[name], int(day) if day else None)


def fold_letters(text: str) -> str:
    """Return `text` folded letter by letter, so that all offsets stay valid."""
    if text.isascii():
        return text.lower()
    return "".join(folded if len(folded := fold(letter)) == 1 else letter for letter in text)


def is_same_quantity(first: Quantity, second: Quantity) -> bool:
    """Return True if both are the same amount; a number without a unit equals the same number with any unit."""
    if first.value * second.value < 0 or (first.rate and second.rate and first.rate != second.rate):
        return False
    if first.dimension and second.dimension:
        return first.dimension == second.dimension and _is_same_value(first, second)
    if first.dimension in ("", "currency", "factor", "points") and second.dimension in (
        "",
        "currency",
        "factor",
        "points",
    ):
        return _is_close(first.value, second.value, 1e-6)
    # "35" for "35 percent", but never "0.35".
    return _bare(first) == _bare(second)


def _is_same_value(first: Quantity, second: Quantity) -> bool:
    """Return True if both, which have one dimension, are the same amount."""
    if first.dimension == _CLOCK:
        # "2:30" may be in the afternoon.
        cycle = 2 * _HALF_DAY if first.unit == second.unit == "day" else _HALF_DAY
        return (first.value - second.value) % cycle == 0
    if first.dimension == "currency" and not _is_same_currency(first.unit, second.unit):
        return False
    return _is_close(first.value, second.value, 0.011 if first.dimension in ("time", "share") else 1e-6)


def quantity_similarity(first: Quantity, second: Quantity) -> float:
    """Return 1 for the same amount, 0.5 for another one of its kind, otherwise 0."""
    if is_same_quantity(first, second):
        return 1.0
    return 0.5 if is_comparable(first, second) else 0.0


def _bare(quantity: Quantity) -> str:
    match = re.search(r"\d+(?:[.,:]\d+)*", quantity.text)
    return match[0] if match else quantity.text.split()[0].lower()


def _is_same_currency(first: str, second: str) -> bool:
    crowns = ("KR", "SEK", "NOK")
    return first == second or ("KR" in (first, second) and first in crowns and second in crowns)


def _is_close(first: float, second: float, tolerance: float) -> bool:
    return abs(first - second) <= tolerance * max(abs(first), abs(second))


def is_comparable(first: Quantity, second: Quantity) -> bool:
    """Return True if one may stand for the other: both are lengths, or the same number with other units."""
    temperatures = ("celsius", "fahrenheit")
    if first.dimension in temperatures and second.dimension in temperatures:
        return True
    if first.dimension == second.dimension:
        return True
    # The same number with another unit is another amount: 23 percent is not 23 seconds.
    dimensions = (first.dimension, second.dimension)
    return all(dimensions) and _CLOCK not in dimensions and _bare(first) == _bare(second)


def is_rounded(ours: Quantity, theirs: Quantity) -> bool:
    """Return True if `ours` may be `theirs` rounded, converted or with its sign in words: a fall by 3 for -3."""
    if ours.value == -theirs.value:
        return True
    if ours.dimension != theirs.dimension or ours.dimension == _CLOCK or not theirs.value:
        return False
    if ours.dimension == "currency" and ours.unit != theirs.unit:
        return False
    rounded = float(f"{theirs.value:.{ours.digits - 1}e}")
    if ours.digits < theirs.digits and _is_close(rounded, ours.value, 1e-9):
        return True
    is_converted = ours.dimension in ("length", "mass", "speed", "area", "volume") and _bare(ours) != _bare(theirs)
    return is_converted and _is_close(ours.value, theirs.value, _CONVERSION) and ours.text[-1:] != theirs.text[-1:]


def is_same_date(first: Date, second: Date) -> bool:
    """Return True if the dates agree in everything that both name, and both name something."""
    pairs = [(a, b) for a, b in zip(first[3:], second[3:], strict=True) if a is not None and b is not None]
    return bool(pairs) and all(a == b for a, b in pairs)


def is_other_date(ours: Date, theirs: Date) -> bool:
    """Return True if the dates are of one kind and differ."""
    return any(a is not None and b is not None and a != b for a, b in zip(ours[3:], theirs[3:], strict=True))
