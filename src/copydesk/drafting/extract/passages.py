"""The sentences of an item that can be quoted, each with its position in the source.

Text that is not part of the story is left out: credits, bylines, calls to subscribe, markup, code.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import regex

from copydesk.drafting.rules.injection import find_injections
from copydesk.drafting.writer import Field
from copydesk.text import clean, links
from copydesk.text.length import remove_emoji
from copydesk.text.sentences import spans

# Whole paragraphs. Tested before splitting into sentences, because a title inside may contain full stops.
_PARAGRAPH = re.compile(
    r"""(?ix)
      ^the\ post\ .{1,400}\ appeared\ first\ on\ \S
    | ^\(?(?:image|photo|picture|video|cover|illustration)s?(?:\ credit|\ by|\ courtesy|:|\ via)
    | ^(?:listen\ to\ this|log\ in\ to|sign\ (?:up|in)|subscribe|read\ more|continue\ reading|related:|advertisement)
    | ^by\ [\w.'’-]+(?:\ [\w.'’-]+){0,4}\s*$
    | ^(?:filed\ under|tags?|categories|share\ this|follow\ us)\b
    """
)
_SENTENCE_START = re.compile(
    r"""(?ix)
      (?:welcome\ (?:back\ )?to|thanks\ (?:to|for)|quick\ announcement|as\ a\ reminder|spoiler|update:|edit:|note:)
    | (?:disclaimer|here\ (?:is|are)\ (?:a\ look|the\ latest|what))
    | (?:photo|image|video|watch|listen|related|editor.s\ note|advertisement|source)s?\s*:
    """
)
# One group after one \b, so that the whole alternation is skipped at once inside words.
# Searched for in lower case, which takes a third of the time that IGNORECASE does.
_WORDS = re.compile(
    r"""(?x)
    \b(?:appeared\ first\ on | continue\ reading | read\ (?:more|the\ full|on) | et\ al | getty\ images
    | photo(?:graph)?\ by | all\ rights\ reserved | copyright | subscribe | unsubscribe | newsletter | sign\ up
    | log\ in | cookies? | patreon | affiliate | sponsor(?:ed|s)? | paywall | leave\ a\ comment | check\ out
    | npr\ speaks | support\ (?:the|this|my|our)\ (?:channel|work|site|blog|newsletter) | follow\ (?:me|us)\ on
    | (?:e-?mail|contact|message)\ (?:me|us) | click\ (?:here|the|on)
    | has\ (?:more|details|the\ (?:latest|story|details))
    | speaks\ (?:to|with)\ npr | (?:in\ this|last|previous|next|my\ last|here.s\ (?:the|a))\ (?:video|episode)
    | this\ story\ (?:was|has|is))\b
    """
)
_CREDIT_SIGNS = re.compile(
    r"[→©]|/ ?(?:AFP|AP|Getty|Reuters|EPA)\b|\((?:image|photo) credit"
    r"|\((?:pictured|left|right|centre|center|above|below|file|l|r|top|bottom)\)",
    re.IGNORECASE,
)
# References to the page itself, meaningless outside it; in lower case, as above.
_PAGE_REFERENCE = re.compile(
    r"""(?x)
    \b(?:(?:this|that|previous|last|earlier|above|following|next)\ (?:\w+\ )?(?:post|article|essay|piece|blog|section
        |chapter|video|page|list|table|figure|chart|image|photo|screenshot|snippet|example|paragraph)s?\b
    | (?:see|shown|listed|mentioned|described|outlined|as)\ (?:above|below)\b | (?:below|above)[.:]?$
    | (?:in|see)\ the\ attached\b | here[,)] | (?:found|listed|posted|read\ it|available|go)\ here\b)
    """
)
_CODE = re.compile(r"[{}\\]|=>|\(\)|;\s*\Z|\.\w+\(|<[\w/]|_\w+_|\|\s*\||::\w|(?:^|\s)(?:[$>%]\s|--)\w")
_SPEAKER_LABEL = re.compile(r"^(?:[A-Z]{2,}|Q|A)\s?:\s")
_AGENCY = r"\((?:AP|AFP|Reuters|UPI|CNN|EFE|dpa|ANI|PTI|Xinhua|IPS)\)"
_DATELINE = re.compile(
    r"^(?:\[[^\]\n]{2,40}\]\s+)?"  # [Premium Times]
    r"(?:[A-ZÄÖÜ][\w./-]*(?: [\w./-]+){0,4} \((?:dpa|AFP|AP|APA|KNA|epd|ANSA|Lusa|EFE)(?:[-/]\w+)*\)\s*[-–—]\s*"
    rf"|(?:[A-Z][\w.'’-]*[, ]+){{1,5}}(?:\d{{1,2}} )?{_AGENCY}\s*(?:--|[—–-])\s*|{_AGENCY}\s*(?:--|[—–-])?\s*"
    r"|(?:[A-Z][\w’']+,? ){0,3}(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w*\.? \d{1,2}"
    r" \([^()]{2,40}\)\s*[-–—]+\s"  # Feb. 17 (River News) -
    r"|[A-Z]{3}[A-Z .,'’/-]{0,40}(?:, \w{3,9}\.? \d{1,2})?\s*(?:--|[—–])\s+"  # GENEVA, Feb. 17 —
    r"|[A-Z][\w'’]+(?: [A-Z][\w'’]+){0,2}\s--\s)?"  # Gaborone --
)
_BULLET = re.compile(r"(?:[-*•–·▪]\s+|\(?\d{1,2}[.)]\s+)?(?:\*{0,2}TL;?DR[:*]{0,4}\s+)?")

MAX_TEXT_LENGTH = 30_000
"""Characters of a text that are read; the rest of a longer one would hardly change the selection."""
WORD_RANGE = (6, 45)
"""Minimum and maximum words of a quotable sentence: fewer say too little, more quote too much of one text."""

_MAX_WITHOUT_STOP = 200
"""Characters of a summary's sentence without a full stop: feeds cut longer ones inside of a word."""

_TAG = re.compile(
    r"</?(?:a|abbr|b|big|blockquote|br|center|code|div|em|embed|figure|font|h[1-6]|hr|html|i|iframe|img|input|li|link|mark"
    r"|object|ol|p|pre|s|script|small|span|strike|strong|style|sub|sup|svg|table|td|th|tr|tt|u|ul|video|!--)"
    r"(?=[\s/>-])[^<>]{0,500}>",
    re.IGNORECASE,
)
# The lookbehind keeps a long row of spaces from being read again from each of them, which would be quadratic.
_BRACKETED_LINK = re.compile(r"(?<!\s)\s*+[(\[]\s*https?://[^\s()\[\]]{1,2000}\s*[)\]]")
_EMPHASIS = re.compile(r"(?<![\w*])\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}(?![\w*])")
# Joiners are legitimate inside emoji and words of some scripts; next to anything else they hide something.
_STRAY_JOINER = regex.compile(r"(?<=^|[\s\x21-\u024f])[\u200c\u200d]+|[\u200c\u200d]+(?=[\s\x21-\u024f]|$)")
_CLEANUPS = (
    ("<", _TAG, " "),
    ("://", _BRACKETED_LINK, ""),
    ("*", _EMPHASIS, ""),
    ("\u200c", _STRAY_JOINER, ""),
    ("\u200d", _STRAY_JOINER, ""),
)
_SPACES = re.compile(r"\s{2,}|[^\S ]")
_SPACE_BEFORE_STOP = re.compile(r"\s+(?=[.,](?:\s|$))")
_CLOSERS = "\"'”’»)]」』›"
_BRACKET_PAIRS = ("()", "[]", "«»", "「」", "『』")
_SENTENCE_ENDS = ".!?。！？｡؟۔।॥։"
_INCOMPLETE_END = re.compile(
    r"(?:[,;:–—-]|\b(?:a|an|the|of|to|in|on|at|by|for|from|with|and|or|but|nor|as|than|that|which|who|whose|its|his|her"
    r"|their|our|is|are|was|were|be|been|has|have|had|will|would|into|over|under|about|after|before|amid|while|if|de|la"
    r"|el|le|les|des|du|der|die|das|und|et|y|e|o|di|da))$",
    re.IGNORECASE,
)
_MAX_INCOMPLETE_END = len("before")
_OPEN_SINGLE_MARK = re.compile(r"(?:^|(?<=\s))‘(?!.*’(?!\w))", re.DOTALL)
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""A letter of a script that has no spaces between words."""


def is_boilerplate_paragraph(text: str) -> bool:
    """Return True if a paragraph starting with `text` is boilerplate."""
    return _PARAGRAPH.search(text[:500]) is not None


def is_boilerplate_sentence(text: str) -> bool:
    """Return True if a sentence is boilerplate, code, or a speaker's label."""
    if _SENTENCE_START.match(text) or _SPEAKER_LABEL.match(text):
        return True
    return bool(_WORDS.search(text.lower()) or _CREDIT_SIGNS.search(text) or _CODE.search(text))


def refers_to_page(text: str) -> bool:
    """Return True if a sentence refers to the page it is on ("as outlined above")."""
    return _PAGE_REFERENCE.search(text.lower()) is not None


def lead_in_length(text: str) -> int:
    """Return the number of leading characters that are a bullet, a news agency's name or a dateline."""
    bullet = _BULLET.match(text)
    start = bullet.end() if bullet else 0
    dateline = _DATELINE.match(text[start : start + 160])
    return start + (dateline.end() if dateline else 0)


class Passage(NamedTuple):
    """One sentence, cleaned, with its position in its field."""

    text: str
    field: Field
    start: int
    end: int
    position: int
    """Index of the sentence in its field."""


def make_readable(text: str, *, emoji: bool = True) -> str:
    """Return `text` on one line without invisible characters, markup and bracketed links, optionally without emoji."""
    text = clean(text).replace("''", '"')
    # Most texts contain none of these, and testing for one character is cheaper than the pattern.
    for indicator, pattern, replacement in _CLEANUPS:
        if indicator in text:
            text = pattern.sub(replacement, text)
    text = _SPACE_BEFORE_STOP.sub("", _SPACES.sub(" ", text)).strip()
    return text if emoji else remove_emoji(text)


def extract_passages(text: str, field: Field, *, emoji: bool = True) -> list[Passage]:
    """Return the sentences of `text` that can be quoted on their own, in order."""
    quotable: list[Passage] = []
    for index, (first, end, is_paragraph) in enumerate(_candidates(text[:MAX_TEXT_LENGTH])):
        start = first + lead_in_length(text[first:end])
        sentence = make_readable(text[start:end], emoji=emoji)
        if _is_quotable(sentence, raw=text[start:end], may_lack_stop=is_paragraph and field is not Field.TEXT):
            quotable.append(Passage(sentence, field, start, end, index))
    return quotable


def count_words(text: str) -> int:
    """Return the number of words; in scripts without spaces, two characters count as one."""
    dense = len(UNSPACED.findall(text))
    return len(text.split()) if not dense else (dense + 1) // 2 + len(UNSPACED.sub(" ", text).split())


def is_truncated(text: str) -> bool:
    """Return True if `text` is truncated: it ends with an ellipsis, or with a word that needs another."""
    stripped = text.rstrip(_CLOSERS + " ")
    # From a position, not in a slice, in which the end of a longer word would look like one of these words.
    end = _INCOMPLETE_END.search(stripped, max(0, len(stripped) - _MAX_INCOMPLETE_END))
    return end is not None or stripped.endswith(("…", "...", ".."))


def _candidates(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield start and end of each sentence outside boilerplate, and True if it is a paragraph of its own."""
    for paragraph in re.finditer(r"[^\n]+(?:\n[^\n]+)*", text):
        if is_boilerplate_paragraph(paragraph[0].lstrip()):
            continue
        sentence_spans = spans(paragraph[0])
        for start, end in sentence_spans:
            yield paragraph.start() + start, paragraph.start() + end, len(sentence_spans) == 1


def _is_quotable(sentence: str, *, raw: str, may_lack_stop: bool) -> bool:
    if not WORD_RANGE[0] <= count_words(sentence) <= WORD_RANGE[1] or len(sentence) > 400:
        return False
    initial = sentence.lstrip("\"'“‘«([「『¿¡")[:1]
    if initial.islower() or not (initial.isalnum()) or _joins_lines(raw):
        return False
    has_full_stop = sentence.rstrip(_CLOSERS)[-1:] in _SENTENCE_ENDS
    # Titles and summaries often end without a full stop; a sentence of the text that does is probably incomplete.
    may_lack_stop = may_lack_stop and len(sentence) <= _MAX_WITHOUT_STOP
    if is_truncated(sentence) or not (has_full_stop or may_lack_stop) or not _is_balanced(sentence):
        return False
    if _is_heading(sentence) or _has_link_or_mention(sentence) or is_boilerplate_sentence(sentence):
        return False
    # Never repeat a prompt injection in a draft.
    return not find_injections(sentence)


def _is_balanced(sentence: str) -> bool:
    """Return True if all quotation marks and brackets are paired. A sentence from inside a quotation is not."""
    pairs = (*_BRACKET_PAIRS, "“”") if "„" not in sentence else _BRACKET_PAIRS
    german_marks_paired = sentence.count("„") in (0, sentence.count("“") + sentence.count("”"))
    if _OPEN_SINGLE_MARK.search(sentence):
        return False
    return (
        german_marks_paired
        and sentence.count('"') % 2 == 0
        and all(sentence.count(pair[0]) == sentence.count(pair[1]) for pair in pairs)
    )


def _is_heading(sentence: str) -> bool:
    """Return True if Nearly All of Its Words Start With a Capital, as in a heading or the title of another text.

    German sentences with a full stop come close to that.
    """
    long_words = [word for word in sentence.split() if len(word) > 3 and word[0].isalpha()]
    share = 0.9 if sentence.rstrip(_CLOSERS)[-1:] in _SENTENCE_ENDS else 0.7
    return len(long_words) > 3 and sum(word[0].isupper() for word in long_words) > share * len(long_words)


def _joins_lines(raw: str) -> bool:
    """Return True if a line break separates two things, such as a heading and a sentence, instead of wrapping one."""
    lines = raw.split("\n")
    return any(len(line.split()) < 6 and following.lstrip()[:1].isupper() for line, following in pairwise(lines))


def _has_link_or_mention(sentence: str) -> bool:
    """Return True if it would link, notify or tag somebody from the user's account."""
    return bool(links.all_spans(sentence) or links.MENTION.search(sentence) or links.hashtag_spans(sentence))
