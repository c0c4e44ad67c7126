"""`copydesk draft`: approve, reject, regenerate, unapprove, archive, schedule, reschedule, cancel."""

from datetime import datetime
from typing import Unpack

import click

from copydesk.cli.ask import ask, on_terminal
from copydesk.cli.context import Context, pass_context
from copydesk.cli.drafts import Chosen, act, on_drafts
from copydesk.cli.generation import NO_WAIT, wait_for_versions
from copydesk.cli.posting import say_stops
from copydesk.model.change import ChangeDraft
from copydesk.model.draft import Action

FEEDBACK = click.option("--feedback", metavar="TEXT", help="Why, or what to change.")
AT = "The time: fri 14:30, tomorrow 9, in 2 hours, ISO."


@click.command()
@on_drafts
@pass_context
def approve(context: Context, **chosen: Unpack[Chosen]) -> None:
    """Let drafts be scheduled or posted."""
    act(context, ChangeDraft(action=Action.APPROVE), note=say_stops, **chosen)


@click.command()
@FEEDBACK
@on_drafts
@pass_context
def reject(context: Context, *, feedback: str | None, **chosen: Unpack[Chosen]) -> None:
    """Turn drafts down."""
    act(context, ChangeDraft(action=Action.REJECT, feedback=feedback), **chosen)


@click.command()
@FEEDBACK
@NO_WAIT
@on_drafts
@pass_context
def regenerate(context: Context, *, feedback: str | None, no_wait: bool, **chosen: Unpack[Chosen]) -> None:
    """Let new versions be written, and wait for them. What is printed of one draft is the new one in its place."""
    request = ChangeDraft(action=Action.REGENERATE, feedback=feedback)
    act(context, request, then=None if no_wait else wait_for_versions, **chosen)


@click.command()
@FEEDBACK
@on_drafts
@pass_context
def unapprove(context: Context, *, feedback: str | None, **chosen: Unpack[Chosen]) -> None:
    """Take approvals back: with feedback to be changed, without for another look."""
    act(context, ChangeDraft(action=Action.UNAPPROVE, feedback=feedback), **chosen)


@click.command()
@on_drafts
@pass_context
def archive(context: Context, **chosen: Unpack[Chosen]) -> None:
    """Put drafts away; undo brings them back."""
    act(context, ChangeDraft(action=Action.ARCHIVE), **chosen)


@click.command()
@click.option("--at", "time", metavar="TIME", help=f"{AT} Without it: the next free slot.")
@click.option("--next-slot", is_flag=True, help="With --at: the first free slot at that time or later.")
@on_drafts
@pass_context
def schedule(context: Context, *, time: str | None, next_slot: bool, **chosen: Unpack[Chosen]) -> None:
    """Give approved drafts a time, or a slot each."""
    at, question_suffix = _parse_time(context, time, chosen) if time is not None else (None, " to the next free slots")
    request = ChangeDraft(action=Action.SCHEDULE, scheduled_at=at, smart_schedule=next_slot)
    act(context, request, how=question_suffix, note=say_stops, **chosen)


@click.command()
@click.option("--at", "time", metavar="TIME", required=True, help=AT)
@on_drafts
@pass_context
def reschedule(context: Context, *, time: str, **chosen: Unpack[Chosen]) -> None:
    """Give scheduled or missed drafts another time."""
    at, question_suffix = _parse_time(context, time, chosen)
    act(context, ChangeDraft(action=Action.RESCHEDULE, scheduled_at=at), how=question_suffix, **chosen)


@click.command()
@on_drafts
@pass_context
def cancel(context: Context, **chosen: Unpack[Chosen]) -> None:
    """Take the time of scheduled or missed drafts away; they stay approved."""
    act(context, ChangeDraft(action=Action.CANCEL_SCHEDULE), **chosen)


COMMANDS = (approve, reject, regenerate, unapprove, archive, schedule, reschedule, cancel)


def _parse_time(context: Context, time: str, selection: Chosen) -> tuple[datetime, str]:
    """Parse a time and print it back; on a terminal the user is asked to confirm it.

    With --all-matching the time is part of the confirmation that is asked anyway.
    """
    parsed = context.run(lambda desk: desk.schedule.read_time(time, field="--at"))
    # On stderr, because stdout may be JSON.
    click.echo(f"{parsed.shown}{': ' if parsed.note else ''}{parsed.note}", err=True)
    if on_terminal() and not selection["yes"] and not selection["all_matching"]:
        ask("Is this the time?", nothing="Nothing was changed.", default=True)
    return parsed.at, f" for {parsed.shown}"
