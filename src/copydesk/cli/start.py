"""`copydesk` without a command: a pipeline run, or the sample desk's drafts."""

import sys
from typing import TYPE_CHECKING

import click

from copydesk.cli.context import Context, print_json
from copydesk.cli.progress import ProgressBars
from copydesk.cli.sheet import print_draft
from copydesk.model.draft import ListedDraft
from copydesk.model.run import Run, RunRequest, RunStatus
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk


def run_pipeline(
    context: Context, *, as_json: bool, source_ids: tuple[str, ...] | None, max_drafts: int | None, due: bool
) -> None:
    """Run the pipeline once; exit 0 if it succeeded, else 1."""
    request = RunRequest(source_ids=source_ids, max_drafts=max_drafts, due=due)
    run = context.run(lambda desk: _run_with_progress(desk, request, as_json=as_json))
    if as_json:
        print_json(run)
    else:
        _print_run(run, sample=context.sample)
    sys.exit(0 if run.status is RunStatus.SUCCEEDED else 1)


def run_sample(context: Context) -> None:
    """Run the sample desk's pipeline and print the drafts."""

    async def work(desk: "Desk") -> tuple[Run, tuple[ListedDraft, ...]]:
        return await _run_with_progress(desk, RunRequest(), as_json=False), await desk.drafts.queue()

    run, drafts = context.run(work)
    _print_run(run, sample=context.sample)
    for draft in drafts:
        click.echo("\n" + "─" * 72)
        print_draft(draft)
    sys.exit(0 if run.status is RunStatus.SUCCEEDED else 1)


async def _run_with_progress(desk: "Desk", request: RunRequest, *, as_json: bool) -> Run:
    # Progress goes to stderr; stdout holds the result.
    with ProgressBars(sys.stderr, silent=as_json) as bars:
        return await desk.pipeline.run(request, bars.show)


def _print_run(run: Run, *, sample: bool) -> None:
    command = "copydesk --sample" if sample else "copydesk"
    stats = run.stats
    if run.status is RunStatus.SUCCEEDED:
        funnel = f"{stats.items_ingested} items, {stats.items_filtered} stories, {stats.items_ranked} ranked"
        click.echo(f"{stats.drafts_created} new drafts from {funnel}, in {run.duration or 0:.1f} s.")
    else:
        click.echo(f"The run {run.status}: {clean(run.error or '')}", err=True)
    if stats.sources_failed:
        failed = f"{stats.sources_failed} of {stats.sources_failed + stats.sources_fetched} sources"
        click.echo(f"{failed} could not be read; `{command} source list` shows which.", err=True)
