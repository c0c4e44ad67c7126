"""An experiment: a line of the list, and its variants side by side with what can be said of them."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from textual.content import Content

from copydesk.model.experiment import Arm, Experiment, ExperimentStatus, Results, Variant
from copydesk.model.ways import value_written
from copydesk.tui.cells import cell, fit
from copydesk.tui.charts import Estimate, Estimates, percent
from copydesk.tui.layout import Block, Paragraph, Table, plain
from copydesk.tui.naming import key
from copydesk.tui.words import Sign, age, ago, plural

NAMES_WIDTH = 13
"""Cells of what stands beside the variants."""
LEAST_COLUMN, MOST_COLUMN = 9, 20
PARAMETER_WIDTH = 12
WINNER = "✓"
WIDE_FROM = 60
"""From so many cells on a row says how many drafts there are."""
STATUS = {
    ExperimentStatus.ACTIVE: Sign("A", "good", "active"),
    ExperimentStatus.CONCLUDED: Sign("C", "accent", "concluded"),
    ExperimentStatus.ARCHIVED: Sign("x", "dim", "archived"),
}
WAITS = Sign("W", "warn", "waits")


class Tried(NamedTuple):
    """An experiment as it is shown."""

    experiment: Experiment
    results: Results
    waits_for: str = ""
    """The name of the older one that drafts take part in until it is concluded."""
    alike: bool = False
    """Whether the offline writer writes some variants alike."""

    @property
    def sign(self) -> Sign:
        """Where it is."""
        return WAITS if self.waits_for else STATUS[self.experiment.status]


def no_experiment() -> tuple[Block, ...]:
    """What an experiment is, and how one begins."""
    begins = (key("experiments.new"), "key"), " begins one: drafts are then written in two to five ways, in turn,"
    return (
        plain("There is no experiment yet.", "strong"),
        plain(),
        Paragraph(Content.assemble(*begins)),
        plain("and here you see what became of each."),
    )


def experiment_row(tried: Tried, now: datetime, width: int) -> Content:
    """Where it is, what is tried out, how many drafts, how old, and its name."""
    experiment, sign = tried.experiment, tried.sign
    drafts = f"{plural(sum(arm.drafted for arm in tried.results.arms), 'draft'):>11} " if width >= WIDE_FROM else ""
    head = Content.assemble(
        (f"{sign.letter} ", sign.role),
        (f"{sign.words:<9} ", sign.role) if width >= WIDE_FROM else "",
        f"{fit(cell(experiment.parameter), PARAMETER_WIDTH)} ",
        (drafts, "dim"),
        (f"{age(experiment.created_at, now):>3} ", "dim"),
    )
    return head + fit(cell(experiment.name), max(width - head.cell_length, 0))


def experiment_page(tried: Tried, now: datetime) -> list[Block]:
    """The whole of one experiment."""
    experiment, arms = tried.experiment, tried.results.arms
    blocks: list[Block] = [
        Paragraph(Content.styled(cell(experiment.name), "strong")),
        Paragraph(_state(tried, now)),
        *(Paragraph(line) for line in _remarks(tried)),
        plain(),
        SideBySide([_column(tried, variant, arm) for variant, arm in zip(experiment.variants, arms, strict=True)]),
        plain(),
        Paragraph(Content.assemble(("Rate", "strong"), "  ", ("interactions by impressions, as counted", "dim"))),
        Estimates([Estimate(arm.name, arm.rate_pooled, _made_of(arm)) for arm in arms]),
        plain(),
        *_said(tried),
    ]
    return blocks


def _state(tried: Tried, now: datetime) -> Content:
    experiment, sign = tried.experiment, tried.sign
    words = Content.styled(" · ", "dim").join(
        [
            Content.styled(sign.words, sign.role),
            Content(f"tries out {cell(experiment.parameter)}"),
            Content.styled(f"began {ago(experiment.started_at, now)}", "dim"),
        ]
    )
    return words + Content.styled(f" · ended {ago(experiment.ended_at, now)}" if experiment.ended_at else "", "dim")


def _remarks(tried: Tried) -> Iterator[Content]:
    """What stands in the way of learning something."""
    if tried.waits_for:
        yield Content.styled(
            f"It waits until {cell(tried.waits_for)} is concluded: a draft takes part in one experiment.", "warn"
        )
    if tried.alike:
        parameter = cell(tried.experiment.parameter)
        yield Content.styled(f"The offline writer cannot follow {parameter} as set here: it writes alike.", "warn")


class Column(NamedTuple):
    """One variant: its name, and a figure for each line."""

    name: str
    figures: Sequence[tuple[str, str]]
    """What, and how much."""


class SideBySide(NamedTuple):
    """Variants as columns; where there is no room for them, below each other."""

    columns: Sequence[Column]

    def lines(self, width: int) -> list[Content]:
        """A line for each figure."""
        room = (width - NAMES_WIDTH) // max(len(self.columns), 1) - 1
        if room < LEAST_COLUMN:
            return [line for column in self.columns for line in self._alone(column, width)]
        each = min(room, MOST_COLUMN)
        head = Content(" " * NAMES_WIDTH) + Content("").join(
            [Content.styled(f" {_right(column.name, each)}", "strong") for column in self.columns]
        )
        rows = zip(*(column.figures for column in self.columns), strict=True)
        return [head, *(self._row(row, each) for row in rows)]

    def _row(self, row: Sequence[tuple[str, str]], each: int) -> Content:
        what = row[0][0]
        figures = [f" {_right(figure, each)}" for _, figure in row]
        return Content.assemble((f"{what:<{NAMES_WIDTH}}", "dim"), "".join(figures))

    def _alone(self, column: Column, width: int) -> list[Content]:
        rows = [(Content.styled(what, "dim"), Content(figure)) for what, figure in column.figures]
        return [Content.styled(fit(column.name, width), "strong"), *Table(rows).lines(width), Content("")]


def _right(text: str, width: int) -> str:
    """`text` at the right end of `width` cells."""
    fitted = fit(text, width)
    bare = fitted.rstrip()
    return " " * (len(fitted) - len(bare)) + bare


def _column(tried: Tried, variant: Variant, arm: Arm) -> Column:
    value = next(iter(variant.config.values()), None)
    figures = (
        ("value", cell(value_written(value))),
        ("drafts", f"{arm.drafted} of {arm.assigned}"),
        ("approved", f"{arm.accepted}{_share(arm.acceptance_rate)}"),
        ("rejected", f"{arm.rejected}"),
        ("edited", _or_dash(arm.mean_edit_ratio, percent)),
        ("posts", f"{arm.published}"),
        ("with figures", f"{arm.measured}"),
        ("impressions", _or_dash(arm.impressions, lambda value: f"{value:,.0f}")),
        ("interactions", f"{arm.interactions:,}" if arm.measured else "–"),
        ("per post", _or_dash(arm.interactions_per_post, lambda value: f"{value:,.1f}")),
        ("rate", _or_dash(arm.rate_pooled, percent)),
    )
    won = f" {WINNER}" if arm.id == tried.results.winner else ""
    return Column(name=cell(arm.name) + won, figures=figures)


def _share(value: float | None) -> str:
    return "" if value is None else f" ({value:.0%})"


def _or_dash(value: float | None, written: Callable[[float], str]) -> str:
    """What is not known is no zero."""
    return "–" if value is None else written(value)


def _made_of(arm: Arm) -> str:
    if arm.impressions is None:
        return "impressions not reported" if arm.measured else "no figures yet"
    return plural(arm.measured, "post")


def _said(tried: Tried) -> Iterator[Block]:
    """What can be said in words: what the user said of it, and that nothing is concluded from counts."""
    results, posts = tried.results, sum(arm.published for arm in tried.results.arms)
    winner = next((arm.name for arm in results.arms if arm.id == results.winner), None)
    if winner is not None:
        yield plain(f"You concluded it with {cell(winner)} as the winner.", "good")
    elif tried.experiment.status is not ExperimentStatus.ACTIVE:
        yield plain("You concluded it without a winner.")
    if not posts:
        yield plain("None of its drafts is posted yet: there is nothing to compare.")
    yield plain("These are counts as they stand; no verdict is made.", "dim")
    yield plain("Edited is the mean share of words that you changed before you approved.", "dim")
