"""The page with a period's metrics: totals, rate over time, by platform and format, and by hour of the week."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from textual.content import Content

from copydesk.model.draft import Format
from copydesk.model.engagement import FIGURES
from copydesk.model.trend import KindSum, Known, LivePost, Rated, Span, Step, WeekHour, added
from copydesk.tui.cells import cell
from copydesk.tui.charts import DAYS, Bar, Bars, Columns, Heat, Point, percent
from copydesk.tui.layout import Block, Paragraph, Table, plain
from copydesk.tui.naming import key
from copydesk.tui.words import plural

BEST_HOURS = 3


class Period(NamedTuple):
    """A period that ends today, and the step of its chart over time."""

    days: int | None
    """None for all time."""
    step: Step
    words: str


PERIODS = (
    Period(7, Step.DAY, "the last 7 days"),
    Period(30, Step.DAY, "the last 30 days"),
    Period(90, Step.WEEK, "the last 90 days"),
    Period(365, Step.MONTH, "the last 365 days"),
    Period(None, Step.MONTH, "all time"),
)
_FORMAT_NAMES = {Format.SHORT: "short", Format.THREAD: "thread", Format.BLOG: "blog"}
_STEP_NAMES = {Step.DAY: "day", Step.WEEK: "week", Step.MONTH: "month"}


class Engagement(NamedTuple):
    """The metrics of a period, as loaded from the desk."""

    period: Period
    kinds: Sequence[KindSum]
    spans: Sequence[Span]
    hours: Sequence[WeekHour]
    posts: Sequence[LivePost]
    zone: str
    """The IANA name of the user's time zone."""


def no_posts() -> tuple[Block, ...]:
    """Return the page shown while nothing has been posted at all, with the keys that lead to a post."""
    leads = "Figures come back of posts. ", (key("console.review"), "key"), " leads to the drafts, "
    return (
        plain("Nothing is posted yet.", "strong"),
        plain(),
        Paragraph(Content.assemble(*leads)),
        Paragraph(Content.assemble("and there ", (key("review.post"), "key"), " posts one.")),
    )


def none_in(period: Period) -> tuple[Block, ...]:
    """Return the page shown when there are posts, but none in this period."""
    return (
        plain(f"Nothing went out in {period.words}.", "strong"),
        plain(),
        Paragraph(Content.assemble((key("engagement.longer"), "key"), " shows a longer period.")),
    )


def engagement_page(found: Engagement) -> list[Block]:
    """Return the whole page."""
    if not found.kinds:
        return list(none_in(found.period) if found.period.days else no_posts())
    parts = (_totals(found.kinds), _over_time(found), _by_group(found.kinds), _by_hour(found))
    blocks: list[Block] = []
    for part in parts:
        blocks += [*([plain()] if blocks else []), *part]
    return blocks


def _totals(kinds: Sequence[KindSum]) -> Iterator[Block]:
    overall, measured = added(kind.rate for kind in kinds), sum(kind.measured for kind in kinds)
    rate = percent(overall.rate) if overall.rate is not None else "unknown"
    rate_basis = f"of {plural(overall.rated, 'post')} with a rate, weighted by impressions"
    rows = [
        _metric_row("posts", f"{overall.posts:,}", f"{measured:,} with figures"),
        _metric_row("rate", rate, rate_basis if overall.rated else "no post has impressions and interactions"),
        *(
            _total_row(name, _sum_metric(kinds, name), overall.posts)
            for name in ("impressions", *FIGURES[:3], "clicks")
        ),
    ]
    yield Table(rows, right=frozenset({1}))


def _metric_row(name: str, value: str, explanation: str) -> tuple[Content, ...]:
    return Content.styled(name, "dim"), Content.styled(value, "strong"), Content.styled(explanation, "dim")


def _total_row(name: str, metric: Known, posts: int) -> tuple[Content, ...]:
    """Return the row of a sum and the number of posts behind it.

    A metric that no platform reports is not shown as zero.
    """
    if not metric.posts:
        return Content.styled(name, "dim"), Content.styled("–", "dim"), Content.styled("not reported", "dim")
    missing = posts - metric.posts
    explanation = f"of {plural(metric.posts, 'post')}" + (f"; of {missing:,} not reported" if missing else "")
    return _metric_row(name, f"{metric.total:,}", explanation)


def _sum_metric(kinds: Iterable[KindSum], name: str) -> Known:
    return sum((kind.figures[name] for kind in kinds), Known())


def _over_time(found: Engagement) -> Iterator[Block]:
    step = found.period.step
    # Posts recorded by hand may have no time: they count in the totals but in no span.
    undated = sum(kind.rate.posts for kind in found.kinds) - sum(span.rate.posts for span in found.spans)
    yield _section_title("Rate over time", f"by {_STEP_NAMES[step]} in which a post went out")
    if found.spans:
        yield Columns([Point(_span_label(span, step), span.rate.rate, span.rate.posts) for span in found.spans])
    if undated:
        yield plain(f"Of {plural(undated, 'post')} it is not known when they went out.", "dim")


def _span_label(span: Span, step: Step) -> str:
    return f"{span.first:%b %Y}" if step is Step.MONTH else f"{span.first.day} {span.first:%b}"


def _by_group(kinds: Sequence[KindSum]) -> Iterator[Block]:
    yield _section_title("By platform", "rate, weighted by impressions")
    yield Bars(_bars((kind.platform, kind) for kind in kinds))
    # `groupby` relies on the desk's order by platform.
    for name, own in groupby(kinds, key=lambda kind: kind.platform):
        if missing := _unreported_metrics(cell(name), list(own)):
            yield plain(missing, "dim")
    yield plain()
    yield _section_title("By format", "rate, weighted by impressions")
    yield Bars(_bars((_FORMAT_NAMES[kind.format], kind) for kind in kinds))


def _bars(pairs: Iterable[tuple[str, KindSum]]) -> list[Bar]:
    """Return one bar per name, most posts first."""
    sums: dict[str, Rated] = {}
    for name, kind in pairs:
        sums[name] = sums.get(name, Rated()) + kind.rate
    return [
        Bar(name, rate.rate, _basis(rate))
        for name, rate in sorted(sums.items(), key=lambda item: (-item[1].posts, item[0]))
    ]


def _basis(rate: Rated) -> str:
    if rate.rated == rate.posts:
        return plural(rate.posts, "post")
    return f"{plural(rate.posts, 'post')}, {rate.rated or 'none'} with a rate"


def _unreported_metrics(platform: str, kinds: Sequence[KindSum]) -> str:
    """Return a sentence naming the metrics that none of the platform's posts has, or an empty string."""
    if not sum(kind.measured for kind in kinds):
        return f"Not reported by {platform}: any figure, so far."
    missing = ", ".join(name for name in FIGURES if not _sum_metric(kinds, name).posts)
    return f"Not reported by {platform}: {missing}." if missing else ""


def _by_hour(found: Engagement) -> Iterator[Block]:
    # The model counts weekdays from Sunday (0), the chart from Monday.
    rates = {((bucket.day_of_week - 1) % 7, bucket.hour): bucket.rate for bucket in found.hours}
    yield _section_title("Rate by hour", f"in which a post went out, on the clock of {found.zone}")
    yield Heat({hour: rate.rate for hour, rate in rates.items()})
    best = sorted((hour for hour in rates if rates[hour].rated), key=lambda hour: -(rates[hour].rate or 0.0))
    labels = [
        f"{DAYS[day]} {hour:02}:00 {percent(rates[day, hour].rate or 0.0)} ({plural(rates[day, hour].rated, 'post')})"
        for day, hour in best[:BEST_HOURS]
    ]
    if labels:
        yield plain("Best so far: " + ", ".join(labels), "dim")


def _section_title(title: str, subtitle: str) -> Block:
    return Paragraph(Content.assemble((title, "strong"), "  ", (subtitle, "dim")))
