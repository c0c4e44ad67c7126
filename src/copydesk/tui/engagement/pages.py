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

from copydesk.model.draft import Format
from copydesk.model.engagement import (
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
from copydesk.tui.browser import is_link
from copydesk.tui.charts import DAYS, Bar, BarChart, ColumnChart, HeatMap, Point, format_percent
from copydesk.tui.keys import key_label
from copydesk.tui.labels import FORMAT
from copydesk.tui.layout import Block, Paragraph, Table, paragraph
from copydesk.tui.review.draft_row import first_line
from copydesk.tui.terminal.cells import fit, safe_line

MAX_BEST_HOURS = 3
_FORMAT_NAMES = {Format.SHORT: "short", Format.THREAD: "thread", Format.BLOG: "blog"}
_STEP_NAMES = {Interval.DAY: "day", Interval.WEEK: "week", Interval.MONTH: "month"}
PLATFORM_WIDTH = 9
MIN_WIDTH_FOR_METRICS = 60
"""Rows of at least this many cells show impressions and likes."""
_METRICS = ("impressions", "likes", "replies", "reposts", "clicks")
_INTERACTIONS = ("likes", "replies", "reposts", "clicks")


class Period(NamedTuple):
    """A period that ends today, and the step of its chart over time."""

    days: int | None
    """None for all time."""
    step: Interval
    label: str


PERIODS = (
    Period(7, Interval.DAY, "the last 7 days"),
    Period(30, Interval.DAY, "the last 30 days"),
    Period(90, Interval.WEEK, "the last 90 days"),
    Period(365, Interval.MONTH, "the last 365 days"),
    Period(None, Interval.MONTH, "all time"),
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
    leads = "Figures come back of posts. ", (key_label("console.review"), "key"), " leads to the drafts, "
    return (
        paragraph("Nothing is posted yet.", "strong"),
        paragraph(),
        Paragraph(Content.assemble(*leads)),
        Paragraph(Content.assemble("and there ", (key_label("review.post"), "key"), " posts one.")),
    )


def no_posts_in(period: Period) -> tuple[Block, ...]:
    """Return the page shown when there are posts, but none in this period."""
    return (
        paragraph(f"Nothing went out in {period.label}.", "strong"),
        paragraph(),
        Paragraph(Content.assemble((key_label("engagement.longer"), "key"), " shows a longer period.")),
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
    rate = format_percent(overall.rate) if overall.rate is not None else "unknown"
    rate_basis = f"of {plural(overall.rated, 'post')} with a rate, weighted by impressions"
    rows = [
        _metric_row("posts", f"{overall.posts:,}", f"{measured:,} with figures"),
        _metric_row("rate", rate, rate_basis if overall.rated else "no post has impressions and interactions"),
        *(
            _total_row(name, _sum_metric(kinds, name), overall.posts)
            for name in ("impressions", *METRICS[:3], "clicks")
        ),
    ]
    yield Table(rows, right_aligned=frozenset({1}))


def _metric_row(name: str, value: str, explanation: str) -> tuple[Content, ...]:
    return Content.styled(name, "dim"), Content.styled(value, "strong"), Content.styled(explanation, "dim")


def _total_row(name: str, metric: MetricSum, posts: int) -> tuple[Content, ...]:
    """Return the row of a sum and the number of posts behind it.

    A metric that no platform reports is not shown as zero.
    """
    if not metric.posts:
        return Content.styled(name, "dim"), Content.styled("–", "dim"), Content.styled("not reported", "dim")
    missing = posts - metric.posts
    explanation = f"of {plural(metric.posts, 'post')}" + (f"; of {missing:,} not reported" if missing else "")
    return _metric_row(name, f"{metric.total:,}", explanation)


def _sum_metric(kinds: Iterable[FormatSummary], name: str) -> MetricSum:
    return sum((kind.metrics[name] for kind in kinds), MetricSum())


def _over_time(report: EngagementReport) -> Iterator[Block]:
    step = report.period.step
    # Posts recorded by hand may have no time: they count in the totals but in no span.
    undated = sum(kind.rate.posts for kind in report.kinds) - sum(span.rate.posts for span in report.spans)
    yield _section_title("Rate over time", f"by {_STEP_NAMES[step]} in which a post went out")
    if report.spans:
        yield ColumnChart([Point(_span_label(span, step), span.rate.rate, span.rate.posts) for span in report.spans])
    if undated:
        yield paragraph(f"Of {plural(undated, 'post')} it is not known when they went out.", "dim")


def _span_label(span: PeriodSummary, step: Interval) -> str:
    return f"{span.first:%b %Y}" if step is Interval.MONTH else f"{span.first.day} {span.first:%b}"


def _by_group(kinds: Sequence[FormatSummary]) -> Iterator[Block]:
    yield _section_title("By platform", "rate, weighted by impressions")
    yield BarChart(_bars((kind.platform, kind) for kind in kinds))
    # `groupby` relies on the desk's order by platform.
    for name, own in groupby(kinds, key=lambda kind: kind.platform):
        if missing := _unreported_metrics(safe_line(name), list(own)):
            yield paragraph(missing, "dim")
    yield paragraph()
    yield _section_title("By format", "rate, weighted by impressions")
    yield BarChart(_bars((_FORMAT_NAMES[kind.format], kind) for kind in kinds))


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
    if rate.rated == rate.posts:
        return plural(rate.posts, "post")
    return f"{plural(rate.posts, 'post')}, {rate.rated or 'none'} with a rate"


def _unreported_metrics(platform: str, kinds: Sequence[FormatSummary]) -> str:
    """Return a sentence naming the metrics that none of the platform's posts has, or an empty string."""
    if not sum(kind.measured for kind in kinds):
        return f"Not reported by {platform}: any figure, so far."
    missing = ", ".join(name for name in METRICS if not _sum_metric(kinds, name).posts)
    return f"Not reported by {platform}: {missing}." if missing else ""


def _by_hour(report: EngagementReport) -> Iterator[Block]:
    # The model counts weekdays from Sunday (0), the chart from Monday.
    rates = {((bucket.day_of_week - 1) % 7, bucket.hour): bucket.rate for bucket in report.hours}
    yield _section_title("Rate by hour", f"in which a post went out, on the clock of {report.zone}")
    yield HeatMap({hour: rate.rate for hour, rate in rates.items()})
    best = sorted((hour for hour in rates if rates[hour].rated), key=lambda hour: -(rates[hour].rate or 0.0))
    labels = [
        f"{DAYS[day]} {hour:02}:00 {format_percent(rates[day, hour].rate or 0.0)}"
        f" ({plural(rates[day, hour].rated, 'post')})"
        for day, hour in best[:MAX_BEST_HOURS]
    ]
    if labels:
        yield paragraph("Best so far: " + ", ".join(labels), "dim")


def _section_title(title: str, subtitle: str) -> Block:
    return Paragraph(Content.assemble((title, "strong"), "  ", (subtitle, "dim")))


def post_row(post: LivePost, now: datetime, width: int) -> Content:
    """Return the row in `width` cells: rate, its basis, platform, format, age and first line."""
    rate = format_percent(post.engagement_rate) if post.engagement_rate is not None else "no rate"
    metrics = (
        f"{_format_metric(post.impressions)} seen {_format_metric(post.likes)} likes "
        if width >= MIN_WIDTH_FOR_METRICS
        else ""
    )
    head = Content.assemble(
        (f"{rate:>7} ", "" if post.engagement_rate is not None else "dim"),
        (metrics, "dim"),
        f"{fit(safe_line(post.platform), PLATFORM_WIDTH)} ",
        (FORMAT[post.format].letter, FORMAT[post.format].role),
        (f" {format_age(post.at, now) if post.at else '':>3} ", "dim"),
    )
    return head + fit(first_line(post.text), width - head.cell_length)


def _format_metric(value: int | None) -> str:
    """Format a metric in five cells; a dash where it is not reported."""
    if value is None:
        return f"{'–':>5}"
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        # Up to 9,999 of a unit fit into the column; beyond that use the next unit.
        if value >= 10 * size:
            return f"{value // size}{unit}".rjust(5)
    return f"{value:5}"


def post_page(post: LivePost, now: datetime, zone: str) -> list[Block]:
    """Return the page of one post: its metrics, its time and link, and its text."""
    return [*_metrics(post, now), paragraph(), Table(list(_facts(post, now, zone))), paragraph(), _text(post)]


def _metrics(post: LivePost, now: datetime) -> Iterator[Block]:
    if all(getattr(post, name) is None for name in _METRICS):
        yield paragraph("No figures are known of this post.", "strong")
        hint = Content.assemble((key_label("engagement.record"), "key"), " records them by hand")
        if post.account:
            hint += Content.assemble(
                ", ", (key_label("engagement.fetch"), "key"), f" asks {safe_line(post.platform)} for them"
            )
        yield Paragraph(hint + ".")
        return
    yield Paragraph(_rate_line(post))
    rows = [(Content.styled(name, "dim"), *_metric_cells(post, getattr(post, name))) for name in _METRICS]
    yield Table(rows, right_aligned=frozenset({1}))
    if post.measured_at is not None:
        yield paragraph(f"As they were {format_relative(post.measured_at, now)}.", "dim")


def _metric_cells(post: LivePost, value: int | None) -> tuple[Content, Content]:
    if value is None:
        reason = f"not reported by {safe_line(post.platform)}" if post.account else "not recorded"
        return Content.styled("–", "dim"), Content.styled(reason, "dim")
    return Content.styled(f"{value:,}", "strong"), Content("")


def _rate_line(post: LivePost) -> Content:
    # Leave out metrics that the platform does not report: they are unknown, not zero.
    counts = [value for name in _INTERACTIONS if (value := getattr(post, name)) is not None]
    if post.engagement_rate is None:
        missing = "no impressions" if not post.impressions else "no interactions"
        return Content.assemble(("No rate", "strong"), (f": {missing} are known", "dim"))
    basis = f"{sum(counts):,} interactions by {post.impressions:,} impressions"
    return Content.assemble((f"Rate {format_percent(post.engagement_rate)}", "strong"), "  ", (basis, "dim"))


def _facts(post: LivePost, now: datetime, zone: str) -> Iterator[tuple[Content, ...]]:
    yield Content.styled("on", "dim"), Content(safe_line(post.target_label))
    if post.at is not None:
        local = post.at.astimezone(ZoneInfo(zone))
        yield Content.styled("out", "dim"), Content(f"{local:%a %d %b %Y %H:%M} · {format_relative(post.at, now)}")
    else:
        yield Content.styled("out", "dim"), Content("it is not known when")
    if post.url:
        yield Content.styled("link", "dim"), Content.styled(safe_line(post.url), "link" * is_link(post.url))
    else:
        yield Content.styled("link", "dim"), Content.styled("none is known", "dim")


def _text(post: LivePost) -> Block:
    return Paragraph(Content(reveal(post.text)))
