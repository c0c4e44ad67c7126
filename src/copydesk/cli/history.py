"""`copydesk draft`: undo, redo, history, diff."""

import os
import sys
from typing import TYPE_CHECKING

import click

from copydesk.cli.context import AS_JSON, Context, pass_context, print_json
from copydesk.cli.draft_selection import print_changed, print_outcome
from copydesk.cli.formatting import print_table
from copydesk.errors import ConflictError
from copydesk.model.draft import Draft, without_item
from copydesk.model.history import EventKind, UndoResult
from copydesk.text import reveal

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.drafts.versions import Difference

MARKS = {"same": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}
"""The marks of `wdiff` and `git diff --word-diff`, readable without colours."""
COLOURS = {"removed": "red", "added": "green"}


@click.command()
@click.argument("id", required=False)
@AS_JSON
@pass_context
def undo(context: Context, *, id: str | None, as_json: bool) -> None:
    """Undo a draft's last change, or your own last change (a bulk action counts as one)."""
    _undo_or_redo(context, EventKind.UNDO, id, as_json=as_json)


@click.command()
@click.argument("id", required=False)
@AS_JSON
@pass_context
def redo(context: Context, *, id: str | None, as_json: bool) -> None:
    """Redo the last undone change, unless something changed since."""
    _undo_or_redo(context, EventKind.REDO, id, as_json=as_json)


@click.command()
@click.argument("id")
@AS_JSON
@pass_context
def history(context: Context, *, id: str, as_json: bool) -> None:
    """Show the history of a draft, including its earlier versions."""

    story = context.run(lambda desk: desk.drafts.describe_history(id))
    if as_json:
        print_json(story.events)
        return
    current_id = ""
    for event, line in zip(story.events, story.lines, strict=True):
        if len(story.versions) > 1 and event.draft_id != current_id:
            current_id = event.draft_id
            click.echo(f"{current_id}:")
        click.echo(line)
    for newer in story.children_of(id):
        click.echo(f"Newer version: {newer}.", err=True)


def _undo_or_redo(context: Context, kind: EventKind, draft_id: str | None, *, as_json: bool) -> None:
    async def work(desk: "Desk") -> tuple[UndoResult, Draft | None, str]:
        step = desk.drafts.undo if kind is EventKind.UNDO else desk.drafts.redo
        result = await step(draft_id)
        # A bulk action is reported as totals, a single draft with its new status.
        if result.bulk_id is not None:
            return result, None, ""
        changed = without_item(await desk.drafts.get(result.succeeded[0]))
        formatted = await desk.schedule.format_times(changed.scheduled_at) if changed.scheduled_at else ("",)
        return result, changed, formatted[0]

    result, changed, time_text = context.run(work)
    message = f"{'undid' if kind is EventKind.UNDO else 'redid'} {result.action.replace('_', ' ')}"
    if changed:
        print_changed(changed, f"is {_status_text(changed, time_text)} again ({message})", as_json=as_json)
        return
    if as_json:
        print_json(bulk_response(result))
    else:
        drafts = "draft" if len(result.succeeded) == 1 else "drafts"
        print_outcome(f"{drafts}: {message}", result.succeeded, result.failed)
    sys.exit(1 if result.failed else 0)


def _status_text(changed: Draft, time_text: str) -> str:
    if changed.archived_at:
        return f"{changed.status} and archived"
    return f"{changed.status} for {time_text}" if time_text else changed.status


def bulk_response(result: UndoResult) -> dict[str, object]:
    """Return an undone or redone bulk action in the shape of the interface's bulk response."""
    succeeded, failed = len(result.succeeded), len(result.failed)
    results = {"succeeded": result.succeeded, "failed": result.failed}
    return {
        "action": result.action,
        "total": succeeded + failed,
        "succeeded": succeeded,
        "failed": failed,
        "results": results,
    }


@click.command()
@click.argument("id")
@click.argument("other", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the pieces of both texts and the checks.")
@pass_context
def diff(context: Context, *, id: str, other: str | None, as_json: bool) -> None:
    """Show the changes from ID to OTHER word by word; without OTHER, from the previous version to ID.

    Removed words are marked [-like this-], added ones {+like this+}, followed by the checks that changed.
    """
    difference = context.run(lambda desk: _load_difference(desk, id, other))
    if as_json:
        print_json(difference)
    else:
        _print_difference(difference)


async def _load_difference(desk: "Desk", draft_id: str, other: str | None) -> "Difference":
    if other is not None:
        return await desk.drafts.compare(draft_id, other)
    draft = await desk.drafts.get(draft_id)
    if draft.regenerated_from_id is None:
        versions = await desk.drafts.list_versions(draft_id)
        later = f" The newest version is {versions[-1].id}." if len(versions) > 1 else ""
        raise ConflictError(
            "This is the first version; there is no earlier one to compare with.", hint=f"Pass two draft ids.{later}"
        )
    return await desk.drafts.compare(draft.regenerated_from_id, draft_id)


def _print_difference(difference: "Difference") -> None:
    # https://no-color.org: any value that is not empty turns colours off.
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    click.echo(f"{difference.old} → {difference.new}\n")
    click.echo("".join(_format_piece(piece.kind, piece.text, coloured=coloured) for piece in difference.pieces))
    for heading, findings in (("Better", difference.better), ("Worse", difference.worse)):
        if findings:
            click.echo(f"\n{heading}")
            print_table([("", finding.severity, finding.rule, finding.message) for finding in findings], empty="")


def _format_piece(kind: str, text: str, *, coloured: bool) -> str:
    opening, closing = MARKS[kind]
    formatted = f"{opening}{reveal(text)}{closing}"
    return click.style(formatted, fg=COLOURS[kind]) if coloured and kind in COLOURS else formatted


COMMANDS = (undo, redo, history, diff)
