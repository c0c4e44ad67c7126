"""An experiment: its row in the list, and the page with its variants side by side."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from textual.content import Content

from copydesk.model.experiment import (
    Experiment,
    ExperimentResults,
    ExperimentStatus,
    Metric,
    ResultWarning,
    Variant,
    VariantResults,
    format_variant_value,
)
from copydesk.text.formatting import format_age, format_relative, plural
from copydesk.tui import labels
from copydesk.tui.charts import Estimate, EstimateChart, format_percent
from copydesk.tui.keys import key_label
from copydesk.tui.labels import Badge
from copydesk.tui.layout import Block, Facts, Paragraph, Table, paragraph
from copydesk.tui.terminal.cells import fit, safe_line

NAME_COLUMN_WIDTH = 22
"""Cells of the column with the names of the metrics."""
MIN_COLUMN_WIDTH, MAX_COLUMN_WIDTH = 9, 20
PARAMETER_WIDTH = 12
WINNER_MARK = "✓"
MIN_WIDTH_FOR_DRAFTS = 60
"""Rows of at least this many cells show the number of drafts."""
MIN_WIDTH_FOR_STATE = 36
"""Narrower rows have the letter of the state only."""


class ExperimentView(NamedTuple):
    """An experiment as it is displayed, with its results."""

    experiment: Experiment
    results: ExperimentResults
    has_identical_variants: bool = False
    """True if the offline writer cannot tell some of the variants apart."""

    @property
    def sign(self) -> Badge:
        """Return the letter, style and words of the experiment's state."""
        return labels.EXPERIMENT_STATUS[self.experiment.status]


def no_experiments() -> tuple[Block, ...]:
    """Return the page shown while there is no experiment: what one is, and how to create it."""
    hint = (key_label("experiments.new"), "key"), labels.NO_EXPERIMENTS_HINT
    return paragraph(labels.NO_EXPERIMENTS, "strong"), paragraph(), Paragraph(Content.assemble(*hint))


def experiment_row(view: ExperimentView, now: datetime, width: int) -> Content:
    """Return the row in `width` cells: state, parameter, number of drafts, age and name."""
    experiment, sign = view.experiment, view.sign
    drafts = (
        f"{plural(sum(arm.drafted for arm in view.results.arms), 'draft'):>11} "
        if width >= MIN_WIDTH_FOR_DRAFTS
        else ""
    )
    head = Content.assemble(
        (f"{sign.letter} ", sign.role),
        (f"{sign.text:<9} ", sign.role) if width >= MIN_WIDTH_FOR_STATE else "",
        f"{fit(safe_line(experiment.parameter), PARAMETER_WIDTH)} ",
        (drafts, "dim"),
        (f"{format_age(experiment.created_at, now):>3} ", "dim"),
    )
    return head + fit(safe_line(experiment.name), max(width - head.cell_length, 0))


def experiment_page(view: ExperimentView, now: datetime) -> list[Block]:
    """Return the whole page of one experiment."""
    experiment, results = view.experiment, view.results
    taken = results.comparison.posts if results.comparison else 0
    comparisons = [comparison.posts for comparison in results.comparisons]
    done = sum(posts <= taken for posts in comparisons)
    return [
        Paragraph(Content.styled(safe_line(experiment.name), "strong")),
        Facts(list(_status(view, now))),
        *(Paragraph(line) for line in _remarks(view)),
        paragraph(),
        *_conclusion(view),
        paragraph(safe_line(results.sentence), "accent"),
        paragraph(labels.planned_comparisons(experiment.plan.metric, comparisons, done), "dim"),
        *(paragraph(safe_line(_message(warning)), "warn") for warning in results.warnings),
        paragraph(),
        *_estimates(results),
        SideBySide(
            [_column(view, variant, arm) for variant, arm in zip(experiment.variants, results.arms, strict=True)]
        ),
        paragraph(),
        paragraph(labels.AVERAGE_EDIT_NOTE, "dim"),
    ]


def _estimates(results: ExperimentResults) -> Iterator[Block]:
    """Yield the estimates of the last comparison; without one there is nothing to compare yet."""
    if results.comparison is None:
        return
    yield paragraph(labels.estimate_title(results.metric.name, results.comparison.posts), "strong")
    estimates = [
        Estimate(arm.name, found.value, labels.chance_to_be_best(found.p_best), (found.low, found.high))
        for arm in results.arms
        if (found := arm.estimate) is not None
    ]
    yield EstimateChart(estimates, _format_count if results.metric.denominator == "none" else format_percent)
    yield paragraph()


def _format_count(value: float) -> str:
    return f"{value:,.1f}"


def _message(warning: ResultWarning) -> str:
    is_about_platforms = warning.code == "missing_impressions"
    return labels.missing_impressions(warning.message) if is_about_platforms else warning.message


def _status(view: ExperimentView, now: datetime) -> Iterator[Content]:
    """Yield the facts of the line below the name."""
    experiment, sign = view.experiment, view.sign
    yield Content.styled(sign.text, sign.role)
    yield Content(labels.experiment_parameter(safe_line(experiment.parameter)))
    yield Content(labels.decided_by(experiment.plan.metric))
    if experiment.aa_test:
        yield Content(labels.AA_TEST)
    yield Content.styled(labels.started(format_relative(experiment.started_at, now)), "dim")
    if experiment.ended_at is not None:
        yield Content.styled(labels.ended(format_relative(experiment.ended_at, now)), "dim")


def _remarks(view: ExperimentView) -> Iterator[Content]:
    """Yield warnings about what keeps the experiment from yielding results."""
    if view.has_identical_variants:
        yield Content.styled(labels.unsupported_variants(safe_line(view.experiment.parameter)), "warn")


class VariantColumn(NamedTuple):
    """One variant: its name and its metrics."""

    name: str
    metrics: Sequence[tuple[str, str]]
    """Pairs of metric name and formatted value."""


class SideBySide(NamedTuple):
    """A block with the variants as columns or, where the page is too narrow, below each other."""

    columns: Sequence[VariantColumn]

    def lines(self, width: int) -> list[Content]:
        """Return one line per metric, in `width` cells."""
        # One cell of each column separates it from the previous one.
        room = (width - NAME_COLUMN_WIDTH) // max(len(self.columns), 1) - 1
        if room < MIN_COLUMN_WIDTH:
            return [line for column in self.columns for line in self._stacked(column, width)]
        column_width = min(room, MAX_COLUMN_WIDTH)
        head = Content(" " * NAME_COLUMN_WIDTH) + Content("").join(
            [Content.styled(f" {_right_aligned(column.name, column_width)}", "strong") for column in self.columns]
        )
        rows = zip(*(column.metrics for column in self.columns), strict=True)
        return [head, *(self._row(row, column_width) for row in rows)]

    def _row(self, row: Sequence[tuple[str, str]], column_width: int) -> Content:
        name = row[0][0]
        cells = [f" {_right_aligned(value, column_width)}" for _, value in row]
        return Content.assemble((f"{name:<{NAME_COLUMN_WIDTH}}", "dim"), "".join(cells))

    def _stacked(self, column: VariantColumn, width: int) -> list[Content]:
        rows = [(Content.styled(name, "dim"), Content(value)) for name, value in column.metrics]
        return [Content.styled(fit(column.name, width), "strong"), *Table(rows).lines(width), Content("")]


def _right_aligned(text: str, width: int) -> str:
    """Return `text` aligned right in `width` cells."""
    # `fit` pads on the right and counts cells, which differ from characters for wide scripts.
    fitted = fit(text, width)
    bare = fitted.rstrip()
    return " " * (len(fitted) - len(bare)) + bare


def _column(view: ExperimentView, variant: Variant, results: VariantResults) -> VariantColumn:
    value = next(iter(variant.config.values()), None)
    values = (
        safe_line(format_variant_value(value)),
        _still_needed(view, results),
        labels.drafted_items(results.drafted, results.assigned),
        f"{results.accepted:,}",
        f"{results.unedited:,}{_format_share(results.acceptance_rate)}",
        f"{results.rejected:,}",
        _or_dash(results.mean_edit_ratio, format_percent),
        f"{results.published:,}",
        f"{results.measured:,}",
        f"{results.too_young:,}",
        f"{results.no_metrics:,}",
        _or_dash(results.impressions, lambda value: f"{value:,.0f}"),
        f"{results.interactions:,}" if results.measured else labels.UNKNOWN_VALUE,
        _or_dash(results.interactions_per_post, lambda value: f"{value:,.1f}"),
        _or_dash(results.rate_pooled, format_percent),
    )
    metrics = tuple(zip(labels.VARIANT_METRICS, values, strict=True))
    won = f" {WINNER_MARK}" if results.id == view.results.winner else ""
    return VariantColumn(name=safe_line(results.name) + won, metrics=metrics)


def _still_needed(view: ExperimentView, results: VariantResults) -> str:
    """Return how many posts of the variant the plan still lacks; a dash once nothing more is counted."""
    plan = view.experiment.plan
    if view.experiment.status is not ExperimentStatus.ACTIVE:
        return labels.UNKNOWN_VALUE
    counted = results.measured if plan.metric is Metric.ENGAGEMENT else results.accepted + results.rejected
    return f"{max(plan.posts_per_variant - counted, 0):,} of {plan.posts_per_variant:,}"


def _format_share(value: float | None) -> str:
    return "" if value is None else f" ({value:.0%})"


def _or_dash(value: float | None, format_value: Callable[[float], str]) -> str:
    """Format `value`, or return a dash: an unknown value is not zero."""
    return labels.UNKNOWN_VALUE if value is None else format_value(value)


def _conclusion(view: ExperimentView) -> Iterator[Block]:
    """Yield the user's own conclusion."""
    results = view.results
    winner = next((arm.name for arm in results.arms if arm.id == results.winner), None)
    if winner is not None:
        yield paragraph(labels.concluded_with_winner(safe_line(winner)), "good")
    elif view.experiment.status is not ExperimentStatus.ACTIVE:
        yield paragraph(labels.CONCLUDED_WITHOUT_WINNER)
    if results.concluded_early:
        yield paragraph(labels.concluded_early(safe_line(results.reason or "")), "warn")
    for change in results.voice_changes:
        values = (safe_line(format_variant_value(value)) for value in (change.before, change.after))
        yield paragraph(labels.voice_setting_changed(change.setting, *values))
