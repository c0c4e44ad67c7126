"""`copydesk webhook`: add, list, remove, log."""

from typing import TYPE_CHECKING

import click

from copydesk.cli.command import group
from copydesk.cli.context import Context, confirm, pass_context
from copydesk.cli.ids import WEBHOOK
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import format_time, print_table
from copydesk.cli.paging import Paging, load_pages, print_next_cursor, with_paging
from copydesk.model.event import EventType
from copydesk.model.ids import IdKind
from copydesk.model.page import Page
from copydesk.model.webhook import CreatedWebhook, Webhook, WebhookDelivery
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk

WEBHOOK_ID = click.argument("webhook_id", type=WEBHOOK, metavar="WEBHOOK")


@group()
def webhook() -> None:
    """Send events to other servers: what happens to drafts, runs, deliveries and sources.

    The console, `copydesk daemon` and `copydesk serve --jobs` send them.
    """


@webhook.command(
    examples=(
        "copydesk webhook add https://hooks.example/copydesk",
        "copydesk webhook add https://hooks.example/copydesk --type draft.missed",
    ),
    creates_desk=True,
)
@click.argument("url")
@click.option(
    "--type",
    "types",
    multiple=True,
    type=click.Choice([member.value for member in EventType]),
    help="Send only events of this type; may be repeated.",
)
@json_options(CreatedWebhook)
@pass_context
def add(context: Context, *, url: str, types: tuple[str, ...], as_json: bool) -> None:
    """Add a webhook and print its secret, which verifies the signatures. It is not shown again."""
    request: dict[str, object] = {"url": url, "types": list(types) or None}
    created = context.run(lambda desk: desk.webhooks.create(request))
    if as_json:
        print_json(created)
        return
    # On stderr, so that a variable or a pipe receives the secret only.
    click.echo(f"Added {clean(created.url)}. Copy its secret now, it is not shown again:", err=True)
    click.echo(created.secret)


@webhook.command(name="list", examples=("copydesk webhook list",))
@json_options(Webhook)
@pass_context
def list_(context: Context, *, as_json: bool) -> None:
    """List the webhooks."""

    async def work(desk: "Desk") -> tuple[tuple[Webhook, ...], dict[str, str]]:
        webhooks = await desk.webhooks.list()
        return webhooks, await desk.ids.shorten(IdKind.WEBHOOK, [entry.id for entry in webhooks])

    webhooks, short_ids = context.run(work)
    if as_json:
        print_json(webhooks)
        return
    rows = [
        (short_ids[entry.id], entry.url, ", ".join(entry.types or ("all events",)), _describe_state(entry))
        for entry in webhooks
    ]
    print_table(rows, empty=context.with_desk_options("No webhooks. Add one: copydesk webhook add URL"))


def _describe_state(entry: Webhook) -> str:
    if entry.disabled_at:
        return f"disabled {format_time(entry.disabled_at)}"
    return f"failing since {format_time(entry.failing_since)}" if entry.failing_since else ""


@webhook.command(examples=("copydesk webhook remove 3d2e1f",))
@WEBHOOK_ID
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@json_options("ok")
@pass_context
def remove(context: Context, *, webhook_id: str, yes: bool, as_json: bool) -> None:
    """Remove a webhook with its log. Nothing more is sent to it."""
    if not yes:
        found = context.run(lambda desk: desk.webhooks.get(webhook_id))
        confirm(f"Remove {clean(found.url)} with its secret and its log?", declined="Nothing changed.")
    context.run(lambda desk: desk.webhooks.remove(webhook_id))
    if as_json:
        print_json({"ok": True})
    else:
        click.echo("Removed.")


@webhook.command(examples=("copydesk webhook log 3d2e1f --limit 5",))
@WEBHOOK_ID
@with_paging(25)
@json_options(WebhookDelivery, rows="deliveries")
@pass_context
def log(context: Context, *, webhook_id: str, paging: Paging, as_json: bool) -> None:
    """Show what was sent to a webhook, newest first: event, status, error and the next attempt."""

    async def work(desk: "Desk") -> Page[WebhookDelivery]:
        return await load_pages(paging, lambda limit, cursor: desk.webhooks.list_deliveries(webhook_id, limit, cursor))

    page = context.run(work)
    if as_json:
        print_json({"deliveries": page.items, "nextCursor": page.next_cursor})
        return
    rows = [
        (format_time(entry.timestamp), entry.event_id, entry.type, _describe_delivery(entry)) for entry in page.items
    ]
    print_table(rows, empty="Nothing was sent yet.")
    print_next_cursor(page)


def _describe_delivery(entry: WebhookDelivery) -> str:
    if entry.delivered_at:
        return f"delivered {format_time(entry.delivered_at)}, status {entry.status}"
    if entry.next_attempt_at is None:
        return f"given up: {entry.error or 'the webhook was disabled.'}"
    if entry.error is None:
        return "waiting"
    return f"{entry.error} Next attempt {format_time(entry.next_attempt_at)}."
