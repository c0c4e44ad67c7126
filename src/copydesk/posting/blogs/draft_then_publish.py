"""Publish an article in two steps: create a hidden draft with a unique slug, then publish it by id.

Before the draft is created it is looked up, and publishing by id is idempotent, so repeated requests cannot make a
second visible article.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from copydesk.model.platform import PlatformInfo
from copydesk.posting.blogs import articles
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
)
from copydesk.posting.site import Site

PUBLISH_BODY: dict[str, object] = {"publish": True}
"""Body of the second step. The draft's id is added when it is sent."""


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
        """Return the defaults: slugs are not unique keys, so drafts are looked up.

        A duplicate draft would stay hidden.
        """
        return DeliveryGuarantees()

    def validate(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return the reasons why the post would make no article here."""
        return articles.validate_article(post, max_title_length=self.info.limits.max_title_length)

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return two steps, the draft and its publication, both with the slug as their key."""
        article = articles.article_from_post(post, seed)
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
    def draft_body(self, post: Post, article: articles.Article) -> dict[str, object]:
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
