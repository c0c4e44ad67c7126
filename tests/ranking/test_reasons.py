"""Tests for what the reason of a rejection may mean as a rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.rule import RuleKind
from copydesk.ranking.reasons import MAX_SUGGESTIONS, suggest_terms

ITEM = "Win a phone: the big giveaway of the year. A game changer for everyone."
DRAFT = "The big giveaway of the year, a must-read. A game changer for everyone."


@pytest.mark.parametrize(
    ("reason", "first"),
    [
        ("no more giveaways please", (RuleKind.EXCLUDE, "giveaways")),
        ("never say “game changer”", (RuleKind.AVOID, "game changer")),
        ("boring must-read", (RuleKind.AVOID, "read")),
        ("not another big giveaway", (RuleKind.EXCLUDE, "big giveaway")),
    ],
)
def test_reason_names_words(reason: str, first: tuple[RuleKind, str]) -> None:
    assert suggest_terms(reason, ITEM, DRAFT)[0] == first


@pytest.mark.parametrize("reason", ["", "too long", "no", "not for us", "no yachts"])
def test_reason_without_words_of_item_or_draft(reason: str) -> None:
    assert suggest_terms(reason, ITEM, DRAFT) == ()


@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_read(reason: str, item: str, draft: str) -> None:
    found = suggest_terms(reason, item, draft)
    assert len(found) <= MAX_SUGGESTIONS
    assert all(term.strip() for _, term in found)
