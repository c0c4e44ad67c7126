"""The sentences of an item that can stand in a draft, each with the place it was taken from."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import regex

from copydesk.drafting.extract import boilerplate
from copydesk.drafting.rules.injection import source_findings
from copydesk.drafting.writer import Field
from copydesk.text import clean, links
from copydesk.text.length import without_emoji
from copydesk.text.sentences import spans

READ_AT_MOST = 30_000
"""Characters of a text that are read: the rest of a very long one changes no choice worth the time."""
WORDS = (6, 45)
"""How many words a sentence has that can be quoted: fewer say too little, more are too much of somebody's text."""

_TAG = re.compile(
    r"</?(?:a|abbr|b|big|blockquote|br|center|code|div|em|embed|figure|font|h[1-6]|hr|html|i|iframe|img|input|li|link|mark"
    r"|object|ol|p|pre|s|script|small|span|strike|strong|style|sub|sup|svg|table|td|th|tr|tt|u|ul|video|!--)"
    r"(?=[\s/>-])[^<>]{0,500}>",
    re.IGNORECASE,
)
_BRACKETED_LINK = re.compile(r"\s*[(\[]\s*https?://[^\s()\[\]]{1,2000}\s*[)\]]")
_EMPHASIS = re.compile(r"(?<![\w*])\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}(?![\w*])")
# A joiner stands inside words of scripts that need it and inside emoji; next to anything else it hides something.
_STRAY_JOINER = regex.compile(r"(?<=^|[\s\x21-\u024f])[\u200c\u200d]+|[\u200c\u200d]+(?=[\s\x21-\u024f]|$)")
_UNWANTED = (
    ("<", _TAG, " "),
    ("://", _BRACKETED_LINK, ""),
    ("*", _EMPHASIS, ""),
    ("\u200c", _STRAY_JOINER, ""),
    ("\u200d", _STRAY_JOINER, ""),
)
_SPACES = re.compile(r"\s{2,}|[^\S ]")
_GAP = re.compile(r"\s+(?=[.,](?:\s|$))")
_CLOSERS = "\"'”’»)]」』›"
_PAIRS = ("()", "[]", "«»", "「」", "『』")
_ENDS = ".!?。！？｡؟۔।॥։"
_WEAK_END = re.compile(
    r"(?:[,;:–—-]|\b(?:a|an|the|of|to|in|on|at|by|for|from|with|and|or|but|nor|as|than|that|which|who|whose|its|his|her"
    r"|their|our|is|are|was|were|be|been|has|have|had|will|would|into|over|under|about|after|before|amid|while|if|de|la"
    r"|el|le|les|des|du|der|die|das|und|et|y|e|o|di|da))$",
    re.IGNORECASE,
)
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_QUOTED = re.compile(r"“[^“”]*”|\"[^\"]*\"|«[^«»]*»|„[^„“”]*[“”]|「[^「」]*」")
_FIRST_PERSON = re.compile(
    r"(?:(?<!\bWar )\bI\b(?![.-])|\b(?:[Mm]y|[Mm]e|[Mm]ine|[Mm]yself|[Ww]e|[Oo]ur|[Oo]urs|us|[Ll]et['’]s)\b)"
)


class Passage(NamedTuple):
    """One sentence, readable, and where it stands in its field."""

    text: str
    field: Field
    start: int
    end: int
    place: int
    """How many sentences of its field stand before it."""

    @property
    def first_person(self) -> bool:
        """Whether it says "I" or "we" outside quotation marks: words that only its author can say."""
        return speaks_as_author(self.text)


def readable(text: str, *, emoji: bool = True) -> str:
    """`text` on one line without what cannot be seen, markup, and links in brackets; emoji only where wanted."""
    text = clean(text).replace("''", '"')
    # Most texts have none of these, and looking for one character is cheap.
    for mark, pattern, instead in _UNWANTED:
        if mark in text:
            text = pattern.sub(instead, text)
    text = _GAP.sub("", _SPACES.sub(" ", text)).strip()
    return text if emoji else without_emoji(text)


def passages(text: str, field: Field, *, emoji: bool = True) -> list[Passage]:
    """The sentences of `text` that can be quoted by themselves, in order."""
    found: list[Passage] = []
    for place, (first, end, last) in enumerate(_candidates(text[:READ_AT_MOST])):
        start = first + boilerplate.lead_in(text[first:end])
        words = readable(text[start:end], emoji=emoji)
        if _usable(words, raw=text[start:end], may_lack_stop=last and field is not Field.TEXT):
            found.append(Passage(words, field, start, end, place))
    return found


def speaks_as_author(text: str) -> bool:
    """Whether `text` says "I" or "we" outside quotation marks."""
    return _FIRST_PERSON.search(_QUOTED.sub("", text)) is not None


def count_words(text: str) -> int:
    """Words; in scripts without spaces, two characters count as one."""
    dense = len(_UNSPACED.findall(text))
    return len(text.split()) if not dense else (dense + 1) // 2 + len(_UNSPACED.sub(" ", text).split())


def cut_short(text: str) -> bool:
    """Whether `text` breaks off: an ellipsis at its end, or a last word that wants another."""
    bare = text.rstrip(_CLOSERS + " ")
    return bare.endswith(("…", "...", "..")) or _WEAK_END.search(bare) is not None


def _candidates(text: str) -> Iterator[tuple[int, int, bool]]:
    """Sentences of paragraphs that are no boilerplate, and whether each is the last of its paragraph."""
    for paragraph in re.finditer(r"[^\n]+(?:\n[^\n]+)*", text):
        if boilerplate.is_paragraph(paragraph[0].lstrip()):
            continue
        within = spans(paragraph[0])
        for number, (start, end) in enumerate(within, 1):
            yield paragraph.start() + start, paragraph.start() + end, number == len(within)


def _usable(words: str, *, raw: str, may_lack_stop: bool) -> bool:
    if not WORDS[0] <= count_words(words) <= WORDS[1] or len(words) > 400:
        return False
    first = words.lstrip("\"'“‘«([「『¿¡")[:1]
    if first.islower() or not (first.isalnum()) or _joins_lines(raw):
        return False
    ended = words.rstrip(_CLOSERS)[-1:] in _ENDS
    if cut_short(words) or not (ended or may_lack_stop) or not _balanced(words):
        return False
    if _is_heading(words) or _leads_away(words) or boilerplate.is_sentence(words):
        return False
    return not source_findings(words)


def _balanced(words: str) -> bool:
    """Whether what opens in it closes in it; in a sentence out of the middle of a quotation it does not."""
    pairs = (*_PAIRS, "“”") if "„" not in words else _PAIRS
    german = words.count("„") in (0, words.count("“") + words.count("”"))
    return german and words.count('"') % 2 == 0 and all(words.count(pair[0]) == words.count(pair[1]) for pair in pairs)


def _is_heading(words: str) -> bool:
    """Whether Nearly All of Its Words Start With a Capital: a heading, or a reference to another text."""
    long = [word for word in words.split() if len(word) > 3 and word[0].isalpha()]
    return len(long) > 3 and sum(word[0].isupper() for word in long) > 0.7 * len(long)


def _joins_lines(raw: str) -> bool:
    """Whether a line break in it stands between two things (a heading and a sentence) rather than inside one."""
    lines = raw.split("\n")
    return any(len(line.split()) < 6 and following.lstrip()[:1].isupper() for line, following in pairwise(lines))


def _leads_away(words: str) -> bool:
    """Whether it would link, ping or tag somebody from the user's account."""
    return bool(links.all_spans(words) or links.MENTION.search(words) or links.HASHTAG.search(words))
