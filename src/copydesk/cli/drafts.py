"""Which drafts a command is for, and what became of each: what the commands that change drafts share."""

import sys
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click
import msgspec

from copydesk.cli.ask import ask
from copydesk.cli.context import Context, print_json
from copydesk.model.change import BulkFailure, BulkOutcome, ChangeDraft
from copydesk.model.draft import Action, Draft, Format, Status
from copydesk.model.filters import Archived
from copydesk.model.source import SourceType
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.filters import Narrowing

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON in the interface's shape.")
SHOWN_FAILURES = 20
DONE = {
    Action.APPROVE: "approved",
    Action.REJECT: "rejected",
    Action.REGENERATE: "to be written anew",
    Action.SCHEDULE: "scheduled",
    Action.ARCHIVE: "archived",
    Action.UNAPPROVE: "no longer approved",
    Action.RESCHEDULE: "rescheduled",
    Action.CANCEL_SCHEDULE: "no longer scheduled",
}


class Chosen(TypedDict):
    """The drafts that a command is for, as they are named on the command line."""

    ids: tuple[str, ...]
    all_matching: bool
    status: tuple[str, ...]
    format: str | None
    source_id: str | None
    source_type: str | None
    tags: tuple[str, ...]
    scheduled_after: str | None
    scheduled_before: str | None
    archived: str | None
    yes: bool
    as_json: bool


_OPTIONS = (
    click.argument("ids", nargs=-1, metavar="[ID]..."),
    click.option("--all-matching", is_flag=True, help="All drafts that the filters below show; asks before."),
    click.option(
        "--status",
        multiple=True,
        type=click.Choice([each.value for each in Status]),
        help="In this state, or one of these.",
    ),
    click.option("--format", type=click.Choice([each.value for each in Format]), help="Of this format."),
    click.option("--source", "source_id", metavar="ID", help="Made from this source."),
    click.option(
        "--source-type", type=click.Choice([each.value for each in SourceType]), help="Made from a source of this type."
    ),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="With this tag, or all of these."),
    click.option("--scheduled-after", metavar="TIME", help="Scheduled then or later; an ISO time with its offset."),
    click.option("--scheduled-before", metavar="TIME", help="Scheduled before that."),
    click.option(
        "--archived",
        type=click.Choice([each.value for each in Archived]),
        help="Archived ones too; by default they are not.",
    ),
    click.option("--yes", is_flag=True, help="Do not ask."),
    AS_JSON,
)
_FILTERS = ("status", "format", "source_id", "source_type", "tags", "scheduled_after", "scheduled_before", "archived")


def on_drafts(command: Callable[..., None]) -> Callable[..., None]:
    """The argument and the options that say which drafts; the command gets them as Chosen."""
    return reduce(lambda made, option: option(made), reversed(_OPTIONS), command)


def act(context: Context, asked: ChangeDraft, *, how: str = "", **chosen: Unpack[Chosen]) -> None:
    """Carry out an action, print what became of each draft, and end: 0 where all is done, else 1.

    `how` is said in the question after the action and the number.
    """
    ids = tuple(dict.fromkeys(chosen["ids"]))
    if chosen["all_matching"]:
        if ids:
            raise click.UsageError("Give IDs or --all-matching, not both.")
        _on_many(context, asked, _matching(context, asked, how, chosen), as_json=chosen["as_json"])
    elif any(chosen[name] for name in _FILTERS):  # type: ignore[literal-required]
        raise click.UsageError("Filters go with --all-matching.")
    elif not ids:
        raise click.UsageError("Say which drafts: their IDs, or --all-matching.")
    elif len(ids) > 1:
        _on_many(context, asked, ids, as_json=chosen["as_json"])
    else:
        _on_one(context, asked, ids[0], as_json=chosen["as_json"])


def say_changed(changed: Draft, done: str, *, shown: str = "", as_json: bool) -> None:
    """Print one draft after its change."""
    if as_json:
        print_json(changed)
    else:
        click.echo(f"{changed.id} {done}{f' for {shown}' if shown else ''}.")


def say_outcome(done: str, succeeded: Sequence[str], failed: Sequence[BulkFailure]) -> None:
    """Print what became of many drafts: the sum on stdout, what failed on stderr."""
    click.echo(f"{len(succeeded)} {done}{f', {len(failed)} not' if failed else ''}.")
    for failure in failed[:SHOWN_FAILURES]:
        click.echo(f"{clean(failure.id)}: {clean(failure.error)}", err=True)
    if len(failed) > SHOWN_FAILURES:
        click.echo(f"And {len(failed) - SHOWN_FAILURES} more.", err=True)


def _matching(context: Context, asked: ChangeDraft, how: str, chosen: Chosen) -> tuple[str, ...]:
    """The ids of all that match, after the user said yes to their number."""
    narrowed: Narrowing = {"archived": chosen["archived"] or Archived.EXCLUDE}
    given: dict[str, Any] = {name: chosen[name] for name in _FILTERS if chosen[name]}  # type: ignore[literal-required]
    narrowed |= given  # type: ignore[typeddict-item]
    ids = context.run(lambda desk: desk.drafts.matching(**narrowed))
    if ids and not chosen["yes"]:
        assert asked.action
        drafts = "1 draft" if len(ids) == 1 else f"{len(ids)} drafts"
        ask(f"{asked.action.replace('_', ' ')} {drafts}{how}?".capitalize(), nothing="Nothing was changed.")
    return ids


def _on_one(context: Context, asked: ChangeDraft, draft_id: str, *, as_json: bool) -> None:
    assert asked.action

    async def work(desk: "Desk") -> tuple[Draft, str]:
        changed = await desk.drafts.change(draft_id, asked)
        if changed.status is not Status.SCHEDULED or changed.scheduled_at is None:
            return changed, ""
        (shown,) = await desk.schedule.shown(changed.scheduled_at)
        return changed, shown

    changed, shown = context.run(work)
    say_changed(changed, f"is {DONE[asked.action]}", shown=shown, as_json=as_json)


def _on_many(context: Context, asked: ChangeDraft, ids: tuple[str, ...], *, as_json: bool) -> None:
    action = asked.action
    assert action
    without = msgspec.structs.replace(asked, action=None)

    async def work(desk: "Desk") -> BulkOutcome:
        return await desk.drafts.act(action, ids, without)

    done = context.run(work)
    if as_json:
        print_json(done)
    else:
        say_outcome(DONE[action], done.results.succeeded, done.results.failed)
    sys.exit(1 if done.failed else 0)
