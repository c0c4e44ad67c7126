"""Experiments: plan, create, list with results so far, conclude, archive."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.desk.voice import empty_profile
from copydesk.desk.writers.open_writer import find_refusing_model
from copydesk.errors import ConflictError, FieldError, InvalidError, NotFoundError
from copydesk.experiments.assignment import assign_variant, get_stratum
from copydesk.experiments.draft_metrics import read_draft_metrics
from copydesk.experiments.planning import build_plan, read_history
from copydesk.experiments.results import build_results, is_decided
from copydesk.experiments.treatment import apply_variant, belongs_to_voice, list_changes
from copydesk.experiments.validation import (
    status_after_change,
    validate_experiment,
    validate_experiment_change,
)
from copydesk.model.draft import Format, Status
from copydesk.model.experiment import (
    MIN_VARIANTS,
    ChangeExperiment,
    Experiment,
    ExperimentAction,
    ExperimentPlan,
    ExperimentResults,
    ExperimentStatus,
    Metric,
    NewExperiment,
    Participant,
    PlannedPosts,
    PublishedPost,
    VariantCount,
    VoiceSettingChange,
)
from copydesk.model.serialization import Struct, to_json_value
from copydesk.model.token import Scope
from copydesk.model.validation import convert
from copydesk.model.voice import Voice, VoiceProfile
from copydesk.store import experiments, users
from copydesk.store.database import Transaction
from copydesk.store.drafts import ACCEPTED_STATUSES
from copydesk.store.experiments import ParticipantRow
from copydesk.store.ids import new_id

MAX_HISTORY = 200
"""Newest decided drafts from which a plan is computed."""


class Experiments:
    """The experiments of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @needs(Scope.REVIEW)
    @operation
    async def create(self, values: NewExperiment | Mapping[str, object]) -> Experiment:
        """Create an experiment, active at once, with its plan.

        Drafts take part in all active experiments. Raise InvalidError that names every invalid field, and ConflictError
        if an active experiment has the same parameter.
        """
        request, now = validate_experiment(values), self._ctx.clock()
        # Refused now and not at the first draft, which would fail in each of its variants.
        if model := await find_refusing_model(self._ctx, request.parameter):
            raise InvalidError(FieldError("parameter", f"is not taken by {model}, which writes the drafts"))
        plan = await self.plan(request.metric, len(request.variants), request.posts_per_variant)
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
            plan=plan,
            aa_test=request.aa_test,
        )
        await self._ctx.write_durable(_add, experiment)
        return await self.get(experiment.id)

    @operation
    async def plan(
        self,
        metric: Metric = Metric.ACCEPTANCE,
        variants: VariantCount = MIN_VARIANTS,
        posts_per_variant: PlannedPosts | None = None,
    ) -> ExperimentPlan:
        """Return how many posts per variant an experiment needs to find a lift, and how long that takes.

        Computed from the user's own drafts and posts; typical values are assumed until there are enough. Raise
        InvalidError for a number of variants or posts that an experiment cannot have.
        """
        rows, posts = await self._ctx.read(_load_history)
        # In a thread, as below.
        return await asyncio.to_thread(_build_plan, metric, variants, posts_per_variant, rows, posts, self._ctx.clock())

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

    @needs(Scope.REVIEW)
    @operation
    async def change(self, experiment_id: str, values: ChangeExperiment | Mapping[str, object]) -> Experiment:
        """Conclude, with or without a winner, or archive an experiment.

        Concluding before the plan is complete or a look has shown a difference needs a reason. `apply_to_voice` makes
        the winner's value the setting of the voice in the same transaction. Raise InvalidError, NotFoundError, and
        ConflictError if its status does not allow it.
        """
        request, now = validate_experiment_change(values), self._ctx.clock()
        experiment = await self.get(experiment_id)
        status_after_change(request, experiment.status, experiment.variants)
        results = msgspec.convert(experiment.results, ExperimentResults, strict=False)
        conclusion = Conclusion(winner=request.winner, concluded_early=not is_decided(results), reason=request.reason)
        if request.action is ExperimentAction.CONCLUDE and conclusion.concluded_early and not request.reason:
            raise InvalidError(FieldError("reason", f"is missing: the plan is not complete. {results.sentence}"))
        await self._ctx.write_durable(_change, experiment_id, request, conclusion, now)
        return await self.get(experiment_id)

    @needs(Scope.REVIEW)
    @operation
    async def conclude(
        self, experiment_id: str, winner: str | None = None, reason: str | None = None, *, apply_to_voice: bool = False
    ) -> Experiment:
        """End an experiment; `winner` is a variant id. Raises as `change` does."""
        action = ExperimentAction.CONCLUDE
        change = ChangeExperiment(action=action, winner=winner, reason=reason, apply_to_voice=apply_to_voice)
        return await self.change(experiment_id, change)

    @needs(Scope.REVIEW)
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


class Conclusion(Struct, frozen=True):
    """The user's conclusion as it is stored."""

    winner: str | None = None
    concluded_early: bool = False
    reason: str | None = None
    voice_changes: tuple[VoiceSettingChange, ...] = ()


class _ResultInputs(Struct, frozen=True):
    """An experiment with everything its results are computed from."""

    experiment: Experiment
    positions: Mapping[str, int]
    rows: tuple[ParticipantRow, ...]
    posts: Mapping[str, tuple[PublishedPost, ...]]


def _add(conn: Transaction, user_id: str, experiment: Experiment) -> None:
    for other in experiments.list_active(conn, user_id):
        if other.parameter == experiment.parameter:
            message = f"“{other.name}” is active and tests {experiment.parameter} already."
            hint = "Conclude it first, or choose another parameter."
            raise ConflictError(message, hint=hint, current_status=other.status, allowed=())
    experiments.add(conn, user_id, experiment)


def _get_experiment(conn: Transaction, user_id: str, experiment_id: str) -> Experiment:
    experiment = experiments.get(conn, user_id, experiment_id)
    if experiment is None:
        hint = "List all experiments: `copydesk experiment list`."
        raise NotFoundError(f"No experiment {experiment_id!r}.", hint=hint)
    return experiment


def _load_result_inputs(conn: Transaction, user_id: str, experiment: Experiment) -> _ResultInputs:
    rows = experiments.list_participants(conn, user_id, experiment.id)
    return _ResultInputs(
        experiment=experiment,
        positions=experiments.count_assigned(conn, user_id, experiment.id),
        rows=rows,
        posts=experiments.list_posts(conn, user_id, [row.id for row in rows]),
    )


def _load_history(
    conn: Transaction, user_id: str
) -> tuple[tuple[ParticipantRow, ...], dict[str, tuple[PublishedPost, ...]]]:
    rows = experiments.list_newest_decided(conn, user_id, MAX_HISTORY)
    return rows, experiments.list_posts(conn, user_id, [row.id for row in rows])


def _build_plan(
    metric: Metric,
    variants: int,
    posts_per_variant: int | None,
    rows: Sequence[ParticipantRow],
    posts: Mapping[str, tuple[PublishedPost, ...]],
    now: datetime,
) -> ExperimentPlan:
    participants = [_to_participant(row, posts.get(row.id, ()), now) for row in rows]
    return build_plan(metric, variants, posts_per_variant, read_history(metric, participants, now))


def _compute_results(inputs: _ResultInputs, now: datetime) -> Experiment:
    experiment = inputs.experiment
    participants = [_to_participant(row, inputs.posts.get(row.id, ()), now) for row in inputs.rows]
    results = build_results(
        experiment.id,
        experiment.parameter,
        experiment.variants,
        experiment.plan,
        participants,
        _count_assignments(inputs),
        now,
    )
    conclusion = msgspec.convert(experiment.results, Conclusion, strict=False)
    results = msgspec.structs.replace(results, **msgspec.structs.asdict(conclusion))
    return msgspec.structs.replace(experiment, results=to_json_value(results))


def _to_participant(row: ParticipantRow, posts: Sequence[PublishedPost], now: datetime) -> Participant:
    from copydesk.drafting.diff import edit_ratio  # noqa: PLC0415 - imports regex, which is slow

    is_accepted, is_rejected = row.status in ACCEPTED_STATUSES, row.status is Status.REJECTED
    metrics, is_too_young = read_draft_metrics(posts, now) if posts else (None, False)
    return Participant(
        variant_id=row.variant_id or "",
        stratum=get_stratum(row.format, row.target_platforms),
        writer=row.writer,
        has_text=bool(row.text),
        decided_at=(row.decided_at or row.created_at) if is_accepted or is_rejected else None,
        is_accepted=is_accepted,
        edit_ratio=edit_ratio(row.generated, row.text) if is_accepted and row.generated is not None else 0.0,
        is_published=bool(posts) or row.status is Status.POSTED,
        published_on=tuple(sorted({post.platform for post in posts})),
        metrics=metrics,
        is_too_young=is_too_young,
    )


def _change(
    conn: Transaction,
    user_id: str,
    experiment_id: str,
    request: ChangeExperiment,
    conclusion: Conclusion,
    now: datetime,
) -> None:
    experiment = _get_experiment(conn, user_id, experiment_id)
    columns: dict[str, object] = {"status": status_after_change(request, experiment.status, experiment.variants)}
    if request.action is ExperimentAction.CONCLUDE:
        if request.apply_to_voice and request.winner is not None:
            voice, changes = _apply_winner(conn, user_id, experiment, request.winner, now)
            users.save_voice(conn, user_id, voice)
            conclusion = msgspec.structs.replace(conclusion, voice_changes=changes)
        columns |= {"ended_at": now, "results": to_json_value(conclusion)}
    experiments.update_experiment(conn, user_id, experiment_id, columns)


def _apply_winner(
    conn: Transaction, user_id: str, experiment: Experiment, variant_id: str, now: datetime
) -> tuple[VoiceProfile, tuple[VoiceSettingChange, ...]]:
    """Return the voice with the variant's value in the formats that took part, and the settings that changed."""
    parameter, value = experiment.parameter, experiment.variant_value(variant_id)
    if not belongs_to_voice(parameter, value):
        message = f"is not possible: {parameter} is not a setting of the voice"
        raise InvalidError(FieldError("applyToVoice", message))
    before = users.load_voice(conn, user_id) or msgspec.structs.replace(empty_profile(user_id), created_at=now)
    strata = experiments.count_assigned(conn, user_id, experiment.id)
    formats = sorted({Format(stratum.partition(":")[0]) for stratum in strata}) or list(Format)
    voice: Voice = before
    for draft_format in formats:
        voice = apply_variant(voice, draft_format, parameter, value).voice
    after = msgspec.structs.replace(before, style=voice.style, formats=voice.formats, updated_at=now)
    return after, tuple(list_changes(before, after))


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
