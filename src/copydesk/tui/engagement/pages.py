"""Pages of the engagement screen.

The page of a period has its totals, and its rate over time, by platform and format, and by hour of the week. A
published post has a row in the list and a page of its own.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple
from zoneinfo import ZoneInfo

from textual.content import Content

from copydesk.model.engagement import (
    INTERACTION_METRICS,
    METRICS,
    FormatSummary,
    HourSummary,
    Interval,
    LivePost,
    MetricSum,
    PeriodSummary,
    RateSummary,
    sum_rates,
)
from copydesk.text import reveal
from copydesk.text.formatting import format_age, format_relative, plural
from copydesk.tui import labels
from copydesk.tui.browser import is_link
from copydesk.tui.charts import Bar, BarChart, ColumnChart, HeatMap, Point, format_percent
from copydesk.tui.keys import key_label
from copydesk.tui.labels import FORMAT
from copydesk.tui.layout import Block, Paragraph, Table, paragraph
from copydesk.tui.review.draft_row import first_line
from copydesk.tui.terminal.cells import fit, safe_line

MAX_BEST_HOURS = 3
PLATFORM_WIDTH = 9
MIN_WIDTH_FOR_METRICS = 60
"""Rows of at least this many cells show impressions and likes."""


class Period(NamedTuple):
    """A period that ends today, and the step of its chart over time."""

    days: int | None
    """None for all time."""
    step: Interval
    label: str


PERIODS = (
    Period(7, Interval.DAY, labels.last_days(7)),
    Period(30, Interval.DAY, labels.last_days(30)),
    Period(90, Interval.WEEK, labels.last_days(90)),
    Period(365, Interval.MONTH, labels.last_days(365)),
    Period(None, Interval.MONTH, labels.ALL_TIME),
)


class EngagementReport(NamedTuple):
    """The metrics of a period, as loaded from the desk."""

    period: Period
    kinds: Sequence[FormatSummary]
    spans: Sequence[PeriodSummary]
    hours: Sequence[HourSummary]
    posts: Sequence[LivePost]
    zone: str
    """The IANA name of the user's time zone."""


def no_posts() -> tuple[Block, ...]:
    """Return the page shown while nothing has been posted at all, with the keys that lead to a post."""
    before, between, after = labels.NO_POSTS_HINT
    review, post = (key_label("console.review"), "key"), (key_label("review.post"), "key")
    hint = Content.assemble(before, review, between, post, after)
    return paragraph(labels.NO_POSTS, "strong"), paragraph(), Paragraph(hint)


def no_posts_in(period: Period) -> tuple[Block, ...]:
    """Return the page shown when there are posts, but none in this period."""
    return (
        paragraph(labels.no_posts_in(period.label), "strong"),
        paragraph(),
        Paragraph(Content.assemble((key_label("engagement.longer"), "key"), labels.LONGER_PERIOD_HINT)),
    )


def engagement_page(report: EngagementReport) -> list[Block]:
    """Return the whole page."""
    if not report.kinds:
        return list(no_posts_in(report.period) if report.period.days else no_posts())
    parts = (_totals(report.kinds), _over_time(report), _by_group(report.kinds), _by_hour(report))
    blocks: list[Block] = []
    for part in parts:
        blocks += [*([paragraph()] if blocks else []), *part]
    return blocks


def _totals(kinds: Sequence[FormatSummary]) -> Iterator[Block]:
    overall, measured = sum_rates(kind.rate for kind in kinds), sum(kind.measured for kind in kinds)
    rate = format_percent(overall.rate) if overall.rate is not None else labels.VALUE_UNKNOWN
    basis = labels.rate_basis(overall.rated) if overall.rated else labels.RATE_WITHOUT_BASIS
    rows = [
        _metric_row(labels.METRIC_POSTS, f"{overall.posts:,}", labels.measured(measured)),
        _metric_row(labels.METRIC_RATE, rate, basis),
        *(_total_row(label, _sum_metric(kinds, name), overall.posts) for name, label in labels.METRIC_NAMES.items()),
    ]
    yield Table(rows, right_aligned=frozenset({1}))


def _metric_row(name: str, value: str, explanation: str) -> tuple[Content, ...]:
    return Content.styled(name, "dim"), Content.styled(value, "strong"), Content.styled(explanation, "dim")


def _total_row(name: str, metric: MetricSum, posts: int) -> tuple[Content, ...]:
    """Return the row of a sum and the number of posts behind it.

    A metric that no platform reports is not shown as zero.
    """
    if not metric.posts:
        return (
            Content.styled(name, "dim"),
            Content.styled(labels.UNKNOWN_VALUE, "dim"),
            Content.styled(labels.NOT_REPORTED, "dim"),
        )
    return _metric_row(name, f"{metric.total:,}", labels.reported_by(metric.posts, posts))


def _sum_metric(kinds: Iterable[FormatSummary], name: str) -> MetricSum:
    return sum((kind.metrics[name] for kind in kinds), MetricSum())


def _over_time(report: EngagementReport) -> Iterator[Block]:
    step = report.period.step
    # Posts recorded by hand may have no time: they count in the totals but in no span.
    undated = sum(kind.rate.posts for kind in report.kinds) - sum(span.rate.posts for span in report.spans)
    yield _section_title(labels.RATE_OVER_TIME, labels.by_interval(step))
    if report.spans:
        yield ColumnChart([Point(_span_label(span, step), span.rate.rate, span.rate.posts) for span in report.spans])
    if undated:
        yield paragraph(labels.posts_without_time(undated), "dim")


def _span_label(span: PeriodSummary, step: Interval) -> str:
    month = labels.MONTHS[span.first.month - 1]
    return f"{month} {span.first.year}" if step is Interval.MONTH else f"{span.first.day} {month}"


def _by_group(kinds: Sequence[FormatSummary]) -> Iterator[Block]:
    yield _section_title(labels.BY_PLATFORM, labels.RATE_WEIGHTING)
    yield BarChart(_bars((labels.platform_name(kind.platform), kind) for kind in kinds))
    # `groupby` relies on the desk's order by platform.
    for name, own in groupby(kinds, key=lambda kind: kind.platform):
        if missing := _unreported_metrics(safe_line(labels.platform_name(name)), list(own)):
            yield paragraph(missing, "dim")
    yield paragraph()
    yield _section_title(labels.BY_FORMAT, labels.RATE_WEIGHTING)
    yield BarChart(_bars((labels.FORMAT_NAMES[kind.format], kind) for kind in kinds))


def _bars(pairs: Iterable[tuple[str, FormatSummary]]) -> list[Bar]:
    """Return one bar per name, most posts first."""
    sums: dict[str, RateSummary] = {}
    for name, kind in pairs:
        sums[name] = sums.get(name, RateSummary()) + kind.rate
    return [
        Bar(name, rate.rate, _basis(rate))
        for name, rate in sorted(sums.items(), key=lambda item: (-item[1].posts, item[0]))
    ]


def _basis(rate: RateSummary) -> str:
    return labels.rated_posts(rate.posts, rate.rated)


def _unreported_metrics(platform: str, kinds: Sequence[FormatSummary]) -> str:
    """Return a sentence naming the metrics that none of the platform's posts has, or an empty string."""
    if not sum(kind.measured for kind in kinds):
        return labels.no_metrics_from(platform)
    missing = [labels.METRIC_NAMES[name] for name in METRICS if not _sum_metric(kinds, name).posts]
    return labels.not_reported_by(platform, missing) if missing else ""


def _by_hour(report: EngagementReport) -> Iterator[Block]:
    # The model counts weekdays from Sunday (0), the chart from Monday.
    rates = {((bucket.day_of_week - 1) % 7, bucket.hour): bucket.rate for bucket in report.hours}
    yield _section_title(labels.RATE_BY_HOUR, labels.by_hour(report.zone))
    yield HeatMap({hour: rate.rate for hour, rate in rates.items()})
    best = sorted((hour for hour in rates if rates[hour].rated), key=lambda hour: -(rates[hour].rate or 0.0))
    best_hours = [
        f"{labels.DAYS[day]} {hour:02}:00 {format_percent(rates[day, hour].rate or 0.0)}"
        f" ({plural(rates[day, hour].rated, 'post')})"
        for day, hour in best[:MAX_BEST_HOURS]
    ]
    if best_hours:
        yield paragraph(labels.best_hours(best_hours), "dim")


def _section_title(title: str, subtitle: str) -> Block:
    return Paragraph(Content.assemble((title, "strong"), "  ", (subtitle, "dim")))


def post_row(post: LivePost, now: datetime, width: int) -> Content:
    """Return the row in `width` cells: rate, its basis, platform, format, age and first line."""
    rate = format_percent(post.engagement_rate) if post.engagement_rate is not None else labels.NO_RATE
    metrics = (
        labels.post_counts(_format_metric(post.impressions), _format_metric(post.likes))
        if width >= MIN_WIDTH_FOR_METRICS
        else ""
    )
    head = Content.assemble(
        (f"{rate:>7} ", "" if post.engagement_rate is not None else "dim"),
        (metrics, "dim"),
        f"{fit(safe_line(labels.platform_name(post.platform)), PLATFORM_WIDTH)} ",
        (FORMAT[post.format].letter, FORMAT[post.format].role),
        (f" {format_age(post.at, now) if post.at else '':>3} ", "dim"),
    )
    return head + fit(first_line(post.text), width - head.cell_length)


def _format_metric(value: int | None) -> str:
    """Format a metric in five cells; a dash where it is not reported."""
    if value is None:
        return f"{labels.UNKNOWN_VALUE:>5}"
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        # Up to 9,999 of a unit fit into the column; beyond that use the next unit.
        if value >= 10 * size:
            return f"{value // size}{unit}".rjust(5)
    return f"{value:5,}"


def post_page(post: LivePost, now: datetime, zone: str) -> list[Block]:
    """Return the page of one post: its metrics, its time and link, and its text."""
    return [*_metrics(post, now), paragraph(), Table(list(_facts(post, now, zone))), paragraph(), _text(post)]


def _metrics(post: LivePost, now: datetime) -> Iterator[Block]:
    if all(getattr(post, name) is None for name in METRICS):
        yield paragraph(labels.POST_WITHOUT_METRICS, "strong")
        hint = Content.assemble(*labels.record_hint())
        if post.account:
            hint += Content.assemble(*labels.fetch_hint(safe_line(labels.platform_name(post.platform))))
        yield Paragraph(hint + ".")
        return
    yield Paragraph(_rate_line(post))
    rows = [
        (Content.styled(label, "dim"), *_metric_cells(post, getattr(post, name)))
        for name, label in labels.METRIC_NAMES.items()
    ]
    yield Table(rows, right_aligned=frozenset({1}))
    if post.measured_at is not None:
        yield paragraph(labels.updated(format_relative(post.measured_at, now)), "dim")


def _metric_cells(post: LivePost, value: int | None) -> tuple[Content, Content]:
    if value is None:
        platform = safe_line(labels.platform_name(post.platform))
        reason = labels.not_reported_by(platform) if post.account else labels.NOT_RECORDED
        return Content.styled(labels.UNKNOWN_VALUE, "dim"), Content.styled(reason, "dim")
    return Content.styled(f"{value:,}", "strong"), Content("")


def _rate_line(post: LivePost) -> Content:
    # Leave out metrics that the platform does not report: they are unknown, not zero.
    counts = [value for name in INTERACTION_METRICS if (value := getattr(post, name)) is not None]
    if post.engagement_rate is None:
        missing = labels.INTERACTIONS_MISSING if post.impressions else labels.IMPRESSIONS_MISSING
        return Content.assemble((labels.NO_RATE.capitalize(), "strong"), "  ", (missing, "dim"))
    # A post without impressions has no rate.
    assert post.impressions
    basis = labels.interactions_per_impressions(sum(counts), post.impressions)
    return Content.assemble((labels.rate(format_percent(post.engagement_rate)), "strong"), "  ", (basis, "dim"))


def _facts(post: LivePost, now: datetime, zone: str) -> Iterator[tuple[Content, ...]]:
    yield Content.styled(labels.FIELD_ACCOUNT, "dim"), Content(safe_line(post.target_label))
    if post.at is not None:
        local = post.at.astimezone(ZoneInfo(zone))
        day = f"{labels.DAYS[local.weekday()]} {local:%d} {labels.MONTHS[local.month - 1]} {local.year}"
        yield (
            Content.styled(labels.FIELD_POSTED, "dim"),
            Content(f"{day} {local:%H:%M} · {format_relative(post.at, now)}"),
        )
    else:
        yield Content.styled(labels.FIELD_POSTED, "dim"), Content(labels.VALUE_UNKNOWN)
    if post.url:
        yield Content.styled(labels.FIELD_LINK, "dim"), Content.styled(safe_line(post.url), "link" * is_link(post.url))
    else:
        yield Content.styled(labels.FIELD_LINK, "dim"), Content.styled(labels.NO_LINK, "dim")


def _text(post: LivePost) -> Block:
    return Paragraph(Content(reveal(post.text)))
