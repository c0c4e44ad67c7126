"""Match the voice's avoid list: words and phrases that must not appear in a draft."""

import re
from functools import lru_cache

from copydesk.text import links


def find_avoided(text: str, avoid: tuple[str, ...]) -> str | None:
    """Return the first listed word or phrase in `text`, as written there, or None. Links are ignored."""
    pattern = avoid_pattern(avoid)
    match = pattern.search(links.mask_links(text)) if pattern else None
    return match[0] if match else None


@lru_cache(maxsize=64)
def avoid_pattern(avoid: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern for the listed words and phrases, or None for an empty list.

    It matches whole words, in any case, also with a simple ending (-s, -es, -ed, -ing).
    """
    phrases = sorted({" ".join(phrase.split()) for phrase in avoid if phrase.strip()}, key=len, reverse=True)
    if not phrases:
        return None
    # Longest first: alternatives are tried in order, and the longer phrase is the better message.
    return re.compile("|".join(map(_phrase_pattern, phrases)), re.IGNORECASE)


def _phrase_pattern(phrase: str) -> str:
    # Word boundaries only next to letters and digits: an entry may begin or end with a symbol, such as C++.
    before = r"(?<!\w)" if phrase[0].isalnum() else ""
    after = r"(?:s|es|d|ed|ing)?(?!\w)" if phrase[-1].isalnum() and phrase.isascii() else ""
    return before + re.escape(phrase).replace(r"\ ", r"\s+").replace("'", "['’]") + after
