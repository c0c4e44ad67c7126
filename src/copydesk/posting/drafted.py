"""Publish an article in two steps: create a hidden draft with a unique slug, then publish it by id.

Before the draft is created it is looked up, and publishing by id is idempotent, so repeated requests cannot make a
second visible article.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from copydesk.posting import blog
from copydesk.posting.http import Caller
from copydesk.posting.platform import (
    Account,
    Intent,
    Limits,
    Made,
    Picture,
    Post,
    Problem,
    Secrets,
    Step,
    Trust,
    Wanted,
)
from copydesk.posting.site import Site

PUBLISH: dict[str, object] = {"publish": True}
"""Body of the second step. The draft's id is added when it is sent."""


class DraftedBlog(ABC):
    """Base class of blog platforms that create a draft before they publish it."""

    name: ClassVar[str]
    limits: ClassVar[Limits]
    home: ClassVar[str]
    wants: ClassVar[tuple[Wanted, ...]]
    longest_title: ClassVar[int | None] = None

    def __init__(self, caller: Caller, secrets: Secrets, *, clock: Callable[[], datetime]) -> None:
        self._caller = caller
        self._secrets = secrets
        self._clock = clock

    def trust(self, account: Account) -> Trust:
        """Return the defaults: slugs are not unique keys, so drafts are looked up.

        A duplicate draft would stay hidden.
        """
        return Trust()

    def problems(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return the reasons why the post would make no article here."""
        return blog.problems(post, longest_title=self.longest_title)

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return two steps, the draft and its publication, both with the slug as their key."""
        article = blog.article(post, seed)
        # The slug is the key of both steps, but the second one is looked up by the draft's id.
        draft = Step(keys=(article.slug,), body=self.draft(post, article), hidden=True)
        return Intent(steps=(draft, Step(keys=(article.slug,), body=PUBLISH)), at=post.at)

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """Find or create the draft, or publish it in the second step."""
        secrets = await self._secrets.read(account)
        site = self.site(account.server, secrets)
        if made:
            return await self.publish(site, made[0].ids[0])
        # An earlier attempt may have created the draft although its response was lost.
        draft = intent.steps[0]
        return await self.find(site, draft, intent.at) or await self.write(site, draft, pictures, secrets)

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: datetime) -> Made | None:
        """Return the draft by its slug, or the published article by its id."""
        site = await self._open(account)
        if made:
            return await self.published(site, made[0].ids[0], since)
        return await self.find(site, intent.steps[0], since)

    async def _open(self, account: Account) -> Site:
        return self.site(account.server, await self._secrets.read(account))

    @abstractmethod
    def draft(self, post: Post, written: blog.Article) -> dict[str, object]:
        """Return the request body of the draft."""

    @abstractmethod
    def site(self, server: str, secrets: Mapping[str, str]) -> Site:
        """Return the server's API with these credentials. Raise `LoginError` if they are malformed."""

    @abstractmethod
    async def find(self, site: Site, draft: Step, since: datetime) -> Made | None:
        """Return the draft, or the article published from it since then; None if there is none.

        Raise `LoginError` or `NotSentError`.
        """

    @abstractmethod
    async def write(self, site: Site, draft: Step, pictures: Sequence[Picture], secrets: Mapping[str, str]) -> Made:
        """Create the draft. Raise any of the four posting errors."""

    @abstractmethod
    async def publish(self, site: Site, post_id: str) -> Made:
        """Make the draft visible. Raise any of the four posting errors."""

    @abstractmethod
    async def published(self, site: Site, post_id: str, since: datetime) -> Made | None:
        """Return the article if it is visible, else None. Raise `LoginError` or `NotSentError`."""
