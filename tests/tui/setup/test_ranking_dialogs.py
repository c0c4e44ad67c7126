"""Tests for the values of the rehearsal's form."""

import tomllib

import pytest

from copydesk.errors import InvalidError
from copydesk.model.rehearsal import RehearsalRequest
from copydesk.settings import Pipeline, Ranking, Settings
from copydesk.tui.setup.ranking_dialogs import parse_change, settings_lines

SETTINGS = Settings(ranking=Ranking(interests=("ferries",)), pipeline=Pipeline(exclude=("giveaway",)))
VALUES = {"interests": "ferries", "include": "", "exclude": "giveaway", "minScore": "0", "maxDrafts": "10"}


def test_only_changed_lists_are_rehearsed() -> None:
    found = parse_change(VALUES | {"interests": "ferries, , rail "}, SETTINGS)
    assert (found.interests, found.include, found.exclude) == (("ferries", "rail"), None, None)


def test_value_that_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidError, match="takes a number"):
        parse_change(VALUES | {"minScore": "much"}, SETTINGS)


def test_lines_of_the_settings_file() -> None:
    lines = settings_lines(RehearsalRequest(interests=('a "b"', "ü"), exclude=("/x+/",)))
    assert tomllib.loads("\n".join(lines)) == {
        "ranking": {"interests": ['a "b"', "ü"]},
        "pipeline": {"exclude": ["/x+/"]},
    }
    assert settings_lines(RehearsalRequest()) == []
