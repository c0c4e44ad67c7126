"""Drafts of the corpus that two judges would post as they are, or never: the figures of their verdicts."""

from table_row import Row

from confidence_replay import DECISIONS, JUDGES, MIN_AUC, read_judged, replay
from copydesk.model.draft import Format
from draft_corpus import (
    CORPUS,
    MAX_FALSE_ALARMS,
    MAX_NEVER,
    MIN_AS_IS,
    Verdict,
    agreement,
    false_alarms,
    of_format,
    read_records,
    share,
)

REPLAYS = 40
"""Orders of the decisions, of which the means are shown."""


def measure() -> list[Row]:
    """Return the shares of each format, and the agreement of the judges."""
    records = read_records(CORPUS)
    rows = []
    for kind in Format:
        judged = of_format(records, kind)
        as_is, never = share(judged, Verdict.AS_IS), share(judged, Verdict.NEVER)
        label, minimum = f"{len(judged)} {kind} drafts, judged", MIN_AS_IS[kind]
        rows.append(Row(f"{label}: as they are", str(as_is), "", "", f"at least {minimum:.0%}", as_is.value >= minimum))
        if maximum := MAX_NEVER.get(kind):
            met = never.value < maximum
            rows.append(Row(f"{label}: never", str(never), "", "", f"under {maximum:.0%}", met))
    warned, claims = false_alarms(records)
    limit = f"under {MAX_FALSE_ALARMS:.0%}"
    met = warned / claims < MAX_FALSE_ALARMS
    rows.append(Row(f"{claims} sentences of these drafts: warned of", f"{warned / claims:.1%}", "", "", limit, met))
    kappa = f"{agreement(records):.2f}"
    rows += [row for judge in JUDGES for row in _replay_rows(judge)]
    return [*rows, Row("agreement of the two judges of drafts: Cohen's kappa", kappa, "", "", "", None)]


def _replay_rows(judge: int) -> list[Row]:
    """Return how well the confidence predicts the decisions of a judge."""
    records = read_judged()
    figures = replay(records, judge, REPLAYS)
    label = f"confidence of {len(records)} drafts, replayed as judge {judge + 1}"
    brier, base = figures.brier, figures.brier_of_base_rate
    return [
        Row(
            f"{label}: AUC after {DECISIONS} decisions",
            f"{figures.auc:.2f}",
            "",
            "",
            f"at least {MIN_AUC:.2f}",
            figures.auc >= MIN_AUC,
        ),
        Row(f"{label}: Brier score", f"{brier:.3f}", "", "", f"under that of the base rate, {base:.3f}", brier < base),
    ]
