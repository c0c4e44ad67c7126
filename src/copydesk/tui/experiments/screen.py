"""The experiments screen: the list, and the variants of the experiment under the cursor side by side."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from textual import getters, on
from textual.containers import Container
from textual.content import Content
from textual.events import DescendantFocus
from textual.message import Message
from textual.widget import Widget

from copydesk.errors import CopydeskError
from copydesk.model.experiment import (
    MAX_REASON_LENGTH,
    MAX_VARIANTS,
    MIN_VARIANTS,
    WRITER_PARAMETERS,
    Experiment,
    ExperimentResults,
    ExperimentStatus,
    Metric,
    parse_variants,
)
from copydesk.model.voice import Emoji, Link
from copydesk.tui import empty_states, labels
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.dialogs.fields import Field, FieldsDialog
from copydesk.tui.dialogs.pick import PickDialog
from copydesk.tui.experiments.page import (
    ExperimentView,
    experiment_page,
    experiment_row,
    no_experiments,
)
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.terminal.cells import safe_line
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.lines import set_title
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk

PANES = ("experiments", "variants")
_STATUS_ORDER = tuple(ExperimentStatus)
REQUIRED_STATUS = {
    "experiments.conclude": ExperimentStatus.ACTIVE,
    "experiments.archive": ExperimentStatus.CONCLUDED,
}
"""The status of an experiment that a key acts on."""
VALUES: Mapping[str, Sequence[str]] = {
    "hashtags": tuple(f"{number}" for number in range(6)),
    "length": tuple(f"{number}" for number in range(100, 300, 20)),
    "emoji": tuple(Emoji),
    "link": tuple(Link),
    "temperature": ("0", "0.3", "0.7", "1"),
}
"""Values to choose from, by parameter; the values of the others are typed."""
DEFAULT = "null"
"""The value that leaves a setting as the voice has it."""


class ParameterDialog(PickDialog[str]):
    """Choose what an experiment compares; the last one is a name of one's own."""

    def __init__(self, active: Mapping[str, str]) -> None:
        """Create a list that says what is compared already; `active` are names of experiments by parameter."""
        super().__init__((*WRITER_PARAMETERS, ""), labels.parameter_list_title())
        self._active = active

    def draw(self, choice: str, width: int) -> Content:
        name, active = choice or labels.OTHER_PARAMETER, self._active.get(choice)
        note = (labels.PARAMETERS[choice], "dim") if active is None else (labels.tested_by(safe_line(active)), "warn")
        return Content.assemble(f"{name:<13} ", note).truncate(width, ellipsis=True)

    def text_of(self, choice: str) -> str:
        return f"{choice} {labels.PARAMETERS[choice]}"


def _new_fields(parameter: str, values: Sequence[str]) -> tuple[Field, ...]:
    """Return the fields of a new experiment that compares this parameter; without `values` they are typed."""
    parameter_field = () if parameter else (Field("parameter", labels.PARAMETER_FIELD, labels.PARAMETER_PLACEHOLDER),)
    choices = {DEFAULT: labels.VOICE_DEFAULT} | {value: value for value in values}

    def variant(number: int, label: str, placeholder: str) -> Field:
        if not values:
            return Field(f"{number}", label, placeholder if number > MIN_VARIANTS else labels.VARIANT_PLACEHOLDER)
        if number > MIN_VARIANTS:
            return Field(f"{number}", label, choices={"": labels.NO_VARIANT} | choices)
        # As it is against the first other value: the least that has to be changed.
        return Field(f"{number}", label, choices=choices, value=DEFAULT if number == 1 else values[0])

    return (
        Field("name", labels.NAME_FIELD, parameter or labels.EXPERIMENT_NAME_PLACEHOLDER, max_length=100),
        *parameter_field,
        *(variant(number, *texts) for number, texts in enumerate(labels.VARIANT_FIELDS.items(), 1)),
        Field("metric", labels.METRIC_FIELD, choices={metric.value: metric.value for metric in Metric}),
        Field("postsPerVariant", labels.POSTS_FIELD, labels.POSTS_PLACEHOLDER, digits_only=True, max_length=4),
        Field("aa_test", labels.AA_FIELD, choices=labels.NO_OR_YES),
    )


class ExperimentsScreen(DeskScreen):
    """The list, and below or beside it one experiment."""

    NAME = labels.EXPERIMENTS
    WHERE = (KeyContext.LIST, KeyContext.EXPERIMENTS)
    BINDINGS = bindings(KeyContext.EXPERIMENTS)
    CSS_PATH = stylesheet_path("experiments.tcss")
    AUTO_FOCUS = "#experiments"

    list_pane: getters.query_one[LineList[ExperimentView]] = getters.query_one("#experiments", LineList)
    detail_pane = getters.query_one("#variants", Page)

    class Loaded(Message, bubble=False):
        """The experiments were loaded."""

        def __init__(self, experiments: Sequence[ExperimentView], select_id: str = "") -> None:
            super().__init__()
            self.experiments = experiments
            self.select_id = select_id
            """Id of the experiment to move the cursor to; empty to leave it."""

    def __init__(self) -> None:
        super().__init__()
        self._displayed: ExperimentView | None = None
        self._list_note: empty_states.Note = ()
        self._select_id = ""
        self._loader = Coalescer(self._load_experiments)

    def body(self) -> Iterable[Widget]:
        with Container(id="body"):
            yield LineList(self._draw_experiment, shows_times=True, id="experiments")
            yield Page(id="variants")

    def _draw_experiment(self, view: ExperimentView, width: int) -> Content:
        return experiment_row(view, self.app.clock(), width)

    def on_mount(self) -> None:
        set_title(self.list_pane, labels.EXPERIMENTS)
        set_title(self.detail_pane, labels.VARIANTS)
        self.list_pane.show_note(empty_states.opening(self.app.opening_text))

    def refresh_data(self) -> None:
        """Load all experiments with their results."""
        self.load_with_retry(self._loader.submit_and_wait)

    async def _load_experiments(self, desk: "Desk") -> None:
        # Only the first load after an experiment was created moves the cursor to it.
        select_id, self._select_id = self._select_id, ""
        self.post_message(self.Loaded(_to_views(await desk.experiments.list()), select_id))

    @on(Loaded)
    def _show_experiments(self, message: Loaded) -> None:
        """Show the experiments; the cursor stays on its experiment unless another one is to be selected."""
        self.is_loaded, self._list_note = True, ()
        if not message.experiments:
            self.list_pane.show_note(no_experiments())
        elif message.experiments != self.list_pane.rows or message.select_id:
            current = self.list_pane.current
            target_id = message.select_id or (current.experiment.id if current else "")
            positions = {view.experiment.id: index for index, view in enumerate(message.experiments)}
            self.list_pane.show(message.experiments, positions.get(target_id, 0))
        set_title(self.list_pane, labels.list_title(labels.EXPERIMENTS, len(message.experiments)))

    def show_error(self, error: CopydeskError) -> None:
        """Show the error in the lower pane: the list may be too low for it."""
        self._list_note = self.error_note(error)
        # Emptying the list posts `Moved`, whose handler shows the note.
        self.list_pane.show_note(())

    @on(LineList.Moved)
    def _show_current(self) -> None:
        """Show the experiment under the cursor; an unchanged one keeps its scroll position."""
        self.update_keys()
        view = self.list_pane.current
        if view is None or view != self._displayed:
            self._displayed = view
            self.detail_pane.show((lambda: experiment_page(view, self.app.clock())) if view else self._list_note)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Show the keys of the focused pane in the footer."""
        self.show_keys(
            KeyContext.LIST if isinstance(event.widget, LineList) else KeyContext.PAGE, KeyContext.EXPERIMENTS
        )

    def action_pane(self) -> None:
        """Focus the other pane."""
        focused_id = self.focused.id if self.focused else ""
        self.query_one(f"#{PANES[focused_id == PANES[0]]}").focus()

    def on_line_list_opened(self) -> None:
        """Enter on an experiment focuses its page."""
        self.detail_pane.focus()

    def action_back(self) -> None:
        self.list_pane.focus()

    def action_refresh(self) -> None:
        """Load the data again, or retry to open the desk."""
        if self.app.desk is None:
            self.app.open()
        else:
            self.refresh_data()

    def action_new(self) -> None:
        """Let the user choose what to compare, then open the form with the values that it has."""
        experiments = [view.experiment for view in self.list_pane.rows]
        active = {entry.parameter: entry.name for entry in experiments if entry.status is ExperimentStatus.ACTIVE}
        self.app.push_screen(ParameterDialog(active), partial(self._open_form, active))

    def _open_form(self, active: Mapping[str, str], parameter: str | None) -> None:
        if parameter is None:
            return
        if parameter in active:
            self.app.notify(labels.parameter_taken(parameter, active[parameter]), severity="warning")
            return

        async def work(desk: "Desk") -> None:
            plans = [await desk.experiments.plan(metric) for metric in Metric]
            values = VALUES.get(parameter, ())
            if parameter == "writer":
                values = tuple(writer.name for writer in (await desk.writers.list()).writers)
            hint = labels.experiment_form_hint(plans, is_typed=not values)
            title = labels.new_experiment_title(parameter)
            form = FieldsDialog(
                title, _new_fields(parameter, values), partial(self._create, parameter), hint=hint, effect=labels.CREATE
            )
            self.app.push_if_current(self, form, self._report_change)

        self.app.run_desk_task(work, hold_keys=Hold.SCREEN)

    async def _create(self, parameter: str, desk: "Desk", values: Mapping[str, str]) -> str:
        created = await desk.experiments.create(_parse_form(parameter, values))
        self._select_id = created.id
        return labels.experiment_created(created.name, created.plan.sentence)

    def _report_change(self, message: str | None) -> None:
        if message is not None:
            self.app.notify(message)
            self.refresh_data()

    def refusal(self, key_id: str) -> str:
        """Return why a key does nothing to the experiment under the cursor."""
        view, required = self.list_pane.current, REQUIRED_STATUS.get(key_id)
        if (reason := super().refusal(key_id)) or required is None or not self.is_loaded:
            return reason
        if view is None:
            return labels.no_experiment()
        status = view.experiment.status
        if status is required:
            return ""
        is_too_early = status is ExperimentStatus.ACTIVE
        return labels.experiment_still_active() if is_too_early else labels.experiment_already(status)

    def _experiment_for(self, key_id: str) -> Experiment | None:
        """Return the experiment under the cursor; None, with a notification, if the key does nothing to it."""
        if reason := self.refusal(key_id):
            self.app.notify(reason, severity="warning")
            return None
        return self.list_pane.current.experiment if self.list_pane.current is not None else None

    def action_conclude(self) -> None:
        """Ask for the winner, by label, and conclude the experiment under the cursor."""
        experiment = self._experiment_for("experiments.conclude")
        if experiment is None:
            return
        view = self.list_pane.current
        # The verdict proposes one: concluding cannot be undone.
        better = (view.results.verdict.variant if view is not None else None) or ""
        winners = {"": labels.NO_WINNER} | {variant.id: variant.label for variant in experiment.variants}
        fields = (
            Field("winner", labels.WINNER_FIELD, choices=winners, value=better),
            Field(
                "reason", labels.REASON_FIELD, labels.reason_placeholder(experiment.plan), max_length=MAX_REASON_LENGTH
            ),
            Field("voice", labels.APPLY_FIELD, choices=labels.NO_OR_YES),
        )
        title = labels.conclude_title(experiment.name)
        conclude = partial(self._conclude, experiment)
        form = FieldsDialog(title, fields, conclude, hint=labels.CONCLUDE_HINT, effect=labels.CONCLUDE)
        self.app.push_screen(form, self._report_change)

    async def _conclude(self, experiment: Experiment, desk: "Desk", values: Mapping[str, str]) -> str:
        winner, reason = values["winner"] or None, values["reason"] or None
        await desk.experiments.conclude(experiment.id, winner, reason, apply_to_voice=bool(values["voice"]))
        return labels.experiment_concluded(experiment.name)

    def action_archive(self) -> None:
        """Archive the experiment under the cursor."""
        experiment = self._experiment_for("experiments.archive")
        if experiment is None:
            return

        async def work(desk: "Desk") -> None:
            await desk.experiments.archive(experiment.id)
            self.app.notify(labels.experiment_archived(experiment.name))
            await self._loader.submit_and_wait(desk)

        self.app.run_desk_task(work, hold_keys=Hold.RESULT)


def _to_views(experiments: Sequence[Experiment]) -> tuple[ExperimentView, ...]:
    """Return the experiments as displayed: by status, then newest first."""
    from copydesk.desk.experiments import has_unsupported_variants  # noqa: PLC0415 - imports the store

    views = [
        ExperimentView(
            experiment=experiment,
            results=msgspec.convert(experiment.results, ExperimentResults, strict=False),
            has_identical_variants=experiment.status is ExperimentStatus.ACTIVE
            and has_unsupported_variants(experiment),
        )
        for experiment in experiments
    ]
    return tuple(sorted(views, key=lambda view: _STATUS_ORDER.index(view.experiment.status)))


def _parse_form(parameter: str, values: Mapping[str, str]) -> dict[str, object]:
    """Parse the form into a new experiment. A variant without a label gets its value as its label.

    Raise CopydeskError if no parameter was entered.
    """
    parameter = parameter or values["parameter"]
    if not parameter:
        raise CopydeskError(labels.parameter_missing(WRITER_PARAMETERS[0]))
    entered = [variant for number in range(1, MAX_VARIANTS + 1) if (variant := values[f"{number}"])]
    return {
        "name": values["name"] or parameter,
        "parameter": parameter,
        "variants": msgspec.to_builtins(parse_variants([_assignment(variant) for variant in entered], parameter)),
        "metric": values["metric"],
        "postsPerVariant": int(values["postsPerVariant"]) if values["postsPerVariant"] else None,
        "aaTest": bool(values["aa_test"]),
    }


def _assignment(variant: str) -> str:
    if variant == DEFAULT:
        return f"{labels.VOICE_DEFAULT}={DEFAULT}"
    return variant if "=" in variant else f"{variant}={variant}"
