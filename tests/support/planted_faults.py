"""Planted faults: sources, sentences that are faithful to them, and sentences with one fault each, by kind.

`tuning.toml` was used to tune the comparison, `held_out.toml` was written before and never looked at. A fault counts as
found if the reviewer is warned of it: the claim contradicts the source, or rests on nothing there.
"""

import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from copydesk.drafting.claims.find_claims import find_claims
from copydesk.drafting.claims.source_index import Material
from copydesk.model.draft import Claim, ClaimVerdict, Field

FOLDER = Path(__file__).resolve().parents[1] / "drafting" / "claims"
TUNING, HELD_OUT = FOLDER / "tuning.toml", FOLDER / "held_out.toml"
KINDS = (
    *("negation", "direction", "currency_or_unit", "number", "date"),
    *("role", "name", "other_speaker", "misquote", "invented"),
)
FAITHFUL = "faithful"
MIN_FOUND, MAX_FALSE_ALARMS, MIN_RIGHT = 0.90, 0.03, 0.98
"""Shares of faults that are found, of faithful sentences that are warned of, and of "supported" that are so."""


class Case(NamedTuple):
    """A sentence beside its source; `kind` is a kind of fault, or `faithful`."""

    kind: str
    sentence: str
    materials: tuple[Material, ...]


class Figures(NamedTuple):
    """The outcome of a set of cases."""

    faults: Counter[str]
    found: Counter[str]
    faithful: int
    false_alarms: int
    supported: int
    """Faithful sentences that are called supported."""
    wrongly_supported: int

    @property
    def found_share(self) -> float:
        """Share of the faults that are found."""
        return self.found.total() / self.faults.total()

    @property
    def false_alarm_share(self) -> float:
        """Share of the faithful sentences that are warned of."""
        return self.false_alarms / self.faithful

    @property
    def right_share(self) -> float:
        """Share of the supported sentences that are faithful."""
        return self.supported / (self.supported + self.wrongly_supported)


def read_cases(path: Path) -> Iterator[Case]:
    """Yield the cases of a file."""
    for source in tomllib.loads(path.read_text(encoding="utf-8"))["source"]:
        materials = (Material(Field.TITLE, source["title"]), Material(Field.TEXT, source["text"].strip()))
        yield from (Case(FAITHFUL, sentence, materials) for sentence in source[FAITHFUL])
        for kind, sentences in source["faults"].items():
            yield from (Case(kind, sentence, materials) for sentence in sentences)


def is_warned_of(claims: tuple[Claim, ...]) -> bool:
    """Return True if a claim contradicts the source, or rests on nothing there."""
    return any(
        claim.verdict is ClaimVerdict.CONTRADICTS
        or (claim.verdict is ClaimVerdict.CANNOT_TELL and claim.source is None)
        for claim in claims
    )


def is_supported(claims: tuple[Claim, ...]) -> bool:
    """Return True if there is a claim, and all are supported."""
    return bool(claims) and all(claim.verdict is ClaimVerdict.SUPPORTED for claim in claims)


def measure(*paths: Path) -> Figures:
    """Return the figures of the cases of all `paths`."""
    faults, found, faithful = Counter[str](), Counter[str](), Counter[str]()
    wrong = 0
    for path in paths:
        for case in read_cases(path):
            claims = find_claims(case.sentence, case.materials)
            if case.kind == FAITHFUL:
                faithful.update(all=1, warned=is_warned_of(claims), supported=is_supported(claims))
            else:
                faults[case.kind] += 1
                found[case.kind] += is_warned_of(claims)
                wrong += is_supported(claims)
    return Figures(faults, found, faithful["all"], faithful["warned"], faithful["supported"], wrong)
