"""Webhooks of one user."""

from collections.abc import Mapping
from contextlib import suppress

from msgspec.structs import asdict

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.desk.webhooks.sender import EventSender, SendReport, vault_name
from copydesk.desk.webhooks.signature import new_secret
from copydesk.errors import ConflictError, CopydeskError, CredentialsError, NotFoundError, StoreError
from copydesk.model.event import EventType
from copydesk.model.page import Page, PageSize, decode_whole_number, encode_cursor
from copydesk.model.token import Scope
from copydesk.model.validation import MAX_ID_LENGTH, FieldReader
from copydesk.model.webhook import CreatedWebhook, NewWebhook, Webhook, WebhookDelivery
from copydesk.store import webhooks
from copydesk.store.database import Transaction
from copydesk.store.ids import new_id

MAX_WEBHOOKS = 20
"""Per user."""
_LAST = 2**63 - 1


class Webhooks:
    """The webhooks of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx
        self._sender = EventSender(ctx)

    @needs(Scope.PUBLISH)
    @operation
    async def create(self, request: NewWebhook | Mapping[str, object]) -> CreatedWebhook:
        """Create a webhook and return it with its secret, which cannot be read later.

        Raise InvalidError with every invalid field, ConflictError if there are MAX_WEBHOOKS already or one with the
        same URL, and CredentialsError if the secret cannot be stored.
        """
        new = _validate(request, allow_private=self._ctx.settings.network.allow_private)
        now, secret = self._ctx.clock(), new_secret()
        created = Webhook(
            id=new_id(now), url=new.url, types=new.types, created_at=now, failing_since=None, disabled_at=None
        )
        # Before anything is stored, so that a refused webhook leaves no secret.
        await self._ctx.read(_check_limits, new.url)
        is_vaulted = await self._keeps_secrets_in_vault()
        if is_vaulted:
            await self._ctx.vault.save(vault_name(created.id), {"secret": secret})
        try:
            await self._ctx.write_durable(_add, created, None if is_vaulted else secret)
        except CopydeskError:
            # A server that was lost while it committed may have stored the webhook.
            if is_vaulted and await self._is_missing(created.id):
                await self._ctx.vault.remove(vault_name(created.id))
            raise
        return CreatedWebhook(**asdict(created), secret=secret)

    async def _keeps_secrets_in_vault(self) -> bool:
        """Return True if secrets go into the vault; otherwise they are in the database."""
        if self._ctx.settings.database.url:
            # Any machine that uses the database may send the events, and each has a vault of its own.
            return False
        # A server may run without a vault; the file of its database can be read by the user only.
        status = await self._ctx.vault.status()
        return status.usable or status.has_credentials

    async def _is_missing(self, webhook_id: str) -> bool:
        """Return True if there is no such webhook; False also if that cannot be read."""
        try:
            return await self._ctx.read(webhooks.get, webhook_id) is None
        except StoreError:
            return False

    @operation
    async def list(self) -> tuple[Webhook, ...]:
        """Return the webhooks, oldest first."""
        return await self._ctx.read(webhooks.list_all)

    @operation
    async def get(self, webhook_id: str) -> Webhook:
        """Return a webhook. Raise NotFoundError."""
        found = await self._ctx.read(webhooks.get, webhook_id)
        if found is None:
            raise _not_found(webhook_id)
        return found

    @needs(Scope.PUBLISH)
    @operation
    async def get_created(self, webhook_id: str) -> CreatedWebhook:
        """Return a webhook with its secret, for whoever repeats the request that created it.

        Raise NotFoundError, and CredentialsError if the secret cannot be read.
        """
        webhook, target = await self.get(webhook_id), await self._ctx.read(webhooks.get_target, webhook_id)
        if target is None:
            raise _not_found(webhook_id)
        return CreatedWebhook(**asdict(webhook), secret=await self._sender.load_secret(target))

    @needs(Scope.PUBLISH)
    @operation
    async def remove(self, webhook_id: str) -> None:
        """Delete a webhook with its log; nothing more is sent to it. Raise NotFoundError."""
        removed = await self._ctx.write_durable(webhooks.remove, webhook_id)
        if removed is None:
            raise _not_found(webhook_id)
        if removed.has_stored_secret:
            # Afterwards, and even if the store cannot be opened: a secret without its webhook is of no use.
            with suppress(CredentialsError):
                await self._ctx.vault.remove(vault_name(webhook_id))

    @operation
    async def list_deliveries(
        self, webhook_id: str, limit: PageSize = 25, cursor: str | None = None
    ) -> Page[WebhookDelivery]:
        """Return a page of the deliveries to a webhook, newest event first.

        Raise NotFoundError, and InvalidCursorError for a cursor of another list.
        """
        await self.get(webhook_id)
        scope = ("webhook deliveries", self._ctx.user_id, webhook_id)
        before = decode_whole_number(cursor, *scope) if cursor is not None else _LAST
        found = await self._ctx.read(webhooks.list_deliveries, webhook_id, limit + 1, before)
        page = found[:limit]
        next_cursor = encode_cursor(str(page[-1].event_id), *scope) if len(found) > limit else None
        return Page(items=page, next_cursor=next_cursor)

    @operation
    async def send_due(self) -> SendReport:
        """Send the events that are due; the background job calls it."""
        return await self._sender.send_due()


def _validate(request: NewWebhook | Mapping[str, object], *, allow_private: bool) -> NewWebhook:
    reader = FieldReader(NewWebhook, request)
    reader.require("url")
    url = reader.web_address("url")
    if url is not None:
        from copydesk.network.addresses import is_local_host  # noqa: PLC0415
        from copydesk.network.client import UnusableUrlError, host_name, parse_url  # noqa: PLC0415 - httpx is slow to import

        try:
            # Also with private addresses: what cannot be requested would fail the job that sends to all webhooks.
            host = host_name(parse_url(url))
            if is_local_host(host) and not allow_private:
                reader.add_problem("url", "is not a public address; see the setting network.allow_private")
        except UnusableUrlError:
            reader.add_problem("url", "is not a web address")
    types = reader.choices("types", EventType, len(EventType))
    reader.raise_if_invalid()
    assert url is not None
    return NewWebhook(url=url, types=types or None)


def _check_limits(conn: Transaction, user_id: str, url: str) -> None:
    existing = webhooks.list_all(conn, user_id)
    if any(webhook.url == url for webhook in existing):
        raise ConflictError(
            "There is already a webhook with this URL.", hint="List all webhooks: `copydesk webhook list`."
        )
    if len(existing) >= MAX_WEBHOOKS:
        raise ConflictError(f"There are {MAX_WEBHOOKS} webhooks, the most allowed.", hint="Remove one first.")


def _add(conn: Transaction, user_id: str, created: Webhook, secret: str | None) -> None:
    # Again, in the transaction: another one may have been created meanwhile.
    _check_limits(conn, user_id, created.url)
    webhooks.add(conn, user_id, created, secret)


def _not_found(webhook_id: str) -> NotFoundError:
    return NotFoundError(
        f"No webhook {webhook_id[:MAX_ID_LENGTH]!r}.", hint="List all webhooks: `copydesk webhook list`."
    )
