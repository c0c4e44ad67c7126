"""`copydesk delivery`: list, show, look, posted, again, drop."""

from typing import TYPE_CHECKING

import click

from copydesk.cli.context import AS_JSON, Context, pass_context, print_json
from copydesk.cli.output import first_line, format_time, print_table
from copydesk.model.delivery import DeliveryReport
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk

EXCERPT_LENGTH = 30
"""Characters of a draft's text that identify it in the list."""
DELIVERY = click.argument("delivery_id", metavar="DELIVERY")


@click.group()
def delivery() -> None:
    """Show deliveries to accounts and resolve uncertain ones."""


@delivery.command(name="list")
@click.argument("draft_id", required=False, metavar="[DRAFT]")
@AS_JSON
@pass_context
def list_(context: Context, *, draft_id: str | None, as_json: bool) -> None:
    """List the deliveries of a draft, or the unfinished ones.

    Without DRAFT: all that are pending, uncertain or failed recently.
    """

    async def work(desk: "Desk") -> tuple[tuple[DeliveryReport, ...], dict[str, str]]:
        if draft_id:
            return await desk.posting.list_deliveries(draft_id), {}
        reports = await desk.posting.list_unsettled()
        # Several deliveries may belong to one draft: load each draft once.
        drafts = [
            await desk.drafts.get(unique_id) for unique_id in dict.fromkeys(report.draft_id for report in reports)
        ]
        return reports, {draft.id: first_line(draft.text, EXCERPT_LENGTH) for draft in drafts}

    reports, texts = context.run(work)
    if as_json:
        print_json(reports)
        return
    rows = [
        (
            report.id,
            report.account,
            report.state.replace("_", " "),
            texts.get(report.draft_id, ""),
            context.with_desk_options(report.says),
        )
        for report in reports
    ]
    print_table(rows, empty="No deliveries." if draft_id else "No pending or recently failed deliveries.")


@delivery.command()
@DELIVERY
@AS_JSON
@pass_context
def show(context: Context, *, delivery_id: str, as_json: bool) -> None:
    """Show a delivery and its history."""
    report, events = context.run(lambda desk: desk.posting.get_delivery(delivery_id))
    if as_json:
        print_json({"delivery": report, "events": events})
        return
    click.echo(f"{report.account}: {clean(context.with_desk_options(report.says))}")
    click.echo(context.with_desk_options(f"  copydesk draft show {report.draft_id}"))
    for post in report.posts:
        click.echo(f"  {clean(post.url or post.id or '')}")
    print_table([(format_time(event.at), event.what, event.says) for event in events], empty="")


@delivery.command()
@DELIVERY
@AS_JSON
@pass_context
def look(context: Context, *, delivery_id: str, as_json: bool) -> None:
    """Check the account for a delivery with an unknown outcome."""
    _print_report(context, context.run(lambda desk: desk.posting.check_delivery(delivery_id)), as_json=as_json)


@delivery.command()
@DELIVERY
@click.option("--url", default="", metavar="URL", help="The URL of the post.")
@AS_JSON
@pass_context
def posted(context: Context, *, delivery_id: str, url: str, as_json: bool) -> None:
    """Mark a delivery as posted, after checking your profile."""
    _print_report(context, context.run(lambda desk: desk.posting.mark_posted(delivery_id, url)), as_json=as_json)


@delivery.command()
@DELIVERY
@AS_JSON
@pass_context
def again(context: Context, *, delivery_id: str, as_json: bool) -> None:
    """Resend the missing posts, after checking your profile.

    Also allows a repeated text.
    """
    _print_report(context, context.run(lambda desk: desk.posting.resend(delivery_id)), as_json=as_json)


@delivery.command()
@DELIVERY
@AS_JSON
@pass_context
def drop(context: Context, *, delivery_id: str, as_json: bool) -> None:
    """Give up a delivery: it is not sent again."""
    _print_report(context, context.run(lambda desk: desk.posting.give_up(delivery_id)), as_json=as_json)


def _print_report(context: Context, report: DeliveryReport, *, as_json: bool) -> None:
    if as_json:
        print_json(report)
    else:
        click.echo(f"{report.account}: {clean(context.with_desk_options(report.says))}")
