"""`copydesk run`: list, stats."""

import click

from copydesk.cli.context import Context, pass_context, print_json
from copydesk.cli.show import format_time, pluralize, print_table


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
    page = context.run(lambda desk: desk.pipeline.list(limit, cursor))
    if as_json:
        print_json({"runs": page.items, "nextCursor": page.next_cursor})
        return
    rows = [
        (
            format_time(entry.started_at),
            entry.status,
            f"{entry.duration:.1f} s" if entry.duration is not None else "",
            pluralize(entry.stats.items_ingested, "item"),
            pluralize(entry.stats.drafts_created, "draft"),
            entry.error or "",
        )
        for entry in page.items
    ]
    print_table(rows, empty=context.with_desk_options("No runs yet. Start one: copydesk --run-pipeline"))
    if page.next_cursor:
        # On stderr, so that a pipe receives rows only.
        click.echo(f"More: --cursor {page.next_cursor}", err=True)


@run.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON in the interface's shape.")
@pass_context
def stats(context: Context, *, as_json: bool) -> None:
    """Show how the runs went: averages over those that ended, and why others failed."""
    totals = context.run(lambda desk: desk.pipeline.statistics())
    if as_json:
        print_json(totals)
        return
    last_month = totals.last30_days
    duration = "unknown" if totals.average_duration is None else f"{totals.average_duration:.1f} s"
    rows = [
        ("runs", f"{totals.total_runs:,}, ended {totals.ended_runs:,}"),
        ("succeeded", f"{totals.success_rate:.1%}" if totals.ended_runs else "unknown"),
        ("a run takes", duration),
        (
            "a run brings",
            f"{_mean(totals.average_items_per_run, 'item')}, {_mean(totals.average_drafts_per_run, 'draft')}",
        ),
        (
            "in 30 days",
            ", ".join(pluralize(getattr(last_month, f"{noun}s"), noun) for noun in ("run", "item", "draft")),
        ),
        *(("failed of", f"{error.category}, {pluralize(error.count, 'time')}") for error in totals.top_errors),
    ]
    print_table(rows, empty="")


def _mean(number: float, noun: str) -> str:
    """Format a mean number of things: `1 draft`, `2.5 drafts`."""
    text = f"{number:,.1f}".removesuffix(".0")
    return f"{text} {noun}{'' if text == '1' else 's'}"
