"""Experiments: create, list with results so far, conclude, archive; and assign drafts to their variants.

A draft joins the oldest active experiment. The variant decides what is written, so the next position in the
randomization blocks is read before writing, and claimed in the transaction that stores the draft. If another draft
claimed it first, the text is written again for the next position.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import cast

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.errors import NotFoundError
from copydesk.experiments import (
    VariantCounts,
    apply_variant,
    assign_variant,
    build_results,
    get_stratum,
    status_after_change,
    validate_experiment,
    validate_experiment_change,
)
from copydesk.model.draft import Format
from copydesk.model.experiment import (
    ChangeExperiment,
    Experiment,
    ExperimentAction,
    ExperimentStatus,
    NewExperiment,
)
from copydesk.model.serialization import Json, Struct, to_json_value
from copydesk.model.validation import convert
from copydesk.model.voice import Voice
from copydesk.store import experiments
from copydesk.store.database import Transaction
from copydesk.store.experiments import EditedDraft, VariantTally
from copydesk.store.ids import new_id


class Treatment(Struct, frozen=True):
    """The variant in which a draft is written."""

    experiment_id: str
    variant_id: str
    parameter: str
    value: Json

    def apply_to(self, voice: Voice, format: Format) -> Voice:
        """Return `voice` with the variant's value applied, if the parameter belongs to the voice."""
        return apply_variant(_to_voice(voice), format, self.parameter, self.value).voice

    @property
    def parameters(self) -> dict[str, Json]:
        """The variant's value by parameter name, for writers that support it."""
        return {self.parameter: self.value}


class Assignment(Treatment, frozen=True, kw_only=True):
    """A treatment with its position in the experiment."""

    stratum: str
    position: int


def next_assignment(
    conn: Transaction, user_id: str, format: Format, platforms: Iterable[str] = ()
) -> Assignment | None:
    """Return the assignment for the next draft of this kind, None without an active experiment. It is
    not claimed yet.
    """
    experiment = experiments.get_oldest_active(conn, user_id)
    if experiment is None:
        return None
    stratum = get_stratum(format, platforms)
    position = experiments.next_position(conn, user_id, experiment.id, stratum)
    variant_id = assign_variant(experiment.id, stratum, position, [variant.id for variant in experiment.variants])
    treatment = _build_treatment(experiment, variant_id)
    assert treatment is not None
    return Assignment(stratum=stratum, position=position, **msgspec.structs.asdict(treatment))


def claim_assignment(conn: Transaction, user_id: str, assignment: Assignment) -> bool:
    """Claim the assignment, in the transaction that stores the draft.

    Return False if another draft claimed it first or the experiment has ended; the draft must not be stored then.
    """
    return experiments.claim_position(conn, user_id, assignment.experiment_id, assignment.stratum, assignment.position)


def claim_next(conn: Transaction, user_id: str, format: Format, platforms: Iterable[str] = ()) -> Assignment | None:
    """Claim and return the next assignment, for a draft that is created in this transaction and written later."""
    turn = next_assignment(conn, user_id, format, platforms)
    return turn if turn is not None and claim_assignment(conn, user_id, turn) else None


def get_treatment(conn: Transaction, user_id: str, draft_id: str) -> Treatment | None:
    """Return the treatment assigned to a draft, or None. It remains after the experiment has ended."""
    ids = experiments.get_variant(conn, user_id, draft_id)
    experiment = experiments.get(conn, user_id, ids[0]) if ids else None
    return _build_treatment(experiment, ids[1]) if ids and experiment else None


def _build_treatment(experiment: Experiment, variant_id: str) -> Treatment | None:
    for variant in experiment.variants:
        if variant.id == variant_id:
            value = variant.config.get(experiment.parameter)
            return Treatment(
                experiment_id=experiment.id, variant_id=variant_id, parameter=experiment.parameter, value=value
            )
    return None


def _to_voice(voice: Voice) -> Voice:
    """Return only the `Voice` fields of a voice profile."""
    return Voice(style=voice.style, avoid=voice.avoid, examples=voice.examples, formats=voice.formats)


class Experiments:
    """The experiments of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def create(self, values: NewExperiment | Mapping[str, object]) -> Experiment:
        """Create an experiment, active at once. Raise InvalidError that names every invalid field.

        Drafts take part in the oldest active experiment; a newer one waits until that is concluded.
        """
        request, now = validate_experiment(values), self._ctx.clock()
        experiment = Experiment(
            id=new_id(now),
            name=request.name,
            parameter=request.parameter,
            status=ExperimentStatus.ACTIVE,
            variants=request.variants,
            results={},
            started_at=now,
            ended_at=None,
            created_at=now,
        )
        await self._ctx.write_durable(experiments.add, experiment)
        return await self.get(experiment.id)

    @operation
    async def list(self, status: str | None = None) -> tuple[Experiment, ...]:
        """Return the experiments with their results, newest first; only those with `status` if it is given."""
        status_filter = convert("status", status, ExperimentStatus) if status is not None else None
        return tuple(
            [
                await self._with_results(experiment)
                for experiment in await self._ctx.read(experiments.list_all, status_filter)
            ]
        )

    @operation
    async def get(self, experiment_id: str) -> Experiment:
        """Return one experiment with its results. Raise NotFoundError if the user has none with this id."""
        return await self._with_results(await self._ctx.read(_get_experiment, experiment_id))

    @operation
    async def change(self, experiment_id: str, values: ChangeExperiment | Mapping[str, object]) -> Experiment:
        """Conclude, with or without a winner, or archive an experiment.

        Raise InvalidError, NotFoundError, and ConflictError if its status does not allow it.
        """
        request, now = validate_experiment_change(values), self._ctx.clock()

        def update(conn: Transaction, user_id: str) -> None:
            experiment = _get_experiment(conn, user_id, experiment_id)
            columns: dict[str, object] = {
                "status": status_after_change(request, experiment.status, experiment.variants)
            }
            if request.action is ExperimentAction.CONCLUDE:
                columns |= {"ended_at": now, "results": {"winner": request.winner}}
            experiments.update_experiment(conn, user_id, experiment_id, columns)

        await self._ctx.write_durable(update)
        return await self.get(experiment_id)

    @operation
    async def conclude(self, experiment_id: str, winner: str | None = None) -> Experiment:
        """End an experiment; `winner` is a variant id. Raises as `change` does."""
        return await self.change(experiment_id, ChangeExperiment(action=ExperimentAction.CONCLUDE, winner=winner))

    @operation
    async def archive(self, experiment_id: str) -> Experiment:
        """Archive a concluded experiment. Raises as `change` does."""
        return await self.change(experiment_id, ChangeExperiment(action=ExperimentAction.ARCHIVE))

    async def _with_results(self, experiment: Experiment) -> Experiment:
        # One experiment at a time: the inputs hold the texts of every edited draft.
        inputs = await self._ctx.read(_load_result_inputs, experiment)
        # In a thread: comparing long texts takes a while, and the console must stay responsive.
        return await asyncio.to_thread(_compute_results, inputs, self._ctx.clock())


def has_unsupported_variants(experiment: Experiment) -> bool:
    """Return True if the offline writer cannot apply the parameter and would write some variants alike."""
    return not all(
        apply_variant(Voice(), draft_format, experiment.parameter, variant.config.get(experiment.parameter)).is_followed
        for variant in experiment.variants
        for draft_format in Format
    )


class _ResultInputs(Struct, frozen=True):
    """An experiment with everything its results are computed from."""

    experiment: Experiment
    positions: Mapping[str, int]
    tallies: Mapping[str, VariantTally]
    edited: tuple[EditedDraft, ...]


def _get_experiment(conn: Transaction, user_id: str, experiment_id: str) -> Experiment:
    experiment = experiments.get(conn, user_id, experiment_id)
    if experiment is None:
        hint = "List all experiments: `copydesk experiment list`."
        raise NotFoundError(f"No experiment {experiment_id!r}.", hint=hint)
    return experiment


def _load_result_inputs(conn: Transaction, user_id: str, experiment: Experiment) -> _ResultInputs:
    return _ResultInputs(
        experiment=experiment,
        positions=experiments.count_assigned(conn, user_id, experiment.id),
        tallies=experiments.tally_by_variant(conn, user_id, experiment.id),
        edited=experiments.list_edited(conn, user_id, experiment.id),
    )


def _compute_results(inputs: _ResultInputs, now: datetime) -> Experiment:
    experiment = inputs.experiment
    assigned, ratios = _count_assignments(inputs), _sum_edit_ratios(inputs)
    counts = {}
    for variant in experiment.variants:
        tally = inputs.tallies.get(variant.id, VariantTally())
        ratio = ratios.get(variant.id, 0.0) / tally.accepted if tally.accepted else None
        counts[variant.id] = VariantCounts(
            assigned=assigned[variant.id],
            drafted=tally.drafted,
            accepted=tally.accepted,
            rejected=tally.rejected,
            mean_edit_ratio=ratio,
            published=tally.published,
            measured=tally.measured,
            interactions=tally.interactions,
            impressions=tally.impressions,
            interactions_with_impressions=tally.rated_interactions,
        )
    winner = cast("str | None", experiment.results.get("winner"))
    results = build_results(experiment.parameter, experiment.variants, counts, now=now, winner=winner)
    return msgspec.structs.replace(experiment, results=to_json_value(results))


def _count_assignments(inputs: _ResultInputs) -> Counter[str]:
    """Count the assignments of each variant. Each block of a stratum has every variant once, in random order."""
    ids = [variant.id for variant in inputs.experiment.variants]
    counts: Counter[str] = Counter()
    for stratum, position in inputs.positions.items():
        blocks = position // len(ids)
        counts.update(dict.fromkeys(ids, blocks))
        # The last block is incomplete: count the variants its order has reached so far.
        partial_block = range(blocks * len(ids), position)
        counts.update(assign_variant(inputs.experiment.id, stratum, index, ids) for index in partial_block)
    return counts


def _sum_edit_ratios(inputs: _ResultInputs) -> Mapping[str, float]:
    """Sum the edit ratios of each variant's accepted drafts; unedited drafts add nothing."""
    from copydesk.drafting.diff import edit_ratio  # noqa: PLC0415 - imports regex, which is slow

    sums: defaultdict[str, float] = defaultdict(float)
    for draft in inputs.edited:
        sums[draft.variant_id] += edit_ratio(draft.generated, draft.text)
    return sums
