"""Assignment of drafts to the variants of an experiment.

A draft joins the oldest active experiment. The variant decides what is written, so the next position in the
randomization blocks is read before writing, and claimed in the transaction that stores the draft. If another draft
claimed it first, the text is written again for the next position.
"""

from collections.abc import Iterable

import msgspec

from copydesk.experiments import apply_variant, assign_variant, get_stratum
from copydesk.model.draft import Format
from copydesk.model.experiment import Experiment
from copydesk.model.serialization import Json, Struct
from copydesk.model.voice import Voice
from copydesk.store import experiments
from copydesk.store.database import Transaction


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
