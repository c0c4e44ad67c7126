"""Split a long text into the posts of a thread, and store a thread as one text.

The cuts are chosen for the whole text at once, by dynamic programming over the positions where a cut is allowed: as few
posts as possible, cut at the end of a paragraph rather than a sentence, a clause or a word, and posts of even length.
Words, links, mentions and hashtags are never cut. Scripts without spaces may be cut between any two characters.
"""

import re
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

from copydesk.errors import WriterError
from copydesk.text import links
from copydesk.text.sentences import spans

SEPARATOR = "\n\n---\n\n"
"""Separates the parts of a THREAD in its draft's text: a line of three hyphens."""

SEPARATOR_LINE = re.compile(r"(?:^|\n)[^\S\n]*---[^\S\n]*(?=\n|\Z)")
"""A separator line, however the user spaced it."""
_WHITE_SPACE = re.compile(r"\s*")
_TOKEN = re.compile(r"\S+")
_CLAUSE_END = tuple(",;:—–，、；：،؛")
# Scripts without spaces between words: Thai to Khmer, kana, ideographs, and their full-width punctuation.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uff66-\uff9f\U00020000-\U0003ffff]"
)
# A character with its combining vowels and marks, and the punctuation that may not stand at the start or end of a line.
_UNSPACED_CHARACTER = re.compile(
    "[「『（【《〈]*[^「『（【《〈][\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u3099\u309aー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ。、，．！？：；」』）】》〉\ufe0f\u200d]*"
)
PARAGRAPH, LINE, SENTENCE, CLAUSE, WORD = 0.0, 0.5, 1.0, 4.0, 9.0
"""Penalty of a cut after each kind of unit."""
_POST_COST = 10.0
_UNEVEN_COST = 6.0


def join_parts(parts: list[str]) -> str:
    """Return the parts of a thread as one text, separated by lines of `---` with blank lines around them."""
    return SEPARATOR.join(part.strip() for part in parts)


def split_parts(text: str) -> list[str]:
    """Return the parts of a THREAD draft's text, in order: the text between lines of `---`, without empty parts."""
    return [part for piece in SEPARATOR_LINE.split(text) if (part := piece.strip())]


def split_thread(
    text: str, size: Callable[[str], int], limit: int, *, numbered: bool = False, max_parts: int | None = None
) -> list[str]:
    """Return `text` as posts of at most `limit`, measured by `size`. If `numbered`, " i/n" is appended to each.

    `size` must be subadditive: joining two texts by white space must not measure more than both separately. All
    platforms' counts are. Only white space at the cuts is lost. Raise WriterError if a single word is longer than a
    post, or if more than `max_parts` posts are needed.
    """
    text = text.strip()
    if not text:
        return []
    # Not numbered even if `numbered`: a single post is no thread.
    if size(text) <= limit:
        return [text]
    if not numbered:
        return _split(text, size, limit, max_parts)
    # The suffix's width depends on the number of posts, and that on the width: try one digit, then two, then three.
    widest = "9"
    while True:
        posts = _split(text, size, limit - size(f" {widest}/{widest}"), max_parts)
        if len(posts) <= int(widest):
            return [f"{post} {n}/{len(posts)}" for n, post in enumerate(posts, 1)]
        widest += "9"


class _Piece(NamedTuple):
    """A span that is not cut further, and the penalty of a cut after it."""

    start: int
    end: int
    cost: float


def _split(text: str, size: Callable[[str], int], room: int, max_parts: int | None) -> list[str]:
    posts = _cut(text, _units(text, size, room), size, room)
    if max_parts is None or len(posts) <= max_parts:
        return posts
    # Cuts between any two words pack tighter than cuts at sentence ends, which may save a post.
    posts = _cut(text, list(_words(text, 0, len(text), PARAGRAPH)), size, room)
    if len(posts) > max_parts:
        raise WriterError(
            f"The text takes {len(posts)} posts; at most {max_parts} are allowed.",
            hint="Shorten it, or allow more parts.",
        )
    return posts


def _units(text: str, size: Callable[[str], int], room: int) -> list[_Piece]:
    """Return the largest units that fit into a post: sentences, otherwise clauses, otherwise words."""
    pieces: list[_Piece] = []
    for start, end in spans(text):
        whole = _Piece(start, end, _cut_penalty(text, end, SENTENCE))
        if size(text[start:end]) <= room:
            pieces.append(whole)
        else:
            pieces += _clauses(text, whole, size, room)
    return pieces


def _clauses(text: str, sentence: _Piece, size: Callable[[str], int], room: int) -> Iterator[_Piece]:
    words = list(_words(text, sentence.start, sentence.end, sentence.cost))
    first = 0
    for index, word in enumerate(words):
        if word.cost < WORD:
            clause = _Piece(words[first].start, word.end, word.cost)
            if size(text[clause.start : clause.end]) <= room:
                yield clause
            else:
                yield from _word_groups(words[first : index + 1], room // 16)
            first = index + 1


def _word_groups(words: list[_Piece], enough: int) -> Iterator[_Piece]:
    """Yield groups of words of about `enough` characters.

    Within a sixteenth of a post it makes no difference between which two words the text is cut, and fewer pieces mean
    less work.
    """
    first = 0
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else None
        if following is None or following.end - words[first].start > enough:
            yield _Piece(words[first].start, word.end, word.cost)
            first = index + 1


def _words(text: str, start: int, end: int, last: float) -> Iterator[_Piece]:
    """Yield the words of the span `start` to `end`; `last` is the penalty of a cut after the last one."""
    for match in _TOKEN.finditer(text, start, end):
        for first, after in _split_word(match[0]):
            piece_end = match.start() + after
            if piece_end == end:
                yield _Piece(match.start() + first, piece_end, last)
            else:
                cost = CLAUSE if text[piece_end - 1] in _CLAUSE_END else WORD
                yield _Piece(match.start() + first, piece_end, _cut_penalty(text, piece_end, cost))


def _split_word(word: str) -> Iterator[links.Span]:
    """Yield the spans of a run without spaces: single characters in a script without spaces, everything else whole."""
    if not _UNSPACED.search(word):
        yield 0, len(word)
        return
    position = 0
    for start, end in links.unbreakable_spans(word):
        yield from _characters(word, position, start)
        yield start, end
        position = end
    yield from _characters(word, position, len(word))


def _characters(word: str, start: int, end: int) -> Iterator[links.Span]:
    position = start
    while position < end:
        if _UNSPACED.match(word, position):
            match = _UNSPACED_CHARACTER.match(word, position, end)
            until = match.end() if match else end
        else:
            following = _UNSPACED.search(word, position, end)
            until = following.start() if following else end
        yield position, until
        position = until


def _cut_penalty(text: str, position: int, default: float) -> float:
    gap = _WHITE_SPACE.match(text, position)
    breaks = gap[0].count("\n") if gap else 0
    return PARAGRAPH if breaks > 1 else min(LINE, default) if breaks else default


def _cut(text: str, pieces: list[_Piece], size: Callable[[str], int], room: int) -> list[str]:
    lengths = [size(text[piece.start : piece.end]) for piece in pieces]
    longest = max(range(len(pieces)), key=lengths.__getitem__)
    if lengths[longest] > room:
        word = text[pieces[longest].start : pieces[longest].end]
        raise WriterError(
            f"One word is longer than a post ({lengths[longest]} of {room}): {word[:40]}", hint="Shorten it."
        )
    gaps = [size(text[a.end : b.start]) if a.end < b.start else 0 for a, b in pairwise(pieces)]
    return [text[pieces[a].start : pieces[b - 1].end] for a, b in _cheapest_ranges(pieces, lengths, [*gaps, 0], room)]


def _cheapest_ranges(pieces: list[_Piece], lengths: list[int], gaps: list[int], room: int) -> list[tuple[int, int]]:
    """Return the cheapest grouping of the pieces into posts, as index ranges.

    `cheapest[n]` is the lowest cost of posts that cover the first `n` pieces, `came_from[n]` the first piece of the
    last of them.
    """
    count = len(pieces)
    ends = list(accumulate(lengths[n] + gaps[n] for n in range(count)))
    starts = [0, *ends]
    cheapest, came_from = [0.0] + [float("inf")] * count, [0] * (count + 1)
    for first in range(count):
        base, taken = cheapest[first] + _POST_COST, starts[first]
        for last in range(first, count):
            used = ends[last] - gaps[last] - taken
            # Lengths only grow with more pieces, so no later `last` fits either.
            if used > room:
                break
            # Squared, so that evenly filled posts cost less than one full and one nearly empty.
            slack = 1 - used / room
            cost = base + _UNEVEN_COST * slack * slack + (2 * pieces[last].cost if last < count - 1 else 0)
            if cost < cheapest[last + 1]:
                cheapest[last + 1], came_from[last + 1] = cost, first
    cuts, end = [], count
    while end:
        cuts.append((came_from[end], end))
        end = came_from[end]
    return cuts[::-1]
