"""How drafts take part in an experiment: whose turn it is, what that changes, and the place that it takes.

A draft takes part in the oldest experiment that is active; a younger one waits until that is concluded. The place in
the experiment's blocks is looked up before the text is written, for the variant decides what is written, and taken in
the transaction that keeps the draft; where another draft took it in between, the text is written once more.
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
    """The variant that a draft is written in."""

    experiment_id: str
    variant_id: str
    parameter: str
    value: Json

    def voice(self, voice: Voice, format: Format) -> Voice:
        """`voice` with the variant's value in it, as far as a voice can hold it."""
        return voice_with(_plain(voice), format, self.parameter, self.value).voice

    @property
    def parameters(self) -> dict[str, Json]:
        """The value by its name, for writers that know what to do with it."""
        return {self.parameter: self.value}


class Turn(Treatment, frozen=True, kw_only=True):
    """A treatment with the place that it has in its experiment."""

    stratum: str
    place: int


def next_turn(conn: Connection, user_id: str, format: Format, platforms: Iterable[str] = ()) -> Turn | None:
    """What the next draft of this kind is given; None where no experiment is active. It is not taken yet."""
    found = experiments.oldest_active(conn, user_id)
    if found is None:
        return None
    stratum = stratum_of(format, platforms)
    place = experiments.next_place(conn, user_id, found.id, stratum)
    variant_id = variant_at(found.id, stratum, place, [variant.id for variant in found.variants])
    treatment = _treatment(found, variant_id)
    assert treatment is not None
    return Turn(stratum=stratum, place=place, **msgspec.structs.asdict(treatment))


def take(conn: Connection, user_id: str, turn: Turn) -> bool:
    """Take the turn, in the transaction that keeps its draft.

    False where another draft took it first, or the experiment has ended: what was written is not to be kept.
    """
    return experiments.take_place(conn, user_id, turn.experiment_id, turn.stratum, turn.place)


def assign(conn: Connection, user_id: str, format: Format, platforms: Iterable[str] = ()) -> Turn | None:
    """The turn of a draft that is created in this very transaction and written later; it is taken."""
    turn = next_turn(conn, user_id, format, platforms)
    return turn if turn is not None and take(conn, user_id, turn) else None


def treatment_of(conn: Connection, user_id: str, draft_id: str) -> Treatment | None:
    """The treatment that a draft was given, for whoever writes its text or a new version; None where it has none.

    It stays the draft's own when the experiment has ended.
    """
    named = experiments.variant_of(conn, user_id, draft_id)
    found = experiments.one(conn, user_id, named[0]) if named else None
    return _treatment(found, named[1]) if named and found else None


def _treatment(found: Experiment, variant_id: str) -> Treatment | None:
    for variant in found.variants:
        if variant.id == variant_id:
            value = variant.config.get(found.parameter)
            return Treatment(experiment_id=found.id, variant_id=variant_id, parameter=found.parameter, value=value)
    return None


def _plain(voice: Voice) -> Voice:
    """The voice alone, where it comes with the rest of its profile."""
    return Voice(style=voice.style, avoid=voice.avoid, examples=voice.examples, formats=voice.formats)
