"""The languages in which negation, opposites and roles are compared."""

import re
from collections.abc import Mapping

from copydesk.drafting.claims.english import ENGLISH
from copydesk.drafting.claims.french import FRENCH
from copydesk.drafting.claims.german import GERMAN
from copydesk.drafting.claims.language import Language
from copydesk.drafting.claims.spanish import SPANISH
from copydesk.text.folding import fold

UNKNOWN = Language(code="")
"""A language without word lists: only numbers, names and quotations are compared in it."""
LANGUAGES: Mapping[str, Language] = {language.code: language for language in (ENGLISH, GERMAN, FRENCH, SPANISH)}
_LETTERS = re.compile(r"[^\W\d_]+")
_MIN_SHARE = 0.12
"""Function words of a language in a text of it, at least, as a share of all words."""


def detect_language(text: str) -> str:
    """Return the code of the covered language of `text`, by its function words; "" if it is none of them."""
    words = _LETTERS.findall(fold(text[:2000]))
    counts = {code: sum(word in language.function_words for word in words) for code, language in LANGUAGES.items()}
    code = max(counts, key=lambda code: counts[code])
    return code if words and counts[code] >= _MIN_SHARE * len(words) else ""
