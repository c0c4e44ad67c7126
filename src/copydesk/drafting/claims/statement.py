"""A sentence in the parts that are compared: words with their polarity, quantities, dates, names, quotations."""

import re
from collections.abc import Collection, Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple

from copydesk.drafting.claims.language import Language
from copydesk.drafting.claims.quantities import Date, Quantity, find_dates, find_quantities, fold_letters
from copydesk.text.folding import fold

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]")
QUOTED = re.compile(r"“[^“”]*”|\"[^\"]*\"|« ?[^«»]*? ?»|„[^„“”]*[“”]|「[^「」]*」")
_CONTRACTION = re.compile(r"n['’]t$")
_MAX_CAPITALS = 0.8
"""Share of capitalized words above which a sentence is a headline."""
_SCOPE_LENGTH = 8
"""Words that a negation reaches at most."""


class Token(NamedTuple):
    """A word or a mark of a sentence."""

    text: str
    word: str
    """Folded, without a genitive."""
    stem: str
    start: int
    end: int
    position: int
    """Its place among the tokens of the sentence."""
    polarity: int
    """-1 inside an odd number of negations, otherwise 1."""
    is_content: bool
    is_quoted: bool


class Name(NamedTuple):
    """Consecutive capitalized words."""

    words: tuple[str, ...]
    """Folded."""
    first: int
    last: int
    """Positions of its tokens."""

    @property
    def text(self) -> str:
        """The folded name."""
        return " ".join(self.words)


class Quotation(NamedTuple):
    """Text in quotation marks, with its span including the marks."""

    text: str
    start: int
    end: int


class Negation(NamedTuple):
    """A negating word and the words in its scope, by their positions."""

    position: int
    scope: tuple[int, ...]


class Statement:
    """One sentence, analyzed. Its spans are those of its own text."""

    def __init__(self, text: str, language: Language) -> None:
        self.text = text
        self.language = language
        # Underscores keep the hosts of links and the like from being read as words.
        self._folded = fold_letters(text)

    @cached_property
    def dates(self) -> tuple[Date, ...]:
        """All dates."""
        if self.language.code == "en" and re.search(
            r"\b(?:may|march|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)\b", self._folded
        ):
            return tuple(date for date in find_dates(self._folded, self.language) if self._is_date(date))
        return tuple(find_dates(self._folded, self.language))

    def _is_date(self, date: Date) -> bool:
        # "May" and "March" are months where they are capitalized, and not at the beginning.
        if date.month is None or date.day is not None:
            return True
        # Nor is "Jun" alone a month, but a name.
        is_short = date.end - date.start <= 4 and date.text.strip(".") not in ("may", "june", "july")
        return self.text[date.start].isupper() and not is_short

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """All quantities."""
        return tuple(find_quantities(self.text, self.language, self.dates))

    @cached_property
    def _numeric_spans(self) -> list[tuple[int, int]]:
        spans = [(quantity.start, quantity.end) for quantity in self.quantities]
        return spans + [(date.start, date.end) for date in self.dates]

    @cached_property
    def quotations(self) -> tuple[Quotation, ...]:
        """All text in quotation marks."""
        return tuple(Quotation(match[0][1:-1].strip(), *match.span()) for match in QUOTED.finditer(self.text))

    @cached_property
    def own_quantities(self) -> tuple[Quantity, ...]:
        """The quantities outside quotations."""
        return tuple(quantity for quantity in self.quantities if not self._is_quoted(quantity.start))

    @cached_property
    def own_dates(self) -> tuple[Date, ...]:
        """The dates outside quotations."""
        return tuple(date for date in self.dates if not self._is_quoted(date.start))

    def _is_quoted(self, position: int) -> bool:
        return any(start <= position < end for _, start, end in self.quotations)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """All words and marks."""
        return tuple(self._tokens())

    def _tokens(self) -> Iterator[Token]:
        matches = list(_TOKEN.finditer(self.text))
        words = [_word(match[0]) for match in matches]
        polarities = [1] * len(words)
        for negation in self._negations(words):
            for index in negation.scope:
                polarities[index] = -polarities[index]
        language = self.language
        for index, (match, word) in enumerate(zip(matches, words, strict=True)):
            is_number = any(start <= match.start() < end for start, end in self._numeric_spans)
            is_content = (
                not is_number
                and (match[0][0].isalnum())
                and word not in language.function_words
                and word not in language.negators
                and word not in language.numerals
                and not _CONTRACTION.search(word)
            )
            is_quoted = self._is_quoted(match.start())
            stem = language.stem(word) if match[0][0].isalnum() else match[0]
            yield Token(match[0], word, stem, *match.span(), index, polarities[index], is_content, is_quoted)

    @cached_property
    def negations(self) -> tuple[Negation, ...]:
        """All negations."""
        return tuple(self._negations([token.word for token in self.tokens]))

    def _negations(self, words: list[str]) -> Iterator[Negation]:
        for index in range(len(words)):
            if not self._is_negator(words, index):
                continue
            scope = []
            for position in range(index + 1, min(len(words), index + 1 + _SCOPE_LENGTH * 2)):
                following = words[position]
                if following in ".,;:!?()—–" or (following in self.language.clause_words and position > index + 1):
                    break
                if following in ("and", "or") and position > index + 2:
                    break
                scope.append(position)
                if len(scope) >= _SCOPE_LENGTH:
                    break
            yield Negation(index, tuple(scope))

    def _is_negator(self, words: list[str], index: int) -> bool:
        word = words[index]
        if word not in self.language.negators and not _CONTRACTION.search(word):
            return False
        following = words[index + 1] if index + 1 < len(words) else ""
        # "Not only" affirms, and "No. 5" counts.
        return following not in ("only", "just", "merely", "nur", "seulement") and not (
            word == "no" and following == "."
        )

    @cached_property
    def content(self) -> tuple[Token, ...]:
        """The words with content, without those of quotations."""
        return tuple(token for token in self.tokens if token.is_content and not token.is_quoted)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all words."""
        return frozenset(token.stem for token in self.tokens)

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """Sequences of capitalized words outside quotations; the first word of the sentence only as a part of one."""
        if self._is_title_case:
            return ()
        found: list[list[Token]] = []
        for token in self.tokens:
            if not self._may_be_name(token):
                continue
            if found and found[-1][-1].position == token.position - 1:
                found[-1].append(token)
            else:
                found.append([token])
        return tuple(
            Name(tuple(token.word for token in group), group[0].position, group[-1].position)
            for group in found
            if self._is_name(group)
        )

    @cached_property
    def _is_title_case(self) -> bool:
        """True for a Headline With Capitals, which mark no names."""
        words = self.content if not self.language.capital_nouns else ()
        return len(words) > 4 and sum(token.text[0].isupper() for token in words) > _MAX_CAPITALS * len(words)

    def _may_be_name(self, token: Token) -> bool:
        if token.is_quoted or not token.text[0].isupper():
            return False
        if any(start <= token.start < end for start, end in self._numeric_spans):
            return False
        return token.word not in self.language.function_words and token.word not in self.language.roles

    def _is_name(self, group: list[Token]) -> bool:
        if (
            self.language.capital_nouns
            and group[0].position
            and self._word_before(group[0]) in self.language.speech_verbs
        ):
            return True
        if self.language.capital_nouns or group[0].position == 0 or self._begins_clause(group[0]):
            return len(group) > 1 or (
                not self.language.capital_nouns and group[0].text.isupper() and len(group[0].text) > 1
            )
        return True

    def _word_before(self, token: Token) -> str:
        return self.tokens[token.position - 1].word

    def _begins_clause(self, token: Token) -> bool:
        if token.position and self.tokens[token.position - 1].is_quoted:
            return False
        before = self.tokens[token.position - 1].text if token.position else ""
        return before in "“\"'‘«„([「*>#:" and before != ""

    def names_with(self, name_words: Collection[str]) -> tuple[Name, ...]:
        """Return the names, and the first word of the sentence if it is one of `name_words`."""
        if not self.tokens or self.tokens[0].word not in name_words or not self._may_be_name(self.tokens[0]):
            return self.names
        if self.names and self.names[0].first == 0:
            return self.names
        return (Name((self.tokens[0].word,), 0, 0), *self.names)

    def spelling(self, name: Name) -> str:
        """Return a name as the sentence has it."""
        return self.text[self.tokens[name.first].start : self.tokens[name.last].end]


def _word(text: str) -> str:
    word = fold(text)
    for suffix in ("'s", "s'"):
        if word.endswith(suffix) and len(word) > len(suffix):
            return word[:-2] if suffix == "'s" else word[:-1]
    # French and Spanish contractions: l'opposition, qu'elle.
    head, apostrophe, tail = word.partition("'")
    return tail if apostrophe and len(head) <= 2 and len(tail) > 2 else word


@lru_cache(maxsize=4096)
def parse_statement(text: str, language: Language) -> Statement:
    """Return the analyzed sentence. Cached, because a text that is typed changes in one sentence at a time."""
    return Statement(text, language)
