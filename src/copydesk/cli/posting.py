"""`copydesk draft post`, and the posting problems printed after an approval."""

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from copydesk.cli.context import Context, pass_context, print_json
from copydesk.model.posting import DeliveryReport, PostResult
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk

MAX_CHECKED_DRAFTS = 20
"""Drafts of a bulk action that are checked for posting problems; each check takes time."""


@click.command()
@click.argument("draft_id", metavar="ID")
@click.option("--to", "platforms", multiple=True, metavar="NAME", help="A platform or an account; repeat it for more.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in the interface's shape.")
@pass_context
def post(context: Context, *, draft_id: str, platforms: tuple[str, ...], as_json: bool) -> None:
    """Post a draft now: to the platforms it is for, or to every account where it is not live yet.

    Waits up to 30 seconds; what is under way then is gone on with by `copydesk daemon`, or the console. The exit code
    is 1 where it is not live everywhere.
    """

    list_command = context.with_desk_options(f"`copydesk delivery list {clean(draft_id)}`")

    async def work(desk: "Desk") -> tuple[PostResult, tuple[DeliveryReport, ...]]:
        try:
            result = await desk.posting.post(draft_id, platforms)
        # Ctrl-C while waiting: requests may have been sent already.
        except asyncio.CancelledError:
            click.echo(f"Something may be on its way: {list_command} says what became of it.", err=True)
            raise
        return result, await desk.posting.list_deliveries(draft_id)

    result, reports = context.run(work)
    if as_json:
        print_json(result)
    else:
        accounts = {*result.posted, *result.failed, *result.under_way}
        for report in reports:
            if report.account in accounts:
                click.echo(
                    f"{report.account}: {clean(context.with_desk_options(report.says))}",
                    err=report.account in result.failed,
                )
    if result.under_way:
        daemon_command = context.with_desk_options("`copydesk daemon`")
        click.echo(
            f"It goes on while {daemon_command} runs or the console is open; {list_command} says how far it is.",
            err=True,
        )
    sys.exit(1 if result.failed or result.under_way else 0)


async def print_blockers(desk: "Desk", draft_ids: Sequence[str]) -> None:
    """Print what would keep these drafts from being posted as they are, and what posting costs."""
    # Nothing can be posted anyway; a desk without accounts should not be nagged.
    if not await desk.accounts.list():
        return
    for draft_id in draft_ids[:MAX_CHECKED_DRAFTS]:
        for blocker in await desk.posting.blockers(draft_id):
            part_text = f", post {blocker.part + 1}" if blocker.part is not None else ""
            click.echo(f"{draft_id} would not go to {blocker.account}{part_text}: {clean(blocker.message)}", err=True)
        for price in await desk.posting.prices(draft_id):
            click.echo(f"{draft_id} costs {price.amount} {price.currency} on {price.account}.", err=True)


