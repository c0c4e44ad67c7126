"""Replay judged drafts as the decisions of a reviewer, each predicted by a model that has not seen it.

reviewed.jsonl has a round of drafts by an earlier offline writer, held_out.jsonl one by the present writer; each of the
two judges is a reviewer here. The features were written after reading verdicts on drafts of the first round, so the
figures are those of a fit, not of unseen drafts.
"""

import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from copydesk.drafting.confidence import MIN_DECISIONS, PRIOR_RATE, Decision, draft_features, report, train
from copydesk.model.draft import Checks, Draft, Field, Finding, Score, ScorePart, Severity, Status, Trace
from copydesk.ranking.score import Weights
from draft_corpus import CORPUS, EARLIER_CORPUS, Record, Verdict, read_records

DECISIONS = 60
"""Decisions after which the confidence is measured."""
JUDGES = (0, 1)
MIN_AUC = 0.70
NOW = datetime(2026, 2, 18, tzinfo=UTC)
_QUOTATION = re.compile(r"[“„«]\s?(.+?)\s?[”“»]", re.DOTALL)
_LINK_OR_TAG = re.compile(r"https?://\S+|#\w+")
_WORD = re.compile(r"[^\W\d_]{3,}")


class Figures(NamedTuple):
    """Means over several orders of the decisions."""

    auc: float
    brier: float
    brier_of_base_rate: float


def to_draft(record: Record) -> Draft:
    """Return the draft of a record, with the parts that its features are computed from."""
    checks = Checks(ran=int(str(record.features["checks_ran"])), findings=tuple(map(_finding, _findings(record))))
    return Draft(
        id=record.id,
        text=record.draft,
        format=record.format,
        status=Status.PENDING_REVIEW,
        confidence=PRIOR_RATE,
        item_id="item",
        created_at=NOW,
        updated_at=NOW,
        sentences=tuple(_traces(record.draft, record.sources[0].title)),
        checks=checks,
        score=Score(total=0.0, parts=tuple(_parts(record))),
    )


def _findings(record: Record) -> list[str]:
    found = record.features["findings"]
    assert isinstance(found, list)
    return found


def _finding(text: str) -> Finding:
    rule, _, severity = text.partition(": ")
    return Finding(rule=rule, severity=Severity(severity), message="")


def _traces(text: str, title: str) -> list[Trace]:
    """Return the origin of the draft's words: the title, the quotations, and the writer's own words."""
    rest = _LINK_OR_TAG.sub("", text)
    quotations = [found for found in _QUOTATION.findall(rest) if found.strip() != title.strip()]
    traces = [Trace(text=title, field=Field.TITLE)] if title in rest else []
    traces += [Trace(text=found, field=Field.TEXT) for found in quotations]
    for trace in traces:
        rest = rest.replace(trace.text, " ", 1)
    return [*traces, Trace(text=rest.strip(), field=Field.TEMPLATE)] if _WORD.search(rest) else traces


def _parts(record: Record) -> list[ScorePart]:
    weights = Weights()
    names = [name.removeprefix("score.") for name in record.features if name.startswith("score.")]
    points = {name: float(str(record.features[f"score.{name}"])) for name in names}
    return [
        ScorePart(name=name, value=points[name] / weight, weight=weight, points=points[name], why="")
        for name in names
        if (weight := getattr(weights, name))
    ]


def read_judged() -> list[Record]:
    """Return the drafts of both rounds."""
    return read_records(EARLIER_CORPUS) + read_records(CORPUS)


def replay(records: Sequence[Record], judge: int, orders: int) -> Figures:
    """Return the figures of one judge's decisions on the drafts, made in several random orders."""
    decisions = [
        Decision(features=draft_features(to_draft(record)), approved=record.verdicts[judge] is Verdict.AS_IS)
        for record in records
    ]
    figures = []
    for seed in range(orders):
        model = train(random.Random(seed).sample(decisions, len(decisions)))
        found = report(model)
        later = model.predictions[DECISIONS - MIN_DECISIONS :]
        figures.append(
            (
                auc([(made.confidence, made.approved) for made in later]),
                found.brier or 0.0,
                found.brier_of_base_rate or 0.0,
            )
        )
    return Figures(*(sum(column) / orders for column in zip(*figures, strict=True)))


def auc(predictions: Sequence[tuple[float, bool]]) -> float:
    """Return the probability that an approved draft has a higher confidence than one that is not."""
    approved = [confidence for confidence, is_approved in predictions if is_approved]
    others = [confidence for confidence, is_approved in predictions if not is_approved]
    wins = sum((one > other) + (one == other) / 2 for one in approved for other in others)
    return wins / (len(approved) * len(others))
