"""`copydesk draft`: approve, reject, regenerate, unapprove, archive, schedule, reschedule, cancel."""

from datetime import datetime
from typing import Unpack

import click

from copydesk.cli.ask import confirm, is_interactive
from copydesk.cli.context import Context, pass_context
from copydesk.cli.drafts import DraftSelection, run_action, with_draft_selection
from copydesk.cli.generation import NO_WAIT, wait_for_versions
from copydesk.cli.posting import print_blockers
from copydesk.model.change import ChangeDraft
from copydesk.model.draft import Action

FEEDBACK = click.option("--feedback", metavar="TEXT", help="Why, or what to change.")
AT = "The time: fri 14:30, tomorrow 9, in 2 hours, ISO."


@click.command()
@with_draft_selection
@pass_context
def approve(context: Context, **selection: Unpack[DraftSelection]) -> None:
    """Let drafts be scheduled or posted."""
    run_action(context, ChangeDraft(action=Action.APPROVE), print_notes=print_blockers, **selection)


@click.command()
@FEEDBACK
@with_draft_selection
@pass_context
def reject(context: Context, *, feedback: str | None, **selection: Unpack[DraftSelection]) -> None:
    """Turn drafts down."""
    run_action(context, ChangeDraft(action=Action.REJECT, feedback=feedback), **selection)


@click.command()
@FEEDBACK
@NO_WAIT
@with_draft_selection
@pass_context
def regenerate(context: Context, *, feedback: str | None, no_wait: bool, **selection: Unpack[DraftSelection]) -> None:
    """Let new versions be written, and wait for them. What is printed of one draft is the new one in its place."""
    request = ChangeDraft(action=Action.REGENERATE, feedback=feedback)
    run_action(context, request, follow_up=None if no_wait else wait_for_versions, **selection)


@click.command()
@FEEDBACK
@with_draft_selection
@pass_context
def unapprove(context: Context, *, feedback: str | None, **selection: Unpack[DraftSelection]) -> None:
    """Take approvals back: with feedback to be changed, without for another look."""
    run_action(context, ChangeDraft(action=Action.UNAPPROVE, feedback=feedback), **selection)


@click.command()
@with_draft_selection
@pass_context
def archive(context: Context, **selection: Unpack[DraftSelection]) -> None:
    """Put drafts away; undo brings them back."""
    run_action(context, ChangeDraft(action=Action.ARCHIVE), **selection)


@click.command()
@click.option("--at", "time", metavar="TIME", help=f"{AT} Without it: the next free slot.")
@click.option("--next-slot", is_flag=True, help="With --at: the first free slot at that time or later.")
@with_draft_selection
@pass_context
def schedule(context: Context, *, time: str | None, next_slot: bool, **selection: Unpack[DraftSelection]) -> None:
    """Give approved drafts a time, or a slot each."""
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
    """Give scheduled or missed drafts another time."""
    at, question_suffix = _parse_time(context, time, selection)
    run_action(
        context, ChangeDraft(action=Action.RESCHEDULE, scheduled_at=at), question_suffix=question_suffix, **selection
    )


@click.command()
@with_draft_selection
@pass_context
def cancel(context: Context, **selection: Unpack[DraftSelection]) -> None:
    """Take the time of scheduled or missed drafts away; they stay approved."""
    run_action(context, ChangeDraft(action=Action.CANCEL_SCHEDULE), **selection)


COMMANDS = (approve, reject, regenerate, unapprove, archive, schedule, reschedule, cancel, post)


def _parse_time(context: Context, time: str, selection: DraftSelection) -> tuple[datetime, str]:
    """Parse a time and print it back; on a terminal the user is asked to confirm it.

    With --all-matching the time is part of the confirmation that is asked anyway.
    """
    parsed = context.run(lambda desk: desk.schedule.parse_time(time, field="--at"))
    # On stderr, because stdout may be JSON.
    click.echo(f"{parsed.shown}{': ' if parsed.note else ''}{parsed.note}", err=True)
    if is_interactive() and not selection["yes"] and not selection["all_matching"]:
        confirm("Is this the time?", declined="Nothing was changed.", default=True)
    return parsed.at, f" for {parsed.shown}"
