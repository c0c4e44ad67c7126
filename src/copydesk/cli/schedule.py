"""`copydesk schedule`: plan, auto, conflicts, clock."""

import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from copydesk.cli.ask import ask, on_terminal
from copydesk.cli.context import Context, pass_context, print_json
from copydesk.cli.show import counted, first_line, table

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.job import ClockDoubt
    from copydesk.model.schedule import AutoSchedule, Conflicts, ReadTime

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON in the interface's shape.")
Plan = tuple["AutoSchedule", tuple[str, ...]]
"""What goes where, and each time as it is shown."""


@click.group()
def schedule() -> None:
    """When drafts go out."""


@schedule.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@AS_JSON
@pass_context
def plan(context: Context, *, ids: tuple[str, ...], as_json: bool) -> None:
    """Show which approved draft would go into which slot, and change nothing."""
    _print(context.run(lambda desk: _auto(desk, ids, dry_run=True)), dry_run=True, as_json=as_json)


@schedule.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--dry-run", is_flag=True, help="Only show the plan, as `plan` does.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@AS_JSON
@pass_context
def auto(context: Context, *, ids: tuple[str, ...], dry_run: bool, yes: bool, as_json: bool) -> None:
    """Schedule the approved drafts, or those of the IDs, to the next free slots: the best first, then the oldest.

    Exit code 1 where a draft got no time.
    """
    planned = None
    if not dry_run and not yes:
        planned = context.run(lambda desk: _auto(desk, ids, dry_run=True))
        if planned[0].scheduled:
            _print(planned, dry_run=True, as_json=False, err=True)
            ask(f"Schedule {counted(len(planned[0].scheduled), 'draft')} so?", nothing="Nothing was scheduled.")
    done = context.run(lambda desk: _auto(desk, ids, dry_run=dry_run))
    seen = planned is not None and planned[0].scheduled == done[0].scheduled and on_terminal()
    _print(done, dry_run=dry_run, as_json=as_json, seen=seen)
    sys.exit(1 if done[0].skipped and not dry_run else 0)


@schedule.command()
@click.option("--at", "time", required=True, metavar="TIME", help="The time: fri 14:30, tomorrow 9, in 2 hours, ISO.")
@click.option("--exclude", metavar="ID", help="Leave this draft out.")
@AS_JSON
@pass_context
def conflicts(context: Context, *, time: str, exclude: str | None, as_json: bool) -> None:
    """Show the drafts that go out within 30 minutes before or after a time."""

    async def work(desk: "Desk") -> "tuple[ReadTime, Conflicts, tuple[str, ...]]":
        read = await desk.schedule.read_time(time, field="--at")
        found = await desk.schedule.conflicts(read.at, exclude)
        return read, found, await desk.schedule.shown(*(each.scheduled_at for each in found.conflicts))

    read, found, shown = context.run(work)
    if as_json:
        print_json(found)
        return
    click.echo(f"{read.shown}{': ' if read.note else ''}{read.note}", err=True)
    rows = [(each.id, at, each.format, first_line(each.text)) for each, at in zip(found.conflicts, shown, strict=True)]
    table(rows, empty="No other draft goes out within 30 minutes.", cut=True)


@schedule.command()
@click.option("--accept", is_flag=True, help="The clock is right as it is now: go on sending.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the doubt, or null.")
@pass_context
def clock(context: Context, *, accept: bool, as_json: bool) -> None:
    """Say whether the clock can be trusted: as long as it is in doubt, nothing goes out by itself.

    Exit code 1 where it is in doubt.
    """
    doubt = context.run(lambda desk: desk.schedule.accept_clock() if accept else desk.schedule.clock_doubt())
    if as_json:
        print_json({"doubt": None if accept else doubt})
    elif doubt is None:
        click.echo("The clock is right, as far as can be told.")
    elif accept:
        click.echo(f"{_jump(doubt)} From now on it is trusted as it is.")
    else:
        click.echo(_jump(doubt))
        until = "Nothing goes out until it is set right, or until you say: copydesk schedule clock --accept"
        click.echo(context.advice(until), err=True)
    sys.exit(1 if doubt and not accept else 0)


async def _auto(desk: "Desk", ids: tuple[str, ...], *, dry_run: bool) -> Plan:
    found = await desk.schedule.auto(ids or None, dry_run=dry_run)
    return found, await desk.schedule.shown(*(each.scheduled_at for each in found.scheduled))


def _print(planned: Plan, *, dry_run: bool, as_json: bool, err: bool = False, seen: bool = False) -> None:
    """What goes where; where the same was `seen` on the screen already, only how many."""
    found, shown = planned
    if as_json:
        print_json(found)
        return
    rows = [
        (each.draft_id, at, each.format, f"{each.confidence:.0%}", first_line(each.text))
        for each, at in zip(found.scheduled, shown, strict=True)
    ]
    if rows and not seen:
        table(rows, empty="", err=err, cut=True)
    if found.skipped:
        click.echo(f"{counted(found.skipped, 'draft')} not scheduled: {found.reason}.", err=True)
    elif not rows:
        click.echo("No draft is approved and waits for a time.", err=True)
    elif not dry_run:
        click.echo(f"{counted(len(rows), 'draft')} scheduled.", err=True)


def _jump(doubt: "ClockDoubt") -> str:
    way = "forward" if doubt.seconds > 0 else "back"
    return f"The clock went {way} by {timedelta(seconds=round(abs(doubt.seconds)))}."
