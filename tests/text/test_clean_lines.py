"""Tests for the limit on combining marks."""

import sys

import regex

from copydesk.text import clean_lines


def test_combining_marks_are_limited() -> None:
    """Each is put on a letter four times: the fast check before the tables must not miss a single one."""
    all_characters = "".join(map(chr, range(sys.maxunicode + 1)))
    marks = regex.findall(r"[\p{Mn}\p{Me}]", all_characters)
    assert len(marks) > 1900
    left = [mark for mark in marks if len(clean_lines("a" + mark * 4)) == 5]
    assert left == []
