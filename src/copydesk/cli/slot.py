"""`copydesk slot`: list, set, zone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

import click

from copydesk.cli.command import group
from copydesk.cli.context import Context, pass_context
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import print_table
from copydesk.model.draft import Status
from copydesk.model.schedule import DAY_GROUPS, SET_SLOTS_COMMAND, Slot, name_days
from copydesk.text.formatting import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


@group()
def slot() -> None:
    """Manage weekly posting slots and the time zone."""


@slot.command(name="list", examples=("copydesk slot list",))
@json_options(Slot)
@pass_context
def list_(context: Context, *, as_json: bool) -> None:
    """List the weekly slots, Sunday first."""

    async def work(desk: "Desk") -> None:
        await _print_slots(context, desk, await desk.schedule.slots(), as_json=as_json)

    context.run(work)


@slot.command(
    name="set",
    examples=('copydesk slot set "mon 09:00" "wed 14:30"', 'copydesk slot set "weekdays 9:30"'),
    creates_desk=True,
)
@click.argument("times", nargs=-1, metavar="TIME...")
@click.option("--clear", is_flag=True, help="Remove all weekly slots.")
@json_options(Slot)
@pass_context
def set_(context: Context, *, times: tuple[str, ...], clear: bool, as_json: bool) -> None:
    """Replace all weekly slots.

    Slots that you do not pass again are removed, and printed.
    """
    if bool(times) is clear:
        raise click.UsageError("Pass the weekly slots, or --clear to remove them all.")

    async def work(desk: "Desk") -> None:
        texts = [text for typed in times for text in _expand(typed)]
        slots = [desk.schedule.parse_slot(text, field=f"slots[{index}]") for index, text in enumerate(texts)]
        earlier = await desk.schedule.slots()
        stored = await desk.schedule.set_slots(slots)
        await _print_slots(context, desk, stored, as_json=as_json)
        removed = [entry for entry in earlier if entry not in stored]
        if removed and not as_json:
            click.echo(f"Removed {plural(len(removed), 'slot')}: {', '.join(_format(removed))}", err=True)

    context.run(work)


def _complete_zones(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return sorted(name for name in available_timezones() if name.startswith(incomplete))


@slot.command(
    examples=("copydesk slot zone", "copydesk slot zone Europe/Prague"),
    creates_desk=lambda values: values["name"] is not None,
)
@click.argument("name", required=False, shell_complete=_complete_zones)
@json_options("timeZone")
@pass_context
def zone(context: Context, *, name: str | None, as_json: bool) -> None:
    """Show or set your time zone."""

    async def work(desk: "Desk") -> tuple[str, int]:
        if name is None:
            return await desk.schedule.zone(), 0
        return await desk.schedule.set_zone(name), (await desk.drafts.counts()).by_status[Status.SCHEDULED]

    zone_name, scheduled = context.run(work)
    if as_json:
        print_json({"timeZone": zone_name})
        return
    click.echo(zone_name)
    # A new time zone does not move drafts that are scheduled already.
    if scheduled:
        drafts = "1 scheduled draft keeps its" if scheduled == 1 else f"{scheduled:,} scheduled drafts keep their"
        click.echo(f"{drafts} time and time zone.", err=True)


def _expand(text: str) -> list[str]:
    """Return a text for each day of a group such as `weekdays 9:30`; otherwise `text` itself."""
    group, _, time = text.strip().partition(" ")
    days = DAY_GROUPS.get(group.lower())
    return [f"{_DAYS[day]} {time}" for day in sorted(days)] if days else [text]


def _format(slots: Sequence[Slot]) -> list[str]:
    """Return a text for each day and time, which `_expand` reads: `weekdays 09:00`, `sat 11:00`."""
    return [f"{day} {time}" for day, time in name_days(slots, _DAYS)]


async def _print_slots(context: Context, desk: "Desk", slots: Sequence[Slot], *, as_json: bool) -> None:
    if as_json:
        print_json(slots)
        return
    print_table(
        [(line,) for line in _format(slots)],
        empty=context.with_desk_options(f"No weekly slots. Add some: {SET_SLOTS_COMMAND}"),
    )
    if slots:
        click.echo(f"Time zone: {await desk.schedule.zone()}", err=True)
