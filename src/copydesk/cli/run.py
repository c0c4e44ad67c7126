"""`copydesk run`: start, list, show, cancel, stats; and `copydesk` without a command: a run, or the sample's drafts."""

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from copydesk.cli.command import group
from copydesk.cli.context import Context, pass_context
from copydesk.cli.draft_view import print_draft
from copydesk.cli.ids import RUN, SOURCE, shorten_drafts, shorten_id
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import StageProgress, format_time, print_table
from copydesk.cli.paging import Paging, load_pages, print_next_cursor, with_paging
from copydesk.cli.source import ADD_SOURCE_HINT
from copydesk.model.confidence import DecisionProgress
from copydesk.model.draft import Format, ListedDraft
from copydesk.model.ids import IdKind
from copydesk.model.page import Page
from copydesk.model.run import Run, RunRequest, RunStatistics, RunStats, RunStatus, describe_declined
from copydesk.text import clean
from copydesk.text.formatting import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk

KEPT = "Fetched items and finished drafts are kept."
"""What remains of a run that was cancelled."""


def run_pipeline(
    context: Context,
    *,
    as_json: bool,
    source_ids: tuple[str, ...],
    formats: tuple[str, ...],
    max_drafts: int | None,
    due: bool,
) -> None:
    """Run the pipeline once; exit 0 if it succeeded, else 1."""

    async def work(desk: "Desk") -> Run | None:
        ids = await desk.ids.resolve(IdKind.SOURCE, source_ids) if source_ids else None
        request = RunRequest(source_ids=ids, formats=formats or None, max_drafts=max_drafts, due=due)
        if not as_json and not source_ids and not await desk.sources.list():
            return None
        return await _run_with_progress(desk, request, as_json=as_json)

    run = context.run(work)
    if run is None:
        click.echo(context.with_desk_options(f"No sources to fetch. {ADD_SOURCE_HINT}"), err=True)
        return
    if as_json:
        print_json(run)
    else:
        _print_run(context, run)
    sys.exit(0 if run.status is RunStatus.SUCCEEDED else 1)


def run_sample(context: Context) -> None:
    """Run the sample desk's pipeline and print the drafts."""

    async def work(desk: "Desk") -> tuple[Run, tuple[ListedDraft, ...], DecisionProgress, dict[str, str]]:
        run = await _run_with_progress(desk, RunRequest(), as_json=False)
        drafts = await desk.drafts.queue()
        short_ids = await shorten_drafts(desk, [draft.id for draft in drafts])
        return run, drafts, await desk.learning.progress(), short_ids

    run, drafts, progress, short_ids = context.run(work)
    _print_run(context, run)
    for draft in drafts:
        click.echo("\n" + "─" * 72)
        print_draft(draft, short_ids[draft.id], progress)
    sys.exit(0 if run.status is RunStatus.SUCCEEDED else 1)


async def _run_with_progress(desk: "Desk", request: RunRequest, *, as_json: bool) -> Run:
    # Progress goes to stderr; stdout holds the result.
    try:
        with StageProgress(sys.stderr, silent=as_json) as display:
            return await desk.pipeline.run(
                request, lambda step: display.show(step.stage.value, step.done, step.total, step.note)
            )
    except asyncio.CancelledError:  # Ctrl-C or SIGTERM
        if not as_json:
            click.echo(KEPT, err=True)
        raise


def _print_run(context: Context, run: Run) -> None:
    stats = run.stats
    if run.status is RunStatus.SUCCEEDED:
        items, stories = plural(stats.items_considered, "item"), plural(stats.items_filtered, "story")
        funnel = f"{items}, {stories}, {stats.items_ranked:,} ranked"
        click.echo(f"{plural(stats.drafts_created, 'new draft')} from {funnel}, in {run.duration or 0:.1f} s.")
        for declined in describe_declined(stats):
            click.echo(f"{declined}.")
        click.echo(context.with_desk_options(_next_step(context, stats)), err=True)
    elif run.status is RunStatus.CANCELLED:
        click.echo(f"Run cancelled. {KEPT}", err=True)
    else:
        click.echo(f"Run {run.status}: {clean(run.error or '')}", err=True)
    if stats.sources_failed:
        failed = f"{stats.sources_failed:,} of {plural(stats.sources_failed + stats.sources_fetched, 'source')}"
        click.echo(context.with_desk_options(f"{failed} failed. Details: `copydesk source list`."), err=True)
    if stats.skipped_sources:
        names = ", ".join(map(clean, stats.skipped_sources))
        click.echo(f"Skipped, because not due or the site asked to wait: {names}.", err=True)


def _next_step(context: Context, stats: RunStats) -> str:
    """Return what to do after a run."""
    if stats.drafts_created:
        return "Review them in the console, or here: copydesk draft list"
    if not stats.items_considered:
        return "Nothing new since the last run."
    if stats.items_too_old == stats.items_considered:
        hours = context.settings().pipeline.first_fetch_hours
        return (
            f"The first fetch of a source drafts items of the last {hours:g} hours (pipeline.first_fetch_hours); later "
            "runs draft what is new."
        )
    return "Why an item is not among the drafts: copydesk why URL"


@group()
def run() -> None:
    """Start, show and cancel pipeline runs."""


@run.command(examples=("copydesk run start --max-drafts 5",), creates_desk=True)
@click.option(
    "--source", "source_ids", multiple=True, type=SOURCE, metavar="ID", help="Read only this source; may be repeated."
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice([member.value for member in Format], case_sensitive=False),
    help="Draft only this format; may be repeated.",
)
@click.option("--max-drafts", type=click.IntRange(min=0), metavar="N", help="Create at most N drafts.")
@click.option("--due", is_flag=True, help="Read only the sources that are due; for a timer.")
@json_options(Run)
@pass_context
def start(
    context: Context,
    *,
    source_ids: tuple[str, ...],
    formats: tuple[str, ...],
    max_drafts: int | None,
    due: bool,
    as_json: bool,
) -> None:
    """Start a run and wait for its end, like `copydesk --run-pipeline`.

    Runs execute one at a time: while another one is running, this one waits in the queue.
    """
    run_pipeline(context, as_json=as_json, source_ids=source_ids, formats=formats, max_drafts=max_drafts, due=due)


@run.command(name="list", examples=("copydesk run list --limit 3",))
@with_paging(10)
@json_options(Run, rows="runs")
@pass_context
def list_(context: Context, *, paging: Paging, as_json: bool) -> None:
    """List runs, most recent first."""

    async def work(desk: "Desk") -> tuple[Page[Run], dict[str, str]]:
        page = await load_pages(paging, desk.pipeline.list)
        return page, await desk.ids.shorten(IdKind.RUN, [entry.id for entry in page.items])

    page, short_ids = context.run(work)
    if as_json:
        print_json({"runs": page.items, "nextCursor": page.next_cursor})
        return
    rows = [
        (
            short_ids[entry.id],
            format_time(entry.started_at),
            entry.status,
            f"{entry.duration:.1f} s" if entry.duration is not None else "",
            plural(entry.stats.items_considered, "item"),
            plural(entry.stats.drafts_created, "draft"),
            entry.error or "",
        )
        for entry in page.items
    ]
    print_table(rows, empty=context.with_desk_options("No runs yet. Start one: copydesk --run-pipeline"))
    print_next_cursor(page)


@run.command(examples=("copydesk run show 8c21f0",))
@click.argument("id", type=RUN)
@json_options(Run)
@pass_context
def show(context: Context, *, id: str, as_json: bool) -> None:
    """Show a run."""
    found = context.run(lambda desk: desk.pipeline.get(id))
    if as_json:
        print_json(found)
        return
    stats = found.stats
    rows = [
        ("id", found.id),
        ("status", found.status if found.stage is None else f"{found.status}, stage {found.stage}"),
        ("started", format_time(found.started_at)),
        ("ended", format_time(found.ended_at)),
        *([("duration", f"{found.duration:.1f} s")] if found.duration is not None else []),
        ("sources", f"{stats.sources_fetched:,} fetched, {stats.sources_failed:,} failed"),
        ("items", f"{stats.items_considered:,}, of them {stats.items_ingested:,} new"),
        ("ranked", plural(stats.items_ranked, "story")),
        ("drafts", stats.drafts_created),
        *[("not drafted" if index == 0 else "", declined) for index, declined in enumerate(describe_declined(stats))],
        *([("error", found.error)] if found.error else []),
    ]
    print_table(rows, empty="")


@run.command(examples=("copydesk run cancel 8c21f0",))
@click.argument("id", type=RUN)
@json_options(Run)
@pass_context
def cancel(context: Context, *, id: str, as_json: bool) -> None:
    """Cancel a queued or running run, in whichever process it runs. What it stored is kept."""

    async def work(desk: "Desk") -> tuple[Run, str]:
        return await desk.pipeline.cancel(id), await shorten_id(desk, IdKind.RUN, id)

    cancelled, short_id = context.run(work)
    if as_json:
        print_json(cancelled)
    elif cancelled.status is RunStatus.CANCELLED:
        click.echo(f"Cancelled {short_id}.")
    else:
        # Its process notices with its next heartbeat.
        click.echo(f"{short_id} stops in a moment.")


@run.command(examples=("copydesk run stats",))
@json_options(RunStatistics)
@pass_context
def stats(context: Context, *, as_json: bool) -> None:
    """Show averages over completed runs and frequent errors."""
    totals = context.run(lambda desk: desk.pipeline.statistics())
    if as_json:
        print_json(totals)
        return
    last_month = totals.last30_days
    duration = "unknown" if totals.average_duration is None else f"{totals.average_duration:.1f} s"
    rows = [
        ("runs", f"{totals.total_runs:,}, completed {totals.ended_runs:,}"),
        ("succeeded", f"{totals.success_rate:.1%}" if totals.ended_runs else "unknown"),
        ("average duration", duration),
        (
            "average result",
            f"{_mean(totals.average_items_per_run, 'item')}, {_mean(totals.average_drafts_per_run, 'draft')}",
        ),
        (
            "last 30 days",
            ", ".join(plural(getattr(last_month, f"{noun}s"), noun) for noun in ("run", "item", "draft")),
        ),
        *(("error", f"{error.category}, {plural(error.count, 'time')}") for error in totals.top_errors),
    ]
    print_table(rows, empty="")


def _mean(number: float, noun: str) -> str:
    """Format a mean number of things: `1 draft`, `2.5 drafts`."""
    # One decimal would make "1.0 drafts" of a mean of one.
    return plural(round(number), noun) if round(number, 1) == round(number) else f"{number:,.1f} {noun}s"
