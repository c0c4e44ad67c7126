"""Pages of the sources screen.

A source has a row in the list and a page with its health, settings and latest items. A test fetch is shown as its
entries, and a desk without sources as first steps with example sources. A run of the pipeline has a row and a page with
statistics over all runs.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from textual.content import Content

from copydesk.model.run import Run, RunStatistics, RunStatus, Stage, describe_declined
from copydesk.model.source import SourceConfig
from copydesk.text import clean_lines
from copydesk.text.formatting import format_age, format_relative, plural
from copydesk.tui import labels
from copydesk.tui.keys import key_label
from copydesk.tui.labels import Badge, format_date_time, source_type_label
from copydesk.tui.layout import Block, Facts, Paragraph, Table, paragraph, progress_bar
from copydesk.tui.terminal.cells import fit, safe_line

if TYPE_CHECKING:
    from copydesk.desk.sources.overview import RecentItem, SourceOverview
    from copydesk.desk.sources.service import FetchTest, FoundEntry
    from copydesk.model.source import Source


MIN_WIDTH_FOR_DAYS = 72
"""Rows of at least this many cells show the last days and the next fetch."""
MIN_WIDTH_FOR_TYPE = 52
"""Rows of at least this many cells show the type, the number of items and today's."""
TYPE_WIDTH = 11
_SPARK_LEVELS = "▁▂▃▄▅▆▇█"
MAX_ERROR_LENGTH = 2000
"""Characters of an error that are displayed. The text may come from the remote server."""
_CAPITAL = re.compile("[A-Z]")


def health_sign(source: "Source") -> Badge:
    """Return the sign of the source's health, or that it is disabled."""
    return labels.HEALTH[source.health] if source.enabled else labels.SOURCE_DISABLED


def source_row(overview: "SourceOverview", now: datetime, width: int) -> Content:
    """Return the source's row in `width` cells.

    From the left: health, type, items, today's items, a chart of the last days, last and next fetch, failures in a row,
    and the name. The name comes last: terminals disagree about the width of some characters, which would shift every
    later column.
    """
    source = overview.source
    sign = health_sign(source)
    last_fetch = format_age(source.last_fetch, now) if source.last_fetch else labels.SOURCE_NEVER_FETCHED_SHORT
    failures = Content.styled(f"{source.fail_count:>5} ", "warn") if source.fail_count else Content(" " * 6)
    total, today = format_count(source.item_count), format_count(overview.days[-1])
    counts = f"{fit(source_type_label(source.type), TYPE_WIDTH)} {total:>6} {today:>5} "
    head = Content.assemble(
        (sign.letter, sign.role),
        " ",
        counts if width >= MIN_WIDTH_FOR_TYPE else "",
        (f"{sparkline(overview.days)} " if width >= MIN_WIDTH_FOR_DAYS else "", "accent"),
        (f"{last_fetch:>5} ", "dim"),
        (f"{format_next_fetch(overview, now):>4} " if width >= MIN_WIDTH_FOR_DAYS else "", "dim"),
    )
    head += failures
    return head + Content.styled(fit(safe_line(source.name), width - head.cell_length), "" if source.enabled else "dim")


def source_header(width: int, days: int = 14) -> str:
    """Return the column header for `source_row`; `days` is the width of the chart."""
    names = labels.SOURCE_COLUMNS
    counts = f"{names['type']:<{TYPE_WIDTH}} {names['items']:>6} {names['today']:>5} "
    chart = f"{plural(days, 'day'):<{days}} " if width >= MIN_WIDTH_FOR_DAYS else ""
    following = f"{names['next']:>4} " if width >= MIN_WIDTH_FOR_DAYS else ""
    left = f"{counts if width >= MIN_WIDTH_FOR_TYPE else ''}{chart}"
    return f"  {left}{names['last']:>5} {following}{names['failures']:>5} {names['name']}"


def sparkline(counts: Sequence[int]) -> str:
    """Return a bar of one cell per count, scaled to the highest; a dot for zero."""
    highest = max(counts, default=0)
    # Scaled so that the highest count reaches the last level and 1 at least the first.
    return "".join(_SPARK_LEVELS[(count * len(_SPARK_LEVELS) - 1) // highest] if count > 0 else "·" for count in counts)


def format_next_fetch(overview: "SourceOverview", now: datetime) -> str:
    """Format the time until the next automatic fetch, in at most four characters."""
    if not overview.source.enabled:
        return labels.SOURCE_NOT_FETCHED
    if overview.next_fetch is None or overview.next_fetch <= now:
        return labels.SOURCE_DUE
    # `age` says "now" below one minute; a future time is at least due in a minute.
    return format_age(now, overview.next_fetch).replace("now", "1m")


def format_count(number: int) -> str:
    """Format a number in at most six characters."""
    if number < 1_000_000:
        return str(number)
    return f"{number / 1_000_000:.1f}M" if number < 1_000_000_000 else labels.SOURCE_MANY_ITEMS


def source_page(overview: "SourceOverview", recent_items: "Sequence[RecentItem] | None", now: datetime) -> list[Block]:
    """Return the whole page; `recent_items` are the latest items, or None until they are loaded."""
    source = overview.source
    sign = health_sign(source)
    parts = [
        Content.styled(safe_line(source.name), "strong"),
        Content(source_type_label(source.type)),
        Content.styled(sign.text, sign.role),
    ]
    blocks: list[Block] = [Facts(parts)]
    if source.last_error:
        blocks.append(paragraph(error_text(source.last_error), "bad"))
    blocks += [paragraph(), Table(list(_facts(overview, now)))]
    if recent_items:
        blocks += [
            paragraph(),
            paragraph(labels.SOURCE_LATEST_ITEMS, "strong"),
            Table([_item_row(item, now) for item in recent_items]),
        ]
    elif source.last_fetch is None:
        blocks += [paragraph(), Paragraph(_run_hint())]
    return blocks


def _run_hint() -> Content:
    return Content.assemble((key_label("sources.run"), "key"), f" {labels.RUN_PIPELINE}")


def error_text(error: str) -> str:
    """Return a source's error with control characters removed, and shortened."""
    cut = error if len(error) <= MAX_ERROR_LENGTH else f"{error[:MAX_ERROR_LENGTH]}…"
    return clean_lines(cut).strip()


def _facts(row: "SourceOverview", now: datetime) -> Iterator[tuple[Content, ...]]:
    source = row.source
    items = labels.source_items(source.item_count, row.days[-1], sum(row.days), len(row.days))
    facts = [
        (labels.SOURCE_FIELDS["url"], safe_line(source.url or "")),
        ("items", items),
        ("drafts", str(row.drafts)),
        (
            "last fetch",
            f"{format_relative(source.last_fetch, now)} · {format_date_time(source.last_fetch, now)}"
            if source.last_fetch
            else labels.SOURCE_NEVER_FETCHED,
        ),
        ("next fetch", _next_fetch(row, now)),
        ("failures", labels.source_failures(source.fail_count) if source.fail_count else labels.SOURCE_NO_FAILURES),
        ("settings", format_settings(source.config)),
        ("added", format_date_time(source.created_at, now)),
    ]
    for name, value in facts:
        if value:
            yield Content.styled(name, "dim"), Content(value)


def _next_fetch(row: "SourceOverview", now: datetime) -> str:
    if not row.source.enabled:
        return labels.source_next_fetch_disabled()
    if row.next_fetch is None or row.next_fetch <= now:
        return "at the next run"
    return f"in {format_next_fetch(row, now)} · {format_date_time(row.next_fetch, now)}"


def format_settings(config: SourceConfig | None) -> str:
    """Format the source's non-default settings in one line; empty if there are none."""
    values: dict[str, object] = msgspec.to_builtins(config) if config else {}
    return " · ".join(f"{_spaced(name)} {safe_line(_format_value(value))}" for name, value in values.items())


def _spaced(name: str) -> str:
    # Names are camelCase in the JSON: `maxItems` becomes "max items".
    return _CAPITAL.sub(lambda match: f" {match[0].lower()}", name)


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _item_row(item: "RecentItem", now: datetime) -> tuple[Content, ...]:
    return Content.styled(f"{format_age(item.published, now):>4}", "dim"), Content(
        safe_line(item.title) or labels.UNTITLED
    )


def test_fetch_page(result: "FetchTest") -> list[Block]:
    """Return the page with the entries of a test fetch, or with its error."""
    from copydesk.desk.sources.service import PREVIEW_ENTRIES  # noqa: PLC0415 - not needed for the first paint

    if not result.ok:
        error = paragraph(error_text(result.error or labels.UNKNOWN_ERROR))
        return [paragraph(labels.SOURCE_TEST_FAILED, "bad"), error]
    if not result.items:
        return [paragraph(labels.SOURCE_TEST_EMPTY, "warn")]
    found = labels.source_entries(len(result.items), more=len(result.items) >= PREVIEW_ENTRIES)
    return [paragraph(found, "good"), *entry_table(result.items)]


def entry_table(items: "Sequence[FoundEntry]") -> list[Block]:
    """Return a table of the entries' titles, or of their addresses where they have none."""
    rows = [
        (
            Content.styled(f"{number:>2}", "dim"),
            Content(safe_line(item.title) or safe_line(item.url) or labels.UNTITLED),
        )
        for number, item in enumerate(items, 1)
    ]
    return [Table(rows)]


class Example(NamedTuple):
    """A public source to start with."""

    action: str
    """Id of the action, in the key table, that adds it."""
    type: str
    url: str
    name: str
    config: dict[str, object]
    description: str


EXAMPLES = (
    Example(
        "sources.example_a",
        "rss",
        "https://lwn.net/headlines/rss",
        "LWN.net",
        {},
        labels.EXAMPLE_FEED,
    ),
    Example(
        "sources.example_b",
        "hackernews",
        "https://news.ycombinator.com/",
        "Hacker News: open source",
        {"query": "open source"},
        labels.EXAMPLE_SEARCH,
    ),
    Example(
        "sources.example_c",
        "reddit",
        "https://www.reddit.com/r/opensource/",
        "r/opensource",
        {"listing": "new"},
        labels.EXAMPLE_SUBREDDIT,
    ),
)


def first_steps(added: frozenset[str] = frozenset()) -> list[Block]:
    """Return the note for a desk without sources; `added` are the addresses of examples that are sources already."""
    remaining = [example for example in EXAMPLES if example.url not in added]
    steps = [
        ("sources.new", labels.ADD_SOURCE),
        ("sources.import", labels.IMPORT_SOURCES),
    ]
    blocks: list[Block] = [
        paragraph(labels.EMPTY_SOURCES, "strong"),
        paragraph(labels.EMPTY_SOURCES_HINT),
        paragraph(),
        Table([(Content.styled(key_label(action), "key"), Content(text)) for action, text in steps]),
        paragraph(),
    ]
    return blocks + example_blocks(remaining)


def next_steps(added: frozenset[str]) -> list[Block]:
    """Return the note shown once the first source was added."""
    hint = _run_hint()
    remaining = [example for example in EXAMPLES if example.url not in added]
    return [Paragraph(hint), paragraph(), *([*example_blocks(remaining), paragraph()] if remaining else ())]


def example_blocks(remaining: list[Example]) -> list[Block]:
    """Return a table of the examples with the keys that add them."""
    rows = [
        (
            Content.styled(key_label(example.action), "key"),
            Content(example.name),
            Content.styled(example.description, "dim"),
        )
        for example in remaining
    ]
    return [paragraph(labels.examples_title()), Table(rows)]


def run_row(run: Run, now: datetime, width: int) -> Content:
    """Return the row in `width` cells: status, age, duration, counts after the stages, and the error."""
    sign, stats = labels.RUN_STATUS[run.status], run.stats
    head = Content.assemble(
        (sign.letter, sign.role),
        " ",
        (f"{format_age(run.started_at, now):>4} {format_run_duration(run):>6} ", "dim"),
        f"{stats.items_considered:>5} {stats.items_filtered:>7} ",
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
    parts += [Content(f"{format_relative(run.started_at, now)} · {format_date_time(run.started_at, now)}")]
    parts += [Content(format_run_duration(run).replace("s", " s"))] if run.duration is not None else []
    blocks: list[Block] = [Facts(parts)]
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
        Stage.INGEST: (stats.items_considered, labels.run_ingested(stats.items_new)),
        Stage.FILTER: (stats.items_filtered, labels.RUN_FILTERED),
        Stage.RANK: (stats.items_ranked, labels.RUN_RANKED),
        Stage.DRAFT: (stats.drafts_created, labels.RUN_DRAFTED),
    }
    for stage, (count, label) in counts.items():
        # Bars are relative to the considered items, so that they show how each stage narrows them down.
        full, empty = progress_bar(count / stats.items_considered if stats.items_considered else 0.0)
        seconds = f" · {stats.stage_timing[stage]:.1f} s" if stage in stats.stage_timing else ""
        gauge = Content.assemble((full, "accent"), (empty, "faint"))
        yield Content(stage.value), gauge, Content(str(count)), Content.styled(label + seconds, "dim")


def _source_summary(run: Run) -> Block:
    stats = run.stats
    fetched = labels.run_sources(stats.sources_fetched, stats.sources_unchanged)
    failed = labels.run_failed_sources(stats.sources_failed)
    parts = [Content(fetched), Content.styled(failed, "warn" if stats.sources_failed else "dim")]
    if stats.skipped_sources:
        parts.append(Content.styled(labels.run_skipped_sources(len(stats.skipped_sources)), "warn"))
    if stats.drafts_failed:
        parts.append(Content.styled(labels.drafts_failed(stats.drafts_failed), "warn"))
    parts += [Content.styled(declined, "dim") for declined in describe_declined(stats)]
    return Facts(parts)


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
