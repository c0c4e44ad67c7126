"""Tests for pagination cursors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.desk import cursor
from copydesk.errors import InvalidError


@given(st.text(), st.text())
def test_cursor_round_trips(last, listed):
    assert cursor.decode(cursor.encode(last, "drafts", listed), "drafts", listed) == last


def test_cursor_of_another_list_is_refused():
    with pytest.raises(InvalidError, match="cursor"):
        cursor.decode(cursor.encode("a", "drafts", "approved"), "drafts", "rejected")


def test_truncated_cursor_is_refused():
    whole = cursor.encode("019aa0c0-0000-7000-8000-000000000000", "drafts")
    for length in range(len(whole)):
        with pytest.raises(InvalidError):
            cursor.decode(whole[:length], "drafts")


@given(st.text())
def test_arbitrary_text_is_refused(text):
    with pytest.raises(InvalidError):
        cursor.decode(text, "drafts")
