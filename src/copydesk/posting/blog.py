"""A draft as an article: its title, its text without it, and the words that its address is made of. Pure."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from copydesk.model.draft import Format
from copydesk.model.wire import Struct
from copydesk.posting.keys import short_key
from copydesk.posting.platform import Post, Problem

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST_FOUND_TITLE = 60
"""Characters of a title that is made of a text's first words."""
LONGEST_SLUG = 60
"""Characters of the words in an address, before the key."""
LONGEST_WORD, MOST_BRACKETS = 2_000, 1_000
_WORD = re.compile(r"[a-z0-9]+")
_LETTERS = re.compile(r"\w+")


class Article(Struct, frozen=True):
    """What a blog is given of a draft."""

    title: str
    text: str
    """Markdown, without the heading that the title was taken from."""
    slug: str
    """The end of its address: no other draft has it."""


def article(post: Post, seed: str) -> Article:
    """`post` as an article: titled by its title, else its first `# heading`, else its first words."""
    title, text = _titled(post)
    return Article(title=title, text=text, slug=slug(title, seed))


def slug(title: str, seed: str) -> str:
    """The words of `title` in plain letters, and the key that follows from `seed`: it tells two titles apart."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = "-".join(_WORD.findall(plain.replace("'", "")))
    if len(words) > LONGEST_SLUG:
        words = words[: LONGEST_SLUG + 1].rpartition("-")[0] or words[:LONGEST_SLUG]
    return f"{words or 'post'}-{short_key(seed)}"


def html(text: str) -> str:
    """The Markdown `text` as HTML; HTML in it is shown as text, and links that run code are none."""
    rendered: str = _markdown().render(text)
    return rendered.strip()


def figure(url: str, alt: str) -> str:
    """A picture below the text of an article, as HTML."""
    return f'<figure><img src="{escape(url)}" alt="{escape(alt)}"></figure>'


def problems(post: Post, *, longest_title: int | None = None) -> Sequence[Problem]:
    """Why `post` would make no article."""
    if post.format is not Format.BLOG:
        return [Problem(message="A blog takes only drafts of the format BLOG.")]
    if says := _too_heavy(post):
        return [Problem(message=says)]
    title, text = _titled(post)
    if not text:
        return [Problem(message="There is no text besides the title.")]
    if longest_title is not None and len(title) > longest_title:
        return [Problem(message=f"The title has {len(title)} characters; at most {longest_title} are taken.")]
    return []


def alike(one: str, other: str) -> bool:
    """Whether two titles have the same words: platforms drop characters that they do not like."""
    return _LETTERS.findall(one.casefold()) == _LETTERS.findall(other.casefold())


def _too_heavy(post: Post) -> str:
    """Why the text would keep whoever reads its Markdown for minutes; empty where it would not.

    The reader goes back to each bracket that is not closed, and to each `://` of a word. Nobody writes so many.
    """
    if any(len(word) > LONGEST_WORD for part in post.parts for word in part.split()):
        return f"It has a word of more than {LONGEST_WORD:,} characters."
    if sum(part.count("[") for part in post.parts) > MOST_BRACKETS:
        return f"It has more than {MOST_BRACKETS:,} opening brackets."
    return ""


def _titled(post: Post) -> tuple[str, str]:
    """The title of `post`, and the text without it."""
    whole = "\n\n".join(post.parts).replace("\r\n", "\n").replace("\r", "\n").strip()
    given = " ".join(post.title.split())
    tokens = _markdown().parse(whole)
    found = _heading(tokens)
    if found is None:
        return given or _first_words(tokens), whole
    heading, start, end = found
    if given and not alike(given, heading):
        return given, whole
    lines = whole.split("\n")
    return given or heading, "\n".join(lines[:start] + lines[end:]).strip()


def _heading(tokens: Sequence["Token"]) -> tuple[str, int, int] | None:
    """The first `# heading` that says something: its words, its first line and the one after it."""
    for token, inner in pairwise(tokens):
        if token.type == "heading_open" and token.markup == "#" and token.level == 0 and token.map:
            words = _words(inner)
            if words:
                return words, token.map[0], token.map[1]
    return None


def _first_words(tokens: Sequence["Token"]) -> str:
    """The first line that says something, cut between two words where it is long."""
    line = next((words for token in tokens if token.type == "inline" and (words := _words(token))), "")
    if len(line) <= LONGEST_FOUND_TITLE:
        return line
    cut = line[:LONGEST_FOUND_TITLE].rpartition(" ")[0] or line[: LONGEST_FOUND_TITLE - 1]
    return f"{cut.rstrip(',;:.–— ')}…"


def _words(inline: "Token") -> str:
    """What a reader sees of a line, without its markup."""
    kept = (" " if part.type.endswith("break") else part.content for part in inline.children or ())
    return " ".join("".join(kept).split())


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 40 ms, which nobody who posts no article should wait

    markdown = MarkdownIt("js-default", {"html": False, "linkify": True})
    assert markdown.linkify is not None
    # Only what has a scheme: `setup.py` is no address in Paraguay.
    markdown.linkify.set({"fuzzy_link": False, "fuzzy_email": False})
    return markdown
