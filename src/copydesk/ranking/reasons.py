"""Rules suggested by the reason of a rejection: the words of the item, or of the draft, that it mentions."""

import re

from copydesk.model.rule import RuleKind
from copydesk.ranking.filters import Phrases
from copydesk.ranking.tokens import STOP_WORDS, content_words
from copydesk.text.folding import fold

MAX_SUGGESTIONS = 3
_QUOTED = re.compile(r"[“\"„«']([^“”\"„«»']{2,60})[”\"»']")
_SAYS_WORDING = re.compile(r"\b(?:say|says|write|word|words|phrase|wording|call|calling|term)\b", re.IGNORECASE)
_AFTER_NO = re.compile(
    r"\b(?:no more|not another|enough of|stop|never|without|avoid|don't (?:say|use|write)|no|not)\s+"
    r"([^\W\d_][\w-]*(?:\s+[^\W\d_][\w-]*)?)",
    re.IGNORECASE,
)


def suggest_terms(reason: str, item_text: str, draft_text: str) -> tuple[tuple[RuleKind, str], ...]:
    """Return rules that the reason may mean, likeliest first; nothing if it names no word of item or draft.

    A word of the item becomes a filter. If the reason speaks of wording, or the word is the draft's alone, it becomes
    one to avoid.
    """
    folded_item, folded_draft = fold(item_text), fold(draft_text)
    candidates = [*_QUOTED.findall(reason), *_phrases_after_no(reason), *content_words(reason)]
    is_wording = _SAYS_WORDING.search(reason) is not None
    found: dict[str, tuple[RuleKind, str]] = {}
    for candidate in candidates:
        term = candidate.strip(" .,;:!?")
        phrases = Phrases((term,))
        in_item, in_draft = bool(phrases.find(folded_item)), bool(phrases.find(folded_draft))
        is_repeated = any(fold(term) in fold(earlier) for earlier in found)
        if not term or fold(term) in STOP_WORDS or is_repeated or not (in_item or in_draft):
            continue
        kind = RuleKind.AVOID if in_draft and (is_wording or not in_item) else RuleKind.EXCLUDE
        found[term] = (kind, term)
    return tuple(found.values())[:MAX_SUGGESTIONS]


def _phrases_after_no(reason: str) -> list[str]:
    """Return what follows a word such as "no": two words, then the first of them."""
    phrases = _AFTER_NO.findall(reason)
    return [*phrases, *(phrase.split()[0] for phrase in phrases)]
