"""Store the parts of a thread as one text."""

import re

SEPARATOR = "\n\n---\n\n"
"""Separates the parts of a THREAD in its draft's text: a line of three hyphens."""

SEPARATOR_LINE = re.compile(r"(?:^|\n)[^\S\n]*---[^\S\n]*(?=\n|\Z)")
"""A separator line, however the user spaced it."""


def join_parts(parts: list[str]) -> str:
    """Return the parts of a thread as one text, separated by lines of `---` with blank lines around them."""
    return SEPARATOR.join(part.strip() for part in parts)


def split_parts(text: str) -> list[str]:
    """Return the parts of a THREAD draft's text, in order: the text between lines of `---`, without empty parts."""
    return [part for piece in SEPARATOR_LINE.split(text) if (part := piece.strip())]
