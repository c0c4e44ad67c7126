"""`copydesk prune`: delete old data now, as the daily job does."""

from typing import TYPE_CHECKING

import click

from copydesk.cli.command import command
from copydesk.cli.context import Context, pass_context
from copydesk.cli.json_output import json_options, print_json
from copydesk.model.job import Pruned
from copydesk.text.formatting import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk


@command(examples=("copydesk prune --compact",))
@click.option("--compact", is_flag=True, help="Then rewrite the database without its free space; others wait.")
@json_options(Pruned)
@pass_context
def prune(context: Context, *, compact: bool, as_json: bool) -> None:
    """Delete the data that is older than the settings allow. The console and the daemon do so daily.

    Drafts, decisions, posts and their latest metrics are kept.
    """

    async def run(desk: "Desk") -> Pruned:
        pruned = await desk.retention.prune()
        if compact:
            await desk.retention.compact()
        return pruned

    pruned = context.run(run)
    if as_json:
        print_json(pruned)
        return
    deleted = (
        (pruned.items, f"content of {plural(pruned.items, 'item')}"),
        (pruned.runs, plural(pruned.runs, "run")),
        (pruned.readings, plural(pruned.readings, "reading")),
        (pruned.undone, f"{plural(pruned.undone, 'event')} of undone changes"),
        (pruned.images, plural(pruned.images, "image")),
        (pruned.idempotency_keys, plural(pruned.idempotency_keys, "idempotency key")),
        (pruned.events, plural(pruned.events, "event")),
    )
    parts = ", ".join(text for count, text in deleted if count)
    click.echo(f"Deleted: {parts}." if parts else "Nothing to delete.")
    if compact:
        click.echo("Compacted the database.")
