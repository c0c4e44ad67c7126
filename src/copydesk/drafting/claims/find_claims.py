"""The claims of a draft: each factual sentence beside the words of the source that it rests on, with a verdict.

A sentence is "supported" only if all of it is found in one sentence of the source, and nothing there says otherwise. It
"contradicts" if a sentence about the same differs in a number, a name, a date, the direction, a negation or the
speaker. Everything else cannot be told: two texts may say the same in other words.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from copydesk.drafting.claims.judge import judge
from copydesk.drafting.claims.language import Language
from copydesk.drafting.claims.languages import UNKNOWN, detect_language
from copydesk.drafting.claims.source_index import Material, Sentence, SourceIndex, index_source
from copydesk.drafting.claims.statement import QUOTED, parse_statement
from copydesk.drafting.claims.verdict import Case, Verdict
from copydesk.model.draft import Claim, ClaimSource
from copydesk.text.folding import fold
from copydesk.text.sentences import spans

MAX_SENTENCES = 200
"""Sentences of a draft that are judged."""
MAX_SENTENCE_LENGTH = 700
"""Characters of a sentence that is judged; no longer one is written by people."""
MAX_SOURCE_LENGTH = 1000
"""Characters of the source that are stored with a claim."""
_MIN_DETECTED_WORDS = 6
"""Words from which the language of a sentence can be told."""
_QUESTION = re.compile(r"[?？]\s*[\"”’»)]*\s*$")
_CREDIT_WORDS = re.compile(r"\b(?:and|by|from|reported|source|via)\b", re.IGNORECASE)
_ROUNDUP_TITLE = re.compile(r"[# ] \S.*: (?:three|four|five|six|seven) links(?: from .+)?")
"""The title of a round-up, which counts its own entries and names their days; its mark may be a space already."""
_CREDIT_HEAD, _CREDIT_TAIL = re.compile(r"[^:：]+[:：]\s*"), re.compile(r"\s(?:— [^—]++|\([^()]++\)\s*+)$")
"""The beginning and the end of a line that may credit somebody for it."""
_CREDIT_MARKS = " —(),:："
_WORD = re.compile(r"[^\W_]+")
_BACKSLASHES_OR_CHARACTER = re.compile(r"\\+|.", re.DOTALL)


# Cached, because two rules and the draft itself ask for the same claims.
@lru_cache(maxsize=64)
def find_claims(
    text: str, materials: tuple[Material, ...], names: tuple[str, ...] = (), days: tuple[str, ...] = ()
) -> tuple[Claim, ...]:
    """Return the claims of `text`, in order.

    `text` has spaces in the place of links, hashtags and other text that states nothing. `names` are those of the
    source itself and `days` those on which it was published, which a draft may credit.
    """
    if not materials:
        return ()
    claims = []
    # Credits are ours, not the source's: "via The Verge" would be a sentence that the source does not contain.
    text = _blank_credits(text, names, days)
    previous = ""
    # Each sentence is compared with all of the source's, so the work grows with the product of both.
    for start, end in list(_claim_spans(text))[:MAX_SENTENCES]:
        verdict = _judge_sentence(text[start:end], previous, materials, names)
        previous = text[start:end]
        if verdict is not None:
            source = _claim_source(verdict.evidence)
            claims.append(Claim(start=start, end=end, verdict=verdict.verdict, reason=verdict.reason, source=source))
    return tuple(claims)


def _blank_credits(text: str, names: tuple[str, ...], days: tuple[str, ...]) -> str:
    """Return `text` with spaces for credits, and for the title of a round-up.

    Credits are lines such as "Salt & Marl, by Bea, 17 February 2026:", and parts such as "Salt & Marl:" and "— Bea".
    """
    credited = _credits_pattern(names, days)
    # By lines and not by sentences: names have full stops and exclamation marks, too.
    return "\n".join(_blank_credit(line, credited) for line in text.split("\n"))


def _blank_credit(line: str, credited: re.Pattern[str] | None) -> str:
    if _ROUNDUP_TITLE.fullmatch(line):
        return " " * len(line)
    if credited is None:
        return line
    if _is_credit(line, credited):
        return " " * len(line)
    for part in filter(None, (_CREDIT_HEAD.match(line), _CREDIT_TAIL.search(line))):
        # What is left of such a part could belong to the statement.
        if not credited.sub("", part[0]).strip(_CREDIT_MARKS):
            line = line[: part.start()] + " " * len(part[0]) + line[part.end() :]
    return line


def _is_credit(line: str, credited: re.Pattern[str]) -> bool:
    rest, count = credited.subn(" ", line)
    return count > 0 and not _WORD.search(_CREDIT_WORDS.sub(" ", rest))


@lru_cache(maxsize=32)
def _credits_pattern(names: tuple[str, ...], days: tuple[str, ...]) -> re.Pattern[str] | None:
    # The longest first: "Salt" would leave "& Marl".
    credited = sorted({*names, *days}, key=len, reverse=True)
    joined = "|".join(_credit_pattern(name) for name in credited if _WORD.search(name))
    return re.compile(rf"(?<!\w)(?:{joined})(?!\w)", re.IGNORECASE) if joined else None


def _credit_pattern(name: str) -> str:
    """Return a pattern for a name, also as Markdown has it: with a backslash before each mark."""
    # Possessive: a row of backslashes could be divided in exponentially many ways.
    return "".join(
        rf"\\{{{len(piece)},{2 * len(piece)}}}+" if piece[0] == "\\" else rf"\\?+{re.escape(piece)}"
        for piece in _BACKSLASHES_OR_CHARACTER.findall(name)
    )


def _claim_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the sentences of `text`; a quotation of several sentences is part of the one that it stands in."""
    quoted = iter([match.span() for match in QUOTED.finditer(text)])
    opening, closing = next(quoted, (len(text), len(text)))
    first: int | None = None
    for start, end in spans(text):
        first = start if first is None else first
        while closing <= end and closing < len(text):
            opening, closing = next(quoted, (len(text), len(text)))
        if not opening < end < closing:
            yield first, end
            first = None
    if first is not None:
        yield first, len(text.rstrip())


def _claim_source(evidence: Sequence[Sentence]) -> ClaimSource | None:
    if not evidence:
        return None
    first, last = evidence[0], evidence[-1]
    material = first.material
    end = last.end if last.material is material and last.end > first.start else first.end
    end = min(end, first.start + MAX_SOURCE_LENGTH)
    return ClaimSource(
        text=material.text[first.start : end],
        field=material.field,
        start=first.start,
        end=end,
        item_id=material.item_id,
    )


# Typing changes one sentence at a time: the verdicts on all others are remembered.
@lru_cache(maxsize=1024)
def _judge_sentence(
    sentence: str, previous: str, materials: tuple[Material, ...], names: tuple[str, ...]
) -> Verdict | None:
    """Return the verdict on one sentence; None if it states nothing."""
    index = index_source(materials)
    if len(sentence) > MAX_SENTENCE_LENGTH:
        return None
    language = _language(sentence, index)
    ours = parse_statement(sentence, language)
    if _QUESTION.search(sentence) or not (ours.content or ours.quotations):
        return None
    credited = frozenset(word for name in names for word in _WORD.findall(fold(name)))
    return judge(
        Case(
            ours,
            parse_statement(previous, language) if 0 < len(previous) <= MAX_SENTENCE_LENGTH else None,
            index,
            credited,
        )
    )


def _language(sentence: str, index: SourceIndex) -> Language:
    """Return the language to compare in: the source's, unless the sentence is in another one."""
    detected = detect_language(sentence) if len(sentence.split()) >= _MIN_DETECTED_WORDS else ""
    return UNKNOWN if detected and index.language_code and detected != index.language_code else index.language
