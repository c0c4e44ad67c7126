"""Tests for pages and their cursors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import InvalidCursorError
from copydesk.model.page import decode_cursor, encode_cursor


@given(st.text(), st.text())
def test_cursor_round_trips(last, listed):
    assert decode_cursor(encode_cursor(last, "drafts", listed), "drafts", listed) == last


def test_cursor_of_another_list_is_refused():
    with pytest.raises(InvalidCursorError, match="cursor"):
        decode_cursor(encode_cursor("a", "drafts", "approved"), "drafts", "rejected")


def test_truncated_cursor_is_refused():
    whole = encode_cursor("019aa0c0-0000-7000-8000-000000000000", "drafts")
    for length in range(len(whole)):
        with pytest.raises(InvalidCursorError):
            decode_cursor(whole[:length], "drafts")


@given(st.text())
def test_arbitrary_text_is_refused(text):
    with pytest.raises(InvalidCursorError):
        decode_cursor(text, "drafts")
