"""The filter options of draft lists, shared by every command that selects drafts."""

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any, cast

import click

from copydesk.model.draft import MANUAL, Format, Status
from copydesk.model.filters import Archived, FilterParams
from copydesk.model.source import SourceType

if TYPE_CHECKING:
    from copydesk.desk import Desk

FILTER_NAMES = (
    "status",
    "format",
    "source_id",
    "source_type",
    "tags",
    "scheduled_after",
    "scheduled_before",
    "archived",
)
_TIMES = {"scheduled_after": "--scheduled-after", "scheduled_before": "--scheduled-before"}

OPTIONS = (
    click.option(
        "--status",
        multiple=True,
        type=click.Choice([member.value for member in Status]),
        help="In this state; repeated, in one of them.",
    ),
    click.option(
        "--format", type=click.Choice([member.value for member in Format], case_sensitive=False), help="Of this format."
    ),
    click.option("--source", "source_id", metavar="ID", help="Made from this source."),
    click.option(
        "--source-type",
        # MANUAL selects drafts the user made without a source.
        type=click.Choice([*(member.value for member in SourceType), MANUAL]),
        help="Made from a source of this type.",
    ),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="With this tag; repeated, with all of them."),
    click.option("--scheduled-after", metavar="TIME", help="Scheduled then or later: 2026-11-30, fri 9, ISO."),
    click.option("--scheduled-before", metavar="TIME", help="Scheduled before that."),
)
ARCHIVED = click.option(
    "--archived",
    type=click.Choice([member.value for member in Archived]),
    help="What to do with archived ones; by default they are there, and marked.",
)


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Add all filter options to a command, which passes them to `filter_params`."""
    return reduce(lambda decorated, option: option(decorated), (ARCHIVED, *reversed(OPTIONS)), command)


async def filter_params(desk: "Desk", options: dict[str, Any]) -> FilterParams:
    """Return the filters that were given, with times parsed in the user's time zone."""
    # click passes an empty tuple for a repeatable option that was not given.
    params: dict[str, Any] = {name: options[name] for name in FILTER_NAMES if options[name] not in (None, ())}
    for name, field in _TIMES.items():
        if name in params:
            params[name] = await desk.drafts.parse_time(params[name], field=field)
    return cast("FilterParams", params)
