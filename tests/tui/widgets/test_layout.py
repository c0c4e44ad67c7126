"""Tests for laying out paragraphs and tables in a given width."""

from hypothesis import given, settings
from hypothesis import strategies as st
from textual.content import Content

from copydesk.tui.layout import Block, Facts, OneLine, Paragraph, Table, facts, lay_out_blocks, paragraph, progress_bar
from sampling import sample_size

CELL_TEXT = st.text(alphabet="abc 日é\n", max_size=60)


def render(blocks: list[Block], width: int) -> list[str]:
    return [line.plain for line in lay_out_blocks(blocks, width)]


def test_paragraph_wraps_at_words() -> None:
    assert render([paragraph("one two three")], 8) == ["one two", "three"]


def test_line_breaks_are_preserved() -> None:
    assert render([paragraph("one\n\ntwo")], 20) == ["one", "", "two"]


def test_indent_applies_to_all_lines() -> None:
    assert render([Paragraph(Content("one two"), indent=2)], 6) == ["  one", "  two"]


def test_line_of_facts_ends_between_two_of_them() -> None:
    block = facts(["143 clicks", "9 likes", "", "not one word of this fits into a line"])
    assert render([block], 20) == ["143 clicks · 9 likes", "not one word of this", "fits into a line"]
    assert render([Facts([Content("one"), Content("two")], indent=2)], 8) == ["  one", "  two"]
    assert render([facts([])], 8) == []


def test_one_line_is_the_longest_that_fits() -> None:
    line = OneLine([Content("9 posts, Europe/Prague"), Content("Europe/Prague")])
    assert render([line], 22) == ["9 posts, Europe/Prague"]
    assert render([line], 21) == ["Europe/Prague"]
    assert render([line], 8) == ["Europe/…"]


def test_last_column_wraps_within_itself() -> None:
    rows = [
        (Content("recency"), Content("0.2"), Content("new and fresh words")),
        (Content("x"), Content("12.3"), Content("")),
    ]
    assert render([Table(rows, right_aligned=frozenset({1}))], 28) == [
        "recency   0.2  new and fresh",
        "               words",
        "x        12.3  ",
    ]


def test_wide_columns_shrink_for_last_one() -> None:
    rows = [(Content("a very long name indeed"), Content("the reason why"))]
    assert render([Table(rows)], 24) == ["a very lo…  the reason", "            why"]


def test_empty_table_has_no_lines() -> None:
    assert render([Table([])], 10) == []


@settings(max_examples=sample_size(60), derandomize=True)
@given(st.lists(st.tuples(CELL_TEXT, CELL_TEXT), max_size=4), st.integers(20, 60))
def test_layout_fits_width(rows: list[tuple[str, str]], width: int) -> None:
    blocks = [
        Table([(Content(left.replace("\n", " ")), Content(right)) for left, right in rows]),
        paragraph("".join(map("".join, rows))),
    ]
    assert all(line.cell_length <= width for line in lay_out_blocks(blocks, width))


def test_bar_has_requested_width() -> None:
    assert [progress_bar(share, 4) for share in (-1, 0, 0.5, 1, 7)] == [
        ("", "╌╌╌╌"),
        ("", "╌╌╌╌"),
        ("━━", "╌╌"),
        ("━━━━", ""),
        ("━━━━", ""),
    ]
