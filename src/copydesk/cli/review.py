"""`copydesk draft`: approve, reject, regenerate, unapprove, archive, schedule, reschedule, cancel, post."""

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Unpack

import click

from copydesk.cli.context import Context, confirm, is_interactive, pass_context, print_json
from copydesk.cli.draft_selection import NO_WAIT, DraftSelection, run_action, wait_for_versions, with_draft_selection
from copydesk.model.delivery import DeliveryReport, PostResult
from copydesk.model.draft import Action
from copydesk.model.requests import ChangeDraft
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk


MAX_CHECKED_DRAFTS = 20
"""Drafts of a bulk action that are checked for posting problems; each check takes time."""
FEEDBACK = click.option("--feedback", metavar="TEXT", help="The reason, or what should change.")
AT = "The time: fri 14:30, tomorrow 9, in 2 hours, ISO."


@click.command()
@click.argument("draft_id", metavar="ID")
@click.option("--to", "platforms", multiple=True, metavar="NAME", help="A platform or an account; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in the interface's shape.")
@pass_context
def post(context: Context, *, draft_id: str, platforms: tuple[str, ...], as_json: bool) -> None:
    """Post a draft now: to its target platforms, or to every account where it is not live yet.

    Waits up to 30 seconds; `copydesk daemon` or the open console continues unfinished deliveries. Exit code 1 if the
    draft is not live everywhere.
    """

    list_command = context.with_desk_options(f"`copydesk delivery list {clean(draft_id)}`")

    async def work(desk: "Desk") -> tuple[PostResult, tuple[DeliveryReport, ...]]:
        try:
            result = await desk.posting.post(draft_id, platforms)
        # Ctrl-C while waiting: requests may have been sent already.
        except asyncio.CancelledError:
            click.echo(f"Some requests may have been sent already. To see the outcome: {list_command}.", err=True)
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
            f"Deliveries continue while {daemon_command} runs or the console is open. To follow them: {list_command}.",
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
            click.echo(
                f"{draft_id} cannot be posted to {blocker.account}{part_text}: {clean(blocker.message)}", err=True
            )
        for price in await desk.posting.prices(draft_id):
            click.echo(f"Posting {draft_id} to {price.account} costs {price.amount} {price.currency}.", err=True)


@click.command()
@with_draft_selection
@pass_context
def approve(context: Context, **selection: Unpack[DraftSelection]) -> None:
    """Approve drafts."""
    run_action(context, ChangeDraft(action=Action.APPROVE), print_notes=print_blockers, **selection)


@click.command()
@FEEDBACK
@with_draft_selection
@pass_context
def reject(context: Context, *, feedback: str | None, **selection: Unpack[DraftSelection]) -> None:
    """Reject drafts."""
    run_action(context, ChangeDraft(action=Action.REJECT, feedback=feedback), **selection)


@click.command()
@FEEDBACK
@NO_WAIT
@with_draft_selection
@pass_context
def regenerate(context: Context, *, feedback: str | None, no_wait: bool, **selection: Unpack[DraftSelection]) -> None:
    """Generate new versions of drafts and wait for them. For a single draft, the new version is printed."""
    request = ChangeDraft(action=Action.REGENERATE, feedback=feedback)
    run_action(context, request, follow_up=None if no_wait else wait_for_versions, **selection)


@click.command()
@FEEDBACK
@with_draft_selection
@pass_context
def unapprove(context: Context, *, feedback: str | None, **selection: Unpack[DraftSelection]) -> None:
    """Withdraw approvals: with feedback changes are requested, without it the draft needs review."""
    run_action(context, ChangeDraft(action=Action.UNAPPROVE, feedback=feedback), **selection)


@click.command()
@with_draft_selection
@pass_context
def archive(context: Context, **selection: Unpack[DraftSelection]) -> None:
    """Archive drafts; undo restores them."""
    run_action(context, ChangeDraft(action=Action.ARCHIVE), **selection)


@click.command()
@click.option("--at", "time", metavar="TIME", help=f"{AT} Default: the next free slot.")
@click.option("--next-slot", is_flag=True, help="With --at: use the first free slot from that time on.")
@with_draft_selection
@pass_context
def schedule(context: Context, *, time: str | None, next_slot: bool, **selection: Unpack[DraftSelection]) -> None:
    """Schedule approved drafts for a time or the next free slots."""
    at, question_suffix = (
        _parse_time(context, time, selection) if time is not None else (None, " to the next free slots")
    )
    request = ChangeDraft(action=Action.SCHEDULE, scheduled_at=at, smart_schedule=next_slot)
    run_action(context, request, question_suffix=question_suffix, print_notes=print_blockers, **selection)


@click.command()
@click.option("--at", "time", metavar="TIME", required=True, help=AT)
@with_draft_selection
@pass_context
def reschedule(context: Context, *, time: str, **selection: Unpack[DraftSelection]) -> None:
    """Reschedule scheduled or missed drafts."""
    at, question_suffix = _parse_time(context, time, selection)
    run_action(
        context, ChangeDraft(action=Action.RESCHEDULE, scheduled_at=at), question_suffix=question_suffix, **selection
    )


@click.command()
@with_draft_selection
@pass_context
def cancel(context: Context, **selection: Unpack[DraftSelection]) -> None:
    """Unschedule scheduled or missed drafts; they stay approved."""
    run_action(context, ChangeDraft(action=Action.CANCEL_SCHEDULE), **selection)


def _parse_time(context: Context, time: str, selection: DraftSelection) -> tuple[datetime, str]:
    """Parse a time and print it back; on a terminal the user is asked to confirm it.

    With --all-matching the time is part of the confirmation that is asked anyway.
    """
    parsed = context.run(lambda desk: desk.schedule.parse_time(time, field="--at"))
    # On stderr, because stdout may be JSON.
    click.echo(f"{parsed.shown}{': ' if parsed.note else ''}{parsed.note}", err=True)
    if is_interactive() and not selection["yes"] and not selection["all_matching"]:
        confirm("Use this time?", declined="Nothing changed.", default=True)
    return parsed.at, f" for {parsed.shown}"


COMMANDS = (approve, reject, regenerate, unapprove, archive, schedule, reschedule, cancel, post)
