"""The corpus of judged drafts: its records, the shares of their verdicts, and the agreement of the two judges."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import sqrt
from pathlib import Path
from typing import NamedTuple

import msgspec

from copydesk.model.draft import Format

FOLDER = Path(__file__).resolve().parents[1] / "drafting" / "corpus"
FEEDS, CORPUS = FOLDER / "feeds", FOLDER / "held_out.jsonl"
EARLIER_CORPUS = FOLDER / "reviewed.jsonl"
"""Drafts of an earlier writer with more faults, from which a confidence can be learnt."""
CAPTURED_FEEDS = FOLDER.parents[2] / ".." / "shared" / "feeds"
"""Captured feeds of others, beside the checkout where available."""
MIN_DRAFTS = {CORPUS.stem: 195, EARLIER_CORPUS.stem: 160}
MIN_AS_IS = {Format.SHORT: 0.75, Format.THREAD: 0.60, Format.BLOG: 0.60}
"""Smallest share of drafts that can be posted as they are."""
MAX_FALSE_ALARMS = 0.03
"""The share of the drafts' sentences that the checks warn of is smaller: all of them are quotations."""
MAX_NEVER = {Format.SHORT: 0.05}
"""The share of drafts that can never be posted is smaller than this."""
_Z = 1.96
"""Standard normal quantile of a 95 % interval."""


class Verdict(StrEnum):
    """Verdict of a judge on a draft; rubric.md defines them."""

    AS_IS = "as is"
    SMALL_EDIT = "small edit"
    NEVER = "never"


class Source(msgspec.Struct, frozen=True):
    """An item from which a draft was made."""

    feed: str
    """Name of the file."""
    name: str
    """Name of the source, as the desk took it from the feed."""
    title: str
    url: str | None


class Record(msgspec.Struct, frozen=True):
    """A draft, what is known of its items without copying them, and the verdicts on it."""

    id: str
    """Identifies item, format and text."""
    format: Format
    draft: str
    sources: tuple[Source, ...]
    """The draft's own item, then the others of a draft that links to several."""
    features: dict[str, int | float | str | list[str]]
    """Properties of draft and item from which a confidence can be computed."""
    verdicts: tuple[Verdict, ...] = ()
    """Of the first and the second judge."""


class Share(NamedTuple):
    """A share of drafts, and its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.0%} ({self.low:.0%} to {self.high:.0%})"


def read_records(path: Path) -> list[Record]:
    """Return the records of a file of JSON lines."""
    return msgspec.json.Decoder(Record).decode_lines(path.read_bytes())


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write the records as JSON lines."""
    path.write_bytes(msgspec.json.Encoder().encode_lines(records))


def of_format(records: Iterable[Record], format: Format) -> list[Record]:
    """Return the records of a format."""
    return [record for record in records if record.format is format]


def share(records: Sequence[Record], verdict: Verdict) -> Share:
    """Return the mean of the judges' shares of `verdict`. The interval is for the number of drafts, not of verdicts."""
    verdicts = [given for record in records for given in record.verdicts]
    return wilson_interval(verdicts.count(verdict) / len(verdicts), len(records))


def wilson_interval(share: float, count: int) -> Share:
    """Return a share of `count` drafts with its Wilson score interval."""
    spread = _Z * sqrt(share * (1 - share) / count + _Z**2 / (4 * count**2))
    middle, scale = share + _Z**2 / (2 * count), 1 + _Z**2 / count
    return Share(share, max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale))


def false_alarms(records: Iterable[Record]) -> tuple[int, int]:
    """Return the number of sentences that the checks warn of, as contradicted or unsupported, and of all."""
    warned = claims = 0
    for record in records:
        findings = record.features["findings"]
        assert isinstance(findings, list)
        warned += sum(finding.startswith(("contradiction:", "unsupported:")) for finding in findings)
        found = record.features["claims"]
        assert isinstance(found, list)
        claims += len(found)
    return warned, claims


def agreement(records: Sequence[Record]) -> float:
    """Return Cohen's kappa of the two judges: 1 if they always agree, 0 if as often as by chance."""
    pairs = [record.verdicts for record in records]
    count = len(pairs)
    observed = sum(first == second for first, second in pairs) / count
    expected = sum(
        sum(first == verdict for first, _ in pairs) * sum(second == verdict for _, second in pairs)
        for verdict in Verdict
    ) / (count * count)
    return 1.0 if expected == 1 else (observed - expected) / (1 - expected)
