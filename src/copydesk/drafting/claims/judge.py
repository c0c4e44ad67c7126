"""Judge one sentence of a draft by the sentences of the source about the same."""

from functools import cached_property
from itertools import pairwise

from copydesk.drafting.claims.compare import Comparison
from copydesk.drafting.claims.language import parse_words
from copydesk.drafting.claims.people import find_role_conflict, find_speakers, people_in
from copydesk.drafting.claims.quantities import is_same_date, is_same_quantity
from copydesk.drafting.claims.quotations import judge_quotations
from copydesk.drafting.claims.source_index import Sentence
from copydesk.drafting.claims.statement import Name, Statement, Token
from copydesk.drafting.claims.verdict import Case, Verdict, cannot_tell, contradicts, supported, weakest
from copydesk.model.draft import ClaimVerdict
from copydesk.text.folding import fold

MIN_COVERAGE = 0.5
"""Share of a sentence's words that a sentence of the source must have to be about the same."""
MIN_RELATED = 0.3
"""Share of its words below which a sentence of the draft rests on nothing in the source."""
MIN_NOVELTY = 0.5
"""Share of its words that the source has nowhere from which it rests on nothing, unless one sentence has most of it."""
MIN_PREDICATE_COVERAGE = 0.75
"""The same without names, from which another name is a contradiction."""
MIN_SPEECH_COVERAGE = 0.6
"""The same, from which another speaker is one."""
MAX_LEAD = 0.15
"""A sentence of the source may share this much less than the best one, to be compared too."""
MAX_GAP = 14
"""Words of the source between two neighbours of the draft: words that far apart say something else together."""
HEDGE_REACH = 8
"""Words that a hedge such as "may" reaches."""
MIN_VERBATIM_LENGTH = 8
"""Characters from which a sentence that the source has too is more than a heading."""
MAX_MISSING = 4
"""Words listed that the source does not have."""

_PUNCTUATION = frozenset(".,;:!?…()[]-–—\"'“”‘’«»„")
_CREDIT_WORDS = parse_words(
    "via source published quoted seen read original originally whole text full further later also first posted goes"
    " more from"
)
"""Words of lines that only say where a text is from."""
_COLLECTIVE = frozenset(["police", "staff", "management", "government", "parliament", "congress", "research", "people"])
"""Words that begin a sentence without being a name."""


def judge(case: Case) -> Verdict | None:
    """Return the verdict; None if the sentence states nothing about the source."""
    if _is_credit(case):
        return None
    for sentence in case.source.find(case.ours, 2):
        if _is_verbatim(case.ours, case.source.statement(sentence)):
            return supported(sentence)
    quoted = weakest(judge_quotations(case))
    if quoted and quoted.verdict is ClaimVerdict.CONTRADICTS:
        return quoted
    own = _OwnWords(case).verdict()
    return weakest([verdict for verdict in (own, quoted) if verdict])


def _is_credit(case: Case) -> bool:
    """Return True for a line that only says where the text is from: "Quoted from NPR, by Greg Myre, 9 May:"."""
    ours = case.ours
    credited = any(token.word in case.credits for token in ours.content)
    uncredited = [
        token
        for token in ours.content
        if token.word not in case.credits
        and not token.text[0].isupper()
        and token.word not in _CREDIT_WORDS
        and token.stem not in ours.language.light_stems
    ]
    numbers = [quantity for quantity in ours.own_quantities if fold(quantity.text) not in case.credits]
    return credited and not (uncredited or ours.quotations or numbers)


def _is_verbatim(ours: Statement, theirs: Statement) -> bool:
    words, source_words = (
        [token.word for token in statement.tokens if token.text not in _PUNCTUATION] for statement in (ours, theirs)
    )
    if len("".join(words)) <= MIN_VERBATIM_LENGTH or words != source_words:
        return False
    # The hyphen of a negative number is no punctuation.
    negative, negative_in_source = (
        [quantity.value for quantity in statement.quantities if quantity.value < 0] for statement in (ours, theirs)
    )
    return negative == negative_in_source


class _OwnWords:
    """The decision on the words of a sentence outside quotation marks."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._ours = case.ours
        self._index = case.source
        self._names = case.source.known_names

    def verdict(self) -> Verdict | None:
        """Return the verdict; None if there are no words to judge."""
        if self._only_credits_quotation():
            conflict = find_role_conflict(self._ours, self._index.roles)
            return contradicts(conflict, *self._index.find(self._ours, 1)) if conflict else None
        if not self._comparisons:
            return self._unrelated()
        for sentence, comparison in self._comparisons:
            if self._is_supported(comparison):
                return supported(sentence)
        return self._find_contradiction() or self._doubt()

    @cached_property
    def _comparisons(self) -> list[tuple[Sentence, Comparison]]:
        """The sentences of the source about the same, the most similar first."""
        index = self._index
        found = [
            (sentence, Comparison(self._ours, index.statement(sentence), index.before(sentence), self._names))
            for sentence in index.find(self._ours)
        ]
        return sorted(found, key=lambda pair: (-pair[1].coverage, len(pair[0].text)))

    def _only_credits_quotation(self) -> bool:
        ours, language = self._ours, self._ours.language
        if not ours.quotations or ours.own_quantities:
            return False
        speakers = people_in([ours], self._names)
        remaining = [
            token
            for token in ours.content
            if not (token.text[0].isupper() and token.position)
            and token.word not in speakers
            and token.word not in language.roles
            and token.stem not in language.light_stems
        ]
        return len(remaining) < 3

    # Doubt

    def _doubt(self) -> Verdict | None:
        sentence, best = self._comparisons[0]
        is_short = len(self._ours.content) < 3
        if (best.coverage < MIN_RELATED and not is_short) or (
            best.coverage < MIN_COVERAGE and self._novelty >= MIN_NOVELTY
        ):
            return self._unrelated()
        missing = ", ".join(token.text for token in best.uncovered()[:MAX_MISSING])
        return cannot_tell(f"Not in this sentence: {missing}." if missing else "", sentence)

    @property
    def _novelty(self) -> float:
        """The share of the sentence's words that the source has nowhere; 0 if it has hardly any words."""
        words = [token for token in self._ours.content if token.stem not in self._ours.language.light_stems]
        return len(self._unknown_words()) / len(words) if len(words) > 2 else 0.0

    def _unknown_words(self) -> list[Token]:
        light = self._ours.language.light_stems
        return [
            token for token in self._ours.content if token.stem not in light and not self._index.has_stem(token.stem)
        ]

    def _unrelated(self) -> Verdict | None:
        # A remark of the writer's own ("Worth a read.") states nothing.
        if len(self._ours.content) < 3 and not self._ours.own_quantities:
            return None
        unknown = ", ".join(token.text for token in self._unknown_words()[:MAX_MISSING])
        return cannot_tell(f"Not in the source: {unknown}." if unknown else "Nothing in the source is about this.")

    # Contradictions

    def _find_contradiction(self) -> Verdict | None:
        _, best = self._comparisons[0]
        for sentence, comparison in self._comparisons:
            if comparison.coverage >= max(MIN_COVERAGE, best.coverage - MAX_LEAD):
                reason = self._conflict(comparison)
            elif comparison.coverage_without_names >= MIN_PREDICATE_COVERAGE:
                reason = self._speech_conflict(comparison) or self._name_conflict(comparison)
            else:
                continue
            if reason:
                return contradicts(reason, sentence)
        return None

    def _conflict(self, comparison: Comparison) -> str:
        return (
            next(comparison.conflicts(), "")
            or find_role_conflict(self._ours, self._index.roles)
            or self._speech_conflict(comparison)
            or self._name_conflict(comparison)
        )

    def _speech_conflict(self, comparison: Comparison) -> str:
        """Return why a statement is from somebody else."""
        ours = set(find_speakers(self._ours, self._names)) - self._case.credits
        theirs = set(find_speakers(comparison.theirs, self._names))
        coverage = max(comparison.coverage, comparison.coverage_without_names)
        if not ours or not theirs or ours & theirs or coverage < MIN_SPEECH_COVERAGE:
            return ""
        return f"The source has this from {' or '.join(sorted(name.title() for name in theirs))}."

    def _name_conflict(self, comparison: Comparison) -> str:
        """Return why a name is not the source's."""
        ours, theirs = comparison.ours, comparison.theirs
        rivals = [name for name in theirs.names_with(self._names) if not self._is_in_draft(name)]
        for name in ours.names_with(self._initial_names(comparison)) if rivals else ():
            missing = self._missing_words(name, comparison)
            unknown = [word for word in missing if word not in self._index.words]
            is_other = len(unknown) == len(missing) or (unknown and len(missing) < len(name.words))
            if missing and (is_other or self._stands_for(name, rivals, comparison)):
                return f"The source says “{theirs.spelling(rivals[0])}”, not “{ours.spelling(name)}”."
        return ""

    def _missing_words(self, name: Name, comparison: Comparison) -> list[str]:
        """Return the words of a name that the source sentence does not have, in no form."""
        words = {token.word for token in comparison.theirs.tokens}
        return [
            word
            for index, word in enumerate(name.words, name.first)
            if word not in words and word not in self._case.credits and index not in comparison.matches
        ]

    def _initial_names(self, comparison: Comparison) -> frozenset[str]:
        """Return the known names, and the draft's first word where the source has a known name as the first."""
        first, other = self._ours.tokens[0], comparison.theirs.tokens[0]
        is_common = not first.is_content or first.word.endswith("s") or first.word in _COLLECTIVE
        return self._names if is_common or other.word not in self._names else self._names | {first.word}

    def _is_in_draft(self, name: Name) -> bool:
        words = {token.word for token in self._ours.tokens}
        return all(word in words for word in name.words)

    def _stands_for(self, name: Name, rivals: list[Name], comparison: Comparison) -> bool:
        """Return True if `name` is where the source has one of `rivals`: beside the same word."""
        positions = [
            match.theirs.position
            for match in comparison.matches.values()
            if 0 < match.ours.position - name.last <= 3 or 0 < name.first - match.ours.position <= 2
        ]
        return any(
            min(abs(position - rival.first), abs(position - rival.last)) <= 3
            for position in positions
            for rival in rivals
        )

    # Support

    def _is_supported(self, comparison: Comparison) -> bool:
        ours, theirs = comparison.ours, comparison.theirs
        return (
            ours.language.is_covered
            and not self._has_unsupported_words(comparison)
            and all(any(is_same_quantity(own, other) for other in theirs.quantities) for own in ours.own_quantities)
            and all(any(is_same_date(own, other) for other in theirs.dates) for own in ours.own_dates)
            and not self._drops_hedge(comparison)
            and self._has_same_order(comparison)
            and comparison.has_same_polarity()
            and not next(comparison.conflicts(), "")
            and not find_role_conflict(ours, self._index.roles)
        )

    def _has_unsupported_words(self, comparison: Comparison) -> bool:
        # A name may be from a sentence before, for which the source has a pronoun here, but not instead of another one.
        are_names_covered = all(self._is_in_draft(name) for name in comparison.theirs.names_with(self._names))
        context = comparison.context if are_names_covered else ()
        names = {token.word for statement in context for token in statement.tokens if token.text[0].isupper()}
        return any(
            token.word not in self._case.credits and not (token.text[0].isupper() and token.word in names)
            for token in comparison.uncovered()
        )

    def _drops_hedge(self, comparison: Comparison) -> bool:
        matched = [match.theirs.position for match in comparison.matches.values()]
        hedges = comparison.theirs.language.hedges
        return self._reports_plan_as_fact(comparison) or any(
            token.word in hedges and not comparison.has_word_for(token) and (token.text.islower() or not token.position)
            for token in comparison.theirs.tokens
            if any(token.position < index <= token.position + HEDGE_REACH for index in matched)
        )

    def _reports_plan_as_fact(self, comparison: Comparison) -> bool:
        """Return True if the source says "will close", and the draft "closed"."""
        past, tokens = self._ours.language.past_forms, comparison.theirs.tokens
        return any(
            match.ours.word.endswith("ed") or match.ours.word in past
            for match in comparison.matches.values()
            if match.ours.word != match.theirs.word
            and {"will", "would"}
            & {token.word for token in tokens[max(0, match.theirs.position - 2) : match.theirs.position]}
        )

    def _has_same_order(self, comparison: Comparison) -> bool:
        """Return True if the words have the order of the source, near each other, apart from who is credited.

        The same words in another order may say something else: who did it, and to whom.
        """
        speakers = {*find_speakers(comparison.ours, self._names), *find_speakers(comparison.theirs, self._names)}
        matches = [match for _, match in sorted(comparison.matches.items())]
        gaps = (abs(later.theirs.position - match.theirs.position) for match, later in pairwise(matches))
        ordered = [
            match.theirs.position
            for match in matches
            if match.ours.is_content
            and match.ours.word not in speakers
            and match.ours.word not in self._ours.language.roles
            and match.ours.stem not in self._ours.language.light_stems
        ]
        return max(gaps, default=0) <= MAX_GAP and all(before <= after for before, after in pairwise(ordered))
