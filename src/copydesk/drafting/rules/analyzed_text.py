"""A draft and its source in the forms that the rules need, such as words and numbers with their units.

Each form is computed once and on demand.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple

from copydesk.drafting.extract.passages import make_readable
from copydesk.drafting.rules.injection import find_injections
from copydesk.model.draft import Format
from copydesk.text import clean_lines, links
from copydesk.text.thread import SEPARATOR_LINE

_NUMBER = re.compile(
    r"(?<![\w.,])(\d++(?:[.,]\d++)*+)"
    r"(?:[ \u00a0-]?(%|percent\b|per cent\b|k\b|m\b|bn\b|tn\b|thousand\b|million\b|billion\b|trillion\b|x\b|times\b))?",
    re.IGNORECASE,
)
_SCALE = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9, "tn": 1e12, "trillion": 1e12}
_UNITS = {"%": "%", "percent": "%", "per cent": "%", "x": "x", "times": "x"}
_POST_COUNTER = re.compile(r"\b\d{1,3}/\d{1,3}(?=[^\S\n]*+(?:\n|\Z))|^[^\S\n]*+\d{1,3}[.)](?=\s)", re.MULTILINE)
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ONES = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_ONES += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_ROUND_NUMBERS = {12: "dozen", 100: "hundred", 1000: "thousand"}
# A comma before anything but three digits is a decimal comma, or separates two numbers.
_THOUSANDS = re.compile(r",(?=\d{3}(?:\D|$))")

MAX_SOURCE_LENGTH = 100_000
"""Characters of a source that drafts are compared with."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# A quotation may not contain another opening mark, which would make a row of such marks quadratic.
_QUOTED = re.compile(r"“[^“”\n]*”|\"[^\"\n]*\"|«[^«»\n]*»|„[^„“”\n]*[“”]|「[^「」\n]*」")
_BLOCK_QUOTE = re.compile(r"^>[^\n]*(?:\n>[^\n]*)*", re.MULTILINE)
_ESCAPE = re.compile(r"\\(?=[^\w\s])")
# A control character, which no word or name can contain.
_QUOTATION_MARKER = "\x1f"

# Separators between posts, marks of headings, lists and quotations, counters of posts, and credits.
_NO_STATEMENT = re.compile(
    r"^-{3,}[ \t]*$|^(?:#{1,6}|>|[-*•]|\d{1,2}[.)])[ \t]+|\(?\b\d{1,3}/\d{1,3}\)?[ \t]*$"
    r"|^(?:via|source|quelle|more at|read (?:it|more)|h/t|link)\b[^\n]{0,60}$|^from [^\n:]{1,40}:",
    re.IGNORECASE | re.MULTILINE,
)
_LETTER = re.compile(r"[^\n]")

_QUOTATION_MARKS = re.compile("[\"'“”‘’«»„]")


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
            # A scale such as `million` must agree: 3 is not 3 million.
            not amount.unit and amount.text[-1:].isdigit() and amount.value in self.bare
        )


def find_numbers(text: str) -> Iterator[Amount]:
    """Yield the numbers of `text`, except for the counters of thread posts and list items, and those such as 20th."""
    # The 2 of "2/5" and of "2. Second item" are the draft's own numbering.
    counter_positions = {position for match in _POST_COUNTER.finditer(text) for position in range(*match.span())}
    for match in _NUMBER.finditer(text):
        # Sources write 20th, 90s and 11am in other ways.
        is_part_of_word = len(match[1]) <= 2 and not match[2] and text[match.end() : match.end() + 1].isalpha()
        if match.start() in counter_positions or is_part_of_word:
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


class AnalyzedText:
    """A draft's text in the forms that rules need."""

    def __init__(self, text: str, format: Format) -> None:
        self.text = text
        self.format = format

    @cached_property
    def masked(self) -> str:
        """The text with links replaced by spaces; offsets are those of the text."""
        return links.mask_links(self.text)

    @cached_property
    def words(self) -> list[str]:
        """All words outside links, in lower case."""
        return split_words(self.masked)

    @cached_property
    def quotations(self) -> list[tuple[int, int, str]]:
        """Start, end and content (without marks) of text in quotation marks and block quotations."""
        found = [(match.start(), match.end(), match[0][1:-1]) for match in _QUOTED.finditer(self.masked)]
        if self.format is Format.BLOG:
            blocks = [
                (match.start(), match.end(), _block_quote_text(match[0]))
                for match in _BLOCK_QUOTE.finditer(self.masked)
            ]
            # A quotation inside a block quotation is part of it.
            found = blocks + [
                quotation for quotation in found if not any(start <= quotation[0] < end for start, end, _ in blocks)
            ]
        return sorted(found)

    @cached_property
    def own_text(self) -> str:
        """The masked text with quotations replaced by a marker and spaces: the own words, at unchanged offsets."""
        pieces: list[str] = []
        last = 0
        for start, end, _ in self.quotations:
            if start >= last:
                pieces += (self.masked[last:start], _QUOTATION_MARKER.ljust(end - start))
                last = end
        return "".join((*pieces, self.masked[last:]))

    @cached_property
    def statements(self) -> str:
        """The masked text without hashtags, separators and markup, which state nothing, at unchanged offsets."""
        text = links.blank_spans(self.masked, links.hashtag_spans(self.masked))
        return _NO_STATEMENT.sub(lambda match: _LETTER.sub(" ", match[0]), text)

    @cached_property
    def parts(self) -> list[tuple[int, str]]:
        """The posts of the text with their offsets: one, except for a THREAD."""
        if self.format is not Format.THREAD:
            return [(0, self.text)]
        return list(_split_parts(self.text))


class SourceText:
    """A source's text in the forms that drafts are compared with."""

    def __init__(self, source: str) -> None:
        self._paragraphs = source[:MAX_SOURCE_LENGTH].split("\n")
        self.text = make_readable(source[:MAX_SOURCE_LENGTH])
        self.lower = self.text.lower().replace("’", "'")
        self.masked = links.mask_links(self.text)
        self.joined = f" {' '.join(split_words(self.masked))} "

    @cached_property
    def amounts(self) -> Amounts:
        """All numbers."""
        return collect_amounts(self.masked)

    @cached_property
    def handles(self) -> frozenset[str]:
        """All handles outside of instructions, in lower case."""
        return frozenset(handle.lower() for handle in links.MENTION.findall(self.trusted))

    @cached_property
    def links(self) -> frozenset[str]:
        """All links outside of instructions, normalised by `links.comparison_key`."""
        text = self.trusted
        return frozenset(links.comparison_key(text[start:end]) for start, end in links.all_spans(text))

    @cached_property
    def trusted(self) -> str:
        """The text without paragraphs that instruct a writer: they are no reason to link or mention anyone."""
        if not self.instruction:
            return self.text
        return make_readable("\n".join(text for text in self._paragraphs if not find_injections(text)))

    @cached_property
    def instruction(self) -> str:
        """The first text that reads like an instruction to a writer; "" if there is none."""
        # With its line breaks, because an instruction may stand below a title without a full stop.
        text = clean_lines("\n".join(self._paragraphs))
        finding = next(iter(find_injections(text)), None)
        return " ".join(text[finding.start : finding.end].split()) if finding else ""

    def contains(self, words: Iterable[str]) -> bool:
        """Return True if these words occur consecutively."""
        # Spaces at both ends, so that only whole words match.
        return f" {' '.join(words)} " in self.joined

    def contains_ignoring_quotes(self, text: str) -> bool:
        """Return True if the text occurs, ignoring quotation marks: a quotation turns double ones into single ones."""
        return strip_quotes(text) in self.unquoted

    @cached_property
    def unquoted(self) -> str:
        """The text without quotation marks and apostrophes."""
        return strip_quotes(self.text)


def strip_quotes(text: str) -> str:
    """Return `text` in lower case without quotation marks and apostrophes, with white space collapsed."""
    return " ".join(_QUOTATION_MARKS.sub("", text.lower()).split())


@lru_cache(maxsize=32)
def analyze_source(source: str) -> SourceText:
    """Return the analysed source. Cached, because an item's drafts and their versions are checked in sequence."""
    return SourceText(source)


def split_words(text: str) -> list[str]:
    """Return the words of `text` in lower case, with typographic apostrophes replaced."""
    return _WORD.findall(text.lower().replace("’", "'"))


def ngrams(words: list[str], length: int) -> list[str]:
    """Return all sequences of `length` words, in order."""
    return [" ".join(words[start : start + length]) for start in range(len(words) - length + 1)]


def own_sections(own_text: str, titles: Iterable[str]) -> Iterator[list[str]]:
    """Yield the word lists between quotations and occurrences of the titles in a draft's own text."""
    spaced_titles = [f" {' '.join(words)} " for title in titles if (words := split_words(title))]
    for section in own_text.split(_QUOTATION_MARKER):
        # Spaces around the words keep the title from matching inside a longer word.
        spaced_words = f" {' '.join(split_words(section))} "
        for title in spaced_titles:
            spaced_words = spaced_words.replace(title, f" {_QUOTATION_MARKER} ")
        yield from (piece.split() for piece in spaced_words.split(_QUOTATION_MARKER))


def _block_quote_text(block: str) -> str:
    return _ESCAPE.sub("", re.sub(r"^> ?", "", block, flags=re.MULTILINE))


def _split_parts(text: str) -> Iterator[tuple[int, str]]:
    part_start = 0
    for match in (*SEPARATOR_LINE.finditer(text), None):
        piece = text[part_start : match.start() if match else len(text)]
        if piece.strip():
            yield part_start + len(piece) - len(piece.lstrip()), piece.strip()
        part_start = match.end() if match else part_start
