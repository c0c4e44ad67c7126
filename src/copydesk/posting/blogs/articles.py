"""Convert a draft to an article: title, body and URL slug; and publish it in two steps.

The first step creates a hidden draft with a unique slug, the second publishes it by id. Before the draft is created it
is looked up, and publishing by id is idempotent, so repeated requests cannot make a second visible article.
"""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from copydesk.model.draft import Format
from copydesk.model.platform import PlatformInfo
from copydesk.model.serialization import Struct
from copydesk.posting.client import PlatformClient
from copydesk.posting.platform import (
    Account,
    CredentialStore,
    DeliveryGuarantees,
    DeliveryStep,
    Intent,
    Post,
    PostImage,
    Problem,
    StepResult,
    short_key,
)
from copydesk.posting.site import Site

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


MAX_DERIVED_TITLE = 60
"""Characters of a title taken from the first words of the text."""
MAX_SLUG_LENGTH = 60
"""Characters of the words in a slug, without the key."""
MAX_WORD_LENGTH, MAX_BRACKETS, MAX_ADDRESSES = 2_000, 1_000, 1_000
_WORD = re.compile(r"[a-z0-9]+")
_LETTERS = re.compile(r"\w+")

PUBLISH_BODY: dict[str, object] = {"publish": True}
"""Body of the second step. The draft's id is added when it is sent."""


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

    The parser backtracks to every unclosed bracket, to every `://` in a word, and from every `://` that begins no
    address over the whole text before it. The limits are far above real texts.
    """
    if any(len(word) > MAX_WORD_LENGTH for part in post.parts for word in part.split()):
        return f"It has a word of more than {MAX_WORD_LENGTH:,} characters."
    if sum(part.count("[") for part in post.parts) > MAX_BRACKETS:
        return f"It has more than {MAX_BRACKETS:,} opening brackets."
    if sum(part.count("://") for part in post.parts) > MAX_ADDRESSES:
        return f"It has more than {MAX_ADDRESSES:,} web addresses."
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


class DraftThenPublish(ABC):
    """Base class of blog platforms that create a draft before they publish it."""

    info: ClassVar[PlatformInfo]

    def __init__(
        self, client: PlatformClient, credential_store: CredentialStore, *, clock: Callable[[], datetime]
    ) -> None:
        self._client = client
        self._credential_store = credential_store
        self._clock = clock

    def guarantees(self, account: Account) -> DeliveryGuarantees:
        """Return guarantees without keys: slugs are not unique, so drafts are looked up.

        A duplicate draft would stay hidden, and publishing by id can be repeated.
        """
        return DeliveryGuarantees(publishes_by_id=True)

    def validate(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return the reasons why the post would make no article here."""
        return validate_article(post, max_title_length=self.info.limits.max_title_length)

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return two steps, the draft and its publication, both with the slug as their key."""
        article = article_from_post(post, seed)
        # The slug is the key of both steps, but the second one is looked up by the draft's id.
        draft = DeliveryStep(keys=(article.slug,), body=self.draft_body(post, article), hidden=True)
        return Intent(steps=(draft, DeliveryStep(keys=(article.slug,), body=PUBLISH_BODY)), at=post.at)

    async def send(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], images: Sequence[PostImage] = ()
    ) -> StepResult:
        """Find or create the draft, or publish it in the second step."""
        secrets = await self._credential_store.read(account)
        site = self.create_site(account.server, secrets)
        if completed:
            return await self.publish(site, completed[0].ids[0])
        # An earlier attempt may have created the draft although its response was lost.
        draft = intent.steps[0]
        return await self.find_draft(site, draft, intent.at) or await self.create_draft(site, draft, images, secrets)

    async def find_post(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], since: datetime
    ) -> StepResult | None:
        """Return the draft by its slug, or the published article by its id."""
        site = await self._open_site(account)
        if completed:
            return await self.find_published(site, completed[0].ids[0], since)
        return await self.find_draft(site, intent.steps[0], since)

    async def _open_site(self, account: Account) -> Site:
        return self.create_site(account.server, await self._credential_store.read(account))

    @abstractmethod
    def draft_body(self, post: Post, article: Article) -> dict[str, object]:
        """Return the request body of the draft."""

    @abstractmethod
    def create_site(self, server: str, credentials: Mapping[str, str]) -> Site:
        """Return the server's API with these credentials. Raise `LoginError` if they are malformed."""

    @abstractmethod
    async def find_draft(self, site: Site, draft: DeliveryStep, since: datetime) -> StepResult | None:
        """Return the draft, or the article published from it since then; None if there is none.

        Raise `LoginError` or `NotSentError`.
        """

    @abstractmethod
    async def create_draft(
        self, site: Site, draft: DeliveryStep, images: Sequence[PostImage], credentials: Mapping[str, str]
    ) -> StepResult:
        """Create the draft. Raise any of the four posting errors."""

    @abstractmethod
    async def publish(self, site: Site, post_id: str) -> StepResult:
        """Make the draft visible. Raise any of the four posting errors."""

    @abstractmethod
    async def find_published(self, site: Site, post_id: str, since: datetime) -> StepResult | None:
        """Return the article if it is visible, else None. Raise `LoginError` or `NotSentError`."""
