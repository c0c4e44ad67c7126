"""`copydesk draft diff`: compare two versions of a draft."""

import os
import sys
from typing import TYPE_CHECKING

import click

from copydesk.cli.context import Context, pass_context, print_json
from copydesk.cli.show import print_table
from copydesk.errors import ConflictError
from copydesk.text import reveal

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.versions import Difference

MARKS = {"same": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}
"""The marks of `wdiff` and `git diff --word-diff`, readable without colours."""
COLOURS = {"removed": "red", "added": "green"}


@click.command()
@click.argument("id")
@click.argument("other", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the pieces of both texts, and the checks.")
@pass_context
def diff(context: Context, *, id: str, other: str | None, as_json: bool) -> None:
    """Show word by word what changed from ID to OTHER; from the version before it to ID where there is no OTHER.

    Removed words stand in [-these-], added ones in {+these+}. Below them: which checks got better and worse.
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
        later = f" Its newest version is {versions[-1].id}." if len(versions) > 1 else ""
        raise ConflictError("This is the first version; there is none before it.", hint=f"Name two drafts.{later}")
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
