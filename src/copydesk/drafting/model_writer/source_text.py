"""Make text from outside safe to quote in a prompt.

What a reader of the page would not see is removed, the rest is fenced by a delimiter that nobody can guess.
"""

import re
import secrets

from copydesk.text import clean_lines

MAX_SOURCE_LENGTH = 24_000
"""Characters of the source in a prompt: some 6,000 tokens."""
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_MAX_TAG_LENGTH = 2_000
"""Characters of a tag that may hide its element."""
_HIDING = re.compile(
    r"\shidden\b|aria-hidden\s*=\s*[\"']?true"
    r"|display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?![.\d])|font-size\s*:\s*0(?![.\d])",
    re.IGNORECASE,
)
"""Attributes that hide an element."""
_HIDING_MARK = "\0"
"""Stands before each tag with such an attribute while text is cleaned."""
_UNSEEN = re.compile(
    rf"<(script|style|template|noscript|title|head)\b[^>]{{0,{_MAX_TAG_LENGTH}}}+>.*?(?:</\1\s*>|\Z)"
    # Up to the first end tag of the element's name.
    rf"|{_HIDING_MARK}<(\w{{1,20}})\b[^>]*+>.*?(?:</\2\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
# Variation selectors can carry any bytes behind a single visible character.
_HIDDEN_BYTES = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}")
_BLANK_LINES = re.compile(r"\n\s*\n\s*\n+")


def clean_source(text: str) -> str:
    """Return the part of `text` that a reader sees: no comments, hidden elements or invisible characters."""
    if "<" in text:
        text = _COMMENT.sub(" ", text.replace(_HIDING_MARK, ""))
        text = _UNSEEN.sub(" ", re.sub("[^>]+", _mark_hiding_tags, text))
    text = _HIDDEN_BYTES.sub("", clean_lines(text))
    return _BLANK_LINES.sub("\n\n", text).strip()


def _mark_hiding_tags(match: re.Match[str]) -> str:
    """Return the text between two `>` with a mark before each `<` that a hiding attribute follows.

    From the end: looking for the attribute from each `<` would take seconds for a row of `<x`.
    """
    text, start = match[0], max(0, match.end() - match.start() - _MAX_TAG_LENGTH)
    end = max((found.start() for found in _HIDING.finditer(text, start)), default=start)
    return text[:start] + text[start:end].replace("<", f"{_HIDING_MARK}<") + text[end:]


def shorten(text: str, max_length: int = MAX_SOURCE_LENGTH) -> str:
    """Return the beginning of `text`, cut at a paragraph or a space if there is one in its last fifth."""
    if len(text) <= max_length:
        return text
    head = text[:max_length]
    for separator in ("\n\n", "\n", " "):
        end = head.rfind(separator, max_length * 4 // 5)
        if end > 0:
            return head[:end].rstrip()
    return head


def new_delimiter() -> str:
    """Return a random delimiter, new for each request."""
    return f"Q{secrets.token_hex(8)}"


def fence(label: str, text: str, delimiter: str) -> str:
    """Return `text` between two lines with the delimiter."""
    return f"<<<{delimiter} {label}\n{text.replace(delimiter, '')}\n{delimiter} {label}>>>"
