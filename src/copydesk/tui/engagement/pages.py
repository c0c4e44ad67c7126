"""Pages of the engagement screen.

The page of a period has its totals with their change, and a metric over time, by hour of the week, by platform and by
format. A published post has a row in the list and a page of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from textual.content import Content

from copydesk.model.engagement import (
    METRICS,
    EngagementFigures,
    EngagementMetric,
    EngagementTrends,
    Interval,
    LivePost,
    PeriodFigures,
)
from copydesk.model.experiment import METRICS_AGE_HOURS
from copydesk.text import reveal
from copydesk.text.formatting import format_age, format_relative
from copydesk.tui import labels
from copydesk.tui.browser import is_link
from copydesk.tui.charts import Bar, BarChart, ColumnChart, HeatMap, Point, Tile, Tiles, format_percent
from copydesk.tui.keys import key_label
from copydesk.tui.labels import FORMAT
from copydesk.tui.layout import Block, Facts, OneLine, Paragraph, Table, facts, paragraph
from copydesk.tui.review.draft_row import first_line
from copydesk.tui.terminal.cells import fit, safe_line

MIN_WHOLE_MEAN = 100
"""Means from here on are shown without a decimal."""
METRIC_WIDTH, PLATFORM_WIDTH = 7, 9
MIN_WIDTH_FOR_METRICS = 60
"""Rows of at least this many cells show impressions and likes."""


class Period(NamedTuple):
    """A period that ends today."""

    days: int
    """0 for all time."""
    label: str


PERIODS = (*(Period(days, labels.last_days(days)) for days in (7, 30, 90, 365)), Period(0, labels.ALL_TIME))


class EngagementReport(NamedTuple):
    """The engagement of a period, as loaded from the desk."""

    period: Period
    trends: EngagementTrends
    posts: Sequence[LivePost]
    has_older_posts: bool = True
    """False if it is known that there are no posts in any period."""


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
    trends = report.trends
    if not trends.figures.posts:
        return list(no_posts_in(report.period) if report.period.days and report.has_older_posts else no_posts())
    blocks: list[Block] = []
    for part in (_totals(trends), _over_time(trends), _by_hour(trends), _by_group(trends)):
        blocks += [*([paragraph()] if blocks else []), *part]
    return blocks


def _totals(trends: EngagementTrends) -> Iterator[Block]:
    yield Tiles(
        (
            _tile(trends, labels.TILE_POSTS, lambda figures: figures.posts, _format_count),
            _tile(trends, labels.TILE_INTERACTIONS, lambda figures: figures.interactions, _format_count),
            _tile(trends, labels.TILE_PER_POST, lambda figures: figures.interactions_per_post, _format_mean),
            _tile(trends, labels.TILE_RATE, lambda figures: figures.engagement_rate, format_percent),
        )
    )
    if trends.before is not None:
        is_compared = trends.compared is not None
        yield paragraph(labels.period_before(trends.before, METRICS_AGE_HOURS, is_compared=is_compared), "dim")
    totals = [(name, total) for name in labels.METRIC_NAMES if (total := getattr(trends.figures, name)) is not None]
    if totals:
        yield facts(labels.totals(totals), "dim")
    yield OneLine([Content.styled(labels.SEPARATOR.join(parts), "dim") for parts in _coverage_variants(trends)])


def _tile(
    trends: EngagementTrends,
    name: str,
    get: Callable[[EngagementFigures], float | None],
    unit: Callable[[float], str],
) -> Tile:
    value, before = get(trends.figures), get(trends.compared.figures) if trends.compared else None
    return Tile(
        name,
        labels.UNKNOWN_VALUE if value is None else unit(value),
        labels.change(value / before - 1) if value is not None and before else "",
        [get(span.figures) for span in trends.over_time],
    )


def _format_count(value: float) -> str:
    return f"{value:,.0f}"


def _format_mean(value: float) -> str:
    return f"{value:,.1f}" if value < MIN_WHOLE_MEAN else f"{value:,.0f}"


VALUE_UNITS = {EngagementMetric.INTERACTIONS: _format_mean, EngagementMetric.RATE: format_percent}


class _GapsElsewhere(NamedTuple):
    """What platforms do not report, where the line of the coverage has no room for it."""

    coverage: Content
    gaps: Sequence[Content]

    def lines(self, width: int) -> list[Content]:
        """Render nothing if the coverage fits in a line of `width` cells."""
        return Facts(self.gaps).lines(width) if self.coverage.cell_length > width else []


def _coverage_variants(trends: EngagementTrends) -> list[list[str]]:
    """Return how many posts have metrics and who does not report which: in full, and in short."""
    measured, gaps = labels.measured(trends.figures.measured, trends.figures.posts), _gaps(trends)
    if not gaps:
        return [[measured]]
    shorter = labels.gaps_below(labels.BY_PLATFORM)
    return [[measured, *gaps], *([measured, text] for text in shorter), [measured]]


def _gaps(trends: EngagementTrends) -> list[str]:
    """Return which metrics are not reported by whom, with platforms that lack the same ones named together."""
    missing: dict[str, list[str]] = {}
    for group in trends.by_platform:
        if group.not_reported:
            names = " ".join(labels.METRIC_NAMES[name] for name in group.not_reported)
            missing.setdefault(names, []).append(_platform_name(group.platform))
    without = [_platform_name(group.platform) for group in trends.by_platform if not group.figures.measured]
    return labels.not_reported(list(missing.items()), without)


def _platform_name(platform: str) -> str:
    return safe_line(labels.platform_name(platform))


def _over_time(trends: EngagementTrends) -> Iterator[Block]:
    yield Paragraph(_section_title(labels.VALUE_NAMES[trends.metric], labels.by_interval(trends.step)))
    if trends.over_time:
        points = [
            Point(_span_label(span, trends.step), span.figures.value(trends.metric), span.figures.posts)
            for span in trends.over_time
        ]
        yield ColumnChart(points, VALUE_UNITS[trends.metric])
    # Posts recorded by hand may have no time: they count in the totals but in no span.
    if trends.undated:
        yield paragraph(labels.posts_without_time(trends.undated), "dim")


def _span_label(span: PeriodFigures, step: Interval) -> str:
    month = labels.MONTHS[span.first.month - 1]
    return f"{month} {span.first.year}" if step is Interval.MONTH else f"{span.first.day} {month}"


def _by_group(trends: EngagementTrends) -> Iterator[Block]:
    unit, basis = VALUE_UNITS[trends.metric], labels.VALUE_BASIS[trends.metric]
    yield Paragraph(_section_title(labels.BY_PLATFORM, basis))
    platforms = [_bar(labels.platform_name(group.platform), group.figures, trends) for group in trends.by_platform]
    yield BarChart(platforms, unit)
    full = Content(labels.SEPARATOR.join(_coverage_variants(trends)[0]))
    yield _GapsElsewhere(full, [Content.styled(gap, "dim") for gap in _gaps(trends)])
    yield paragraph()
    yield Paragraph(_section_title(labels.BY_FORMAT, basis))
    yield BarChart([_bar(labels.FORMAT_NAMES[group.format], group.figures, trends) for group in trends.by_format], unit)


def _bar(name: str, figures: EngagementFigures, trends: EngagementTrends) -> Bar:
    note = labels.posts_behind(figures.posts, figures.known(trends.metric), trends.metric)
    return Bar(name, figures.value(trends.metric), note)


def _by_hour(trends: EngagementTrends) -> Iterator[Block]:
    hints = labels.hours_hints(trends.best_time.posts, trends.time_zone)
    yield OneLine([_section_title(labels.TIMES, hint) for hint in hints])
    yield paragraph(trends.best_time.sentence)
    # The model counts weekdays from Sunday (0), the chart from Monday.
    yield HeatMap({((hour.day_of_week - 1) % 7, hour.hour): hour.lift for hour in trends.hours})


def _section_title(title: str, subtitle: str) -> Content:
    return Content.assemble((title, "strong"), "  ", (subtitle, "dim"))


def post_row(post: LivePost, metric: EngagementMetric, now: datetime, width: int) -> Content:
    """Return the row in `width` cells: the metric, others, platform, format, age and first line."""
    value = _row_value(post, metric)
    others = (post.impressions, post.likes) if width >= MIN_WIDTH_FOR_METRICS else ()
    head = Content.assemble(
        (f"{value or labels.UNKNOWN_VALUE:>{METRIC_WIDTH}} ", "" if value else "dim"),
        ("".join(f"{_format_metric(count)} " for count in others), "dim"),
        f"{fit(safe_line(labels.platform_name(post.platform)), PLATFORM_WIDTH)} ",
        (FORMAT[post.format].letter, FORMAT[post.format].role),
        (f" {format_age(post.published_at, now) if post.published_at else '':>3} ", "dim"),
    )
    return head + fit(first_line(post.text), width - head.cell_length)


def post_header(metric: EngagementMetric, width: int) -> str:
    """Return the column headings for `post_row`."""
    names = labels.POST_COLUMNS
    others = f"{names['impressions']:>5} {names['likes']:>5} " if width >= MIN_WIDTH_FOR_METRICS else ""
    # Platforms, formats and ages need no heading.
    return f"{names[metric]:>{METRIC_WIDTH}} {others}{'':{PLATFORM_WIDTH + 7}}{names['post']}"


def _row_value(post: LivePost, metric: EngagementMetric) -> str:
    """Return the metric of a post, empty if it is unknown."""
    if metric is EngagementMetric.INTERACTIONS:
        return f"{post.interactions:,}" if post.interactions is not None else ""
    return format_percent(post.engagement_rate) if post.engagement_rate is not None else ""


def _format_metric(value: int | None) -> str:
    """Format a metric in five cells; a dash where it is not reported."""
    if value is None:
        return f"{labels.UNKNOWN_VALUE:>5}"
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        # Up to 9,999 of a unit fit into the column; beyond that use the next unit.
        if value >= 10 * size:
            return f"{value // size}{unit}".rjust(5)
    return f"{value:5,}"


def post_page(post: LivePost, now: datetime) -> list[Block]:
    """Return the page of one post: its metrics, its time and link, and its text."""
    return [*_metrics(post, now), paragraph(), Table(list(_facts(post, now))), paragraph(), _text(post)]


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
    if post.engagement_rate is None:
        if post.interactions is None:
            return Content.assemble((labels.NO_RATE.capitalize(), "strong"), "  ", (labels.INTERACTIONS_MISSING, "dim"))
        return Content.assemble(
            (labels.interactions(post.interactions), "strong"), "  ", (labels.NO_RATE_WITHOUT_IMPRESSIONS, "dim")
        )
    # A post has a rate only with both.
    assert post.impressions
    assert post.interactions is not None
    basis = labels.interactions_per_impressions(post.interactions, post.impressions)
    return Content.assemble((labels.rate(format_percent(post.engagement_rate)), "strong"), "  ", (basis, "dim"))


def _facts(post: LivePost, now: datetime) -> Iterator[tuple[Content, ...]]:
    yield Content.styled(labels.FIELD_ACCOUNT, "dim"), Content(safe_line(post.target_label))
    if post.published_at is not None:
        posted = f"{labels.format_date_time(post.published_at, now)} · {format_relative(post.published_at, now)}"
        yield Content.styled(labels.FIELD_POSTED, "dim"), Content(posted)
    else:
        yield Content.styled(labels.FIELD_POSTED, "dim"), Content(labels.VALUE_UNKNOWN)
    if post.url:
        yield Content.styled(labels.FIELD_LINK, "dim"), Content.styled(safe_line(post.url), "link" * is_link(post.url))
    else:
        yield Content.styled(labels.FIELD_LINK, "dim"), Content.styled(labels.NO_LINK, "dim")


def _text(post: LivePost) -> Block:
    return Paragraph(Content(reveal(post.text)))
