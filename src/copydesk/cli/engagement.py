"""`copydesk engagement`: show, trends, export, record."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from io import StringIO
from typing import IO, TYPE_CHECKING, Final

import click
import msgspec

from copydesk.cli.command import group
from copydesk.cli.context import Context, pass_context
from copydesk.cli.ids import DRAFT
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import first_line, print_table, write_export
from copydesk.cli.paging import MAX_LIMIT, Paging, load_pages
from copydesk.model.engagement import (
    METRICS,
    EngagementFigures,
    EngagementMetric,
    EngagementRecord,
    EngagementSummary,
    EngagementTrends,
    FormatEngagement,
    LivePost,
    PlatformEngagement,
    RecordStatus,
    TopPost,
)
from copydesk.model.experiment import METRICS_AGE_HOURS
from copydesk.model.ids import IdKind
from copydesk.model.serialization import format_iso, to_json_value
from copydesk.text import clean
from copydesk.text.formatting import describe_growth, plural

if TYPE_CHECKING:
    from copydesk.desk import Desk

EXPORT_FORMATS: Final = ("csv", "json")
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")

days_option = click.option(
    "--days", type=int, default=30, show_default=True, help="Days of the period, today included; 0 is all time."
)


@group()
def engagement() -> None:
    """Show and record how posts perform."""


@engagement.command(examples=("copydesk engagement show --top 20",))
@click.option("--top", type=int, default=10, show_default=True, help="Number of top posts to list, 1 to 50.")
@json_options(EngagementSummary)
@pass_context
def show(context: Context, *, top: int, as_json: bool) -> None:
    """Summarize how posts performed. The average rate is weighted by impressions."""

    async def work(desk: "Desk") -> tuple[EngagementSummary, dict[str, str]]:
        summary = await desk.engagement.summary(top)
        return summary, await desk.ids.shorten(IdKind.DRAFT, [post.draft_id for post in summary.top_posts])

    summary, short_ids = context.run(work)
    if as_json:
        print_json(summary)
        return
    # The rate covers only posts whose impressions are known; say so if there are others.
    unrated = (
        "" if summary.rated == summary.total_posted else f" over {plural(summary.rated, 'post')} with known impressions"
    )
    average = f"{summary.avg_engagement_rate:.2%}{unrated}" if summary.rated else "unknown (no impressions reported)"
    totals = ("likes", "replies", "reposts", "impressions", "clicks")
    rows = [
        ("posts", f"{summary.total_posted:,}, with metrics {summary.total_with_metrics:,}"),
        ("rate", average),
        *((name, f"{getattr(summary, f'total_{name}'):,}") for name in totals),
    ]
    print_table(rows, empty="")
    _print_groups("format", summary.by_format)
    _print_groups("platform", summary.by_platform)
    _print_top(summary.top_posts, short_ids)


@engagement.command(examples=("copydesk engagement trends --days 90", "copydesk engagement trends --metric rate"))
@days_option
@click.option(
    "--metric",
    type=click.Choice([metric.value for metric in EngagementMetric]),
    help="Metric by which times are compared; by default one that all posts have.",
)
@json_options(EngagementTrends)
@pass_context
def trends(context: Context, *, days: int, metric: str | None, as_json: bool) -> None:
    """Compare a period with the one before, and platforms, formats and times of posting."""
    chosen = EngagementMetric(metric) if metric else None
    report = context.run(lambda desk: desk.engagement.trends(days, chosen))
    if as_json:
        print_json(report)
        return
    compared = report.compared
    print_table([("", *row) for row in _figure_rows(report.figures, compared.figures if compared else None)], empty="")
    if compared is not None:
        growth = describe_growth(METRICS_AGE_HOURS)
        click.echo(f"Changes are against {compared.first} to {compared.last}. {growth}")
    elif report.before is not None:
        before = report.before
        click.echo(f"Too few posts to compare with {before.first} to {before.last}: {before.figures.posts:,}.")
    _print_figures("platform", [(entry.platform, entry.figures) for entry in report.by_platform])
    _print_figures("format", [(entry.format.value, entry.figures) for entry in report.by_format])
    click.echo(f"\n{report.best_time.sentence} Time zone: {report.time_zone}.")


@engagement.command(
    examples=("copydesk engagement export posts.csv", "copydesk engagement export --days 30 posts.json")
)
@click.argument("file", type=click.File("w", encoding="utf-8", lazy=True), default="-")
@click.option(
    "-f", "--format", "name", type=click.Choice(EXPORT_FORMATS), help="Default: by the name of FILE, else csv."
)
@click.option("--days", type=int, default=0, help="Days of the period, today included; all time by default.")
@pass_context
def export(context: Context, *, file: IO[str], name: str | None, days: int) -> None:
    """Write a row of metrics for each published post to FILE, or to standard output.

    A metric that a platform does not report is empty, not 0.
    """

    async def work(desk: "Desk") -> tuple[LivePost, ...]:
        page = await load_pages(
            Paging(MAX_LIMIT, None, all=True), lambda limit, at: desk.engagement.posts(limit, at, days)
        )
        return page.items

    posts = context.run(work)
    as_json = name == "json" or (name is None and str(file.name).lower().endswith(".json"))
    text = json.dumps(to_json_value(posts), ensure_ascii=False, indent=2) + "\n" if as_json else _format_csv(posts)
    write_export(text, file, plural(len(posts), "post"))


def _format_csv(posts: Sequence[LivePost]) -> str:
    """Return the posts as CSV with a header."""
    output = StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(LivePost.__struct_encode_fields__)
    for post in posts:
        values = msgspec.structs.astuple(post)
        writer.writerow([_csv_cell(format_iso(value) if isinstance(value, datetime) else value) for value in values])
    return output.getvalue()


def _csv_cell(value: object) -> object:
    """Return the cell; a text that a spreadsheet would take for a formula gets an apostrophe in front."""
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _figure_rows(figures: EngagementFigures, before: EngagementFigures | None) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each figure, its value, and its change against the period before."""
    units: tuple[tuple[str, Callable[[float], str]], ...] = (
        ("posts", _format_count),
        ("interactions", _format_count),
        ("interactions_per_post", "{:,.1f}".format),
        ("engagement_rate", "{:.2%}".format),
        *((name, _format_count) for name in METRICS),
    )
    for name, unit in units:
        value, earlier = getattr(figures, name), getattr(before, name) if before else None
        label = name.replace("_", " ")
        change = f"{value / earlier - 1:+.0%}" if value is not None and earlier else ""
        yield label, "not reported" if value is None else unit(value), change


def _format_count(value: float) -> str:
    return f"{value:,.0f}"


def _print_figures(attribute: str, groups: Sequence[tuple[str, EngagementFigures]]) -> None:
    if groups:
        click.echo(f"\nBy {attribute}")
        print_table([_group_row(name, figures) for name, figures in groups], empty="")


def _group_row(label: str, figures: EngagementFigures) -> tuple[str, ...]:
    mean, rate = figures.interactions_per_post, figures.engagement_rate
    return (
        "",
        label,
        plural(figures.posts, "post"),
        "no interactions reported" if mean is None else f"{mean:,.1f} interactions per post",
        "no rate" if rate is None else f"{rate:.2%}",
    )


@engagement.command(examples=("copydesk engagement record 1f9c2a x --likes 3 --impressions 100",))
@click.argument("id", type=DRAFT)
@click.argument("platform")
@click.option("--likes", type=int, help="Number of likes.")
@click.option("--replies", type=int, help="Number of replies.")
@click.option("--reposts", type=int, help="Number of reposts.")
@click.option("--impressions", type=int, help="Number of impressions.")
@click.option("--clicks", type=int, help="Number of link clicks.")
@click.option("--post-id", help="The platform's id of the post.")
@click.option("--status", type=click.Choice([status.value for status in RecordStatus]), help="Status of the delivery.")
@click.option("--error", help="Error message of a failed delivery.")
@json_options(EngagementRecord)
@pass_context
def record(
    context: Context,
    /,
    *,
    id: str,
    platform: str,
    post_id: str | None,
    status: str | None,
    error: str | None,
    as_json: bool,
    **metrics: int | None,
) -> None:
    """Record the metrics of a draft on a platform.

    Options left out keep their values. A metric or --post-id without --status marks the post as live: the summary
    counts it, even if you posted it by hand, and the draft's status stays. --status pending reverts this.
    """
    values = {
        "draftId": id,
        "platform": platform,
        "postId": post_id,
        "status": status,
        "errorMessage": error,
        **metrics,
    }

    async def work(desk: "Desk") -> EngagementRecord:
        return await desk.engagement.record(values)

    saved = context.run(work)
    if as_json:
        print_json(saved)
        return
    formatted = [f"{name} {value:,}" for name in METRICS if (value := getattr(saved, name)) is not None]
    rate = [f"rate {saved.engagement_rate:.2%}"] if saved.engagement_rate is not None else []
    click.echo(f"{clean(saved.platform)}: {', '.join([saved.status.value, *formatted, *rate])}.")


def _print_groups(attribute: str, groups: Sequence[FormatEngagement | PlatformEngagement]) -> None:
    if groups:
        click.echo(f"\nBy {attribute}")
        rows = [("", getattr(group, attribute), plural(group.count, "post"), _format_rate(group)) for group in groups]
        print_table(rows, empty="")


def _print_top(posts: Sequence[TopPost], short_ids: Mapping[str, str]) -> None:
    if posts:
        click.echo("\nTop posts")
        print_table([("", *_post_row(post, short_ids[post.draft_id])) for post in posts], empty="", cut=True)


def _post_row(post: TopPost, short_id: str) -> tuple[str, ...]:
    rate = "no rate" if post.engagement_rate is None else f"{post.engagement_rate:.2%}"
    likes = "" if post.likes is None else plural(post.likes, "like")
    return rate, likes, post.platform, post.format, short_id, first_line(post.draft_text)


def _format_rate(group: FormatEngagement | PlatformEngagement) -> str:
    return f"{group.avg_engagement_rate:.2%}" if group.rated else "no rate"
