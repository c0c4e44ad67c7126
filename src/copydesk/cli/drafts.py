"""Which drafts a command is for, and what became of each: what the commands that change drafts share."""

import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, TypedDict, Unpack

import click
import msgspec

from copydesk.cli import filters
from copydesk.cli.ask import ask
from copydesk.cli.context import Context, print_json
from copydesk.cli.show import counted
from copydesk.desk.story import DONE
from copydesk.model.change import BulkFailure, BulkOutcome, ChangeDraft
from copydesk.model.draft import Action, Draft, Status
from copydesk.model.filters import Archived
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON in the interface's shape.")
SHOWN_FAILURES = 20
WRITER = "writer"
"""The rule under which a draft's checks hold what its writer says of it."""

Then = Callable[["Desk", Sequence[str]], Awaitable[tuple[Draft, ...]]]
"""What goes on after an action: with the ids of the drafts that it was done to; what they are after it."""


Note = Callable[["Desk", Sequence[str]], Awaitable[None]]
"""What is said besides of the drafts that an action was done to."""


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
    *filters.OPTIONS,
    click.option(
        "--archived",
        type=click.Choice([each.value for each in Archived]),
        help="Archived ones too; by default they are not.",
    ),
    click.option("--yes", is_flag=True, help="Do not ask."),
    AS_JSON,
)


def on_drafts(command: Callable[..., None]) -> Callable[..., None]:
    """The argument and the options that say which drafts; the command gets them as Chosen."""
    return reduce(lambda made, option: option(made), reversed(_OPTIONS), command)


def act(
    context: Context,
    asked: ChangeDraft,
    *,
    how: str = "",
    then: Then | None = None,
    note: Note | None = None,
    **chosen: Unpack[Chosen],
) -> None:
    """Carry out an action, print what became of each draft, and end: 0 where all is done, else 1.

    `how` is said in the question after the action and the number. `then` goes on with the drafts that it was done to,
    `note` says more of them.
    """
    ids = tuple(dict.fromkeys(chosen["ids"]))
    if chosen["all_matching"]:
        if ids:
            raise click.UsageError("Give IDs or --all-matching, not both.")
        _on_many(context, asked, _matching(context, asked, how, chosen), then, note, as_json=chosen["as_json"])
    elif any(chosen[name] for name in filters.NAMES):  # type: ignore[literal-required]
        raise click.UsageError("Filters go with --all-matching.")
    elif not ids:
        raise click.UsageError("Say which drafts: their IDs, or --all-matching.")
    elif len(ids) > 1:
        _on_many(context, asked, ids, then, note, as_json=chosen["as_json"])
    else:
        _on_one(context, asked, ids[0], then, note, as_json=chosen["as_json"])


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


def say_unwritten(drafts: Sequence[Draft]) -> int:
    """Say of each text that could not be written why not; how many there are."""
    without = [draft for draft in drafts if draft.status is Status.GENERATION_FAILED]
    for draft in without:
        click.echo(f"{draft.id}: {clean(draft.last_error or '')}", err=True)
    return len(without)


def say_notes(drafts: Sequence[Draft]) -> None:
    """Say what the writer could not do of what was asked, once each."""
    said = [finding.message for draft in drafts for finding in draft.checks.findings if finding.rule == WRITER]
    for message in dict.fromkeys(said):
        click.echo(clean(message), err=True)


def _matching(context: Context, asked: ChangeDraft, how: str, chosen: Chosen) -> tuple[str, ...]:
    """The ids of all that match, after the user said yes to their number."""
    given = {**chosen, "archived": chosen["archived"] or Archived.EXCLUDE}

    async def work(desk: "Desk") -> tuple[str, ...]:
        return await desk.drafts.matching(**await filters.narrowing(desk, given))

    ids = context.run(work)
    if ids and not chosen["yes"]:
        assert asked.action
        ask(
            f"{asked.action.replace('_', ' ')} {counted(len(ids), 'draft')}{how}?".capitalize(),
            nothing="Nothing was changed.",
        )
    return ids


def _on_one(
    context: Context, asked: ChangeDraft, draft_id: str, then: Then | None, note: Note | None, *, as_json: bool
) -> None:
    assert asked.action

    async def work(desk: "Desk") -> tuple[Draft, str]:
        changed = await desk.drafts.change(draft_id, asked)
        if then is not None:
            (changed,) = await then(desk, [changed.id])
        if note is not None:
            await note(desk, [changed.id])
        if changed.status is not Status.SCHEDULED or changed.scheduled_at is None:
            return changed, ""
        (shown,) = await desk.schedule.shown(changed.scheduled_at)
        return changed, shown

    changed, shown = context.run(work)
    done = f"is {DONE[asked.action]}" if then is None else f"is {changed.status}"
    if asked.action is Action.UNAPPROVE:
        done += f" but {changed.status}"
    say_changed(changed, done, shown=shown, as_json=as_json)
    if then is not None:
        say_notes([changed])
        sys.exit(1 if say_unwritten([changed]) else 0)


def _on_many(
    context: Context,
    asked: ChangeDraft,
    ids: tuple[str, ...],
    then: Then | None,
    note: Note | None,
    *,
    as_json: bool,
) -> None:
    action = asked.action
    assert action
    without = msgspec.structs.replace(asked, action=None)

    async def work(desk: "Desk") -> tuple[BulkOutcome, tuple[Draft, ...]]:
        done = await desk.drafts.act(action, ids, without)
        if note is not None:
            await note(desk, done.results.succeeded)
        return done, await then(desk, done.results.succeeded) if then is not None and done.succeeded else ()

    done, after = context.run(work)
    if as_json:
        print_json(done)
    else:
        say_outcome(DONE[action], done.results.succeeded, done.results.failed)
    say_notes(after)
    sys.exit(1 if say_unwritten(after) or done.failed else 0)
