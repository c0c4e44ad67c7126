"""Webhooks: create, list, remove, and the log of their deliveries."""

from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.http.resources.sources import Deleted
from copydesk.model.page import PageSize
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope
from copydesk.model.webhook import CreatedWebhook, NewWebhook, Webhook, WebhookDelivery

operations = Operations("Webhooks")


class DeliveriesQuery(Struct, frozen=True):
    """Parameters of the log."""

    limit: PageSize = 25
    cursor: str | None = None
    """The `nextCursor` of the previous page."""


class DeliveryList(Struct, frozen=True):
    """A page of the log, newest event first."""

    deliveries: tuple[WebhookDelivery, ...]
    next_cursor: str | None


@operations.add("GET", "/webhooks", scope=Scope.PUBLISH, response=tuple[Webhook, ...])
async def list_webhooks(call: Call) -> tuple[Webhook, ...]:
    """List the webhooks, oldest first. Their URLs may contain secrets, so it needs the scope `publish`."""
    return await call.desk.webhooks.list()


@operations.add(
    "POST",
    "/webhooks",
    scope=Scope.PUBLISH,
    body=NewWebhook,
    response=CreatedWebhook,
    secrets=("secret",),
    restore_secrets=lambda call, stored: call.desk.webhooks.get_created(stored["id"]),
    status=201,
    errors=(409,),
    headers=("Location",),
    example={"url": "https://hooks.example/copydesk", "types": ["delivery.ended", "delivery.needs_user"]},
)
async def create_webhook(call: Call) -> CreatedWebhook:
    """Create a webhook, to which events are sent from now on. Its secret is returned only here.

    Each event is sent as a POST request with an Event as JSON, signed as Standard Webhooks describes it. Any status of
    200 to 299 accepts it; otherwise it is sent again under the same `webhook-id`.
    """
    webhook = await call.desk.webhooks.create(call.body)
    call.created(f"/webhooks/{webhook.id}")
    return webhook


@operations.add("GET", "/webhooks/{id}", scope=Scope.PUBLISH, response=Webhook, errors=(404,))
async def get_webhook(call: Call) -> Webhook:
    """Return one webhook."""
    return await call.desk.webhooks.get(call.id)


@operations.add("DELETE", "/webhooks/{id}", scope=Scope.PUBLISH, response=Deleted, errors=(404,))
async def delete_webhook(call: Call) -> Deleted:
    """Delete a webhook with its log; nothing more is sent to it."""
    await call.desk.webhooks.remove(call.id)
    return Deleted(ok=True)


@operations.add(
    "GET",
    "/webhooks/{id}/deliveries",
    scope=Scope.PUBLISH,
    query=DeliveriesQuery,
    response=DeliveryList,
    errors=(404,),
)
async def list_webhook_deliveries(call: Call) -> DeliveryList:
    """List the deliveries to a webhook, newest event first, with the outcome of the last attempt and the next one."""
    page = await call.desk.webhooks.list_deliveries(call.id, **call.query)  # type: ignore[arg-type] # the desk validates them
    return DeliveryList(deliveries=page.items, next_cursor=page.next_cursor)
