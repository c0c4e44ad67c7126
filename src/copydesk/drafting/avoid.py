"""The words that the user never wants to see in a draft."""

import re
from functools import lru_cache

from copydesk.text import links


def first_avoided(text: str, avoid: tuple[str, ...]) -> str | None:
    """The first word or phrase of `text` that is on the list, as it stands there; None where there is none."""
    pattern = pattern_of(avoid)
    match = pattern.search(links.masked(text)) if pattern else None
    return match[0] if match else None


@lru_cache(maxsize=64)
def pattern_of(avoid: tuple[str, ...]) -> re.Pattern[str] | None:
    """Finds the words and phrases of the list: whole words, any case, with simple endings (-s, -es, -ed, -ing)."""
    wanted = sorted({" ".join(phrase.split()) for phrase in avoid if phrase.strip()}, key=len, reverse=True)
    if not wanted:
        return None
    return re.compile("|".join(map(_one, wanted)), re.IGNORECASE)


def _one(phrase: str) -> str:
    before = r"(?<!\w)" if phrase[0].isalnum() else ""
    after = r"(?:s|es|d|ed|ing)?(?!\w)" if phrase[-1].isalnum() and phrase.isascii() else ""
    return before + re.escape(phrase).replace(r"\ ", r"\s+").replace("'", "['’]") + after
