"""Compare two versions of a draft: the text word by word, the checks rule by rule.

Lines are matched first, then words within the lines that differ. Where a section is too long to compare all pairs of
words, it is divided at words that occur exactly once in both versions (the "patience" method of Bram Cohen's
Codeville), so that time does not grow with the square of the length.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import chain, groupby
from typing import NamedTuple

import regex

from copydesk.model.draft import Checks, Finding, Severity
from copydesk.model.serialization import Struct

MAX_COMPARISONS = 5_000_000
"""Maximum steps for comparing all pairs of words in one section."""
MAX_DEPTH = 20
"""Maximum recursion depth of dividing a section. Only text made for the purpose reaches it."""
MIN_UNCHANGED_WORDS = 2
"""Fewer unchanged words than this between two changes are merged into the change; a patchwork is hard to read."""

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}"  # scripts without spaces between words
_TOKEN = regex.compile(
    rf"\s++|https?://\S++|[{_UNSPACED}]\p{{M}}*+|(?:(?![{_UNSPACED}])\w)++(?:['’\-](?:(?![{_UNSPACED}])\w)++)*+"
    r"|[^\w\s](?:[^\w\s]|\p{M}|\u200d)*+"
)
_RANK = {Severity.INFO: 1, Severity.WARNING: 2, Severity.ERROR: 3}


class PieceKind(StrEnum):
    """Kind of a piece in the difference."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


class Piece(Struct, frozen=True):
    """Consecutive text of one kind."""

    kind: PieceKind
    text: str


class _Section(NamedTuple):
    """Corresponding sections of the old and the new version, as tokens."""

    old: Sequence[str]
    new: Sequence[str]

    @property
    def same(self) -> bool:
        return self.old == self.new


def diff_texts(old: str, new: str) -> tuple[Piece, ...]:
    """Return the pieces of both texts in order.

    SAME and REMOVED pieces joined give `old`, SAME and ADDED ones `new`. Removed text comes before the text that
    replaces it. Lone words and white space between two changes are merged into them.
    """
    tagged = chain.from_iterable(_tagged_pieces(section) for section in _merge_islands(_sections(old, new)))
    return tuple(
        Piece(kind=kind, text="".join(text for _, text in pieces))
        for kind, pieces in groupby(tagged, key=lambda piece: piece[0])
    )


def edit_ratio(old: str, new: str) -> float:
    """Return the share of words changed, 0 to 1: words removed or added / words of both versions.

    Punctuation and emoji count as words, white space does not count.
    """
    changed = whole = 0
    for section in _sections(old, new):
        count = _count_words(section.old) + _count_words(section.new)
        whole += count
        changed += 0 if section.same else count
    return changed / whole if whole else 0.0


def diff_checks(old: Checks, new: Checks) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return a finding for each rule that improved, and one for each that got worse.

    A rule improved if its worst finding in the old version is more severe than in the new one, or if only the old
    version has one; the old finding is returned. For a rule that got worse, the new one is. Of several equally severe
    findings the first is returned.
    """
    before, after = _worst_by_rule(old), _worst_by_rule(new)
    return _more_severe(before, after), _more_severe(after, before)


def _sections(old: str, new: str) -> Iterator[_Section]:
    """Yield non-empty sections of both texts, alternately equal and different."""
    by_line = _align(old.splitlines(keepends=True), new.splitlines(keepends=True))
    by_word = chain.from_iterable(_split_into_words(section) for section in by_line)
    non_empty = (section for section in by_word if section.old or section.new)
    return (_join(sections) for _, sections in groupby(non_empty, key=lambda section: section.same))


def _tagged_pieces(section: _Section) -> Iterator[tuple[PieceKind, str]]:
    if section.same:
        yield PieceKind.SAME, "".join(section.old)
        return
    for kind, tokens in ((PieceKind.REMOVED, section.old), (PieceKind.ADDED, section.new)):
        if tokens:
            yield kind, "".join(tokens)


def _split_into_words(section: _Section) -> Iterable[_Section]:
    """Return a section of lines as sections of words."""
    old = _TOKEN.findall("".join(section.old))
    return (_unchanged(old),) if section.same else _align(old, _TOKEN.findall("".join(section.new)))


def _align(old: Sequence[str], new: Sequence[str]) -> Iterator[_Section]:
    """Yield sections of the two token lists, equal or different.

    Only tokens other than white space are matched: a space would match any other space.
    """
    old_indexes, new_indexes = _word_indexes(old), _word_indexes(new)
    at_old = at_new = 0
    for old_run, new_run, size in _matches(
        [old[index] for index in old_indexes], [new[index] for index in new_indexes]
    ):
        for old_index, new_index in zip(
            old_indexes[old_run : old_run + size], new_indexes[new_run : new_run + size], strict=True
        ):
            yield from _split_gap(old[at_old:old_index], new[at_new:new_index])
            yield _unchanged(old[old_index : old_index + 1])
            at_old, at_new = old_index + 1, new_index + 1
    yield from _split_gap(old[at_old:], new[at_new:])


def _split_gap(old: Sequence[str], new: Sequence[str]) -> Iterator[_Section]:
    """Yield the section between two matches, with common white space at its edges separated."""
    prefix = _common_length(zip(old, new, strict=False))
    suffix = _common_length(zip(reversed(old[prefix:]), reversed(new[prefix:]), strict=False))
    yield _unchanged(old[:prefix])
    yield _Section(old[prefix : len(old) - suffix], new[prefix : len(new) - suffix])
    yield _unchanged(old[len(old) - suffix :])


def _word_indexes(tokens: Sequence[str]) -> list[int]:
    return [index for index, token in enumerate(tokens) if not token.isspace()]


def _matches(
    old: Sequence[str], new: Sequence[str], at_old: int = 0, at_new: int = 0, depth: int = 0
) -> Iterator[tuple[int, int, int]]:
    """Yield the equal runs in order: index in the old list, index in the new list, length.

    `at_old` and `at_new` are the offsets of these lists in the original ones.
    """
    prefix = _common_length(zip(old, new, strict=False))
    suffix = _common_length(zip(reversed(old[prefix:]), reversed(new[prefix:]), strict=False))
    end, new_end = len(old) - suffix, len(new) - suffix
    if prefix:
        yield at_old, at_new, prefix
    if depth <= MAX_DEPTH:
        yield from _between(old[prefix:end], new[prefix:new_end], at_old + prefix, at_new + prefix, depth)
    if suffix:
        yield at_old + end, at_new + new_end, suffix


def _between(
    old: Sequence[str], new: Sequence[str], at_old: int, at_new: int, depth: int
) -> Iterator[tuple[int, int, int]]:
    """Yield the matches of two lists without a common prefix or suffix."""
    counts, new_counts = Counter(old), Counter(new)
    # Upper bound: cost of finding one longest match, times the maximum number of matches.
    match_cost = len(old) + sum(count * new_counts[token] for token, count in counts.items())
    if match_cost * min(len(old), len(new)) <= MAX_COMPARISONS:
        # autojunk would ignore frequent words in long texts.
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        yield from (
            (at_old + first, at_new + second, size) for first, second, size in matcher.get_matching_blocks() if size
        )
        return
    anchors = _anchors(old, new, {token for token, count in counts.items() if count == new_counts[token] == 1})
    old_start = new_start = 0
    for old_anchor, new_anchor in chain(anchors, [(len(old), len(new))] if anchors else []):
        yield from _matches(
            old[old_start:old_anchor], new[new_start:new_anchor], at_old + old_start, at_new + new_start, depth + 1
        )
        if old_anchor < len(old):
            yield at_old + old_anchor, at_new + new_anchor, 1
        old_start, new_start = old_anchor + 1, new_anchor + 1


def _anchors(old: Sequence[str], new: Sequence[str], once: set[str]) -> list[tuple[int, int]]:
    """Return index pairs of the longest sequence of tokens from `once` that is in the same order in both lists.

    Longest increasing subsequence by patience sorting, in O(n log n).
    """
    new_indexes = {token: index for index, token in enumerate(new) if token in once}
    pairs = [(index, new_indexes[token]) for index, token in enumerate(old) if token in once]
    tails: list[int] = []  # tails[n]: lowest index in `new` that ends an ascending sequence of length n + 1
    lengths: list[int] = []
    for _, new_index in pairs:
        rank = bisect_left(tails, new_index)
        # Replaces the end of a sequence of this length, or appends the first one.
        tails[rank : rank + 1] = [new_index]
        lengths.append(rank)
    anchors: list[tuple[int, int]] = []
    next_rank = len(tails) - 1
    # Backwards, because the last element of the longest sequence is known first.
    for pair, rank in zip(reversed(pairs), reversed(lengths), strict=True):
        if rank == next_rank:
            anchors.append(pair)
            next_rank -= 1
    return anchors[::-1]


def _merge_islands(sections: Iterator[_Section]) -> Iterator[_Section]:
    """Yield `sections` with each island merged into the changes around it."""
    change: list[_Section] = []
    island: _Section | None = None
    for section in sections:
        if not section.same:
            change += [island, section] if island else [section]
            island = None
        elif change and _is_island(section):
            island = section
        else:
            if change:
                yield _join(change)
            change = []
            yield section
    if change:
        yield _join(change)
    if island:
        yield island


def _is_island(section: _Section) -> bool:
    words = sum(any(map(str.isalnum, token)) for token in section.old)
    return words < MIN_UNCHANGED_WORDS and not (words and any("\n" in token for token in section.old))


def _join(sections: Iterable[_Section]) -> _Section:
    sections = list(sections)
    return _Section(
        [token for section in sections for token in section.old],
        [token for section in sections for token in section.new],
    )


def _unchanged(tokens: Sequence[str]) -> _Section:
    return _Section(tokens, tokens)


def _common_length(pairs: Iterable[tuple[str, str]]) -> int:
    """Return the number of leading pairs that are equal."""
    count = 0
    for first, second in pairs:
        if first != second:
            break
        count += 1
    return count


def _count_words(tokens: Sequence[str]) -> int:
    return sum(not token.isspace() for token in tokens)


def _worst_by_rule(checks: Checks) -> dict[str, Finding]:
    """Return the first of the most severe findings of each rule."""
    worst: dict[str, Finding] = {}
    for finding in checks.findings:
        if finding.rule not in worst or _RANK[finding.severity] > _RANK[worst[finding.rule].severity]:
            worst[finding.rule] = finding
    return worst


def _more_severe(findings: dict[str, Finding], baseline: dict[str, Finding]) -> tuple[Finding, ...]:
    return tuple(
        finding
        for rule, finding in findings.items()
        if rule not in baseline or _RANK[finding.severity] > _RANK[baseline[rule].severity]
    )
