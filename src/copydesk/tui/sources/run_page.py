"""Runs of the pipeline: a row of the list, the page of one run, and statistics over all of them."""

from collections.abc import Iterator
from datetime import datetime

from textual.content import Content

from copydesk.model.run import Run, RunStatistics, RunStatus, Stage
from copydesk.text.formatting import format_age, format_relative, format_utc
from copydesk.tui import labels
from copydesk.tui.charts import progress_bar
from copydesk.tui.layout import Block, Paragraph, Table, paragraph
from copydesk.tui.sources.pages import error_text
from copydesk.tui.terminal.cells import fit, safe_line


def run_row(run: Run, now: datetime, width: int) -> Content:
    """Return the row in `width` cells: status, age, duration, counts after the stages, and the error."""
    sign, stats = labels.RUN_STATUS[run.status], run.stats
    head = Content.assemble(
        (sign.letter, sign.role),
        " ",
        (f"{format_age(run.started_at, now):>4} {format_run_duration(run):>6} ", "dim"),
        f"{stats.items_ingested:>5} {stats.items_filtered:>7} ",
        (f"{stats.drafts_created:>6} ", "strong" if stats.drafts_created else ""),
    )
    error, role = _error_summary(run)
    return head + Content.styled(fit(safe_line(error), width - head.cell_length), role)


def run_header(width: int) -> str:
    """Return the column header for `run_row`."""
    age, took, items, stories, drafts = labels.RUN_COLUMNS
    return fit(f"  {age:>4} {took:>6} {items:>5} {stories:>7} {drafts:>6} ", width)


def format_run_duration(run: Run) -> str:
    """Format the run's duration; empty while it is running."""
    if run.duration is None:
        return ""
    return f"{run.duration:.1f}s" if run.duration < 1000 else f"{run.duration / 60:.0f}m"


def _error_summary(run: Run) -> tuple[str, str]:
    if run.error:
        # An error is red only if it made the run fail; a cancelled run may have one, too.
        return run.error, "bad" if run.status is RunStatus.FAILED else "dim"
    failed = run.stats.sources_failed
    return (labels.sources_failed(failed), "warn") if failed else ("", "")


def run_page(run: Run | None, statistics: RunStatistics | None, now: datetime) -> list[Block]:
    """Return the page of the run under the cursor, followed by the statistics."""
    blocks: list[Block] = _run_blocks(run, now) if run else [paragraph(labels.EMPTY_RUNS, "dim"), paragraph()]
    return blocks + _statistics_blocks(statistics) if statistics is not None and statistics.total_runs else blocks


def _run_blocks(run: Run, now: datetime) -> list[Block]:
    sign = labels.RUN_STATUS[run.status]
    parts = [Content.styled(labels.RUN_TITLE, "strong"), Content.styled(sign.text, sign.role)]
    parts += [Content(f"{format_relative(run.started_at, now)} · {format_utc(run.started_at)}")]
    parts += [Content(format_run_duration(run).replace("s", " s"))] if run.duration is not None else []
    blocks: list[Block] = [Paragraph(Content.styled(" · ", "dim").join(parts))]
    if run.error:
        blocks.append(paragraph(error_text(run.error), "bad" if run.status is RunStatus.FAILED else "warn"))
    return [
        *blocks,
        paragraph(),
        Table(list(_funnel(run)), right_aligned=frozenset({2})),
        paragraph(),
        _source_summary(run),
        paragraph(),
    ]


def _funnel(run: Run) -> Iterator[tuple[Content, ...]]:
    stats = run.stats
    counts = {
        Stage.INGEST: (stats.items_ingested, labels.run_ingested(stats.items_new)),
        Stage.FILTER: (stats.items_filtered, labels.RUN_FILTERED),
        Stage.RANK: (stats.items_ranked, labels.RUN_RANKED),
        Stage.DRAFT: (stats.drafts_created, labels.RUN_DRAFTED),
    }
    for stage, (count, label) in counts.items():
        # Bars are relative to the fetched items, so that they show how each stage narrows them down.
        full, empty = progress_bar(count / stats.items_ingested if stats.items_ingested else 0.0)
        seconds = f" · {stats.stage_timing[stage]:.1f} s" if stage in stats.stage_timing else ""
        gauge = Content.assemble((full, "accent"), (empty, "faint"))
        yield Content(stage.value), gauge, Content(str(count)), Content.styled(label + seconds, "dim")


def _source_summary(run: Run) -> Block:
    stats = run.stats
    fetched = labels.run_sources(stats.sources_fetched, stats.sources_unchanged)
    failed = labels.run_failed_sources(stats.sources_failed)
    parts = [Content(fetched), Content.styled(failed, "warn" if stats.sources_failed else "dim")]
    if stats.drafts_failed:
        parts.append(Content.styled(labels.drafts_failed(stats.drafts_failed), "warn"))
    return Paragraph(Content.styled(" · ", "dim").join(parts))


def _statistics_blocks(stats: RunStatistics) -> list[Block]:
    recent = stats.last30_days
    average = stats.average_duration, stats.average_items_per_run, stats.average_drafts_per_run
    rows = [
        ("runs", labels.run_successes(stats.total_runs, stats.success_rate if stats.ended_runs else None)),
        ("average", labels.run_average(*average)),
        ("last 30 days", labels.run_recent(recent.runs, recent.items, recent.drafts)),
        *(
            (("errors" if index == 0 else ""), labels.run_error(safe_line(error.category), error.count))
            for index, error in enumerate(stats.top_errors)
        ),
    ]
    return [
        paragraph(labels.RUN_STATISTICS, "strong"),
        Table([(Content.styled(name, "dim"), Content(text)) for name, text in rows]),
    ]
