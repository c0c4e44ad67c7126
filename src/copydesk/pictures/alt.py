"""Suggests a description of a picture for people who cannot see it: what somebody wrote about it, or nothing. Pure.

A description that nobody wrote is not made up here: where there is none, it is the user who is asked for one.
"""

import re
from posixpath import basename
from urllib.parse import unquote, urlsplit

from copydesk.text import clean

LONGEST = 1_000
"""Characters of a suggestion, as X and others take them."""
_SPACE = re.compile(r"\s+")
_MARKUP = re.compile(r"<[^<>]{0,500}>")
_FILE = re.compile(r"[^\s/]{1,200}\.(?:jpe?g|png|gif|webp|avif|heic|svg|bmp|tiff?)", re.IGNORECASE)
_OPENER = re.compile(r"(?:an? |the )?(?:image|picture|photo|photograph|screenshot) of (?=\S)", re.IGNORECASE)
_SAYS_NOTHING = frozenset(
    (
        *("alt", "cover", "default", "featured", "file", "graphic", "header", "hero", "illustration", "image", "img"),
        *("logo", "og", "photo", "photograph", "picture", "placeholder", "post", "preview", "screenshot", "social"),
        *("thumbnail", "untitled"),
    )
)
_WORDS = re.compile(r"[^\W\d_]+")


def suggest_alt(url: str, page_alt: str | None, *, title: str = "") -> str | None:
    """The description that the page gives of the picture at `url`; None without one that tells.

    The name of a file tells nothing, nor does "image", nor the article's `title` once more.
    """
    line = _line(page_alt or "")
    return line if line and not _is_empty(line, url, title) else None


def _line(text: str) -> str:
    """`text` on one line, without markup and control characters, cut at a word where it is long."""
    line = _SPACE.sub(" ", clean(_MARKUP.sub(" ", text[: 8 * LONGEST]))).strip()
    if opener := _OPENER.match(line):
        line = line[opener.end() :][:1].upper() + line[opener.end() + 1 :]
    return line if len(line) <= LONGEST else line[:LONGEST].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def _is_empty(line: str, url: str, title: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(line)]
    return (
        all(word in _SAYS_NOTHING for word in words)
        or _FILE.fullmatch(line) is not None
        or line.casefold() in {name.casefold() for name in _names(url)}
        or line.casefold() == _line(title).casefold()
    )


def _names(url: str) -> tuple[str, str]:
    """The file's name in `url`, with and without its ending."""
    try:
        name = basename(unquote(urlsplit(url).path))
    except ValueError:
        return "", ""
    return name, name.rpartition(".")[0]
