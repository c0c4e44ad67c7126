"""`copydesk run`: list, stats."""

import click

from copydesk.cli.context import Context, pass_context, print_json
from copydesk.cli.show import counted, moment, table


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
            counted(each.stats.items_ingested, "item"),
            counted(each.stats.drafts_created, "draft"),
            each.error or "",
        )
        for each in page.items
    ]
    table(rows, empty=context.advice("No runs yet. Start one: copydesk --run-pipeline"))
    if page.next_cursor:
        click.echo(f"More: --cursor {page.next_cursor}", err=True)


@run.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON in the interface's shape.")
@pass_context
def stats(context: Context, *, as_json: bool) -> None:
    """Show how the runs went: averages over those that ended, and why others failed."""
    found = context.run(lambda desk: desk.pipeline.statistics())
    if as_json:
        print_json(found)
        return
    lately = found.last30_days
    duration = "unknown" if found.average_duration is None else f"{found.average_duration:.1f} s"
    rows = [
        ("runs", f"{found.total_runs:,}, ended {found.ended_runs:,}"),
        ("succeeded", f"{found.success_rate:.1%}" if found.ended_runs else "unknown"),
        ("a run takes", duration),
        (
            "a run brings",
            f"{_mean(found.average_items_per_run, 'item')}, {_mean(found.average_drafts_per_run, 'draft')}",
        ),
        ("in 30 days", ", ".join(counted(getattr(lately, f"{each}s"), each) for each in ("run", "item", "draft"))),
        *(("failed of", f"{error.category}, {counted(error.count, 'time')}") for error in found.top_errors),
    ]
    table(rows, empty="")


def _mean(number: float, what: str) -> str:
    """A mean of things that are counted: `1 draft`, `2.5 drafts`."""
    shown = f"{number:,.1f}".removesuffix(".0")
    return f"{shown} {what}{'' if shown == '1' else 's'}"
