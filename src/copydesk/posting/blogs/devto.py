"""dev.to and other Forem sites over their API (developers.forem.com/api), with an API key.

Articles have no key of ours. They are found by title and text; Forem rejects a second article of the same author with
the same ones. The author's list has drafts first and then published articles, newest first.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, ClassVar

import msgspec

from copydesk.model.platform import PlatformInfo
from copydesk.posting.blogs.articles import Article, DraftThenPublish, is_same_title
from copydesk.posting.client import shorten
from copydesk.posting.platform import (
    CLOCK_ERROR,
    Account,
    ConnectResult,
    DeliveryStep,
    Evidence,
    NotSentError,
    Post,
    PostImage,
    PostMetrics,
    RefusedPostError,
    StepResult,
    UnknownOutcomeError,
    reported_metrics,
    require_credential,
)
from copydesk.posting.registry import DISCLOSURE_LEVELS, PLATFORMS
from copydesk.posting.site import Site, link_urls, parse_server_url

MAX_TAGS, MAX_TAG_LENGTH = 4, 30
PAGE_SIZE, MAX_PAGES = 30, 100
"""Articles per page, each with its full text, and the number of pages read at most."""
_NOT_IN_TAGS = re.compile(r"[\W_]+")
_FRONT_MATTER = re.compile(r"-{3,}[^\S\n]*(?=\n|$)")

_Id = Annotated[int, msgspec.Meta(gt=0)]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]


class _Article(msgspec.Struct, frozen=True):
    id: _Id
    title: str = ""
    body_markdown: str | None = ""
    published: bool = False
    published_at: _Time | None = None
    url: str = ""
    page_views_count: int | None = None
    public_reactions_count: int | None = None
    comments_count: int | None = None

    def is_older_than(self, since: datetime) -> bool:
        """Return True if it was published before `since`; so was every article listed after it."""
        return self.published and self.published_at is not None and self.published_at < since - CLOCK_ERROR


class _SavedArticle(msgspec.Struct, frozen=True):
    id: _Id
    url: str = ""
    published_at: _Time | None = None


class _User(msgspec.Struct, frozen=True):
    id: _Id
    username: str = ""


class DevTo(DraftThenPublish):
    """A Forem site, dev.to by default."""

    info: ClassVar[PlatformInfo] = PLATFORMS["devto"]

    def draft_body(self, post: Post, article: Article) -> dict[str, object]:
        """Return the request body of the draft, with the first four tags in lower-case letters and digits."""
        # Forem rejects tags with other characters and articles with more tags.
        cleaned = (_NOT_IN_TAGS.sub("", tag).lower()[:MAX_TAG_LENGTH] for tag in post.tags)
        tags = list(dict.fromkeys(tag for tag in cleaned if tag))[:MAX_TAGS]
        return {"title": article.title, "body_markdown": escape_front_matter(article.text), "tags": tags}

    def create_site(self, server: str, credentials: Mapping[str, str]) -> Site:
        """Return the site's API."""
        headers = {"api-key": require_credential(credentials, "key"), "accept": "application/vnd.forem.api-v1+json"}
        return Site(self._client, f"{server}/api", headers, self._clock)

    async def connect(self, server: str, credentials: Mapping[str, str]) -> ConnectResult:
        """Return the account of the author that the API key belongs to."""
        address = parse_server_url(server or self.info.default_server)
        disclosure = credentials.get("disclosure", "").strip() or DISCLOSURE_LEVELS[0]
        if disclosure not in DISCLOSURE_LEVELS:
            raise RefusedPostError(
                f"“{shorten(disclosure)}” is not a level of AI disclosure.",
                hint=f"Use one of {', '.join(DISCLOSURE_LEVELS)}.",
            )
        secrets = {"key": credentials["key"].strip(), "disclosure": disclosure}
        return ConnectResult(
            account=await self._account(address, self.create_site(address, secrets)), credentials=secrets
        )

    async def check(self, account: Account) -> Account:
        """Return the author as the site describes them now."""
        return await self._account(account.server, await self._open_site(account))

    async def _account(self, server: str, site: Site) -> Account:
        user = await site.get("/users/me", _User)
        return Account(platform=self.info.name, server=server, id=str(user.id), name=user.username or str(user.id))

    async def find_draft(self, site: Site, draft: DeliveryStep, since: datetime) -> StepResult | None:
        """Return the article with the same title and text; None if there is none."""
        async for article in _own_articles(site, since):
            if _is_same(article, draft):
                return StepResult(ids=(str(article.id),), urls=(), evidence=Evidence.READ_BACK)
        return None

    async def create_draft(
        self, site: Site, draft: DeliveryStep, images: Sequence[PostImage], credentials: Mapping[str, str]
    ) -> StepResult:
        """Create the draft. The API accepts no images."""
        disclosure = credentials.get("disclosure", DISCLOSURE_LEVELS[0])
        body = {"article": {**draft.body, "published": False, "ai_disclosure_level": disclosure}}
        created = await site.create("POST", "/articles", _SavedArticle, json=body)
        return StepResult(ids=(str(created.id),), urls=())

    async def publish(self, site: Site, post_id: str) -> StepResult:
        """Publish the draft; the site allows about one in five minutes."""
        updated = await site.create("PUT", f"/articles/{post_id}", _SavedArticle, json={"article": {"published": True}})
        if updated.published_at is None:
            raise UnknownOutcomeError(f"{site.host} did not confirm the publication of the article.")
        return StepResult(ids=(post_id,), urls=link_urls(updated.url))

    async def find_published(self, site: Site, post_id: str, since: datetime) -> StepResult | None:
        """Return the article if the author's list shows it as published."""
        async for article in _own_articles(site, since):
            if str(article.id) == post_id and article.published:
                return StepResult(ids=(post_id,), urls=link_urls(article.url), evidence=Evidence.READ_BACK)
        return None

    async def delete(self, account: Account, result: StepResult) -> None:
        """Unpublish the article. It stays as a draft, which only its author can delete."""
        site = await self._open_site(account)
        for post_id in result.ids:
            response = await site.request("PUT", f"/articles/{post_id}", json={"article": {"published": False}})
            if not response.is_success and response.status != 404:
                raise site.error_for_write(response)

    async def metrics(self, account: Account, ids: Sequence[str]) -> Mapping[str, PostMetrics | None]:
        """Return reactions, comments and page views from the author's own list."""
        requested, found = set(ids), dict[str, PostMetrics]()
        async for article in _own_articles(await self._open_site(account), None):
            if str(article.id) in requested and article.published:
                found[str(article.id)] = reported_metrics(
                    likes=article.public_reactions_count,
                    replies=article.comments_count,
                    impressions=article.page_views_count,
                )
            # Each page carries full texts, so stop as soon as everything is found.
            if len(found) == len(requested):
                break
        return {post_id: found.get(post_id) for post_id in ids}


def escape_front_matter(text: str) -> str:
    """Return `text` with a line of hyphens at its start replaced.

    Forem would parse what follows as front matter, whose settings can publish the draft at once.
    """
    return _FRONT_MATTER.sub("***", text, count=1) if _FRONT_MATTER.match(text) else text


async def _own_articles(site: Site, since: datetime | None) -> AsyncIterator[_Article]:
    """Yield the author's drafts, then the articles published since then. Raise `NotSentError` if there are too many."""
    for page in range(1, MAX_PAGES + 1):
        params = {"page": str(page), "per_page": str(PAGE_SIZE)}
        articles = await site.get("/articles/me/all", list[_Article], params=params)
        for article in articles:
            # Drafts are listed first, so everything after this article is older, too.
            if since is not None and article.is_older_than(since):
                return
            yield article
        if not articles:
            return
    raise NotSentError(f"There are more than {PAGE_SIZE * MAX_PAGES} articles on {site.host}; too many to search.")


def _is_same(article: _Article, draft: DeliveryStep) -> bool:
    """Return True if `article` was created from `draft`."""
    if not is_same_title(article.title, str(draft.body["title"])):
        return False
    return _lines(article.body_markdown or "") == _lines(str(draft.body["body_markdown"]))


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]
