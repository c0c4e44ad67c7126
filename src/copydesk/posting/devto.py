"""dev.to and other Forem sites over their API (developers.forem.com/api), with an API key.

Articles have no key of ours. They are found by title and text; Forem rejects a second article of the same author with
the same ones. The author's list has drafts first and then published articles, newest first.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, ClassVar

import msgspec

from copydesk.model.draft import Format
from copydesk.posting import blog
from copydesk.posting.drafted import DraftedBlog
from copydesk.posting.platform import (
    Account,
    Connected,
    Evidence,
    Figures,
    Limits,
    Made,
    NotSentError,
    Picture,
    Post,
    RefusedPostError,
    Step,
    UnknownOutcomeError,
    Wanted,
)
from copydesk.posting.site import Site, own_server, shown

MOST_TAGS, LONGEST_TAG = 4, 30
PAGE, MOST_PAGES = 30, 100
"""Articles per page, each with its full text, and the number of pages read at most."""
CLOCKS_APART = timedelta(minutes=2)
DISCLOSURES = ("not_disclosed", "no_ai", "some_ai", "fully_autonomous")
"""Forem's levels of AI disclosure; dev.to rejects articles without one."""
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

    def before(self, since: datetime) -> bool:
        """Return True if it was published before `since`; so was every article listed after it."""
        return self.published and self.published_at is not None and self.published_at < since - CLOCKS_APART


class _SavedArticle(msgspec.Struct, frozen=True):
    id: _Id
    url: str = ""
    published_at: _Time | None = None


class _User(msgspec.Struct, frozen=True):
    id: _Id
    username: str = ""


class DevTo(DraftedBlog):
    """A Forem site, dev.to by default."""

    name: ClassVar[str] = "devto"
    limits: ClassVar[Limits] = Limits(formats=frozenset({Format.BLOG}))
    home: ClassVar[str] = "https://dev.to"
    wants: ClassVar[tuple[Wanted, ...]] = (
        Wanted(name="key", question="An API key (Settings > Extensions > DEV Community API Keys)", secret=True),
        Wanted(
            name="disclosure",
            question=f"What your articles say of AI: {', '.join(DISCLOSURES)} (empty: {DISCLOSURES[0]})",
            optional=True,
        ),
    )
    longest_title: ClassVar[int | None] = 128

    def draft(self, post: Post, written: blog.Article) -> dict[str, object]:
        """Return the request body of the draft, with the first four tags in lower-case letters and digits."""
        # Forem rejects tags with other characters and articles with more tags.
        cleaned = (_NOT_IN_TAGS.sub("", tag).lower()[:LONGEST_TAG] for tag in post.tags)
        tags = list(dict.fromkeys(tag for tag in cleaned if tag))[:MOST_TAGS]
        return {"title": written.title, "body_markdown": plain_start(written.text), "tags": tags}

    def site(self, server: str, secrets: Mapping[str, str]) -> Site:
        """Return the site's API."""
        headers = {"api-key": secrets["key"], "accept": "application/vnd.forem.api-v1+json"}
        return Site(self._caller, f"{server}/api", headers, self._clock())

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """Return the account of the author that the API key belongs to."""
        address = own_server(server or self.home)
        disclosure = given.get("disclosure", "").strip() or DISCLOSURES[0]
        if disclosure not in DISCLOSURES:
            raise RefusedPostError(f"It has to be one of {', '.join(DISCLOSURES)}.")
        secrets = {"key": given["key"].strip(), "disclosure": disclosure}
        return Connected(account=await self._account(address, self.site(address, secrets)), secrets=secrets)

    async def check(self, account: Account) -> Account:
        """Return the author as the site describes them now."""
        return await self._account(account.server, await self._open(account))

    async def _account(self, server: str, site: Site) -> Account:
        user = await site.look("/users/me", _User)
        return Account(platform=self.name, server=server, id=str(user.id), name=user.username or str(user.id))

    async def find(self, site: Site, draft: Step, since: datetime) -> Made | None:
        """Return the article with the same title and text; None if there is none."""
        async for article in _own_articles(site, since):
            if _is_same(article, draft):
                return Made(ids=(str(article.id),), urls=(), evidence=Evidence.READ_BACK)
        return None

    async def write(self, site: Site, draft: Step, pictures: Sequence[Picture], secrets: Mapping[str, str]) -> Made:
        """Create the draft. The API accepts no images."""
        disclosure = secrets.get("disclosure", DISCLOSURES[0])
        body = {"article": {**draft.body, "published": False, "ai_disclosure_level": disclosure}}
        created = await site.make("POST", "/articles", _SavedArticle, json=body)
        return Made(ids=(str(created.id),), urls=())

    async def publish(self, site: Site, post_id: str) -> Made:
        """Publish the draft; the site allows about one in five minutes."""
        updated = await site.make("PUT", f"/articles/{post_id}", _SavedArticle, json={"article": {"published": True}})
        if updated.published_at is None:
            raise UnknownOutcomeError(f"{site.host} does not say that it published the article.")
        return Made(ids=(post_id,), urls=shown(updated.url))

    async def published(self, site: Site, post_id: str, since: datetime) -> Made | None:
        """Return the article if the author's list shows it as published."""
        async for article in _own_articles(site, since):
            if str(article.id) == post_id and article.published:
                return Made(ids=(post_id,), urls=shown(article.url), evidence=Evidence.READ_BACK)
        return None

    async def delete(self, account: Account, made: Made) -> None:
        """Unpublish the article. It stays as a draft, which only its author can delete."""
        site = await self._open(account)
        for post_id in made.ids:
            answer = await site.ask("PUT", f"/articles/{post_id}", json={"article": {"published": False}})
            if not answer.good and answer.status != 404:
                raise site.wrong(answer)

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """Return reactions, comments and page views from the author's own list."""
        requested, found = set(ids), dict[str, Figures]()
        async for article in _own_articles(await self._open(account), None):
            if str(article.id) in requested and article.published:
                found[str(article.id)] = Figures(
                    likes=article.public_reactions_count,
                    replies=article.comments_count,
                    impressions=article.page_views_count,
                )
            # Each page carries full texts, so stop as soon as everything is found.
            if len(found) == len(requested):
                break
        return {post_id: found.get(post_id) for post_id in ids}


def plain_start(text: str) -> str:
    """Return `text` with a line of hyphens at its start replaced.

    Forem would parse what follows as front matter, whose settings can publish the draft at once.
    """
    return _FRONT_MATTER.sub("***", text, count=1) if _FRONT_MATTER.match(text) else text


async def _own_articles(site: Site, since: datetime | None) -> AsyncIterator[_Article]:
    """Yield the author's drafts, then the articles published since then. Raise `NotSentError` if there are too many."""
    for page in range(1, MOST_PAGES + 1):
        params = {"page": str(page), "per_page": str(PAGE)}
        articles = await site.look("/articles/me/all", list[_Article], params=params)
        for article in articles:
            # Drafts are listed first, so everything after this article is older, too.
            if since is not None and article.before(since):
                return
            yield article
        if not articles:
            return
    raise NotSentError(f"There are more than {PAGE * MOST_PAGES} articles on {site.host}; nobody could look at all.")


def _is_same(article: _Article, draft: Step) -> bool:
    """Return True if `article` was created from `draft`."""
    if not blog.alike(article.title, str(draft.body["title"])):
        return False
    return _lines(article.body_markdown or "") == _lines(str(draft.body["body_markdown"]))


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]
