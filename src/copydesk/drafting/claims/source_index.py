"""The sentences of a source, found by the words that they share with a sentence of a draft."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from copydesk.drafting.claims.compare import DEMONYMS
from copydesk.drafting.claims.language import Language
from copydesk.drafting.claims.languages import LANGUAGES, UNKNOWN, detect_language
from copydesk.drafting.claims.people import Role, find_roles, normalize_quotation
from copydesk.drafting.claims.statement import Statement, parse_statement
from copydesk.model.draft import Field
from copydesk.model.serialization import Struct
from copydesk.text.folding import fold
from copydesk.text.sentences import spans

MAX_LENGTH = 60_000
"""Characters of a field that drafts are compared with."""
MAX_SENTENCE_LENGTH = 1000
"""Characters of a sentence that are compared."""
_MAX_MENTIONS = 40
"""Sentences with a name that are searched for its roles."""
_INNER_NAME = re.compile(r"(?<=[a-zß-ÿ,;] )[A-ZÀ-Þ][^\W_]+")
_WORD = re.compile(r"[^\W_]+")


class Material(Struct, frozen=True):
    """One text of an item that a draft may rest on."""

    field: Field
    text: str
    item_id: str | None = None
    """The item, if it is not the draft's own."""


class Sentence(NamedTuple):
    """A sentence of the source with its place."""

    material: Material
    start: int
    end: int
    position: int
    """Its index among all sentences."""

    @property
    def text(self) -> str:
        """The sentence as the source has it."""
        return self.material.text[self.start : self.end]


class SourceIndex:
    """The sentences of all texts of a source."""

    def __init__(self, materials: Sequence[Material]) -> None:
        self.sentences: list[Sentence] = []
        for material in materials:
            for start, end in spans(material.text[:MAX_LENGTH]):
                self.sentences.append(Sentence(material, start, end, len(self.sentences)))
        self.language_code = detect_language(" ".join(material.text[:2000] for material in materials))
        self._roles: dict[str, list[Role]] = {}
        self.language: Language = LANGUAGES.get(self.language_code, UNKNOWN)

    @cached_property
    def _positions(self) -> dict[str, list[int]]:
        """Stem -> the sentences that have it."""
        positions: dict[str, list[int]] = defaultdict(list)
        stem = self.language.stem
        for sentence in self.sentences:
            for word in set(map(stem, _WORD.findall(fold(sentence.text)))):
                positions[word].append(sentence.position)
        return positions

    @cached_property
    def words(self) -> frozenset[str]:
        """All folded words."""
        return frozenset(word for sentence in self.sentences for word in _WORD.findall(fold(sentence.text)))

    def has_stem(self, stem: str) -> bool:
        """Return True if the source has a word of this stem."""
        return stem in self._positions

    def roles(self, surname: str) -> list[Role]:
        """Return the roles that the source gives to a name."""
        if surname not in self._roles:
            positions = self._positions.get(self.language.stem(surname), [])[:_MAX_MENTIONS]
            found = (role for position in positions for role in find_roles(self.statement(self.sentences[position])))
            self._roles[surname] = [role for role in found if role.surname == surname]
        return self._roles[surname]

    @cached_property
    def known_names(self) -> frozenset[str]:
        """The folded words that are capitalized inside sentences."""
        if self.language.capital_nouns:
            return frozenset()
        texts = {
            sentence.material.text[:MAX_LENGTH]
            for sentence in self.sentences
            if sentence.material.field is not Field.TITLE
        }
        return frozenset(fold(name) for text in texts for name in _INNER_NAME.findall(text)) | frozenset(DEMONYMS)

    def statement(self, sentence: Sentence) -> Statement:
        """Return the analyzed sentence."""
        return parse_statement(sentence.text[:MAX_SENTENCE_LENGTH], self.language)

    def before(self, sentence: Sentence) -> list[Statement]:
        """Return the two sentences before `sentence` in the same text, nearest last."""
        earlier = self.sentences[max(0, sentence.position - 2) : sentence.position]
        return [self.statement(other) for other in earlier if other.material is sentence.material]

    def after(self, sentence: Sentence) -> list[Statement]:
        """Return the sentence after `sentence` in the same text."""
        later = self.sentences[sentence.position + 1 : sentence.position + 2]
        return [self.statement(other) for other in later if other.material is sentence.material]

    def find(self, statement: Statement, count: int = 4) -> list[Sentence]:
        """Return the sentences that share most with `statement`, best first."""
        groups = self._opposites
        scores: Counter[int] = Counter()
        for token in statement.tokens:
            if not token.is_content and not token.text[0].isdigit():
                continue
            related = {token.stem} | {
                stem for group, _ in statement.language.opposites.get(token.stem, ()) for stem in groups.get(group, ())
            }
            found = {position for stem in related for position in self._positions.get(stem, ())}
            # A word that few sentences have says more.
            weight = 1000 + 3000 // (1 + len(found))
            for position in found:
                scores[position] += weight
        best = sorted(scores, key=lambda position: (-scores[position], position))[:count]
        return [self.sentences[position] for position in best]

    @cached_property
    def _opposites(self) -> dict[int, set[str]]:
        """Group of opposites -> the stems in it that the source has."""
        groups: dict[int, set[str]] = defaultdict(set)
        opposites = self.language.opposites
        for stem in opposites.keys() & self._positions.keys():
            for group, _ in opposites[stem]:
                groups[group].add(stem)
        return groups

    def find_quotation(self, quotation: str) -> list[Sentence]:
        """Return the sentences that a verbatim quotation runs over, of its first place; empty if it is nowhere."""
        normalized = normalize_quotation(quotation)
        if not normalized:
            return []
        for material, text, starts in self._normalized:
            start = f" {text} ".find(f" {normalized} ")
            if start >= 0:
                end = start + len(normalized)
                own = [sentence for sentence in self.sentences if sentence.material is material]
                return [
                    sentence
                    for sentence, (first, last) in zip(own, starts, strict=True)
                    if first < end and start < last
                ]
        return []

    @cached_property
    def _normalized(self) -> list[tuple[Material, str, list[tuple[int, int]]]]:
        """Each text without punctuation, with the spans of its sentences in it."""
        result = []
        for material in dict.fromkeys(sentence.material for sentence in self.sentences):
            pieces: list[str] = []
            bounds, length = [], 0
            for sentence in self.sentences:
                if sentence.material is material:
                    piece = normalize_quotation(sentence.text)
                    bounds.append((length, length + len(piece)))
                    length += len(piece) + 1
                    pieces.append(piece)
            result.append((material, " ".join(pieces), bounds))
        return result


@lru_cache(maxsize=32)
def index_source(materials: tuple[Material, ...]) -> SourceIndex:
    """Return the indexed source. Cached, because an item's drafts and their versions are checked in sequence."""
    return SourceIndex(materials)
