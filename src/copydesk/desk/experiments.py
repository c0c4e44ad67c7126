"""Experiments: made, listed with what came of them so far, concluded, archived."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import cast

import msgspec
from sqlalchemy import Connection

from copydesk.desk.fields import convert
from copydesk.desk.ground import Ground
from copydesk.drafting.difference import edit_ratio
from copydesk.errors import NotFoundError
from copydesk.experiments.assignment import variant_at
from copydesk.experiments.course import after_change
from copydesk.experiments.limits import checked_experiment, checked_experiment_change
from copydesk.experiments.results import Counts, results_of
from copydesk.experiments.treatment import voice_with
from copydesk.model.draft import Format
from copydesk.model.experiment import (
    ChangeExperiment,
    Experiment,
    ExperimentAction,
    ExperimentStatus,
    NewExperiment,
)
from copydesk.model.voice import Voice
from copydesk.model.wire import Struct, to_wire
from copydesk.store import experiments
from copydesk.store.experiments import Edited, Tally
from copydesk.store.ids import new_id


class Experiments:
    """What the user tries out."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def create(self, given: NewExperiment | Mapping[str, object]) -> Experiment:
        """A new experiment, active at once; InvalidError with every field that breaks a rule.

        Drafts take part in the oldest active one: beside an older one it waits until that is concluded.
        """
        asked, now = checked_experiment(given), self._ground.clock()
        made = Experiment(
            id=new_id(now),
            name=asked.name,
            parameter=asked.parameter,
            status=ExperimentStatus.ACTIVE,
            variants=asked.variants,
            results={},
            started_at=now,
            ended_at=None,
            created_at=now,
        )
        await self._ground.write(experiments.add, made)
        return await self.get(made.id)

    async def list(self, status: str | None = None) -> tuple[Experiment, ...]:
        """The user's experiments with their results, newest first; or those in one state."""
        wanted = convert("status", status, ExperimentStatus) if status is not None else None
        return tuple([await self._with_results(each) for each in await self._ground.read(experiments.every, wanted)])

    async def get(self, experiment_id: str) -> Experiment:
        """One experiment with its results; NotFoundError where there is none of the user's with this id."""
        return await self._with_results(await self._ground.read(_known, experiment_id))

    async def change(self, experiment_id: str, given: ChangeExperiment | Mapping[str, object]) -> Experiment:
        """Conclude, with or without a winner, or archive an experiment.

        Raises InvalidError, NotFoundError, ConflictError where its state does not allow it.
        """
        asked, now = checked_experiment_change(given), self._ground.clock()

        def work(conn: Connection, user_id: str) -> None:
            found = _known(conn, user_id, experiment_id)
            values: dict[str, object] = {"status": after_change(asked, found.status, found.variants)}
            if asked.action is ExperimentAction.CONCLUDE:
                values |= {"ended_at": now, "results": {"winner": asked.winner}}
            experiments.change(conn, user_id, experiment_id, values)

        await self._ground.write(work)
        return await self.get(experiment_id)

    async def conclude(self, experiment_id: str, winner: str | None = None) -> Experiment:
        """End an experiment, with the id of the variant that won where one did; see `change`."""
        return await self.change(experiment_id, ChangeExperiment(action=ExperimentAction.CONCLUDE, winner=winner))

    async def archive(self, experiment_id: str) -> Experiment:
        """Put a concluded experiment away; see `change`."""
        return await self.change(experiment_id, ChangeExperiment(action=ExperimentAction.ARCHIVE))

    async def _with_results(self, experiment: Experiment) -> Experiment:
        # Of one at a time, for it comes with the texts of every edited draft.
        found = await self._ground.read(_found, experiment)
        # Long texts take a while to compare, and the console goes on meanwhile.
        return await asyncio.to_thread(_shown, found, self._ground.clock())


def unfollowed(experiment: Experiment) -> bool:
    """Whether the offline writer writes some variants alike, for it cannot follow the parameter."""
    return not all(
        voice_with(Voice(), kind, experiment.parameter, variant.config.get(experiment.parameter)).followed
        for variant in experiment.variants
        for kind in Format
    )


class _Found(Struct, frozen=True):
    """An experiment with all that its results are made of."""

    experiment: Experiment
    places: Mapping[str, int]
    tallies: Mapping[str, Tally]
    edited: tuple[Edited, ...]


def _known(conn: Connection, user_id: str, experiment_id: str) -> Experiment:
    found = experiments.one(conn, user_id, experiment_id)
    if found is None:
        hint = "`copydesk experiment list` shows them all."
        raise NotFoundError(f"There is no experiment {experiment_id!r}.", hint=hint)
    return found


def _found(conn: Connection, user_id: str, experiment: Experiment) -> _Found:
    return _Found(
        experiment=experiment,
        places=experiments.places(conn, user_id, experiment.id),
        tallies=experiments.tallies(conn, user_id, experiment.id),
        edited=experiments.edited(conn, user_id, experiment.id),
    )


def _shown(found: _Found, now: datetime) -> Experiment:
    experiment = found.experiment
    assigned, ratios = _assigned(found), _edit_ratios(found)
    counts = {}
    for variant in experiment.variants:
        tally = found.tallies.get(variant.id, Tally())
        ratio = ratios.get(variant.id, 0.0) / tally.accepted if tally.accepted else None
        counted = msgspec.structs.asdict(tally)
        counts[variant.id] = Counts(assigned=assigned[variant.id], mean_edit_ratio=ratio, **counted)
    winner = cast("str | None", experiment.results.get("winner"))
    results = results_of(experiment.parameter, experiment.variants, counts, now=now, winner=winner)
    return msgspec.structs.replace(experiment, results=to_wire(results))


def _assigned(found: _Found) -> Counter[str]:
    """How often each variant's turn was taken: each block has each variant once."""
    ids = [variant.id for variant in found.experiment.variants]
    counts: Counter[str] = Counter()
    for stratum, taken in found.places.items():
        whole = taken // len(ids)
        counts.update(dict.fromkeys(ids, whole))
        begun = range(whole * len(ids), taken)
        counts.update(variant_at(found.experiment.id, stratum, place, ids) for place in begun)
    return counts


def _edit_ratios(found: _Found) -> Mapping[str, float]:
    """The sum of what was changed about each variant's accepted drafts; those that were not edited add nothing."""
    sums: defaultdict[str, float] = defaultdict(float)
    for each in found.edited:
        sums[each.variant_id] += edit_ratio(each.written, each.text)
    return sums
