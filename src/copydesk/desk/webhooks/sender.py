"""Send events to webhooks: each at least once, under the same id, until the server accepts it or it is given up."""

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING

from msgspec.structs import replace

from copydesk.desk.context import DeskContext
from copydesk.desk.webhooks.signature import signed_headers
from copydesk.errors import CredentialsError, FetchError
from copydesk.model.serialization import Struct, to_json
from copydesk.model.webhook import Webhook
from copydesk.network import user_agent
from copydesk.network.response import retry_after, status_phrase
from copydesk.store import webhooks
from copydesk.store.webhooks import MAX_RETRY_AFTER, AttemptResult, PendingDelivery, WebhookTarget

if TYPE_CHECKING:
    from copydesk.network.client import HttpResponse, OpenResponse

BATCH_SIZE = 100
"""Events that are read at once."""
RETRY_DELAYS = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=10),
)
"""Delay after each failed attempt for one event; after the last it is given up."""
MAX_PAUSE = RETRY_DELAYS[1]
"""Between attempts for different events while none succeeds: a server that is down is not asked for each."""
DISABLE_AFTER = timedelta(days=5)
"""A webhook that failed for so long, and more often than an event is sent again, is disabled."""
MAX_ROUND = 5.0
"""Seconds after which a round begins no further attempt: another webhook may have new events by then."""
REQUEST_TIMEOUT = 15.0
"""Seconds until the complete response has arrived."""
CONNECT_TIMEOUT = 5.0
MAX_RESPONSE = 64 * 2**10
"""Bytes that are read of a response: some servers stop their work when nobody reads it."""
GONE = 410
"""The server asks never to be called again."""
MAX_ERROR_LENGTH = 300


class SendReport(Struct, frozen=True):
    """The outcome of a round of sending."""

    attempts: int
    disabled: tuple[Webhook, ...]
    """Webhooks that were disabled in this round."""


def result_of_attempt(
    target: WebhookTarget,
    delivery: PendingDelivery,
    at: datetime,
    *,
    status: int | None,
    error: str | None,
    wait: timedelta = timedelta(),
) -> AttemptResult:
    """Return what to store after an attempt. `wait` is the time that the server asks for, with an error."""
    if error is None:
        return AttemptResult(at=at, status=status, error=None, next_at=None, not_before=None)
    # Measured by time, not by attempts: a webhook with few events would otherwise take months to be disabled.
    # Not by time alone: a clock that is set ahead turns two failures into days of them.
    has_failed_long = at - (target.failing_since or at) >= DISABLE_AFTER and target.failures >= len(RETRY_DELAYS)
    if status == GONE or has_failed_long:
        return AttemptResult(at=at, status=status, error=error, next_at=None, not_before=None, disabled=True)
    wait = min(wait, MAX_RETRY_AFTER)
    next_at = None
    if delivery.attempts < len(RETRY_DELAYS):
        next_at = at + max(RETRY_DELAYS[delivery.attempts], wait)
    # Doubled up to the longest pause; bounded, as a large power would overflow.
    pause = min(RETRY_DELAYS[0] * 2 ** min(target.failures, 16), MAX_PAUSE)
    return AttemptResult(at=at, status=status, error=error, next_at=next_at, not_before=at + max(pause, wait))


class EventSender:
    """Sends the events of one desk. One process at a time does it: see `desk.job_leases`."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx
        self._secrets: dict[str, str] = {}
        """By webhook id: a credential store may be slow."""

    async def send_due(self) -> SendReport:
        """Send what is due to each webhook, in order, until one fails or the round is over. Raise StoreError."""
        webhook_ids = await self._ctx.read(webhooks.list_ready, self._ctx.clock())
        ends_at = monotonic() + MAX_ROUND
        # Side by side: a server that takes its time must not hold up the events of the others.
        drains = [self._drain(webhook_id, ends_at) for webhook_id in webhook_ids]
        results = await asyncio.gather(*drains, return_exceptions=True)
        # Raise only after all have ended: the lease is released then, and another process may send the same events.
        for result in results:
            if isinstance(result, BaseException):
                raise result
        disabled = []
        for webhook_id in webhook_ids:
            webhook = await self._ctx.read(webhooks.get, webhook_id)
            if webhook is not None and webhook.disabled_at is not None:
                disabled.append(webhook)
        attempts = sum(count for count in results if not isinstance(count, BaseException))
        return SendReport(attempts=attempts, disabled=tuple(disabled))

    async def _drain(self, webhook_id: str, ends_at: float) -> int:
        """Send to one webhook; return the number of attempts."""
        count = 0
        while True:
            target = await self._ctx.read(webhooks.get_target, webhook_id)
            due = await self._ctx.read(webhooks.list_due, webhook_id, self._ctx.clock(), BATCH_SIZE)
            if target is None or not due:
                return count
            for delivery in due:
                result = await self._attempt(target, delivery)
                count += 1
                # Stored after the response: killed before, it is sent again under the same id.
                exists = await self._ctx.write(webhooks.save_attempt, target, delivery.event.id, result)
                # The server may be down: the events after this one wait for the pause, not until this one is accepted.
                if not exists or result.error is not None or monotonic() >= ends_at:
                    return count
                target = replace(target, failures=0, failing_since=None)

    async def _attempt(self, target: WebhookTarget, delivery: PendingDelivery) -> AttemptResult:
        try:
            response = await self._post(target, delivery)
        except FetchError as error:
            message = str(error)[:MAX_ERROR_LENGTH]
            return result_of_attempt(target, delivery, self._ctx.clock(), status=None, error=message)
        except CredentialsError as error:
            # No failure of the server: neither the event nor the webhook is given up because the secret is locked.
            now, message = self._ctx.clock(), str(error)[:MAX_ERROR_LENGTH]
            later = now + MAX_PAUSE
            return AttemptResult(at=now, status=None, error=message, next_at=later, not_before=later, sent=False)
        now = self._ctx.clock()
        if 200 <= response.status < 300:
            return result_of_attempt(target, delivery, now, status=response.status, error=None)
        wait = timedelta(seconds=retry_after(response.headers, now) or 0)
        message = f"The server answered with {status_phrase(response.status)}."
        return result_of_attempt(target, delivery, now, status=response.status, error=message, wait=wait)

    async def _post(self, target: WebhookTarget, delivery: PendingDelivery) -> "HttpResponse":
        from copydesk.network.client import HttpResponse, exchange, new_request, parse_url  # noqa: PLC0415 - httpx is slow to import

        body = to_json(delivery.event).encode()
        # The same for every attempt, so that a receiver can recognize a repetition. With the time, because a restored
        # backup gives its next events the numbers of later ones that were sent.
        created_at = int(delivery.event.timestamp.timestamp() * 1000)
        message_id = f"msg_{target.id}_{delivery.event.id}_{created_at}"
        request = new_request(
            "POST",
            parse_url(target.url),
            headers={
                "content-type": "application/json",
                "user-agent": user_agent(self._ctx.settings.network.contact),
                **signed_headers(await self.load_secret(target), message_id, body, self._ctx.clock()),
            },
            content=body,
            extensions={"timeout": {"connect": CONNECT_TIMEOUT}},
        )

        async def read(response: "OpenResponse") -> HttpResponse:
            # The status decides: an event that was accepted is not sent again because of what the page says about it.
            with suppress(FetchError):
                await response.read(max_wire=MAX_RESPONSE, max_body=MAX_RESPONSE)
            return HttpResponse(status=response.status, headers=response.headers, body=b"")

        transport = self._ctx.transport or self._ctx.shared.http_transport
        return await exchange(transport, request, read, timeout_seconds=REQUEST_TIMEOUT)

    async def load_secret(self, target: WebhookTarget) -> str:
        """Return the secret that signs the events sent to the webhook. Raise CredentialsError."""
        if target.secret is not None:
            return target.secret
        if target.id not in self._secrets:
            stored = await self._ctx.vault.load(vault_name(target.id))
            if stored is None:
                raise CredentialsError(
                    "The secret of this webhook is missing.", hint="Remove the webhook, and add it again."
                )
            self._secrets[target.id] = stored["secret"]
        return self._secrets[target.id]


def vault_name(webhook_id: str) -> str:
    """Return the name under which the vault keeps the secret of a webhook."""
    return f"webhook:{webhook_id}"
