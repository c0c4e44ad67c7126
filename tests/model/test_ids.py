"""Tests for short ids."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.ids import ID_LENGTH, SHORT_ID_LENGTH, parse_end, short_id_length

IDS = st.integers(0, 2**128 - 1).map(lambda number: str(UUID(int=number)))
# Ids that end alike: a few in all characters but some.
SIMILAR_IDS = st.integers(0, 2**28 - 1).map(lambda number: f"0197{number & 0xFFF:04x}-0000-7000-8000-0{number:011x}")
WHOLE = "01987a3c-1f00-7abc-8def-0123456789ab"


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("89ab", "89ab"),
        ("  89AB\n", "89ab"),
        ("8def-0123456789ab", "8def-0123456789ab"),
        ("9", "9"),
        (WHOLE[1:], WHOLE[1:]),
        (WHOLE, None),
        (WHOLE + "0", None),
        ("nobody", None),
        ("", None),
        ("89ab%", None),
        ("٤٤٤٤", None),
        ("89ab\x00", None),
    ],
)
def test_parse_end(text: str, end: str | None) -> None:
    assert parse_end(text) == end


@given(st.text())
def test_parsed_end_has_only_characters_of_ids(text: str) -> None:
    end = parse_end(text)
    assert end is None or (set(end) <= set("0123456789abcdef-") and 0 < len(end) < ID_LENGTH)


@given(st.sets(IDS | SIMILAR_IDS, max_size=8), st.sets(IDS | SIMILAR_IDS, max_size=8))
def test_short_ids_are_unique_and_no_longer_than_needed(ids: set[str], similar: set[str]) -> None:
    length = short_id_length(ids, similar)

    def are_unique(length: int) -> bool:
        return all(sum(other.endswith(listed[-length:]) for other in ids | similar) == 1 for listed in ids)

    assert are_unique(length)
    assert length >= SHORT_ID_LENGTH
    assert length == SHORT_ID_LENGTH or not are_unique(length - 1)
