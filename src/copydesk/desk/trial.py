"""Assignment of drafts to the variants of an experiment.

A draft joins the oldest active experiment. The variant decides what is written, so the next position in the
randomization blocks is read before writing, and claimed in the transaction that stores the draft. If another draft
claimed it first, the text is written again for the next position.
"""

from collections.abc import Iterable

import msgspec
from sqlalchemy import Connection

from copydesk.experiments.assignment import stratum_of, variant_at
from copydesk.experiments.treatment import voice_with
from copydesk.model.draft import Format
from copydesk.model.experiment import Experiment
from copydesk.model.voice import Voice
from copydesk.model.wire import Json, Struct
from copydesk.store import experiments


class Treatment(Struct, frozen=True):
    """The variant in which a draft is written."""

    experiment_id: str
    variant_id: str
    parameter: str
    value: Json

    def voice(self, voice: Voice, format: Format) -> Voice:
        """Return `voice` with the variant's value applied, if the parameter belongs to the voice."""
        return voice_with(_to_voice(voice), format, self.parameter, self.value).voice

    @property
    def parameters(self) -> dict[str, Json]:
        """The variant's value by parameter name, for writers that support it."""
        return {self.parameter: self.value}


class Turn(Treatment, frozen=True, kw_only=True):
    """A treatment with its position in the experiment."""

    stratum: str
    place: int


def next_turn(conn: Connection, user_id: str, format: Format, platforms: Iterable[str] = ()) -> Turn | None:
    """Return the assignment for the next draft of this kind, None without an active experiment. It is
    not claimed yet.
    """
    experiment = experiments.oldest_active(conn, user_id)
    if experiment is None:
        return None
    stratum = stratum_of(format, platforms)
    position = experiments.next_place(conn, user_id, experiment.id, stratum)
    variant_id = variant_at(experiment.id, stratum, position, [variant.id for variant in experiment.variants])
    treatment = _build_treatment(experiment, variant_id)
    assert treatment is not None
    return Turn(stratum=stratum, place=position, **msgspec.structs.asdict(treatment))


def take(conn: Connection, user_id: str, turn: Turn) -> bool:
    """Claim the assignment, in the transaction that stores the draft.

    Return False if another draft claimed it first or the experiment has ended; the draft must not be stored then.
    """
    return experiments.take_place(conn, user_id, turn.experiment_id, turn.stratum, turn.place)


def assign(conn: Connection, user_id: str, format: Format, platforms: Iterable[str] = ()) -> Turn | None:
    """Claim and return the next assignment, for a draft that is created in this transaction and written later."""
    turn = next_turn(conn, user_id, format, platforms)
    return turn if turn is not None and take(conn, user_id, turn) else None


def treatment_of(conn: Connection, user_id: str, draft_id: str) -> Treatment | None:
    """Return the treatment assigned to a draft, or None. It remains after the experiment has ended."""
    ids = experiments.variant_of(conn, user_id, draft_id)
    experiment = experiments.one(conn, user_id, ids[0]) if ids else None
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
