"""`copydesk engagement`: show, record."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from copydesk.cli.command import group
from copydesk.cli.context import Context, pass_context
from copydesk.cli.ids import DRAFT
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import first_line, print_table
from copydesk.model.engagement import (
    METRICS,
    EngagementRecord,
    EngagementSummary,
    FormatEngagement,
    PlatformEngagement,
    RecordStatus,
    TopPost,
)
from copydesk.model.ids import IdKind
from copydesk.text import clean
from copydesk.text.formatting import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk


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

    Example: engagement record ID x --likes 3 --impressions 100

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
