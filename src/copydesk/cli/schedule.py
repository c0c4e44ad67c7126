"""`copydesk schedule`: plan, auto, conflicts, clock."""

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import click

from copydesk.cli.command import group
from copydesk.cli.context import Context, confirm, is_interactive, pass_context
from copydesk.cli.ids import DRAFT
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import first_line, format_confidence, missing_account_note, print_table
from copydesk.model.ids import IdKind
from copydesk.model.schedule import NO_SLOTS_REASON, SET_SLOTS_COMMAND, AutoSchedule, Conflicts
from copydesk.text.formatting import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.job import ClockWarning
    from copydesk.model.schedule import ParsedTime


class Plan(NamedTuple):
    """A plan, and how it is printed."""

    result: AutoSchedule
    times: tuple[str, ...]
    short_ids: dict[str, str]


@group()
def schedule() -> None:
    """Plan the schedule and check for conflicts."""


@schedule.command(examples=("copydesk schedule plan",))
@click.argument("ids", nargs=-1, type=DRAFT, metavar="[ID]...")
@json_options(AutoSchedule)
@pass_context
def plan(context: Context, *, ids: tuple[str, ...], as_json: bool) -> None:
    """Preview which slots approved drafts would get; changes nothing."""
    _print_plan(context, context.run(lambda desk: _run_auto(desk, ids, dry_run=True)), dry_run=True, as_json=as_json)


@schedule.command(examples=("copydesk schedule auto", "copydesk schedule auto 1f9c2a 77e0b4 --yes"))
@click.argument("ids", nargs=-1, type=DRAFT, metavar="[ID]...")
@click.option("--dry-run", is_flag=True, help="Only show the plan, like `plan`.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@json_options(AutoSchedule)
@pass_context
def auto(context: Context, *, ids: tuple[str, ...], dry_run: bool, yes: bool, as_json: bool) -> None:
    """Schedule approved drafts into the next free slots.

    All of them, or the given ones: best score first, then oldest.

    Exit code 1 if a draft could not be scheduled.
    """
    # Show the plan before asking: the user confirms the times, not just a number.
    planned = None
    if not dry_run and not yes:
        planned = context.run(lambda desk: _run_auto(desk, ids, dry_run=True))
        if planned.result.scheduled:
            _print_plan(context, planned, dry_run=True, as_json=False, err=True)
            confirm(f"Schedule {plural(len(planned.result.scheduled), 'draft')}?", declined="Nothing changed.")
            # Not what was approved while the question was open: it was not in the plan.
            ids = tuple(placement.draft_id for placement in planned.result.scheduled)
    if planned is not None and not planned.result.scheduled:
        # Nothing was confirmed: a draft that was approved since must not be scheduled.
        final = planned
    else:
        final = context.run(lambda desk: _run_auto(desk, ids, dry_run=dry_run))
    # Another process may have changed the schedule while the question was open: print the plan again if it differs.
    is_same = planned is not None and planned.result.scheduled == final.result.scheduled
    _print_plan(context, final, dry_run=dry_run, as_json=as_json, already_printed=is_same and is_interactive())
    skipped = final.result.skipped or (planned is not None and planned.result.skipped)
    sys.exit(1 if skipped and not dry_run else 0)


@schedule.command(examples=('copydesk schedule conflicts --at "fri 14:30"',))
@click.option("--at", "time", required=True, metavar="TIME", help="The time: fri 14:30, tomorrow 9, in 2 hours, ISO.")
@click.option("--exclude", type=DRAFT, metavar="ID", help="Leave this draft out.")
@json_options(Conflicts)
@pass_context
def conflicts(context: Context, *, time: str, exclude: str | None, as_json: bool) -> None:
    """List the drafts scheduled within 30 minutes of a time."""

    async def work(desk: "Desk") -> "tuple[ParsedTime, Conflicts, tuple[str, ...], dict[str, str]]":
        # A draft that is being posted may have a time in the past.
        parsed = await desk.schedule.parse_time(time, field="--at", allow_past=True)
        found = await desk.schedule.conflicts(parsed.at, exclude)
        times = await desk.schedule.format_times(*(entry.scheduled_at for entry in found.conflicts))
        return parsed, found, times, await desk.ids.shorten(IdKind.DRAFT, [entry.id for entry in found.conflicts])

    parsed, found, times, short_ids = context.run(work)
    if as_json:
        print_json(found)
        return
    click.echo(f"{parsed.shown}{': ' if parsed.note else ''}{parsed.note}", err=True)
    rows = [
        (short_ids[entry.id], at, entry.format, first_line(entry.text))
        for entry, at in zip(found.conflicts, times, strict=True)
    ]
    print_table(rows, empty="No other draft is scheduled within 30 minutes.", cut=True)


@schedule.command(examples=("copydesk schedule clock", "copydesk schedule clock --accept"))
@click.option("--accept", is_flag=True, help="Accept the current time and resume posting.")
@json_options("doubt", help="Print JSON: the warning, or null.")
@pass_context
def clock(context: Context, *, accept: bool, as_json: bool) -> None:
    """Check the clock. After a jump nothing is posted automatically until the time is accepted.

    Exit code 1 if posting is paused.
    """
    warning = context.run(lambda desk: desk.schedule.accept_clock() if accept else desk.schedule.clock_warning())
    if as_json:
        print_json({"doubt": None if accept else warning})
    elif warning is None:
        click.echo("The clock is fine.")
    elif accept:
        click.echo(f"{_describe_jump(warning)} The current time is accepted; posting resumes.")
    else:
        click.echo(_describe_jump(warning))
        click.echo(context.with_desk_options(f"Posting is paused. {warning.advice}"), err=True)
    # A script can test the clock by the exit code.
    sys.exit(1 if warning and not accept else 0)


async def _run_auto(desk: "Desk", ids: tuple[str, ...], *, dry_run: bool) -> Plan:
    for draft_id in ids:
        # The plan counts an unknown id as not approved; for a command it is a mistyped one.
        await desk.drafts.get(draft_id)
    result = await desk.schedule.auto_schedule(ids or None, dry_run=dry_run)
    times = await desk.schedule.format_times(*(placement.scheduled_at for placement in result.scheduled))
    short_ids = await desk.ids.shorten(IdKind.DRAFT, [placement.draft_id for placement in result.scheduled])
    return Plan(result, times, short_ids)


def _print_plan(
    context: Context, planned: Plan, *, dry_run: bool, as_json: bool, err: bool = False, already_printed: bool = False
) -> None:
    """Print the plan; if `already_printed` it is on the screen already, so print only the number of drafts."""
    plan_result, times, short_ids = planned
    if as_json:
        print_json(plan_result)
        return
    rows = [
        (
            short_ids[placement.draft_id],
            at,
            placement.format,
            format_confidence(placement.confidence, known=placement.confidence_known),
            first_line(placement.text),
        )
        for placement, at in zip(plan_result.scheduled, times, strict=True)
    ]
    if rows and not already_printed:
        print_table(rows, empty="", err=err, cut=True)
    if plan_result.without_account:
        note = missing_account_note(plan_result.without_account, len(rows))
        click.echo(context.with_desk_options(note), err=True)
    if plan_result.skipped:
        click.echo(f"{plural(plan_result.skipped, 'draft')} not scheduled: {plan_result.reason}.", err=True)
        if plan_result.reason.startswith(NO_SLOTS_REASON):
            click.echo(context.with_desk_options(f"Add some: {SET_SLOTS_COMMAND}"), err=True)
    elif not rows:
        click.echo("No approved drafts to schedule.", err=True)
    elif not dry_run:
        click.echo(f"{plural(len(rows), 'draft')} scheduled.", err=True)


def _describe_jump(warning: "ClockWarning") -> str:
    direction = "forward" if warning.seconds > 0 else "back"
    return f"The clock jumped {direction} by {timedelta(seconds=round(abs(warning.seconds)))}."
