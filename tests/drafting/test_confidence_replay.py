"""Replay judged drafts as the decisions of a reviewer: does the confidence tell which ones are approved?"""

import pytest

from confidence_replay import JUDGES, MIN_AUC, read_judged, replay
from draft_corpus import CORPUS, EARLIER_CORPUS, Verdict, read_records
from sampling import sample_size


@pytest.mark.proof
@pytest.mark.parametrize("judge", JUDGES)
def test_confidence_tells_approved_drafts_apart(judge: int) -> None:
    figures = replay(read_judged(), judge, sample_size(40))
    assert figures.auc >= MIN_AUC
    assert figures.brier < figures.brier_of_base_rate - 0.02


@pytest.mark.proof
@pytest.mark.parametrize("judge", JUDGES)
def test_confidence_is_no_worse_than_the_base_rate_where_most_drafts_are_good(judge: int) -> None:
    figures = replay(read_records(CORPUS), judge, sample_size(40))
    assert figures.auc > 0.5
    assert figures.brier < figures.brier_of_base_rate + 0.005


def test_corpus_has_enough_decisions() -> None:
    records = read_records(EARLIER_CORPUS)
    assert len(records) >= 150
    for judge in JUDGES:
        share = sum(record.verdicts[judge] is Verdict.AS_IS for record in records) / len(records)
        assert 0.3 < share < 0.7
