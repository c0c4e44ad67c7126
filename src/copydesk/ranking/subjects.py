"""Find the subject that titles of several sources share: names, and enough other words that it can only be one.

Titles of one subject need not tell the same event, unlike those of one story: a decision and what others say about it
belong together. All of them share the same words, so that the first does not drift to the last in small steps.
"""

import re
from collections.abc import Iterator, Sequence, Set

from copydesk.ranking.stems import FREQUENT_STEMS, GENERIC_STEMS, stem
from copydesk.ranking.title_similarity import Title
from copydesk.text.folding import fold

MIN_WEIGHT = 25
"""Weight of the words that all titles of a subject share: a name and another word, or more of the common ones."""
_NAME_WEIGHT, _WEIGHT = 16, 10
_WEIGHTS = dict.fromkeys(FREQUENT_STEMS, 7) | dict.fromkeys(GENERIC_STEMS, 4)
_MAX_NAMES = 2
_WORD = re.compile(r"[^\W\d_][\w’'-]*")
_JOINTS = frozenset((" ", "-", "–", " of ", " of the "))
_GENITIVE = re.compile(r"['’]s$|['’]$")


def shared_words(title: Title, other: Title, among: Set[str] | None = None) -> frozenset[str]:
    """Return the words of both titles, of those in `among`, if they make one subject; empty if they do not."""
    words = title.words & other.words
    if among is not None:
        words &= among
    names = title.names | other.names
    if not words & names:
        return frozenset()
    weights = [_WEIGHTS.get(word) or (_NAME_WEIGHT if word in names else _WEIGHT) for word in words]
    return words if sum(weights) >= MIN_WEIGHT else frozenset()


def find_subject(titles: Sequence[Title]) -> str:
    """Return the names that all titles share, as the first one that has them spells them; empty without one."""
    if len(titles) < 2:
        return ""
    first, *rest = titles
    common: Set[str] = first.words
    for title in rest:
        common = shared_words(first, title, common)
    # The first word of a title is capitalized in any case.
    names = frozenset(name for title in titles for name in _later_names(title)) & common
    return next(filter(None, (_spell_names(title.text, names, common) for title in titles if title.names)), "")


def searchable_words(title: Title) -> Set[str]:
    """Return the words of a title by which others of its subject are found."""
    return title.words - GENERIC_STEMS


def _later_names(title: Title) -> Iterator[str]:
    """Yield the names of a title in sentence case that do not begin it."""
    words = list(_WORD.finditer(title.text))
    for match in words[1:]:
        name = _stem(match[0])
        if match[0][0].isupper() and name in title.names:
            yield name


def _spell_names(text: str, names: Set[str], common: Set[str]) -> str:
    """Return the words of `text` that are in `names`, with those of `common` that continue one: "West Bank"."""
    found: list[str] = []
    end, is_open = 0, False
    for match in _WORD.finditer(text):
        word, between = _GENITIVE.sub("", match[0]), text[end : match.start()]
        known = names if not (is_open and between in _JOINTS) else names | common
        is_name = word[0].isupper() and _stem(word) in known
        if is_name and is_open and between in _JOINTS:
            found[-1] += between + word
        elif is_name and word not in found:
            found.append(word)
        end, is_open = match.end(), is_name and word == match[0]
    return " and ".join(found[:_MAX_NAMES])


def _stem(word: str) -> str:
    return stem(fold(_GENITIVE.sub("", word)))
