"""A post that is live: a line of the list, and the whole of it."""

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from textual.content import Content

from copydesk.model.trend import LivePost
from copydesk.text import reveal
from copydesk.tui.browser import is_link
from copydesk.tui.cells import cell, fit
from copydesk.tui.charts import percent
from copydesk.tui.layout import Block, Paragraph, Table, plain
from copydesk.tui.naming import key
from copydesk.tui.pages.row import first_line
from copydesk.tui.words import FORMAT, age, ago

PLATFORM_WIDTH = 9
FIGURES_FROM = 60
"""From so many cells on a row has room for impressions and likes."""
_SHOWN = ("impressions", "likes", "replies", "reposts", "clicks")
_INTERACTIONS = ("likes", "replies", "reposts", "clicks")


def post_row(post: LivePost, now: datetime, width: int) -> Content:
    """Rate, what it is made of, platform, format, age, and the first line."""
    rate = percent(post.engagement_rate) if post.engagement_rate is not None else "no rate"
    figures = f"{_short(post.impressions)} seen {_short(post.likes)} likes " if width >= FIGURES_FROM else ""
    head = Content.assemble(
        (f"{rate:>7} ", "" if post.engagement_rate is not None else "dim"),
        (figures, "dim"),
        f"{fit(cell(post.platform), PLATFORM_WIDTH)} ",
        (FORMAT[post.format].letter, FORMAT[post.format].role),
        (f" {age(post.at, now) if post.at else '':>3} ", "dim"),
    )
    return head + fit(first_line(post.text), width - head.cell_length)


def _short(value: int | None) -> str:
    """A figure in five cells; a dash where it is not reported."""
    if value is None:
        return f"{'–':>5}"
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if value >= 10 * size:
            return f"{value // size}{unit}".rjust(5)
    return f"{value:5}"


def post_page(post: LivePost, now: datetime, zone: str) -> list[Block]:
    """The figures of one post, where it is, and its text."""
    return [*_figures(post, now), plain(), Table(list(_facts(post, now, zone))), plain(), _text(post)]


def _figures(post: LivePost, now: datetime) -> Iterator[Block]:
    if all(getattr(post, name) is None for name in _SHOWN):
        yield plain("No figures are known of this post.", "strong")
        asks = Content.assemble((key("engagement.record"), "key"), " records them by hand")
        if post.account:
            asks += Content.assemble(", ", (key("engagement.fetch"), "key"), f" asks {cell(post.platform)} for them")
        yield Paragraph(asks + ".")
        return
    yield Paragraph(_rate(post))
    rows = [(Content.styled(name, "dim"), *_figure(post, getattr(post, name))) for name in _SHOWN]
    yield Table(rows, right=frozenset({1}))
    if post.measured_at is not None:
        yield plain(f"As they were {ago(post.measured_at, now)}.", "dim")


def _figure(post: LivePost, value: int | None) -> tuple[Content, Content]:
    if value is None:
        who = f"not reported by {cell(post.platform)}" if post.account else "not recorded"
        return Content.styled("–", "dim"), Content.styled(who, "dim")
    return Content.styled(f"{value:,}", "strong"), Content("")


def _rate(post: LivePost) -> Content:
    known = [value for name in _INTERACTIONS if (value := getattr(post, name)) is not None]
    if post.engagement_rate is None:
        why = "no impressions" if not post.impressions else "no interactions"
        return Content.assemble(("No rate", "strong"), (f": {why} are known", "dim"))
    made = f"{sum(known):,} interactions by {post.impressions:,} impressions"
    return Content.assemble((f"Rate {percent(post.engagement_rate)}", "strong"), "  ", (made, "dim"))


def _facts(post: LivePost, now: datetime, zone: str) -> Iterator[tuple[Content, ...]]:
    yield Content.styled("on", "dim"), Content(cell(post.place))
    if post.at is not None:
        local = post.at.astimezone(ZoneInfo(zone))
        yield Content.styled("out", "dim"), Content(f"{local:%a %d %b %Y %H:%M} · {ago(post.at, now)}")
    else:
        yield Content.styled("out", "dim"), Content("it is not known when")
    if post.url:
        yield Content.styled("link", "dim"), Content.styled(cell(post.url), "link" * is_link(post.url))
    else:
        yield Content.styled("link", "dim"), Content.styled("none is known", "dim")


def _text(post: LivePost) -> Block:
    return Paragraph(Content(reveal(post.text)))
