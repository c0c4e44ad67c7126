"""Tests for comparing two versions: words of the text, rules of the checks."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.drafting.diff import diff_checks, diff_texts, edit_ratio
from copydesk.model.draft import Checks, Finding, Severity
from cost_growth import assert_linear

WORD_LISTS = st.lists(
    st.sampled_from(["a", "b", "the", "bridge", "opens.", "https://x.org/a", " ", "\n", "\n\n", "橋", "👩‍👧"])
)
TEXTS = st.text(max_size=60) | WORD_LISTS.map("".join) | WORD_LISTS.map(" ".join)


def format_difference(old: str, new: str) -> str:
    """Return the difference on one line: [-removed-] and [+added+]."""
    formats = {"same": "{}", "removed": "[-{}-]", "added": "[+{}+]"}
    return "".join(formats[piece.kind].format(piece.text) for piece in diff_texts(old, new))


@given(TEXTS, TEXTS)
def test_pieces_restore_both_versions(old, new):
    pieces = diff_texts(old, new)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == old
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == new
    assert all(piece.text for piece in pieces)
    assert all(previous.kind != following.kind for previous, following in pairwise(pieces))


@given(TEXTS, TEXTS)
def test_edit_ratio_is_between_0_and_1(old, new):
    assert 0 <= edit_ratio(old, new) <= 1
    assert edit_ratio(old, old) == 0
    assert edit_ratio("", new) == edit_ratio(new, "") == (1 if new.strip() else 0)


@given(TEXTS)
def test_equal_texts_are_one_piece(text):
    assert [piece.text for piece in diff_texts(text, text)] == ([text] if text else [])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("The bridge opens today.", "The bridge closes today.", "The bridge [-opens-][+closes+] today."),
        ("The bridge opens.", "The old bridge opens.", "The [+old +]bridge opens."),
        ("One two three four", "One two", "One two[- three four-]"),
        ("It opens. Come!", "It opens! Come!", "It opens[-.-][+!+] Come!"),
        ("Cost 40 million", "Cost 42 million", "Cost [-40-][+42+] million"),
        ("See https://a.org/x?y=1 now", "See https://a.org/x?y=2 now",
         "See [-https://a.org/x?y=1-][+https://a.org/x?y=2+] now"),
        ("First line here\nSecond line here", "First line here\n\nSecond line here",
         "First line here\n[+\n+]Second line here"),
        ("橋が開通した。", "橋が閉鎖した。", "橋が[-開通-][+閉鎖+]した。"),
        ("Family 👩‍👩‍👧 day out", "Family 👨‍👩‍👧 day out", "Family [-👩‍👩‍👧-][+👨‍👩‍👧+] day out"),
        ("नमस्ते दुनिया आज", "नमस्कार दुनिया आज", "[-नमस्ते-][+नमस्कार+] दुनिया आज"),
    ],
)  # fmt: skip
def test_words_are_compared_as_a_whole(old, new, expected):
    assert format_difference(old, new) == expected


def test_lone_word_between_changes_joins_them():
    old, new = "We quickly open the bridge for all", "We soon close the tunnel for all"
    assert format_difference(old, new) == "We [-quickly open the bridge-][+soon close the tunnel+] for all"


def test_two_words_between_changes_stay():
    old, new = "We open the bridge for all", "They open the tunnel for all"
    assert format_difference(old, new) == "[-We-][+They+] open the [-bridge-][+tunnel+] for all"


def test_unchanged_lines_stay_whole():
    """An inserted line leaves its neighbours whole even if it shares words with them."""
    old = "The bridge opens on Monday.\nThe tunnel stays closed.\n"
    new = "The bridge opens on Monday.\nThe bridge stays open on Monday.\nThe tunnel stays closed.\n"
    assert format_difference(old, new) == (
        "The bridge opens on Monday.\n[+The bridge stays open on Monday.\n+]The tunnel stays closed.\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "ratio"),
    [
        ("one two three four", "one two three five", 0.25),
        ("one two three", "one two three", 0.0),
        ("one two", "one two three four", 2 / 6),
        ("one", "two", 1.0),
        ("one  two", "one\ntwo", 0.0),
        ("", "", 0.0),
    ],
)
def test_edit_ratio_is_share_of_changed_words(old, new, ratio):
    assert edit_ratio(old, new) == pytest.approx(ratio)


def make_words(count: int, kinds: int, start: int = 0) -> list[str]:
    """Return words that repeat after `kinds` of them, alternating with unique ones."""
    return [f"w{start + n}" if n % 2 else f"k{n % kinds}" for n in range(count)]


def nested_text(count: int, start: int) -> str:
    """Return a text where each unique word is found only after splitting at the previous one."""
    rows = (f"{start + n} a{n + 1} {start - n} a{n}" for n in range(count))
    return "u " + " ".join(rows)


LONG_TEXTS = {
    "every other word is another": lambda size: (
        " ".join(make_words(size // 5, 9_000)),
        " ".join(make_words(size // 5, 9_000, 20_000)),
    ),
    "few words come again and again": lambda size: (
        " ".join(make_words(size // 5, 40)),
        " ".join(make_words(size // 5, 40, 20_000)),
    ),
    "one word": lambda size: ("a " * (size // 2), "b " + "a " * (size // 2 - 10) + "c"),
    "one letter a line": lambda size: ("a\n" * (size // 2), "b\n" + "a\n" * (size // 2 - 10) + "c"),
    "no space": lambda size: ("x" * size, "y" * size),
    "nothing but marks": lambda size: ("-." * (size // 2), "-." * (size // 2 - 1) + "!"),
    "turned round": lambda size: (" ".join(make_words(size // 5, 9_000)), " ".join(make_words(size // 5, 9_000)[::-1])),
    "made to be divided without end": lambda size: (nested_text(size // 22, 10_000), nested_text(size // 22, 20_000)),
}


@pytest.mark.parametrize("make_versions", LONG_TEXTS.values(), ids=LONG_TEXTS)
def test_long_texts_take_linear_time(make_versions):
    assert_linear(make_versions, lambda versions: diff_texts(*versions), 50_000)


@pytest.mark.parametrize("make_versions", LONG_TEXTS.values(), ids=LONG_TEXTS)
def test_long_texts_lose_nothing(make_versions):
    old, new = make_versions(50_000)
    pieces = diff_texts(old, new)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == old
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == new


def test_few_changes_in_long_text_are_found_exactly():
    before = make_words(6_000, 40)
    after = [("changed" if n % 1_000 == 500 else word) for n, word in enumerate(before)]
    assert edit_ratio(" ".join(before), " ".join(after)) == pytest.approx(6 / 6_000)


def make_checks(*rules: tuple[str, str]) -> Checks:
    findings = [
        Finding(rule=rule, severity=Severity(severity), message=f"{rule} {severity}") for rule, severity in rules
    ]
    return Checks(ran=10, findings=tuple(findings))


def change_messages(old: Checks, new: Checks) -> tuple[list[str], list[str]]:
    better, worse = diff_checks(old, new)
    return [finding.message for finding in better], [finding.message for finding in worse]


def test_fixed_rules_are_better_and_new_ones_worse():
    old = make_checks(("length", "error"), ("hashtags", "warning"), ("emoji", "warning"))
    new = make_checks(("hashtags", "warning"), ("numbers", "error"))
    assert change_messages(old, new) == (["length error", "emoji warning"], ["numbers error"])


def test_lower_severity_is_better():
    assert change_messages(make_checks(("length", "error")), make_checks(("length", "warning"))) == (
        ["length error"],
        [],
    )
    assert change_messages(make_checks(("length", "info")), make_checks(("length", "error"))) == ([], ["length error"])


def test_rule_is_reported_once_by_worst_finding():
    many = make_checks(("avoid", "warning"), ("avoid", "error"), ("avoid", "error"))
    assert change_messages(many, make_checks()) == (["avoid error"], [])
    assert change_messages(many, make_checks(("avoid", "error"))) == ([], [])
