"""Tests for the values of the ranking's form."""

import pytest

from copydesk.errors import InvalidError
from copydesk.model.ranking import ChangeRanking, RankingProfile
from copydesk.tui.setup.ranking_dialogs import change_fields, parse_change

CURRENT = RankingProfile(
    interests=("ferries",),
    include=(),
    exclude=("giveaway",),
    min_score=0.0,
    max_drafts=0,
    weights={"recency": 0.22, "interest": 1 / 3},
)
VALUES = {
    "interests": "ferries",
    "include": "",
    "exclude": "giveaway",
    "minScore": "0",
    "maxDrafts": "0",
    "recency": "0.22",
    "interest": "0.333333",
}


def test_form_as_it_opens_changes_nothing() -> None:
    assert parse_change(VALUES, CURRENT) == ChangeRanking()


def test_only_changed_lists_are_previewed() -> None:
    found = parse_change(VALUES | {"interests": "ferries, , rail "}, CURRENT)
    assert found == ChangeRanking(interests=("ferries", "rail"))


def test_only_changed_weights_are_previewed() -> None:
    found = parse_change(VALUES | {"recency": "0.5", "minScore": ".2"}, CURRENT)
    assert found == ChangeRanking(weights={"recency": 0.5}, min_score=0.2)


@pytest.mark.parametrize(
    ("field", "value"), [("minScore", "much"), ("recency", "nan"), ("recency", "2"), ("maxDrafts", "1001")]
)
def test_value_out_of_range_is_refused(field: str, value: str) -> None:
    with pytest.raises(InvalidError, match="takes a number from"):
        parse_change(VALUES | {field: value}, CURRENT)


def test_labels_fit_into_their_column() -> None:
    column = 14  # in fields.tcss
    assert [field.label for field in change_fields(CURRENT, {}) if len(field.label) >= column] == []
