"""Assign drafts to the variants of active experiments.

A draft joins all active experiments, which vary different parameters. The variants decide what is written, so the next
positions in the randomization blocks are read before writing, and claimed in the transaction that stores the draft. If
another draft claimed one of them first, the text is written again for the next positions.
"""

from collections.abc import Iterable

from copydesk.experiments.assignment import assign_variant, get_stratum
from copydesk.experiments.treatment import apply_variant
from copydesk.model.draft import DraftVariant, Format
from copydesk.model.serialization import Json, Struct
from copydesk.model.voice import Voice
from copydesk.store import experiments
from copydesk.store.database import Transaction


class Treatment(Struct, frozen=True):
    """The variants in which a draft is written, one for each experiment it takes part in."""

    variants: tuple[DraftVariant, ...]
    parameters: dict[str, Json]
    """The variants' values by parameter name, for writers that support them."""

    def apply_to(self, voice: Voice, format: Format) -> Voice:
        """Return `voice` with the values of the parameters that belong to the voice."""
        voice = _to_voice(voice)
        # A whole style first: others add to it.
        for parameter in sorted(self.parameters, key=lambda name: name != "style"):
            voice = apply_variant(voice, format, parameter, self.parameters[parameter]).voice
        return voice


class BlockPosition(Struct, frozen=True):
    """A position in the randomization blocks of an experiment."""

    experiment_id: str
    stratum: str
    position: int


class Assignment(Treatment, frozen=True, kw_only=True):
    """A treatment with its position in each experiment."""

    positions: tuple[BlockPosition, ...]


def next_assignment(
    conn: Transaction, user_id: str, format: Format, platforms: Iterable[str] = ()
) -> Assignment | None:
    """Return the assignment for the next draft of this kind, None without an active experiment. It is not claimed yet.

    Experiments assign independently of each other.
    """
    active = experiments.list_active(conn, user_id)
    if not active:
        return None
    stratum = get_stratum(format, platforms)
    variants, parameters, positions = [], {}, []
    for experiment in active:
        position = experiments.next_position(conn, user_id, experiment.id, stratum)
        variant_id = assign_variant(experiment.id, stratum, position, [variant.id for variant in experiment.variants])
        variants.append(DraftVariant(experiment_id=experiment.id, variant_id=variant_id))
        parameters[experiment.parameter] = experiment.variant_value(variant_id)
        positions.append(BlockPosition(experiment_id=experiment.id, stratum=stratum, position=position))
    return Assignment(variants=tuple(variants), parameters=parameters, positions=tuple(positions))


def claim_assignment(conn: Transaction, user_id: str, assignment: Assignment) -> bool:
    """Claim the assignment, in the transaction that stores the draft.

    Return False if another draft claimed one of its positions first or an experiment has ended; the transaction must
    be rolled back then.
    """
    return all(
        experiments.claim_position(conn, user_id, block.experiment_id, block.stratum, block.position)
        for block in assignment.positions
    )


def claim_next(conn: Transaction, user_id: str, format: Format, platforms: Iterable[str] = ()) -> Assignment | None:
    """Claim and return the next assignment, for a draft that is created in this transaction and written later."""
    assignment = next_assignment(conn, user_id, format, platforms)
    return assignment if assignment is not None and claim_assignment(conn, user_id, assignment) else None


def get_treatment(conn: Transaction, user_id: str, variants: Iterable[DraftVariant]) -> Treatment | None:
    """Return the treatment of a draft with these variants, or None. It remains after the experiments have ended."""
    found = [
        (experiment, variant)
        for variant in variants
        if (experiment := experiments.get(conn, user_id, variant.experiment_id)) is not None
    ]
    parameters = {experiment.parameter: experiment.variant_value(variant.variant_id) for experiment, variant in found}
    return Treatment(variants=tuple(variant for _, variant in found), parameters=parameters) if found else None


def _to_voice(voice: Voice) -> Voice:
    """Return only the `Voice` fields of a voice profile."""
    return Voice(**{name: getattr(voice, name) for name in Voice.__struct_fields__})
