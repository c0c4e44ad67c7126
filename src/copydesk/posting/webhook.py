"""Send posts to a server of the user's own, which follows these rules; docs/webhook.md explains them to its author.

POST to the account's URL, with a JSON object as its body:

- `event`: `post`; `delete`, with the `id` that the receiver returned, else the post's own; or `check`, which has no
  other member and expects only a successful response;
- `id`: of the post, the same for every attempt; also in the header `Idempotency-Key`. A receiver that has accepted an
  id in the last 30 days does not accept it a second time, and answers as it did the first time;
- `format` (`SHORT`, `THREAD`, `BLOG`), `title` (of an article), `parts` (the texts of a thread in order; for any other
  format one text, Markdown for an article), `tags`, `at` (scheduled time, UTC);
- `pictures`, if there are any: `type`, `width`, `height`, `alt` and the file as base64 in `content`.

The header `Copydesk-Signature` is `t=<seconds since 1970>,v1=<hex>`: HMAC-SHA256 with the shared secret over those
seconds, a full stop and the bytes of the body. A repeated request is signed again; receivers reject old signatures.

A status of 200 to 299 means that the post was accepted; the body may be a JSON object with `id` and `url`. A status of
400, 404, 413, 415 or 422 rejects the post, 401 or 403 the signature, and 429 asks for a pause; each means that nothing
was done. Any other outcome is repeated with the same id.
"""

import hmac
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, ClassVar
from urllib.parse import urlsplit

import msgspec

from copydesk.model.draft import Format
from copydesk.model.platform import PlatformInfo
from copydesk.model.serialization import format_iso
from copydesk.posting.blogs import articles
from copydesk.posting.client import PlatformClient, Response, as_repeatable, error_for_read, error_for_write
from copydesk.posting.platform import (
    Account,
    ConnectResult,
    CredentialStore,
    DeliveryGuarantees,
    DeliveryStep,
    Intent,
    Post,
    PostImage,
    PostMetrics,
    Problem,
    RefusedPostError,
    StepResult,
    UnknownOutcomeError,
    require_credential,
    uuid_key,
)
from copydesk.posting.registry import MIN_WEBHOOK_SECRET_LENGTH, PLATFORMS
from copydesk.posting.site import error_text, link_urls, parse_server_url, site_name

IDEMPOTENCY_WINDOW = timedelta(days=30)
"""Receivers recognize an id for this long."""


# Bounded, because it is stored.
_ReceiptId = Annotated[str, msgspec.Meta(min_length=1, max_length=500)] | Annotated[int, msgspec.Meta(le=2**62)]


class _Receipt(msgspec.Struct, frozen=True):
    id: _ReceiptId | None = None
    url: str = ""


class Webhook:
    """A server that follows the rules above."""

    info: ClassVar[PlatformInfo] = PLATFORMS["webhook"]

    def __init__(
        self, client: PlatformClient, credential_store: CredentialStore, *, clock: Callable[[], datetime]
    ) -> None:
        self._client = client
        self._credential_store = credential_store
        self._clock = clock

    def guarantees(self, account: Account) -> DeliveryGuarantees:
        """Return guarantees by our own rules: requests may be repeated, posts cannot be read back."""
        # Rule of our own, stated above: the receiver answers as it did the first time.
        return DeliveryGuarantees(idempotency_window=IDEMPOTENCY_WINDOW, can_read_back=False)

    def validate(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return a problem for each part without text; the receiver decides on maximum lengths."""
        if post.format is Format.BLOG:
            return articles.validate_article(post)
        empty = [index for index, part in enumerate(post.parts) if not part.strip()]
        return [Problem(message="The text is empty.", part=index) for index in empty]

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return a single step, however many posts a thread has."""
        key, title, parts = uuid_key(seed, 0), post.title, post.parts
        if post.format is Format.BLOG:
            article = articles.article_from_post(post, seed)
            title, parts = article.title, (article.text,)
        body: dict[str, object] = {
            "event": "post",
            "id": key,
            "format": post.format.value,
            "title": title,
            "parts": list(parts),
            "tags": list(post.tags),
            "at": format_iso(post.at),
        }
        return Intent(steps=(DeliveryStep(keys=(key,), body=body),), at=post.at)

    async def connect(self, server: str, credentials: Mapping[str, str]) -> ConnectResult:
        """Return the account of the receiver at `server` if it knows the secret."""
        url, secret = parse_server_url(server), credentials["secret"].strip()
        if len(secret) < MIN_WEBHOOK_SECRET_LENGTH:
            raise RefusedPostError(f"The secret is too short: use at least {MIN_WEBHOOK_SECRET_LENGTH} characters.")
        account = Account(platform=self.info.name, server=url, id=url, name=site_name(url))
        await self._send_check(account, secret)
        return ConnectResult(account=account, credentials={"secret": secret})

    async def check(self, account: Account) -> Account:
        """Return the account unchanged if the receiver still knows the secret."""
        await self._send_check(account, await self._secret(account))
        return account

    async def send(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], images: Sequence[PostImage] = ()
    ) -> StepResult:
        """Send the whole post in one request."""
        step = intent.steps[0]
        body = {**step.body, "pictures": [_encode_image(image) for image in images]} if images else step.body
        response = await self._post(account, body, await self._secret(account), key=step.keys[0])
        if not response.is_success:
            raise error_for_write(response, _host(account), self._clock(), explanation=error_text(response))
        receipt = response.decode_or(_Receipt())  # the body is optional
        return StepResult(ids=(step.keys[0] if receipt.id is None else f"{receipt.id}",), urls=link_urls(receipt.url))

    async def find_post(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], since: datetime
    ) -> StepResult | None:
        """Raise `UnknownOutcomeError`: nothing can be read from the receiver."""
        raise UnknownOutcomeError(f"{_host(account)} offers no way to check deliveries.", hint="Check the receiver.")

    async def delete(self, account: Account, result: StepResult) -> None:
        """Tell the receiver to delete the post; a post it does not know any more is no error."""
        # A receiver that returned no id of its own is given the post's.
        for post_id in result.ids:
            body: dict[str, object] = {"event": "delete", "id": post_id}
            response = await self._post(account, body, await self._secret(account))
            if not response.is_success and response.status not in (404, 410):
                raise error_for_write(response, _host(account), self._clock(), explanation=error_text(response))

    async def metrics(self, account: Account, ids: Sequence[str]) -> Mapping[str, PostMetrics | None]:
        """Return empty metrics: receivers report none, and deleted posts cannot be detected."""
        return {post_id: PostMetrics() for post_id in ids}

    async def _send_check(self, account: Account, secret: str) -> None:
        response = await as_repeatable(self._post(account, {"event": "check"}, secret))
        if not response.is_success:
            raise error_for_read(response, _host(account), self._clock(), explanation=error_text(response))

    async def _post(self, account: Account, body: dict[str, object], secret: str, *, key: str = "") -> Response:
        content = msgspec.json.encode(body)
        headers = {
            "content-type": "application/json",
            # Sign every attempt anew: receivers reject old signatures.
            "copydesk-signature": sign(secret, content, self._clock()),
        }
        if key:
            headers["idempotency-key"] = key
        return await self._client.request("POST", account.server, headers=headers, content=content)

    async def _secret(self, account: Account) -> str:
        return require_credential(await self._credential_store.read(account), "secret")


def sign(secret: str, body: bytes, now: datetime) -> str:
    """Return the `Copydesk-Signature` header for `body` sent at `now`."""
    seconds = int(now.timestamp())
    # The time is signed too, so that a recorded request cannot be sent again later.
    digest = hmac.digest(secret.encode(), f"{seconds}.".encode() + body, "sha256")
    return f"t={seconds},v1={digest.hex()}"


def _encode_image(image: PostImage) -> dict[str, object]:
    return {
        "type": image.media_type,
        "width": image.width,
        "height": image.height,
        "alt": image.alt,
        "content": b64encode(image.content).decode(),
    }


def _host(account: Account) -> str:
    return urlsplit(account.server).netloc
