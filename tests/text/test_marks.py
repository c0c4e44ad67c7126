"""Where marks are looked for, and where there are none to look for."""

import sys

import regex

from copydesk.text import clean_lines


def test_marks_are_cut_down_wherever_unicode_has_them() -> None:
    """Each is put on a letter four times: the quick look before the tables must not pass over a single one."""
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    marks = regex.findall(r"\p{Mn}", every)
    assert len(marks) > 1900
    left = [mark for mark in marks if len(clean_lines("a" + mark * 4)) == 5]
    assert left == []
