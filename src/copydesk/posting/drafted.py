"""Posts an article in two steps: a draft that nobody sees, under an address that no other has, and its publication.

The draft is looked for before it is made, and publishing by id is the same however often it is asked for: what was
asked twice can be seen once.
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
"""The body of the second step: the rest of it is the id of the draft."""


class DraftedBlog(ABC):
    """What the platforms share whose articles are drafts first."""

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
        """Two drafts of one address can be: they are looked for, and the second is out of sight."""
        return Trust()

    def problems(self, post: Post, account: Account) -> Sequence[Problem]:
        """Why the post would make no article here."""
        return blog.problems(post, longest_title=self.longest_title)

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """The draft, whose key is the end of its address, and its publication."""
        written = blog.article(post, seed)
        draft = Step(keys=(written.slug,), body=self.draft(post, written), hidden=True)
        return Intent(steps=(draft, Step(keys=(written.slug,), body=PUBLISH)), at=post.at)

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """Find or write the draft, and then publish it."""
        secrets = await self._secrets.read(account)
        site = self.site(account.server, secrets)
        if made:
            return await self.publish(site, made[0].ids[0])
        draft = intent.steps[0]
        return await self.find(site, draft, intent.at) or await self.write(site, draft, pictures, secrets)

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: datetime) -> Made | None:
        """The draft by its address, or whether it is published by its id."""
        site = await self._open(account)
        if made:
            return await self.published(site, made[0].ids[0], since)
        return await self.find(site, intent.steps[0], since)

    async def _open(self, account: Account) -> Site:
        return self.site(account.server, await self._secrets.read(account))

    @abstractmethod
    def draft(self, post: Post, written: blog.Article) -> dict[str, object]:
        """What the draft is made of."""

    @abstractmethod
    def site(self, server: str, secrets: Mapping[str, str]) -> Site:
        """The server, to be asked with these secrets; LoginError where they cannot be a key."""

    @abstractmethod
    async def find(self, site: Site, draft: Step, since: datetime) -> Made | None:
        """The draft, or the article that it became since; None where there is none. LoginError, NotSentError."""

    @abstractmethod
    async def write(self, site: Site, draft: Step, pictures: Sequence[Picture], secrets: Mapping[str, str]) -> Made:
        """Make the draft; the four errors of posting."""

    @abstractmethod
    async def publish(self, site: Site, post_id: str) -> Made:
        """Let people see the draft; the four errors of posting."""

    @abstractmethod
    async def published(self, site: Site, post_id: str, since: datetime) -> Made | None:
        """The article, where people can see it; LoginError, NotSentError."""
