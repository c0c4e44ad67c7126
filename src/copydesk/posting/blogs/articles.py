"""Convert a draft to an article: title, body and URL slug. Pure functions."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from copydesk.model.draft import Format
from copydesk.model.serialization import Struct
from copydesk.posting.idempotency_keys import short_key
from copydesk.posting.platform import Post, Problem

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_DERIVED_TITLE = 60
"""Characters of a title taken from the first words of the text."""
MAX_SLUG_LENGTH = 60
"""Characters of the words in a slug, without the key."""
MAX_WORD_LENGTH, MAX_BRACKETS = 2_000, 1_000
_WORD = re.compile(r"[a-z0-9]+")
_LETTERS = re.compile(r"\w+")


class Article(Struct, frozen=True):
    """A draft in the form that blogs take."""

    title: str
    text: str
    """Markdown, without the heading that became the title."""
    slug: str
    """The end of its URL, unique to this delivery."""


def article_from_post(post: Post, seed: str) -> Article:
    """Return `post` as an article. The title is the draft's title, else its first `# heading`, else its first words."""
    title, text = _split_title(post)
    return Article(title=title, text=text, slug=make_slug(title, seed))


def make_slug(title: str, seed: str) -> str:
    """Return the words of `title` in ASCII followed by a key derived from `seed`, which makes equal titles distinct."""
    # Decomposed first: an accented letter then leaves its plain one behind.
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    stem = "-".join(_WORD.findall(ascii_title.replace("'", "")))
    if len(stem) > MAX_SLUG_LENGTH:
        # One character more, so that a word that just fits is not cut off.
        stem = stem[: MAX_SLUG_LENGTH + 1].rpartition("-")[0] or stem[:MAX_SLUG_LENGTH]
    return f"{stem or 'post'}-{short_key(seed)}"


def render_markdown(text: str) -> str:
    """Render Markdown as HTML.

    HTML in `text` is escaped, and links with unsafe schemes (`javascript:`) are not rendered.
    """
    rendered: str = _markdown().render(text)
    return rendered.strip()


def figure_html(url: str, alt: str) -> str:
    """Return the HTML of an image below the article's text."""
    return f'<figure><img src="{escape(url)}" alt="{escape(alt)}"></figure>'


def validate_article(post: Post, *, max_title_length: int | None = None) -> Sequence[Problem]:
    """Return the reasons why `post` would make no article."""
    if post.format is not Format.BLOG:
        return [Problem(message="Blogs accept only drafts of the format BLOG.")]
    if message := _parsing_problem(post):
        return [Problem(message=message)]
    title, text = _split_title(post)
    if not text:
        return [Problem(message="The text after the title is missing.")]
    if max_title_length is not None and len(title) > max_title_length:
        return [Problem(message=f"The title has {len(title)} characters; the limit is {max_title_length}.")]
    return []


def is_same_title(title: str, other: str) -> bool:
    """Return True if two titles consist of the same words. Platforms drop some special characters from titles."""
    return _LETTERS.findall(title.casefold()) == _LETTERS.findall(other.casefold())


def _parsing_problem(post: Post) -> str:
    """Return why parsing the Markdown could take minutes; empty if it could not.

    The parser backtracks to every unclosed bracket and to every `://` in a word. The limits are far above real texts.
    """
    if any(len(word) > MAX_WORD_LENGTH for part in post.parts for word in part.split()):
        return f"It has a word of more than {MAX_WORD_LENGTH:,} characters."
    if sum(part.count("[") for part in post.parts) > MAX_BRACKETS:
        return f"It has more than {MAX_BRACKETS:,} opening brackets."
    return ""


def _split_title(post: Post) -> tuple[str, str]:
    """Return the title of `post` and the text without it."""
    # Lines are numbered by the parser, and it counts every kind of line break as one.
    text = "\n\n".join(post.parts).replace("\r\n", "\n").replace("\r", "\n").strip()
    own_title = " ".join(post.title.split())
    tokens = _markdown().parse(text)
    heading_lines = _find_heading(tokens)
    if heading_lines is None:
        return own_title or _first_line(tokens), text
    heading, start, end = heading_lines
    # A different heading is part of the text; only one that repeats the title is removed.
    if own_title and not is_same_title(own_title, heading):
        return own_title, text
    lines = text.split("\n")
    return own_title or heading, "\n".join(lines[:start] + lines[end:]).strip()


def _find_heading(tokens: Sequence["Token"]) -> tuple[str, int, int] | None:
    """Return the first non-empty `# heading`: its text, its first line and the line after it; None if there is none."""
    for token, inner in pairwise(tokens):
        if token.type == "heading_open" and token.markup == "#" and token.level == 0 and token.map:
            text = _plain_text(inner)
            if text:
                return text, token.map[0], token.map[1]
    return None


def _first_line(tokens: Sequence["Token"]) -> str:
    """Return the first non-empty line, cut between words if it is long."""
    line = next((text for token in tokens if token.type == "inline" and (text := _plain_text(token))), "")
    if len(line) <= MAX_DERIVED_TITLE:
        return line
    cut = line[:MAX_DERIVED_TITLE].rpartition(" ")[0] or line[: MAX_DERIVED_TITLE - 1]
    return f"{cut.rstrip(',;:.–— ')}…"


def _plain_text(inline: "Token") -> str:
    """Return the visible text of a line, without markup."""
    visible = (" " if part.type.endswith("break") else part.content for part in inline.children or ())
    return " ".join("".join(visible).split())


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - takes 40 ms, needed for articles only

    # HTML in a source's text must not reach the blog.
    markdown = MarkdownIt("js-default", {"html": False, "linkify": True})
    assert markdown.linkify is not None
    # Link only text with a scheme: otherwise `setup.py` would become a link to a host in Paraguay.
    markdown.linkify.set({"fuzzy_link": False, "fuzzy_email": False})
    return markdown
