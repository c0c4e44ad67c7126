"""What changed between two versions of a draft: word by word in the text, rule by rule in the checks.

Lines are matched first, then words inside the lines that differ. Where a stretch is too long to compare each word with
each, words that stand once in both versions hold it together (the "patience" method of Bram Cohen's Codeville), so that
the time does not grow with the square of the length.
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
from copydesk.model.wire import Struct

WORK = 5_000_000
"""Steps that comparing each word with each may take at most, for one stretch."""
DEEPEST = 20
"""How often a stretch is divided again; more often only in a text that is made for it."""
ISLAND = 2
"""Fewer words than this between two changes are part of the change: in confetti nobody can read what was said."""

_ALONE = r"\p{Han}\p{Hiragana}\p{Katakana}"  # scripts that put no spaces between words
_TOKEN = regex.compile(
    rf"\s++|https?://\S++|[{_ALONE}]\p{{M}}*+|(?:(?![{_ALONE}])\w)++(?:['’\-](?:(?![{_ALONE}])\w)++)*+"
    r"|[^\w\s](?:[^\w\s]|\p{M}|\u200d)*+"
)
_RANK = {Severity.INFO: 1, Severity.WARNING: 2, Severity.ERROR: 3}


class Kind(StrEnum):
    """What became of a piece of text."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


class Piece(Struct, frozen=True):
    """Some words in a row with one fate."""

    kind: Kind
    text: str


class _Step(NamedTuple):
    """A stretch of the old version and what stands for it in the new one: tokens, equal or not."""

    old: Sequence[str]
    new: Sequence[str]

    @property
    def same(self) -> bool:
        return self.old == self.new


def difference(old: str, new: str) -> tuple[Piece, ...]:
    """The pieces of both texts in order: same and removed ones joined are `old`, same and added ones are `new`.

    What was removed stands before what was added for it. Lone words and spaces between two changes belong to them.
    """
    told = chain.from_iterable(_told(step) for step in _tidied(_steps(old, new)))
    return tuple(
        Piece(kind=kind, text="".join(text for _, text in pieces))
        for kind, pieces in groupby(told, key=lambda piece: piece[0])
    )


def edit_ratio(old: str, new: str) -> float:
    """The share of words changed, 0 to 1: words removed or added / words of both versions.

    Marks and emoji count as words, white space does not count.
    """
    changed = whole = 0
    for step in _steps(old, new):
        count = _count(step.old) + _count(step.new)
        whole += count
        changed += 0 if step.same else count
    return changed / whole if whole else 0.0


def checks_changed(old: Checks, new: Checks) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """The rules that got better and those that got worse, each shown by the first of its most severe findings.

    A rule got better where the old version's worst finding of it is worse than the new one's, or the only one; such a
    finding of the old version is shown. What got worse is shown by the new version's.
    """
    before, after = _worst(old), _worst(new)
    return _worse_than(before, after), _worse_than(after, before)


def _steps(old: str, new: str) -> Iterator[_Step]:
    """Both texts in stretches that are equal or not, which alternate; none is empty."""
    by_line = _aligned(old.splitlines(keepends=True), new.splitlines(keepends=True))
    by_word = chain.from_iterable(_inside(step) for step in by_line)
    some = (step for step in by_word if step.old or step.new)
    return (_joined(steps) for _, steps in groupby(some, key=lambda step: step.same))


def _told(step: _Step) -> Iterator[tuple[Kind, str]]:
    if step.same:
        yield Kind.SAME, "".join(step.old)
        return
    for kind, tokens in ((Kind.REMOVED, step.old), (Kind.ADDED, step.new)):
        if tokens:
            yield kind, "".join(tokens)


def _inside(step: _Step) -> Iterable[_Step]:
    """A stretch of lines as stretches of words."""
    old = _TOKEN.findall("".join(step.old))
    return (_twice(old),) if step.same else _aligned(old, _TOKEN.findall("".join(step.new)))


def _aligned(old: Sequence[str], new: Sequence[str]) -> Iterator[_Step]:
    """Two lists as stretches that are equal or not.

    What is no white space is matched by itself: as a match of its own each space would go with any other.
    """
    words, others = _places(old), _places(new)
    at_old = at_new = 0
    for start, other, size in _matches([old[place] for place in words], [new[place] for place in others]):
        for word, its_other in zip(words[start : start + size], others[other : other + size], strict=True):
            yield from _gap(old[at_old:word], new[at_new:its_other])
            yield _twice(old[word : word + 1])
            at_old, at_new = word + 1, its_other + 1
    yield from _gap(old[at_old:], new[at_new:])


def _gap(old: Sequence[str], new: Sequence[str]) -> Iterator[_Step]:
    """What stands between two matches, with the white space apart that both have at its edges."""
    first = _common(zip(old, new, strict=False))
    last = _common(zip(reversed(old[first:]), reversed(new[first:]), strict=False))
    yield _twice(old[:first])
    yield _Step(old[first : len(old) - last], new[first : len(new) - last])
    yield _twice(old[len(old) - last :])


def _places(tokens: Sequence[str]) -> list[int]:
    return [place for place, token in enumerate(tokens) if not token.isspace()]


def _matches(
    old: Sequence[str], new: Sequence[str], at_old: int = 0, at_new: int = 0, depth: int = 0
) -> Iterator[tuple[int, int, int]]:
    """Where the lists are equal, in order: the place in the old one, in the new one, and for how long.

    `at_old` and `at_new` are where the lists stand in those that are asked about.
    """
    first = _common(zip(old, new, strict=False))
    last = _common(zip(reversed(old[first:]), reversed(new[first:]), strict=False))
    end, other_end = len(old) - last, len(new) - last
    if first:
        yield at_old, at_new, first
    if depth <= DEEPEST:
        yield from _between(old[first:end], new[first:other_end], at_old + first, at_new + first, depth)
    if last:
        yield at_old + end, at_new + other_end, last


def _between(
    old: Sequence[str], new: Sequence[str], at_old: int, at_new: int, depth: int
) -> Iterator[tuple[int, int, int]]:
    """The matches of two lists that begin and end differently."""
    counts, others = Counter(old), Counter(new)
    # What finding one longest match can cost, times the matches that there can be.
    once = len(old) + sum(count * others[token] for token, count in counts.items())
    if once * min(len(old), len(new)) <= WORK:
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        yield from ((at_old + a, at_new + b, size) for a, b, size in matcher.get_matching_blocks() if size)
        return
    anchors = _anchors(old, new, {token for token, count in counts.items() if count == others[token] == 1})
    start = other = 0
    for anchor, its_other in chain(anchors, [(len(old), len(new))] if anchors else []):
        yield from _matches(old[start:anchor], new[other:its_other], at_old + start, at_new + other, depth + 1)
        if anchor < len(old):
            yield at_old + anchor, at_new + its_other, 1
        start, other = anchor + 1, its_other + 1


def _anchors(old: Sequence[str], new: Sequence[str], once: set[str]) -> list[tuple[int, int]]:
    """The places of the most of the tokens `once` in both that stand in the same order in both."""
    where = {token: place for place, token in enumerate(new) if token in once}
    pairs = [(place, where[token]) for place, token in enumerate(old) if token in once]
    tails: list[int] = []  # the lowest place in `new` at which an ascending row of each length ends
    rows: list[int] = []
    for _, other in pairs:
        rank = bisect_left(tails, other)
        tails[rank : rank + 1] = [other]
        rows.append(rank)
    found: list[tuple[int, int]] = []
    wanted = len(tails) - 1
    for pair, rank in zip(reversed(pairs), reversed(rows), strict=True):
        if rank == wanted:
            found.append(pair)
            wanted -= 1
    return found[::-1]


def _tidied(steps: Iterator[_Step]) -> Iterator[_Step]:
    """`steps` with every island taken into the changes on both sides of it."""
    change: list[_Step] = []
    island: _Step | None = None
    for step in steps:
        if not step.same:
            change += [island, step] if island else [step]
            island = None
        elif change and _is_island(step):
            island = step
        else:
            if change:
                yield _joined(change)
            change = []
            yield step
    if change:
        yield _joined(change)
    if island:
        yield island


def _is_island(step: _Step) -> bool:
    words = sum(any(map(str.isalnum, token)) for token in step.old)
    return words < ISLAND and not (words and any("\n" in token for token in step.old))


def _joined(steps: Iterable[_Step]) -> _Step:
    steps = list(steps)
    return _Step([token for step in steps for token in step.old], [token for step in steps for token in step.new])


def _twice(tokens: Sequence[str]) -> _Step:
    return _Step(tokens, tokens)


def _common(pairs: Iterable[tuple[str, str]]) -> int:
    """How many of the first pairs are equal."""
    count = 0
    for one, other in pairs:
        if one != other:
            break
        count += 1
    return count


def _count(tokens: Sequence[str]) -> int:
    return sum(not token.isspace() for token in tokens)


def _worst(checks: Checks) -> dict[str, Finding]:
    """The first of the most severe findings of each rule."""
    worst: dict[str, Finding] = {}
    for finding in checks.findings:
        if finding.rule not in worst or _RANK[finding.severity] > _RANK[worst[finding.rule].severity]:
            worst[finding.rule] = finding
    return worst


def _worse_than(these: dict[str, Finding], those: dict[str, Finding]) -> tuple[Finding, ...]:
    return tuple(
        finding
        for rule, finding in these.items()
        if rule not in those or _RANK[finding.severity] > _RANK[those[rule].severity]
    )
