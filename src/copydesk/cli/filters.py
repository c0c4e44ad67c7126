"""The filters of lists as options, for every command that is for what they show."""

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any, cast

import click

from copydesk.model.draft import MANUAL, Format, Status
from copydesk.model.filters import Archived, Narrowing
from copydesk.model.source import SourceType

if TYPE_CHECKING:
    from copydesk.desk import Desk

NAMES = ("status", "format", "source_id", "source_type", "tags", "scheduled_after", "scheduled_before", "archived")
_TIMES = {"scheduled_after": "--scheduled-after", "scheduled_before": "--scheduled-before"}

OPTIONS = (
    click.option(
        "--status",
        multiple=True,
        type=click.Choice([each.value for each in Status]),
        help="In this state; repeated, in one of them.",
    ),
    click.option(
        "--format", type=click.Choice([each.value for each in Format], case_sensitive=False), help="Of this format."
    ),
    click.option("--source", "source_id", metavar="ID", help="Made from this source."),
    click.option(
        "--source-type",
        type=click.Choice([*(each.value for each in SourceType), MANUAL]),
        help="Made from a source of this type.",
    ),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="With this tag; repeated, with all of them."),
    click.option("--scheduled-after", metavar="TIME", help="Scheduled then or later: 2026-11-30, fri 9, ISO."),
    click.option("--scheduled-before", metavar="TIME", help="Scheduled before that."),
)
ARCHIVED = click.option(
    "--archived",
    type=click.Choice([each.value for each in Archived]),
    help="What to do with archived ones; by default they are there, and marked.",
)


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """The options, all of them, on a command that hands them to `narrowing`."""
    return reduce(lambda made, option: option(made), (ARCHIVED, *reversed(OPTIONS)), command)


async def narrowing(desk: "Desk", given: dict[str, Any]) -> Narrowing:
    """What the options ask for, with times read on the clock of the user's zone; what was not given is left out."""
    asked: dict[str, Any] = {name: given[name] for name in NAMES if given[name] not in (None, ())}
    for name, field in _TIMES.items():
        if name in asked:
            asked[name] = await desk.drafts.time(asked[name], field=field)
    return cast("Narrowing", asked)
