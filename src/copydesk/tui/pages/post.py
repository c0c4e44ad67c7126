"""A published post: its row in the list, and its page."""

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from textual.content import Content

from copydesk.model.trend import LivePost
from copydesk.text import reveal
from copydesk.tui.browser import is_link
from copydesk.tui.cells import fit, safe_line
from copydesk.tui.charts import format_percent
from copydesk.tui.layout import Block, Paragraph, Table, paragraph
from copydesk.tui.naming import key_label
from copydesk.tui.pages.row import first_line
from copydesk.tui.words import FORMAT, format_age, format_ago

PLATFORM_WIDTH = 9
MIN_WIDTH_FOR_METRICS = 60
"""Rows of at least this many cells show impressions and likes."""
_METRICS = ("impressions", "likes", "replies", "reposts", "clicks")
_INTERACTIONS = ("likes", "replies", "reposts", "clicks")


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
        yield paragraph(f"As they were {format_ago(post.measured_at, now)}.", "dim")


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
        yield Content.styled("out", "dim"), Content(f"{local:%a %d %b %Y %H:%M} · {format_ago(post.at, now)}")
    else:
        yield Content.styled("out", "dim"), Content("it is not known when")
    if post.url:
        yield Content.styled("link", "dim"), Content.styled(safe_line(post.url), "link" * is_link(post.url))
    else:
        yield Content.styled("link", "dim"), Content.styled("none is known", "dim")


def _text(post: LivePost) -> Block:
    return Paragraph(Content(reveal(post.text)))
