"""What came back of the posts of a period: totals, the rate over time, by platform and format, by hour of the week."""

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
    """A stretch of time that ends today."""

    days: int | None
    """None for all that ever was."""
    step: Step
    words: str


PERIODS = (
    Period(7, Step.DAY, "the last 7 days"),
    Period(30, Step.DAY, "the last 30 days"),
    Period(90, Step.WEEK, "the last 90 days"),
    Period(365, Step.MONTH, "the last 365 days"),
    Period(None, Step.MONTH, "all time"),
)
_FORMAT = {Format.SHORT: "short", Format.THREAD: "thread", Format.BLOG: "blog"}
_EVERY = {Step.DAY: "day", Step.WEEK: "week", Step.MONTH: "month"}


class Engagement(NamedTuple):
    """What the desk says of a period."""

    period: Period
    kinds: Sequence[KindSum]
    spans: Sequence[Span]
    hours: Sequence[WeekHour]
    posts: Sequence[LivePost]
    zone: str
    """The IANA name of the user's zone."""


def no_posts() -> tuple[Block, ...]:
    """There is nothing that figures could be of: how to post."""
    leads = "Figures come back of posts. ", (key("console.review"), "key"), " leads to the drafts, "
    return (
        plain("Nothing is posted yet.", "strong"),
        plain(),
        Paragraph(Content.assemble(*leads)),
        Paragraph(Content.assemble("and there ", (key("review.post"), "key"), " posts one.")),
    )


def none_in(period: Period) -> tuple[Block, ...]:
    """There are posts, but none of this period."""
    return (
        plain(f"Nothing went out in {period.words}.", "strong"),
        plain(),
        Paragraph(Content.assemble((key("engagement.longer"), "key"), " shows a longer period.")),
    )


def engagement_page(found: Engagement) -> list[Block]:
    """The whole page."""
    if not found.kinds:
        return list(none_in(found.period) if found.period.days else no_posts())
    parts = (_totals(found.kinds), _over_time(found), _groups(found.kinds), _by_hour(found))
    blocks: list[Block] = []
    for part in parts:
        blocks += [*([plain()] if blocks else []), *part]
    return blocks


def _totals(kinds: Sequence[KindSum]) -> Iterator[Block]:
    whole, measured = added(kind.rate for kind in kinds), sum(kind.measured for kind in kinds)
    rate = percent(whole.rate) if whole.rate is not None else "unknown"
    made = f"of {plural(whole.rated, 'post')} with a rate, weighted by impressions"
    rows = [
        _row("posts", f"{whole.posts:,}", f"{measured:,} with figures"),
        _row("rate", rate, made if whole.rated else "no post has impressions and interactions"),
        *(_figure(name, _known(kinds, name), whole.posts) for name in ("impressions", *FIGURES[:3], "clicks")),
    ]
    yield Table(rows, right=frozenset({1}))


def _row(name: str, value: str, says: str) -> tuple[Content, ...]:
    return Content.styled(name, "dim"), Content.styled(value, "strong"), Content.styled(says, "dim")


def _figure(name: str, known: Known, posts: int) -> tuple[Content, ...]:
    """A sum, and of how many posts; what nobody reports is no zero."""
    if not known.posts:
        return Content.styled(name, "dim"), Content.styled("–", "dim"), Content.styled("not reported", "dim")
    missing = posts - known.posts
    says = f"of {plural(known.posts, 'post')}" + (f"; of {missing:,} not reported" if missing else "")
    return _row(name, f"{known.total:,}", says)


def _known(kinds: Iterable[KindSum], name: str) -> Known:
    return sum((kind.figures[name] for kind in kinds), Known())


def _over_time(found: Engagement) -> Iterator[Block]:
    step = found.period.step
    undated = sum(kind.rate.posts for kind in found.kinds) - sum(span.rate.posts for span in found.spans)
    yield _title("Rate over time", f"by {_EVERY[step]} in which a post went out")
    if found.spans:
        yield Columns([Point(_label(span, step), span.rate.rate, span.rate.posts) for span in found.spans])
    if undated:
        yield plain(f"Of {plural(undated, 'post')} it is not known when they went out.", "dim")


def _label(span: Span, step: Step) -> str:
    return f"{span.first:%b %Y}" if step is Step.MONTH else f"{span.first.day} {span.first:%b}"


def _groups(kinds: Sequence[KindSum]) -> Iterator[Block]:
    yield _title("By platform", "rate, weighted by impressions")
    yield Bars(_bars((kind.platform, kind) for kind in kinds))
    for name, own in groupby(kinds, key=lambda kind: kind.platform):
        if missing := _unreported(cell(name), list(own)):
            yield plain(missing, "dim")
    yield plain()
    yield _title("By format", "rate, weighted by impressions")
    yield Bars(_bars((_FORMAT[kind.format], kind) for kind in kinds))


def _bars(named: Iterable[tuple[str, KindSum]]) -> list[Bar]:
    """One for each name, that with the most posts first."""
    sums: dict[str, Rated] = {}
    for name, kind in named:
        sums[name] = sums.get(name, Rated()) + kind.rate
    return [
        Bar(name, rate.rate, _made_of(rate))
        for name, rate in sorted(sums.items(), key=lambda each: (-each[1].posts, each[0]))
    ]


def _made_of(rate: Rated) -> str:
    if rate.rated == rate.posts:
        return plural(rate.posts, "post")
    return f"{plural(rate.posts, 'post')}, {rate.rated or 'none'} with a rate"


def _unreported(platform: str, kinds: Sequence[KindSum]) -> str:
    """The figures that are known of none of a platform's posts; empty where all are."""
    if not sum(kind.measured for kind in kinds):
        return f"Not reported by {platform}: any figure, so far."
    missing = ", ".join(name for name in FIGURES if not _known(kinds, name).posts)
    return f"Not reported by {platform}: {missing}." if missing else ""


def _by_hour(found: Engagement) -> Iterator[Block]:
    rates = {((each.day_of_week - 1) % 7, each.hour): each.rate for each in found.hours}
    yield _title("Rate by hour", f"in which a post went out, on the clock of {found.zone}")
    yield Heat({hour: rate.rate for hour, rate in rates.items()})
    best = sorted((hour for hour in rates if rates[hour].rated), key=lambda hour: -(rates[hour].rate or 0.0))
    said = [
        f"{DAYS[day]} {hour:02}:00 {percent(rates[day, hour].rate or 0.0)} ({plural(rates[day, hour].rated, 'post')})"
        for day, hour in best[:BEST_HOURS]
    ]
    if said:
        yield plain("Best so far: " + ", ".join(said), "dim")


def _title(words: str, says: str) -> Block:
    return Paragraph(Content.assemble((words, "strong"), "  ", (says, "dim")))
