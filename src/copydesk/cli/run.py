"""`copydesk run`: list."""

import click

from copydesk.cli.context import Context, pass_context, print_json
from copydesk.cli.show import moment, table


@click.group()
def run() -> None:
    """The runs of the pipeline."""


@run.command(name="list")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="Runs on a page.")
@click.option("--cursor", help="The nextCursor of the page before.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in the interface's shape.")
@pass_context
def list_(context: Context, *, limit: int, cursor: str | None, as_json: bool) -> None:
    """List runs, most recent first."""
    page = context.run(lambda desk: desk.pipeline.runs(limit, cursor))
    if as_json:
        print_json({"runs": page.items, "nextCursor": page.next_cursor})
        return
    rows = [
        (
            moment(each.started_at),
            each.status,
            f"{each.duration:.1f} s" if each.duration is not None else "",
            f"{each.stats.items_ingested} items",
            f"{each.stats.drafts_created} drafts",
            each.error or "",
        )
        for each in page.items
    ]
    table(rows, empty="No runs yet. Start one: copydesk --run-pipeline")
    if page.next_cursor:
        click.echo(f"More: --cursor {page.next_cursor}", err=True)
