"""Compare one sentence of a draft with one of its source: words and their polarity, quantities, dates, names, roles."""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from copydesk.drafting.claims.people import find_speakers
from copydesk.drafting.claims.quantities import (
    Quantity,
    is_comparable,
    is_other_date,
    is_rounded,
    is_same_date,
    is_same_quantity,
    quantity_similarity,
)
from copydesk.drafting.claims.statement import Name, Statement, Token
from copydesk.text.folding import fold

_NEAR = 5
"""Words on either side of a number or a verb that show what it is about."""
_MAX_CANDIDATES = 12
"""Words of the source sentence that one word is compared with; a sentence repeats one more often only to cost time."""
_MULTIPLES = frozenset(["double", "doubled", "doubles", "half", "halved"])
_NEGATING_PREFIX = re.compile(r"^(?:un|in|im|dis|non|ir|il)(?=\w{4})")


class Match(NamedTuple):
    """A word of the draft and the word of the source that it was matched with."""

    ours: Token
    theirs: Token
    sign: int
    """-1 if they are opposites."""


class Comparison:
    """A sentence of a draft beside one of the source; `context` are the sentences before it, nearest last."""

    def __init__(
        self, ours: Statement, theirs: Statement, context: Sequence[Statement] = (), names: Collection[str] = ()
    ) -> None:
        self._names = names
        self.ours = ours
        self.theirs = theirs
        self.context = context

    @cached_property
    def matches(self) -> dict[int, Match]:
        """The match of each word with content, by the index of its token."""
        return {token.position: match for token in self._compared_words if (match := self._match(token)) is not None}

    @cached_property
    def _compared_words(self) -> list[Token]:
        groups = self.ours.language.opposites
        return [
            token for token in self.ours.tokens if not token.is_quoted and (token.is_content or token.stem in groups)
        ]

    def _match(self, token: Token) -> Match | None:
        related = (
            Match(token, other, sign)
            for other in self.theirs.tokens
            if (sign := self._relation(token, other)) is not None
        )
        candidates = list(islice(related, _MAX_CANDIDATES))
        if not candidates:
            return None
        if len(candidates) == 1:
            return candidates[0]
        # The sign decides a tie: the same word before its opposite, because a false alarm costs more trust than a miss.
        # "Closed the bridge and opened the tunnel": the subject may be nearer to the other verb, the object is not.
        return max(
            candidates,
            key=lambda match: (
                match.sign == 1 and self._has_same_neighbour(match, (1,)),
                self._proximity(match),
                match.sign,
            ),
        )

    def _relation(self, token: Token, other: Token) -> int | None:
        """Return 1 for the same word, -1 for an opposite, None for another word."""
        # The words, too: in two languages the stems of one word differ.
        if token.stem == other.stem or token.word == other.word:
            return 1
        if not other.text[0].isalnum():
            return None
        opposites = self.ours.language.opposites
        for group, side in opposites.get(token.stem, ()):
            for other_group, other_side in opposites.get(other.stem, ()):
                if group == other_group:
                    return 1 if side == other_side else -1
        if _without_prefix(token.word) == other.word or token.word == _without_prefix(other.word):
            return -1
        return 1 if _is_same_name(token, other) else None

    def has_word_for(self, other: Token) -> bool:
        """Return True if the draft has this word of the source, or one that means the same."""
        return any(self._relation(token, other) == 1 for token in self.ours.tokens)

    def _proximity(self, match: Match) -> float:
        """Return how near the words around `match.ours` are to `match.theirs` in the source."""
        total = 0.0
        place = match.theirs.position
        for neighbour in self._neighbours(match.ours.position):
            positions = self._positions.get(neighbour.stem, [])
            index = bisect_left(positions, place)
            # The nearest ones on both sides; in between is the matched word itself if it has this stem.
            distances = [abs(other - place) for other in positions[max(0, index - 1) : index + 2] if other != place]
            total += 1 / (min(distances) * abs(neighbour.position - match.ours.position)) if distances else 0.0
        return total

    @cached_property
    def _positions(self) -> dict[str, list[int]]:
        """Stem -> the positions in the source sentence, in order."""
        positions: dict[str, list[int]] = {}
        for token in self.theirs.tokens:
            positions.setdefault(token.stem, []).append(token.position)
        return positions

    def _neighbours(self, index: int) -> list[Token]:
        tokens = self.ours.tokens
        return [
            token
            for token in tokens[max(0, index - _NEAR) : index + _NEAR + 1]
            if token.position != index
            and (token.is_content or token.text[0].isdigit() or token.word in self.ours.language.numerals)
        ]

    @cached_property
    def coverage(self) -> float:
        """The share of the draft's words with content that the source sentence has, opposites included."""
        total = found = 0.0
        for token in self.ours.content:
            weight = self._weight(token)
            total += weight
            found += weight * (token.position in self.matches)
        for quantity in self.ours.own_quantities:
            total += 1
            found += max((quantity_similarity(quantity, other) for other in self.theirs.quantities), default=0.0)
        for date in self.ours.own_dates:
            total += 1
            same = any(is_same_date(date, other) for other in self.theirs.dates)
            found += 1 if same else 0.5 * any(is_other_date(date, other) for other in self.theirs.dates)
        return found / total if total else 0.0

    @cached_property
    def coverage_without_names(self) -> float:
        """The same for the words that are no names; 0 if there are too few of them."""
        name_positions = {index for name in self.ours.names for index in range(name.first, name.last + 1)}
        words = [token for token in self.ours.content if token.position not in name_positions]
        found = [token for token in words if token.position in self.matches]
        total = sum(map(self._weight, words))
        return sum(map(self._weight, found)) / total if len(found) > 1 else 0.0

    def _weight(self, token: Token) -> float:
        # "Said" or "president" say little about what a sentence is about: two unrelated ones share them.
        if token.stem in self.ours.language.light_stems or token.word in self.ours.language.roles:
            return 0.3
        # Capitalized within the sentence: a name, which ties a sentence to its source more than any other word.
        return 1.5 if token.text[0].isupper() and token.position else 1.0

    def uncovered(self) -> list[Token]:
        """Return the draft's words that the source sentence does not have."""
        light = self.ours.language.light_stems
        return [token for token in self.ours.content if token.position not in self.matches and token.stem not in light]

    # Contradictions

    def conflicts(self) -> Iterator[str]:
        """Yield the contradictions, in words for the user."""
        yield from self._opposite_words()
        yield from self._negations()
        yield from self._quantities()
        yield from self._dates()
        yield from self._swapped_names()
        yield from self._reversed_direction()

    def _opposite_words(self) -> Iterator[str]:
        opposites = self.ours.language.opposites
        for match in self.matches.values():
            if match.ours.stem not in opposites and match.sign == 1:
                continue
            # "News" in a name is not "new".
            if match.ours.text[0].isupper() and match.ours.position:
                continue
            agreement = match.sign * match.ours.polarity * match.theirs.polarity
            if agreement == 1 or not self._is_about_the_same(match):
                continue
            # A word that the source has both ways decides only if one of them is clearly nearer.
            if match.sign == -1 and not self._is_equalled(match):
                yield f"The source says “{match.theirs.text}”, not “{match.ours.text}”."

    def _is_equalled(self, match: Match) -> bool:
        """Return True if the source also has the draft's own word, about as near."""
        same = [Match(match.ours, token, 1) for token in self.theirs.tokens if token.stem == match.ours.stem]
        return any(self._proximity(other) + 0.2 > self._proximity(match) for other in same)

    def _is_about_the_same(self, match: Match) -> bool:
        if _is_particle(match.ours) or _is_particle(match.theirs):
            steps = (-1,) if match.ours.word in ("for", "against") else (1, -1)
            return self._has_same_neighbour(match, steps)
        return self._proximity(match) > 0

    def _has_same_neighbour(self, match: Match, steps: Sequence[int]) -> bool:
        """Return True if the next word with content is the same on one of these sides: 1 after, -1 before."""
        for step in steps:
            ours, theirs = (
                _next_word(self.ours, match.ours.position, step),
                _next_word(self.theirs, match.theirs.position, step),
            )
            if ours and theirs and ours.stem == theirs.stem:
                return True
        return False

    def _negations(self) -> Iterator[str]:
        # Without word lists negation is not recognized, so its absence proves nothing.
        if not self.ours.language.is_covered:
            return
        for negation in self.theirs.negations:
            focus = self._focus(self.theirs, negation.scope)
            if not focus:
                continue
            aligned = [match for match in self.matches.values() if match.theirs.position in focus[:2]]
            first = [match for match in aligned if match.theirs.position == focus[0]]
            if first and self._is_negated_otherwise(first[0]):
                continue
            if first and all(
                match.ours.polarity * match.sign == 1 and match.theirs.polarity == -1 for match in aligned
            ):
                word = self.theirs.tokens[negation.position].text
                yield f"The source says “{word} … {self.theirs.tokens[focus[0]].text}”."
        for negation in self.ours.negations:
            focus = self._focus(self.ours, negation.scope)
            if self.ours.tokens[negation.position].is_quoted or not focus or focus[0] not in self.matches:
                continue
            aligned = [self.matches[index] for index in focus[:2] if index in self.matches]
            if all(match.theirs.polarity * match.sign == 1 and match.ours.polarity == -1 for match in aligned):
                yield f"The source does not say “{self.ours.tokens[negation.position].text}”."

    def _is_negated_otherwise(self, match: Match) -> bool:
        """Return True if the draft may say the negation in other words: "cut power" for "without power"."""
        if any(
            (focus := self._focus(self.ours, negation.scope)) and focus[0] not in self.matches
            for negation in self.ours.negations
        ):
            return True
        opposites = self.ours.language.opposites
        before = self.ours.tokens[max(0, match.ours.position - 3) : match.ours.position]
        return any(
            token.is_content
            and token.position not in self.matches
            and any(side < 0 for _, side in opposites.get(token.stem, ()))
            for token in before
        )

    @staticmethod
    def _focus(statement: Statement, scope: Sequence[int]) -> list[int]:
        """Return the words of a negation's scope that it denies, first the nearest."""
        language = statement.language
        return [
            index
            for index in scope
            if statement.tokens[index].is_content or statement.tokens[index].word in language.negators
        ]

    def _quantities(self) -> Iterator[str]:
        for quantity in self.ours.own_quantities:
            quantities = self.theirs.quantities
            if any(is_same_quantity(quantity, other) for other in quantities):
                if rival := self._better_quantity(quantity):
                    yield f"The source says “{rival.text}” here, not “{quantity.text}”."
                continue
            if other := self._other_quantity(quantity):
                yield f"The source says “{other.text}”, not “{quantity.text}”."

    def _other_quantity(self, quantity: Quantity) -> Quantity | None:
        """Return the source's quantity of the same kind that `quantity` stands for; None if there is none."""
        # "About 20,000" for 19,874 is what a headline does.
        if any(is_rounded(quantity, other) for other in self.theirs.quantities):
            return None
        comparable = [
            other
            for other in self.theirs.quantities
            if is_comparable(quantity, other)
            and not any(is_same_quantity(other, own) for own in self.ours.own_quantities)
        ]
        scored = [(self._quantity_context(quantity, other), other) for other in comparable]
        best = max(scored, key=lambda pair: pair[0], default=None)
        return best[1] if best and (best[0] > 0 or quantity.dimension) else None

    def _better_quantity(self, quantity: Quantity) -> Quantity | None:
        """Return another quantity of the source that the words around `quantity` belong to."""
        same = [other for other in self.theirs.quantities if is_same_quantity(quantity, other)]
        best = max(self._quantity_context(quantity, other) for other in same)
        for other in self.theirs.quantities:
            if not is_comparable(quantity, other) or other in same:
                continue
            if any(is_same_quantity(other, own) for own in self.ours.own_quantities):
                continue
            # Clearly better only: sentences with several numbers have most of their words in common.
            if self._quantity_context(quantity, other) >= best + 1.0:
                return other
        return None

    def _quantity_context(self, quantity: Quantity, other: Quantity) -> float:
        """Return how many words around `quantity` are also around `other`, near ones counting more."""
        ours, theirs = _around(self.ours, quantity), _around(self.theirs, other)
        return sum(1 / max(1, min(distance, theirs[stem])) for stem, distance in ours.items() if stem in theirs)

    def _dates(self) -> Iterator[str]:
        for date in self.ours.own_dates:
            if any(is_same_date(date, other) for other in self.theirs.dates):
                continue
            numbers = {quantity.value for quantity in self.theirs.quantities}
            # A bare year may be a quantity to the other sentence: "2,026 seats" is no other date.
            if date.year in numbers and date.month is None:
                continue
            for other in self.theirs.dates:
                if is_other_date(date, other) and not any(is_same_date(other, own) for own in self.ours.own_dates):
                    ours, theirs = (
                        statement.text[part.start : part.end]
                        for statement, part in ((self.ours, date), (self.theirs, other))
                    )
                    yield f"The source says “{theirs}”, not “{ours}”."
                    break

    def has_same_polarity(self) -> bool:
        """Return True if the source says no to what the draft says no to, and to nothing else."""
        positions = [match.theirs.position for match in self.matches.values()]
        theirs = [
            negation
            for negation in self.theirs.negations
            if positions and min(positions) - 2 <= negation.position <= max(positions)
        ]
        return len(theirs) == len(self.ours.negations) and all(
            match.sign * match.ours.polarity * match.theirs.polarity == 1 for match in self.matches.values()
        )

    def _swapped_names(self) -> Iterator[str]:
        """Report two names in the other order around the same verb: who did it, and to whom."""
        speakers = {*find_speakers(self.ours), *find_speakers(self.theirs)}
        located = [
            (name, position)
            for name in self.ours.names_with(self._names)
            if name.words[-1] not in speakers and (position := self._find_name(name)) is not None
        ]
        # "A beat B" and "B was beaten by A" have the names in the other order, and mean the same.
        if self._is_passive(self.ours) != self._is_passive(self.theirs):
            return
        for index, (first, first_position) in enumerate(located):
            for second, second_position in located[index + 1 :]:
                # In the same order as in the source.
                if first_position <= second_position:
                    continue
                between = [
                    match
                    for match in self.matches.values()
                    if first.last < match.ours.position < second.first
                    and second_position < match.theirs.position < first_position
                    and not match.ours.text[0].isupper()
                    and match.ours.word not in self.ours.language.roles
                ]
                predicate = _next_word(self.ours, first.last, 1)
                if between and predicate and predicate.position in self.matches:
                    yield f"The source has it the other way round: “{self.theirs.text[:80]}”."
                    return

    def _find_name(self, name: Name) -> int | None:
        """Return the index of the name in the source sentence."""
        for token in self.theirs.tokens:
            if token.word == name.words[-1] and token.text[0].isupper():
                return token.position
        return None

    def _is_passive(self, statement: Statement) -> bool:
        passive = statement.language.passive
        return passive is not None and passive.search(fold(statement.text)) is not None

    def _reversed_direction(self) -> Iterator[str]:
        """Report "from A to B" where the source says "from B to A"."""
        ours, theirs = _ends(self.ours), _ends(self.theirs)
        if ours and theirs and ours == theirs[::-1] and ours[0] != ours[1]:
            yield "The source has it in the other direction."


def _next_word(statement: Statement, index: int, step: int) -> Token | None:
    position = index + step
    while 0 <= position < len(statement.tokens):
        token = statement.tokens[position]
        if token.is_content or token.text[0].isdigit():
            return token
        if not token.text[0].isalnum() and token.text != "%":
            return None
        position += step
    return None


def _is_particle(token: Token) -> bool:
    """Return True for an opposite that is also a preposition or the like: compared only beside the same word."""
    return not token.is_content and token.word not in _MULTIPLES


def _without_prefix(word: str) -> str:
    return _NEGATING_PREFIX.sub("", word)


def _is_same_name(token: Token, other: Token) -> bool:
    """Return True for a country and its adjective, such as Norway and Norwegian."""
    if not (token.text[0].isupper() and other.text[0].isupper()):
        return False
    return DEMONYMS.get(token.word, token.word) == DEMONYMS.get(other.word, other.word)


def _around(statement: Statement, quantity: Quantity) -> dict[str, int]:
    """Return the stems of the words around a quantity with their distance to it."""
    inside = [token.position for token in statement.tokens if quantity.start <= token.start < quantity.end]
    if not inside:
        return {}
    first, last = inside[0], inside[-1]
    found: dict[str, int] = {}
    for token in statement.tokens[max(0, first - _NEAR) : last + _NEAR + 1]:
        if token.is_content or token.word in ("from", "to", "of", "by"):
            distance = first - token.position if token.position < first else token.position - last
            if distance > 0 and (token.is_content or distance == 1):
                found[token.stem] = min(distance, found.get(token.stem, distance))
    return found


def _ends(statement: Statement) -> tuple[str, str] | None:
    """Return what stands after "from" and after "to"."""
    ends: dict[str, str] = {}
    for token in statement.tokens[:-1]:
        if token.word in ("from", "to") and not token.is_quoted and token.word not in ends:
            # Three tokens leave room for an article and an adjective before the place.
            following = statement.tokens[token.position + 1 : token.position + 4]
            word = next((other.stem for other in following if other.is_content or other.text[0].isdigit()), "")
            if word:
                ends[token.word] = word
    return (ends["from"], ends["to"]) if len(ends) == 2 else None


def _demonyms(text: str) -> dict[str, str]:
    return {word: group.split()[0] for group in text.split(";") for word in group.split()}


DEMONYMS = _demonyms(
    "netherlands dutch holland;norway norwegian norwegians;sweden swedish swedes;denmark danish danes;finland finnish"
    ";ireland irish;britain british uk;france french;germany german germans;spain spanish;italy italian italians"
    ";portugal portuguese;poland polish;greece greek greeks;turkey turkish;russia russian russians;ukraine ukrainian"
    " ukrainians;china chinese;japan japanese;korea korean koreans;india indian indians;indonesia indonesian;america"
    " american americans us usa;canada canadian canadians;mexico mexican;brazil brazilian;argentina argentine;chile"
    " chilean;australia australian australians;switzerland swiss;austria austrian;belgium belgian;hungary hungarian"
    ";europe european europeans;africa african;israel israeli israelis;iran iranian iranians;iraq iraqi;egypt egyptian"
    ";kenya kenyan;nigeria nigerian;zambia zambian;iceland icelandic;wales welsh;scotland scottish;england english"
)
