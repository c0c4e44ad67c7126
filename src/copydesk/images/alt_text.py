"""Suggest alt text for an image from what its page says about it.

Descriptions are never invented: without a useful one the user is asked to write it.
"""

import re
from posixpath import basename
from urllib.parse import unquote, urlsplit

from copydesk.text import clean
from copydesk.text.html_tags import strip_tags

MAX_LENGTH = 1_000
"""Characters of a suggestion, the limit of X and others."""
_SPACE = re.compile(r"\s+")
_FILE_NAME = re.compile(r"[^\s/]{1,200}\.(?:jpe?g|png|gif|webp|avif|heic|svg|bmp|tiff?)", re.IGNORECASE)
_REDUNDANT_PREFIX = re.compile(r"(?:an? |the )?(?:image|picture|photo|photograph|screenshot) of (?=\S)", re.IGNORECASE)
_GENERIC_TERMS = frozenset((
    "alt", "cover", "default", "featured", "file", "graphic", "header", "hero", "illustration", "image", "img", "logo",
    "og", "photo", "photograph", "picture", "placeholder", "post", "preview", "screenshot", "social", "thumbnail",
    "untitled",
))  # fmt: skip
_LETTERS = re.compile(r"[^\W\d_]+")


def suggest_alt(url: str, page_alt: str | None, *, title: str = "") -> str | None:
    """Return the page's description of the image at `url`, or None if it has no useful one.

    File names, generic words such as "image", and a repetition of the article's `title` are not useful.
    """
    line = _normalize(page_alt or "")
    return line if line and not _is_useless(line, url, title) else None


def _normalize(text: str) -> str:
    """Return `text` on one line, without markup and control characters, truncated at a word."""
    # Cut before normalizing: pages may contain megabytes of text here.
    line = _SPACE.sub(" ", strip_tags(text[: 8 * MAX_LENGTH]))
    line = _SPACE.sub(" ", clean(line)).strip()
    if opener := _REDUNDANT_PREFIX.match(line):
        line = line[opener.end() :][:1].upper() + line[opener.end() + 1 :]
    return line if len(line) <= MAX_LENGTH else line[:MAX_LENGTH].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def _is_useless(line: str, url: str, title: str) -> bool:
    tokens = [token.lower() for token in _LETTERS.findall(line)]
    return (
        all(token in _GENERIC_TERMS for token in tokens)
        or _FILE_NAME.fullmatch(line) is not None
        or line.casefold() in {name.casefold() for name in _file_names(url)}
        or line.casefold() == _normalize(title).casefold()
    )


def _file_names(url: str) -> tuple[str, str]:
    """Return the file name in `url`, with and without its extension."""
    try:
        name = basename(unquote(urlsplit(url).path))
    except ValueError:
        return "", ""
    return name, name.rpartition(".")[0]
