"""Rules for remains of a feed or a page: entities, broken encoding, calls to read on, cut ends, private links."""

import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

from copydesk.drafting.check_context import ERROR, CheckContext, Rule, RuleMatch, always, has_source
from copydesk.drafting.rules.analyzed_text import MAX_SOURCE_LENGTH, AnalyzedText, split_words
from copydesk.model.draft import Format
from copydesk.network.addresses import is_local_host
from copydesk.text import links

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_ENTITY = re.compile(
    r"&(?:amp|apos|quot|lt|gt|nbsp|[lr]squo|[lr]dquo|[lr]aquo|ndash|mdash|hellip|bull|middot|copy|reg|trade|euro|pound"
    r"|[aeiouy](?:acute|grave|circ|uml|tilde)|ntilde|ccedil|szlig|oslash|#\d{2,6}|#x[0-9a-f]{2,5});",
    re.IGNORECASE,
)
# UTF-8 read as Latin-1 or Windows-1252. After a capital with an accent, text has letters, not signs.
_MOJIBAKE = re.compile(
    "\u00c3[\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u20ac\u201a-\u201e\u2020-\u2022\u2026\u2030\u2039\u203a\u02c6\u02dc\u2122]"
    "|\u00c2[\u00a0-\u00a9\u00ab-\u00b1\u00b4\u00b7\u00bb-\u00bf](?!\\w)"
    "|\u00e2\u20ac[\u0080-\u00bf\u0153\u0161\u017e\u2122\u201c\u201d\u02dc\u00a6\u00a2]|\u00e2\u201a\u00ac|\u00e2\u20ac(?=\\W|$)"
    "|\u00ef\u00bf\u00bd|\u00f0\u0178[\u0080-\u02ff\u2010-\u2122]|\ufffd"
)  # fmt: skip
_CALLS = (
    r"read (?:more|the (?:full|rest)(?: \w+)?|on)|continue reading|keep reading|click here(?: to \w+[^.\n]{0,40})?"
    r"|view (?:the )?(?:full|original) (?:article|post|story)|weiterlesen|lire la suite|seguir leyendo|leer m[áa]s"
    r"|leggi tutto|lees (?:meer|verder)|czytaj dalej|ler mais"
)
# At the end of a line, as a sentence of its own.
_READ_ON = re.compile(
    rf"(?:^|(?<=[.!?…\]”\"»)])[ \t]+|(?<=\s)[|·–—][ \t]*)"
    # One mark at a time, and white space all at once: a row of either could be divided in many ways.
    rf"(?:\[?(?:{_CALLS})\b[^\n:.!?]{{0,60}}(?<![ \t])[ \t]*+(?:[→»>….\]]|\[…\])*+[ \t]*+$)"
    r"|\bthe post\b[^\n]{1,300}\b(?:appeared|was) first (?:on|published)\b[^\n]*",
    re.IGNORECASE | re.MULTILINE,
)
_LOCAL_NAMES = (".local", ".localhost", ".internal", ".lan", ".home", ".intranet", ".test", ".invalid", ".home.arpa")
_ELLIPSIS = re.compile(r"(?:\[(?:…|\.{3})\]|…|\.{3})[\"”’»)]*$")
_BRACKETED = re.compile(r"\[(?:…|\.{3}|&#8230;)\][\"”’»)]*$")
_CLOSED = re.compile(r"[.!?。！？؟।:;][\"'”’»)\]]*$")
# "(River News)" or "— River News" after the sentence.
_CREDIT = re.compile(r"(?<!\s)\s*+(?:\([^()\n]{1,60}\)|[—–-]\s[^—–\n]{1,60})\s*+$")
_TAIL_LINE = re.compile(
    r"^(?:\s*(?:#|\(?\d{1,3}/\d{0,3}\)?\s*$|via\b|source\b|from\b|more at\b|[—–-] ))", re.IGNORECASE
)
_MIN_SHARED_WORDS = 4
"""Words at the end of a draft that must be the source's to tell that its sentence goes on."""
_MIN_TITLE_WORDS = 4
"""Words of a title from which a second occurrence is a repetition."""
_MAX_CREDIT_WORDS = 3
"""Words of a source's name beside a title."""
_MIN_TITLE_SHARE = 0.85
"""Share of a quotation's words that are the title's, from which it repeats the title."""


def _entity(analyzed: AnalyzedText, _: CheckContext) -> Iterator[RuleMatch]:
    # Code may be about entities.
    for match in _ENTITY.finditer(_without_code(analyzed.masked)):
        yield RuleMatch(ERROR, f"HTML entity: {match[0]}", *match.span())


def _encoding(analyzed: AnalyzedText, _: CheckContext) -> Iterator[RuleMatch]:
    # Broken characters are never ASCII, and most drafts are: the cheap check first.
    if analyzed.text.isascii():
        return
    for match in _MOJIBAKE.finditer(analyzed.text):
        yield RuleMatch(ERROR, f"Broken characters: “{match[0]}”.", *match.span())


def _read_on(analyzed: AnalyzedText, _: CheckContext) -> Iterator[RuleMatch]:
    for match in _READ_ON.finditer(_without_code(analyzed.masked)):
        words = match[0].strip()
        start = match.start() + match[0].index(words)
        end = start + len(words)
        # "Read more https://..." is the draft's own.
        if not any(0 <= link - end <= 2 for link, _ in links.spans(analyzed.text)):
            yield RuleMatch(ERROR, f"“{words[:60]}” is the page's, not the story's.", start, end)


def _private_link(analyzed: AnalyzedText, _: CheckContext) -> Iterator[RuleMatch]:
    for start, end in links.spans(analyzed.text):
        host = links.host(analyzed.text[start:end])
        if _is_private(host):
            yield RuleMatch(ERROR, f"Readers cannot open {host}.", start, end)


def _is_private(host: str) -> bool:
    # As browsers read it: decoded, in lower case, full-width digits as plain ones, an ideographic full stop as a dot.
    name = unicodedata.normalize("NFKC", unquote(host)).lower().replace("。", ".").strip("[]").rstrip(".")
    is_local_name = name.endswith(_LOCAL_NAMES) or ("." not in name and ":" not in name)
    return is_local_name or is_local_host(name)


def _truncated(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    for start, part in analyzed.parts:
        first, line = _last_line(part)
        text = _CREDIT.sub("", line).rstrip()
        if not text or split_words(text) == split_words(context.title):
            continue
        if _BRACKETED.search(text) or _goes_on_in_source(text, context):
            yield RuleMatch(
                ERROR, "The text ends in the middle of a sentence.", start + first, start + first + len(text)
            )


def _last_line(part: str) -> tuple[int, str]:
    """Return the last line of a post that is no link, credit, counter or list of hashtags, with its offset."""
    end = len(part)
    while end > 0:
        start = part.rfind("\n", 0, end) + 1
        line = part[start:end]
        if split_words(line) and not links.spans(line) and not _TAIL_LINE.match(line):
            return start, line
        end = start - 1
    return 0, ""


def _goes_on_in_source(line: str, context: CheckContext) -> bool:
    """Return True if the last words are the source's, and its sentence goes on after them."""
    has_ellipsis = _ELLIPSIS.search(line)
    if not context.source or (_CLOSED.search(line) and not has_ellipsis):
        return False
    words = split_words(_ELLIPSIS.sub("", links.mask_links(line)).rstrip('"”’») '))[-_MIN_SHARED_WORDS - 4 :]
    if len(words) < _MIN_SHARED_WORDS:
        return False
    pattern = re.compile(r"\b" + r"[\W_]+".join(map(re.escape, words)) + r"(?P<rest>[^\n]{0,3})", re.IGNORECASE)
    # The source as it is: a line break ends what has no full stop. A link that was left out cuts no sentence.
    source = links.mask_links(context.source[:MAX_SOURCE_LENGTH]).replace("’", "'")
    remainders = [match["rest"] for match in pattern.finditer(source)]
    # A letter is a cut word; a space and a small letter, or a comma, a sentence that goes on.
    goes_on = r",? \w|\w|,|\.\.|…" if has_ellipsis else r",? [^\W_A-Z]|\w|,"
    return bool(remainders) and all(re.match(goes_on, rest) for rest in remainders)


def _title_twice(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    title = split_words(context.title)
    if len(title) < _MIN_TITLE_WORDS:
        return
    title_lines = [
        span for span in _lines(analyzed.masked) if _has_title(split_words(analyzed.masked[slice(*span)]), title)
    ]
    repeated = [(start, end) for start, end, text in analyzed.quotations if _is_title(split_words(text), title)]
    outside = [line for line in title_lines if not any(start < line[1] and line[0] < end for start, end in repeated)]
    if outside and repeated:
        yield RuleMatch(ERROR, "The quotation only repeats the title.", *repeated[0])
    elif len(outside) > 1:
        yield RuleMatch(ERROR, "The title is there twice.", *outside[1])


def _has_title(words: list[str], title: list[str]) -> bool:
    """Return True if a line is the title with little else: a sentence may name it too."""
    joined = f" {' '.join(title)} "
    return joined in f" {' '.join(words)} " and len(words) <= len(title) / _MIN_TITLE_SHARE + _MAX_CREDIT_WORDS


def _lines(text: str) -> Iterator[tuple[int, int]]:
    for match in re.finditer(r"[^\n]+", text):
        yield match.span()


def _is_title(words: list[str], title: list[str]) -> bool:
    shared = len(set(words) & set(title))
    return bool(words) and shared >= _MIN_TITLE_SHARE * max(len(set(words)), len(set(title)))


def _without_code(text: str) -> str:
    return _CODE.sub(lambda match: " " * len(match[0]), text) if "`" in text else text


RULES = (
    Rule("entity", _entity, always),
    Rule("encoding", _encoding, always),
    Rule("read-on", _read_on, always),
    Rule("private-link", _private_link, always),
    Rule("truncated", _truncated, always),
    Rule("title-twice", _title_twice, lambda context: has_source(context) and context.format is not Format.BLOG),
)
