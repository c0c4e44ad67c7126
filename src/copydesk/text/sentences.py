"""Where sentences end, in English and in scripts that mark the end differently. Linear in the length of the text.

Rules, not a model: abbreviations, initials, decimals and brackets do not end a sentence; what follows an end starts
with anything but a lower case letter. 。！？ and the danda end one without a space after them.
"""

import re
from collections.abc import Iterator

Span = tuple[int, int]

_PARAGRAPH = re.compile(r"\n[^\S\n]*(?:\n\s*|(?=[-*•–] ))")
_CLOSERS = "\"'”’»)\\]」』）】›"
_OPENERS = "\"'“‘«([「『（【‹¿¡„‚ \t\n"
_MARKS = ".!?…؟۔።։"
# The look behind keeps a long row of marks from being tried again from each of them.
_END = re.compile(rf"(?<![{_MARKS}])(?P<mark>[{_MARKS}]++)[{_CLOSERS}]*+(?=\s)|[。！？｡।॥။]++[{_CLOSERS}]*+")
_LAST_WORD = re.compile(r"[^\s\"'“‘«(\[]+\Z")
_NEXT_WORD = re.compile(r"[^\s,.;:!?…\"'”’)]+")
_REACH = 40
"""Characters looked at on either side of a full stop."""
_BRACKETED = 300
"""A bracket that is not closed after so many characters is no bracket."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the end of a sentence where a full stop follows.
_SHORT = _words(
    "mr mrs ms dr prof mt st vs v e.g i.e eds dept gen gov sen rep reps sens rev hon capt col sgt lt cmdr maj pres"
    " approx cf ca bros messrs mme mlle z.b d.h bzw u.a"
)
# Not the end before a figure (No. 5, Dec. 24), else the end.
_NUMBERED = _words(
    "no nos vol vols pp p fig figs art ch sec est min max jan feb mar apr jun jul aug sep sept oct nov dec"
)
# The end where a word follows that starts sentences ("He lives in the U.S. He ..."), else not ("the U.S. Army").
_EITHER = _words("inc ltd co corp llc plc jr sr etc al ft a.m p.m ph.d b.a m.a m.d d.c u.s u.k e.u u.n u.s.a n.y l.a")
_STARTERS = _words(
    "the this that these those it he she they we you i there here but and however in on at for if when what how why"
    " who is are was were after before while as a an no yes my our his her their its meanwhile others please long mr"
    " mrs ms dr some many most all one two since although though according so then now"
)


def sentences(text: str) -> list[str]:
    """The sentences of `text` in order, without the white space between them."""
    return [text[start:end] for start, end in spans(text)]


def spans(text: str) -> list[Span]:
    """Where each sentence of `text` starts and ends; a blank line ends one, and so does the bullet of a list."""
    found: list[Span] = []
    for start, end in _paragraphs(text):
        found += _within(text, start, end)
    return found


def _paragraphs(text: str) -> Iterator[Span]:
    start = 0
    for match in _PARAGRAPH.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _within(text: str, start: int, end: int) -> Iterator[Span]:
    depth, opened, seen = 0, start, start
    for match in _END.finditer(text, start, end):
        place = match.end()
        change = text.count("(", seen, place) - text.count(")", seen, place)
        opened = text.rfind("(", seen, place) if change > 0 else opened
        depth, seen = max(0, depth + change), place
        if depth and place - opened < _BRACKETED:
            continue
        depth = 0
        if match["mark"] is None or _ends(text, match, end):
            yield from _trimmed(text, start, place)
            start = place
    yield from _trimmed(text, start, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    piece = text[start:end]
    bare = piece.strip()
    if bare:
        start += len(piece) - len(piece.lstrip())
        yield start, start + len(bare)


def _ends(text: str, match: re.Match[str], end: int) -> bool:
    """Whether the mark ends a sentence, judged by the word before it and the word after it."""
    rest = text[match.end() : min(end, match.end() + _REACH)].lstrip(_OPENERS)
    if not rest:
        return True
    if rest[0].islower() or rest[0] in ".,;:-–—…":
        return False
    if match["mark"] != ".":
        return True
    if text.endswith(". ", 0, match.start()):  # an ellipsis with spaces: . . .
        return False
    last = _LAST_WORD.search(text, max(0, match.start() - _REACH), match.start())
    return _stop_ends(last[0].lower() if last else "", rest)


def _stop_ends(word: str, rest: str) -> bool:
    """Whether a full stop between `word` and `rest` ends a sentence."""
    if word in _EITHER:
        following = _NEXT_WORD.match(rest)
        return following is not None and following[0].lower() in _STARTERS
    if word in _NUMBERED:
        return not rest[0].isdigit()
    return word not in _SHORT and not _initial(word)


def _initial(word: str) -> bool:
    """`J.` of a name; but "I" ends sentences."""
    return len(word) == 1 and word.isalpha() and word != "i" and word.isascii()
