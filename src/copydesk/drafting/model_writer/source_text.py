"""Make text from outside safe to quote in a prompt.

What a reader of the page would not see is removed, the rest is fenced by a delimiter that nobody can guess.
"""

import re
import secrets

from copydesk.text import clean_lines

MAX_SOURCE_LENGTH = 24_000
"""Characters of the source in a prompt: some 6,000 tokens."""
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_UNSEEN = re.compile(
    r"<(script|style|template|noscript|title|head)\b[^>]{0,2000}>.*?(?:</\1\s*>|\Z)"
    # Elements with an attribute that hides them, up to the first end tag of their name.
    r"|<(\w{1,20})\b(?=[^>]{0,2000}?(?:\shidden\b|aria-hidden\s*=\s*[\"']?true"
    r"|display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?![.\d])|font-size\s*:\s*0(?![.\d])))"
    r"[^>]{0,2000}>.*?(?:</\2\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
# Variation selectors can carry any bytes behind a single visible character.
_HIDDEN_BYTES = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}")
_BLANK_LINES = re.compile(r"\n\s*\n\s*\n+")


def clean_source(text: str) -> str:
    """Return the part of `text` that a reader sees: no comments, hidden elements or invisible characters."""
    if "<" in text:
        text = _UNSEEN.sub(" ", _COMMENT.sub(" ", text))
    text = _HIDDEN_BYTES.sub("", clean_lines(text))
    return _BLANK_LINES.sub("\n\n", text).strip()


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
