"""An experiment: its row in the list, and the page with its variants side by side."""

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
"""Cells of the column with the names of the metrics."""
LEAST_COLUMN, MOST_COLUMN = 9, 20
PARAMETER_WIDTH = 12
WINNER = "✓"
WIDE_FROM = 60
"""Rows of at least this many cells show the number of drafts."""
STATUS = {
    ExperimentStatus.ACTIVE: Sign("A", "good", "active"),
    ExperimentStatus.CONCLUDED: Sign("C", "accent", "concluded"),
    ExperimentStatus.ARCHIVED: Sign("x", "dim", "archived"),
}
WAITS = Sign("W", "warn", "waits")


class Tried(NamedTuple):
    """An experiment as it is displayed, with its results."""

    experiment: Experiment
    results: Results
    waits_for: str = ""
    """Name of the older experiment that blocks this one: a draft takes part in only one."""
    alike: bool = False
    """True if the offline writer cannot tell some of the variants apart."""

    @property
    def sign(self) -> Sign:
        """Return the letter, style and words of the experiment's state."""
        return WAITS if self.waits_for else STATUS[self.experiment.status]


def no_experiment() -> tuple[Block, ...]:
    """Return the page shown while there is no experiment: what one is, and how to create it."""
    begins = (key("experiments.new"), "key"), " begins one: drafts are then written in two to five ways, in turn,"
    return (
        plain("There is no experiment yet.", "strong"),
        plain(),
        Paragraph(Content.assemble(*begins)),
        plain("and here you see what became of each."),
    )


def experiment_row(tried: Tried, now: datetime, width: int) -> Content:
    """Return the row in `width` cells: state, parameter, number of drafts, age and name."""
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
    """Return the whole page of one experiment."""
    experiment, arms = tried.experiment, tried.results.arms
    blocks: list[Block] = [
        Paragraph(Content.styled(cell(experiment.name), "strong")),
        Paragraph(_status_line(tried, now)),
        *(Paragraph(line) for line in _remarks(tried)),
        plain(),
        SideBySide([_column(tried, variant, arm) for variant, arm in zip(experiment.variants, arms, strict=True)]),
        plain(),
        Paragraph(Content.assemble(("Rate", "strong"), "  ", ("interactions by impressions, as counted", "dim"))),
        Estimates([Estimate(arm.name, arm.rate_pooled, _basis(arm)) for arm in arms]),
        plain(),
        *_conclusion(tried),
    ]
    return blocks


def _status_line(tried: Tried, now: datetime) -> Content:
    experiment, sign = tried.experiment, tried.sign
    line = Content.styled(" · ", "dim").join(
        [
            Content.styled(sign.words, sign.role),
            Content(f"tries out {cell(experiment.parameter)}"),
            Content.styled(f"began {ago(experiment.started_at, now)}", "dim"),
        ]
    )
    return line + Content.styled(f" · ended {ago(experiment.ended_at, now)}" if experiment.ended_at else "", "dim")


def _remarks(tried: Tried) -> Iterator[Content]:
    """Yield warnings about what keeps the experiment from yielding results."""
    if tried.waits_for:
        yield Content.styled(
            f"It waits until {cell(tried.waits_for)} is concluded: a draft takes part in one experiment.", "warn"
        )
    if tried.alike:
        parameter = cell(tried.experiment.parameter)
        yield Content.styled(f"The offline writer cannot follow {parameter} as set here: it writes alike.", "warn")


class Column(NamedTuple):
    """One variant: its name and its metrics."""

    name: str
    figures: Sequence[tuple[str, str]]
    """Pairs of metric name and formatted value."""


class SideBySide(NamedTuple):
    """A block with the variants as columns or, where the page is too narrow, below each other."""

    columns: Sequence[Column]

    def lines(self, width: int) -> list[Content]:
        """Return one line per metric, in `width` cells."""
        # One cell of each column separates it from the previous one.
        room = (width - NAMES_WIDTH) // max(len(self.columns), 1) - 1
        if room < LEAST_COLUMN:
            return [line for column in self.columns for line in self._stacked(column, width)]
        column_width = min(room, MOST_COLUMN)
        head = Content(" " * NAMES_WIDTH) + Content("").join(
            [Content.styled(f" {_right_aligned(column.name, column_width)}", "strong") for column in self.columns]
        )
        rows = zip(*(column.figures for column in self.columns), strict=True)
        return [head, *(self._row(row, column_width) for row in rows)]

    def _row(self, row: Sequence[tuple[str, str]], column_width: int) -> Content:
        name = row[0][0]
        cells = [f" {_right_aligned(value, column_width)}" for _, value in row]
        return Content.assemble((f"{name:<{NAMES_WIDTH}}", "dim"), "".join(cells))

    def _stacked(self, column: Column, width: int) -> list[Content]:
        rows = [(Content.styled(name, "dim"), Content(value)) for name, value in column.figures]
        return [Content.styled(fit(column.name, width), "strong"), *Table(rows).lines(width), Content("")]


def _right_aligned(text: str, width: int) -> str:
    """Return `text` aligned right in `width` cells."""
    # `fit` pads on the right and counts cells, which differ from characters for wide scripts.
    fitted = fit(text, width)
    bare = fitted.rstrip()
    return " " * (len(fitted) - len(bare)) + bare


def _column(tried: Tried, variant: Variant, arm: Arm) -> Column:
    value = next(iter(variant.config.values()), None)
    figures = (
        ("value", cell(value_written(value))),
        ("drafts", f"{arm.drafted} of {arm.assigned}"),
        ("approved", f"{arm.accepted}{_format_share(arm.acceptance_rate)}"),
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


def _format_share(value: float | None) -> str:
    return "" if value is None else f" ({value:.0%})"


def _or_dash(value: float | None, format_value: Callable[[float], str]) -> str:
    """Format `value`, or return a dash: an unknown value is not zero."""
    return "–" if value is None else format_value(value)


def _basis(arm: Arm) -> str:
    if arm.impressions is None:
        return "impressions not reported" if arm.measured else "no figures yet"
    return plural(arm.measured, "post")


def _conclusion(tried: Tried) -> Iterator[Block]:
    """Yield the user's own conclusion, and what the counts mean. The page draws no conclusion from them."""
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
