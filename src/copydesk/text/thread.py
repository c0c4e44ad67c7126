"""A long text as the posts of a thread, and a thread as one text.

The cuts are chosen for the whole text at once (dynamic programming over the places where it may be cut): as few posts
as possible, at the end of a paragraph rather than a sentence, a clause or a word, and posts of even length. A word, a
link, a mention and a hashtag are never cut; scripts without spaces may be cut between any two of their characters.
"""

import re
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

from copydesk.errors import WriterError
from copydesk.text import links
from copydesk.text.sentences import spans

SEPARATOR = "\n\n---\n\n"
"""Stands between the parts of a THREAD in the text of its draft: a line of its own with three hyphens."""

SEPARATOR_LINE = re.compile(r"(?:^|\n)[^\S\n]*---[^\S\n]*(?=\n|\Z)")
"""A line that parts a thread, however the user spaced it."""
_GAP = re.compile(r"\s*")
_TOKEN = re.compile(r"\S+")
_CLAUSE_END = tuple(",;:—–，、；：،؛")
# Scripts that put no space between words: Thai to Khmer, kana, ideographs, and their full-width punctuation.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_CLUSTER = re.compile(
    "[「『（【《〈]*[^「『（【《〈][\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u3099\u309aー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ。、，．！？：；」』）】》〉\ufe0f\u200d]*"
)
PARAGRAPH, LINE, SENTENCE, CLAUSE, WORD = 0.0, 0.5, 1.0, 4.0, 9.0
"""What a cut costs at the end of each."""
_POST = 10.0
_UNEVEN = 6.0


def join_parts(parts: list[str]) -> str:
    """The parts of a thread as the one text of its draft: a line of `---` between them, with a blank line around it."""
    return SEPARATOR.join(part.strip() for part in parts)


def split_parts(text: str) -> list[str]:
    """The parts of a THREAD draft's text, in order: what stands between lines of `---`. Empty ones are left out."""
    return [part for piece in SEPARATOR_LINE.split(text) if (part := piece.strip())]


def split(
    text: str, size: Callable[[str], int], limit: int, *, numbered: bool = False, max_parts: int | None = None
) -> list[str]:
    """`text` as posts of at most `limit`, as `size` counts it; " i/n" after each where `numbered`.

    `size` must not count more for texts that white space joins than for the same texts apart, which no platform does.
    Nothing is lost but the white space at the cuts. Raises WriterError where one word is longer than a post, and where
    it takes more than `max_parts`.
    """
    text = text.strip()
    if not text:
        return []
    if size(text) <= limit:
        return [text]
    if not numbered:
        return _split(text, size, limit, max_parts)
    figures = "9"
    while True:
        posts = _split(text, size, limit - size(f" {figures}/{figures}"), max_parts)
        if len(posts) <= int(figures):
            return [f"{post} {n}/{len(posts)}" for n, post in enumerate(posts, 1)]
        figures += "9"


class _Piece(NamedTuple):
    """A stretch that is not cut: where it stands, and what a cut after it costs."""

    start: int
    end: int
    cost: float


def _split(text: str, size: Callable[[str], int], room: int, max_parts: int | None) -> list[str]:
    posts = _cut(text, _pieces(text, size, room), size, room)
    if max_parts is None or len(posts) <= max_parts:
        return posts
    # Cutting between any two words may save a post.
    posts = _cut(text, list(_words(text, 0, len(text), PARAGRAPH)), size, room)
    if len(posts) > max_parts:
        raise WriterError(
            f"The text takes {len(posts)} posts; at most {max_parts} are allowed.",
            hint="Shorten it, or allow more parts.",
        )
    return posts


def _pieces(text: str, size: Callable[[str], int], room: int) -> list[_Piece]:
    """The largest pieces that fit: sentences, else clauses, else words."""
    pieces: list[_Piece] = []
    for start, end in spans(text):
        whole = _Piece(start, end, _cost_at(text, end, SENTENCE))
        if size(text[start:end]) <= room:
            pieces.append(whole)
        else:
            pieces += _clauses(text, whole, size, room)
    return pieces


def _clauses(text: str, sentence: _Piece, size: Callable[[str], int], room: int) -> Iterator[_Piece]:
    words = list(_words(text, sentence.start, sentence.end, sentence.cost))
    first = 0
    for place, word in enumerate(words):
        if word.cost < WORD:
            clause = _Piece(words[first].start, word.end, word.cost)
            if size(text[clause.start : clause.end]) <= room:
                yield clause
            else:
                yield from _handfuls(words[first : place + 1], room // 16)
            first = place + 1


def _handfuls(words: list[_Piece], enough: int) -> Iterator[_Piece]:
    """Words by the handful: a sixteenth of a post apart, it makes no odds between which two words it is cut."""
    first = 0
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else None
        if following is None or following.end - words[first].start > enough:
            yield _Piece(words[first].start, word.end, word.cost)
            first = place + 1


def _words(text: str, start: int, end: int, last: float) -> Iterator[_Piece]:
    """The words of a stretch; `last` is the cost of a cut after the last one."""
    for match in _TOKEN.finditer(text, start, end):
        for a, b in _within_word(match[0]):
            at = match.start() + b
            if at == end:
                yield _Piece(match.start() + a, at, last)
            else:
                cost = CLAUSE if text[at - 1] in _CLAUSE_END else WORD
                yield _Piece(match.start() + a, at, _cost_at(text, at, cost))


def _within_word(word: str) -> Iterator[links.Span]:
    """A run without spaces, cut between the characters of a script that has none; anything else stays whole."""
    if not _UNSPACED.search(word):
        yield 0, len(word)
        return
    place = 0
    for start, end in links.unbreakable(word):
        yield from _characters(word, place, start)
        yield start, end
        place = end
    yield from _characters(word, place, len(word))


def _characters(word: str, start: int, end: int) -> Iterator[links.Span]:
    place = start
    while place < end:
        if _UNSPACED.match(word, place):
            match = _CLUSTER.match(word, place, end)
            until = match.end() if match else end
        else:
            following = _UNSPACED.search(word, place, end)
            until = following.start() if following else end
        yield place, until
        place = until


def _cost_at(text: str, place: int, otherwise: float) -> float:
    gap = _GAP.match(text, place)
    breaks = gap[0].count("\n") if gap else 0
    return PARAGRAPH if breaks > 1 else min(LINE, otherwise) if breaks else otherwise


def _cut(text: str, pieces: list[_Piece], size: Callable[[str], int], room: int) -> list[str]:
    lengths = [size(text[piece.start : piece.end]) for piece in pieces]
    longest = max(range(len(pieces)), key=lengths.__getitem__)
    if lengths[longest] > room:
        word = text[pieces[longest].start : pieces[longest].end]
        raise WriterError(
            f"One word is longer than a post ({lengths[longest]} of {room}): {word[:40]}", hint="Shorten it."
        )
    gaps = [size(text[a.end : b.start]) if a.end < b.start else 0 for a, b in pairwise(pieces)]
    return [text[pieces[a].start : pieces[b - 1].end] for a, b in _best(pieces, lengths, [*gaps, 0], room)]


def _best(pieces: list[_Piece], lengths: list[int], gaps: list[int], room: int) -> list[tuple[int, int]]:
    """The cheapest way to make posts of the pieces, as ranges of them."""
    count = len(pieces)
    ends = list(accumulate(lengths[n] + gaps[n] for n in range(count)))
    starts = [0, *ends]
    cheapest, came_from = [0.0] + [float("inf")] * count, [0] * (count + 1)
    for first in range(count):
        base, taken = cheapest[first] + _POST, starts[first]
        for last in range(first, count):
            used = ends[last] - gaps[last] - taken
            if used > room:
                break
            slack = 1 - used / room
            cost = base + _UNEVEN * slack * slack + (2 * pieces[last].cost if last < count - 1 else 0)
            if cost < cheapest[last + 1]:
                cheapest[last + 1], came_from[last + 1] = cost, first
    cuts, end = [], count
    while end:
        cuts.append((came_from[end], end))
        end = came_from[end]
    return cuts[::-1]
