"""Split text into sentences, in English and in scripts that mark the end differently. Linear in the length of the text.

Rules, not a model: abbreviations, initials, decimals and brackets do not end a sentence; a sentence does not start with
a lower case letter. 。！？ and the danda end a sentence without a space after them.
"""

import re
from collections.abc import Iterator

Span = tuple[int, int]

_PARAGRAPH = re.compile(r"\n[^\S\n]*(?:\n\s*|(?=[-*•–] ))")
_CLOSERS = "\"'”’»)\\]」』）】›"
_OPENERS = "\"'“‘«([「『（【‹¿¡„‚ \t\n"
_MARKS = ".!?…؟۔።։"
# The lookbehind keeps a long row of marks from being matched again from each of them, which would be quadratic.
_END = re.compile(rf"(?<![{_MARKS}])(?P<mark>[{_MARKS}]++)[{_CLOSERS}]*+(?=\s)|[。！？｡।॥။]++[{_CLOSERS}]*+")
_LAST_WORD = re.compile(r"[^\s\"'“‘«(\[]+\Z")
_NEXT_WORD = re.compile(r"[^\s,.;:!?…\"'”’)]+")
_CONTEXT = 40
"""Characters examined on either side of a full stop."""
_MAX_BRACKET = 300
"""Maximum length of a parenthesis, in characters; a longer one was never closed and is ignored."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Abbreviations: a full stop after one of these never ends a sentence.
_ABBREVIATIONS = _words(
    "mr mrs ms dr prof mt st vs v e.g i.e eds dept gen gov sen rep reps sens rev hon capt col sgt lt cmdr maj pres"
    " approx cf ca bros messrs mme mlle z.b d.h bzw u.a"
)
# Not the end before a number (No. 5, Dec. 24), otherwise the end.
_NUMBERED = _words(
    "no nos vol vols pp p fig figs art ch sec est min max jan feb mar apr jun jul aug sep sept oct nov dec"
)
# The end if the next word often starts sentences ("He lives in the U.S. He ..."), otherwise not ("the U.S. Army").
_MAY_END = _words("inc ltd co corp llc plc jr sr etc al ft a.m p.m ph.d b.a m.a m.d d.c u.s u.k e.u u.n u.s.a n.y l.a")
_SENTENCE_STARTERS = _words(
    "the this that these those it he she they we you i there here but and however in on at for if when what how why"
    " who is are was were after before while as a an no yes my our his her their its meanwhile others please long mr"
    " mrs ms dr some many most all one two since although though according so then now"
)


def spans(text: str) -> list[Span]:
    """Return the span of each sentence of `text`, in order. A blank line or a list bullet also ends a sentence."""
    sentence_spans: list[Span] = []
    for start, end in _paragraphs(text):
        sentence_spans += _sentences_within(text, start, end)
    return sentence_spans


def _paragraphs(text: str) -> Iterator[Span]:
    start = 0
    for match in _PARAGRAPH.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _sentences_within(text: str, start: int, end: int) -> Iterator[Span]:
    depth, bracket_start, scanned = 0, start, start
    for match in _END.finditer(text, start, end):
        mark_end = match.end()
        balance = text.count("(", scanned, mark_end) - text.count(")", scanned, mark_end)
        bracket_start = text.rfind("(", scanned, mark_end) if balance > 0 else bracket_start
        depth, scanned = max(0, depth + balance), mark_end
        # Inside parentheses nothing ends a sentence.
        if depth and mark_end - bracket_start < _MAX_BRACKET:
            continue
        depth = 0
        if match["mark"] is None or _ends_sentence(text, match, end):
            yield from _strip_span(text, start, mark_end)
            start = mark_end
    yield from _strip_span(text, start, end)


def _strip_span(text: str, start: int, end: int) -> Iterator[Span]:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        start += len(piece) - len(piece.lstrip())
        yield start, start + len(stripped)


def _ends_sentence(text: str, match: re.Match[str], end: int) -> bool:
    """Return True if the matched mark ends a sentence, judging by the words before and after it."""
    rest = text[match.end() : min(end, match.end() + _CONTEXT)].lstrip(_OPENERS)
    if not rest:
        return True
    if rest[0].islower() or rest[0] in ".,;:-–—…":
        return False
    if match["mark"] != ".":
        return True
    if text.endswith(". ", 0, match.start()):  # an ellipsis with spaces: . . .
        return False
    previous_word = _LAST_WORD.search(text, max(0, match.start() - _CONTEXT), match.start())
    return _full_stop_ends_sentence(previous_word[0].lower() if previous_word else "", rest)


def _full_stop_ends_sentence(word: str, rest: str) -> bool:
    """Return True if a full stop between `word` and `rest` ends a sentence."""
    if word in _MAY_END:
        following = _NEXT_WORD.match(rest)
        return following is not None and following[0].lower() in _SENTENCE_STARTERS
    if word in _NUMBERED:
        return not rest[0].isdigit()
    return word not in _ABBREVIATIONS and not _is_initial(word)


def _is_initial(word: str) -> bool:
    """Return True for the initial of a name (`J.`), but not for "I", which does end sentences."""
    return len(word) == 1 and word.isalpha() and word != "i" and word.isascii()
