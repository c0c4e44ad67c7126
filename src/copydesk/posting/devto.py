"""dev.to, and other sites that run Forem, by their API (developers.forem.com/api), with an API key.

An article has no key of ours. It is found by its title and its text, of which the site takes no second one of the same
author. Drafts are listed first and then articles from the newest on.
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
"""Articles of one page of the list, each with its whole text, and how many pages are read."""
CLOCKS_APART = timedelta(minutes=2)
DISCLOSURES = ("not_disclosed", "no_ai", "some_ai", "fully_autonomous")
"""What Forem knows of how an article was written; dev.to takes none that does not say."""
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
        """Whether it was seen before `since`; so was everything that is listed after it."""
        return self.published and self.published_at is not None and self.published_at < since - CLOCKS_APART


class _Written(msgspec.Struct, frozen=True):
    id: _Id
    url: str = ""
    published_at: _Time | None = None


class _User(msgspec.Struct, frozen=True):
    id: _Id
    username: str = ""


class DevTo(DraftedBlog):
    """A Platform over dev.to."""

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
        """What the draft is made of; of the tags the first four, in letters and digits as the site has them."""
        cut = (_NOT_IN_TAGS.sub("", tag).lower()[:LONGEST_TAG] for tag in post.tags)
        tags = list(dict.fromkeys(tag for tag in cut if tag))[:MOST_TAGS]
        return {"title": written.title, "body_markdown": plain_start(written.text), "tags": tags}

    def site(self, server: str, secrets: Mapping[str, str]) -> Site:
        """The API of the site."""
        headers = {"api-key": secrets["key"], "accept": "application/vnd.forem.api-v1+json"}
        return Site(self._caller, f"{server}/api", headers, self._clock())

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """The author that the key belongs to."""
        address = own_server(server or self.home)
        disclosure = given.get("disclosure", "").strip() or DISCLOSURES[0]
        if disclosure not in DISCLOSURES:
            raise RefusedPostError(f"It has to be one of {', '.join(DISCLOSURES)}.")
        secrets = {"key": given["key"].strip(), "disclosure": disclosure}
        return Connected(account=await self._account(address, self.site(address, secrets)), secrets=secrets)

    async def check(self, account: Account) -> Account:
        """The author as the site knows them now."""
        return await self._account(account.server, await self._open(account))

    async def _account(self, server: str, site: Site) -> Account:
        user = await site.look("/users/me", _User)
        return Account(platform=self.name, server=server, id=str(user.id), name=user.username or str(user.id))

    async def find(self, site: Site, draft: Step, since: datetime) -> Made | None:
        """The article that has the same title and text."""
        async for article in _mine(site, since):
            if _is(article, draft):
                return Made(ids=(str(article.id),), urls=(), evidence=Evidence.READ_BACK)
        return None

    async def write(self, site: Site, draft: Step, pictures: Sequence[Picture], secrets: Mapping[str, str]) -> Made:
        """Make the draft; the site takes no pictures by its API."""
        disclosure = secrets.get("disclosure", DISCLOSURES[0])
        body = {"article": {**draft.body, "published": False, "ai_disclosure_level": disclosure}}
        made = await site.make("POST", "/articles", _Written, json=body)
        return Made(ids=(str(made.id),), urls=())

    async def publish(self, site: Site, post_id: str) -> Made:
        """Publish the draft; the site takes about one in five minutes."""
        after = await site.make("PUT", f"/articles/{post_id}", _Written, json={"article": {"published": True}})
        if after.published_at is None:
            raise UnknownOutcomeError(f"{site.host} does not say that it published the article.")
        return Made(ids=(post_id,), urls=shown(after.url))

    async def published(self, site: Site, post_id: str, since: datetime) -> Made | None:
        """The article, where the author's list says that it is seen."""
        async for article in _mine(site, since):
            if str(article.id) == post_id and article.published:
                return Made(ids=(post_id,), urls=shown(article.url), evidence=Evidence.READ_BACK)
        return None

    async def delete(self, account: Account, made: Made) -> None:
        """Take the article out of sight: as a draft it stays with its author, who alone can delete it."""
        site = await self._open(account)
        for post_id in made.ids:
            answer = await site.ask("PUT", f"/articles/{post_id}", json={"article": {"published": False}})
            if not answer.good and answer.status != 404:
                raise site.wrong(answer)

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """Reactions, comments and page views, from the author's own list."""
        wanted, found = set(ids), dict[str, Figures]()
        async for article in _mine(await self._open(account), None):
            if str(article.id) in wanted and article.published:
                found[str(article.id)] = Figures(
                    likes=article.public_reactions_count,
                    replies=article.comments_count,
                    impressions=article.page_views_count,
                )
            if len(found) == len(wanted):
                break
        return {each: found.get(each) for each in ids}


def plain_start(text: str) -> str:
    """`text` without a line of hyphens at its start: Forem takes what follows for orders, as to publish at once."""
    return _FRONT_MATTER.sub("***", text, count=1) if _FRONT_MATTER.match(text) else text


async def _mine(site: Site, since: datetime | None) -> AsyncIterator[_Article]:
    """The author's articles: the drafts, and what was published since."""
    for page in range(1, MOST_PAGES + 1):
        params = {"page": str(page), "per_page": str(PAGE)}
        found = await site.look("/articles/me/all", list[_Article], params=params)
        for article in found:
            if since is not None and article.before(since):
                return
            yield article
        if not found:
            return
    raise NotSentError(f"There are more than {PAGE * MOST_PAGES} articles on {site.host}; nobody could look at all.")


def _is(article: _Article, draft: Step) -> bool:
    """Whether the article is what the draft was to be."""
    if not blog.alike(article.title, str(draft.body["title"])):
        return False
    return _lines(article.body_markdown or "") == _lines(str(draft.body["body_markdown"]))


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]
