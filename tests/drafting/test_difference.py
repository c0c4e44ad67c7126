"""What changed between two versions: words in the text, rules in the checks."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.drafting.difference import checks_changed, difference, edit_ratio
from copydesk.model.draft import Checks, Finding, Severity
from growth import assert_in_proportion

WORDS = st.lists(
    st.sampled_from(["a", "b", "the", "bridge", "opens.", "https://x.org/a", " ", "\n", "\n\n", "橋", "👩‍👧"])
)
TEXTS = st.text(max_size=60) | WORDS.map("".join) | WORDS.map(" ".join)


def told(old: str, new: str) -> str:
    """The difference on one line: [-removed-] and [+added+]."""
    shown = {"same": "{}", "removed": "[-{}-]", "added": "[+{}+]"}
    return "".join(shown[piece.kind].format(piece.text) for piece in difference(old, new))


@given(TEXTS, TEXTS)
def test_the_pieces_make_both_versions_again(old, new):
    pieces = difference(old, new)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == old
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == new
    assert all(piece.text for piece in pieces)
    assert all(one.kind != other.kind for one, other in pairwise(pieces))


@given(TEXTS, TEXTS)
def test_the_share_of_words_changed_is_0_to_1_and_the_same_both_ways_round_for_a_text_and_none(old, new):
    assert 0 <= edit_ratio(old, new) <= 1
    assert edit_ratio(old, old) == 0
    assert edit_ratio("", new) == edit_ratio(new, "") == (1 if new.strip() else 0)


@given(TEXTS)
def test_a_text_is_one_piece_beside_itself(text):
    assert [piece.text for piece in difference(text, text)] == ([text] if text else [])


@pytest.mark.parametrize(
    ("old", "new", "shown"),
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
def test_words_are_told_apart_whole(old, new, shown):
    assert told(old, new) == shown


def test_a_lone_word_between_two_changes_belongs_to_them():
    old, new = "We quickly open the bridge for all", "We soon close the tunnel for all"
    assert told(old, new) == "We [-quickly open the bridge-][+soon close the tunnel+] for all"


def test_two_words_between_changes_stand_for_themselves():
    old, new = "We open the bridge for all", "They open the tunnel for all"
    assert told(old, new) == "[-We-][+They+] open the [-bridge-][+tunnel+] for all"


def test_lines_that_stay_are_not_torn_apart():
    """A line that comes in between leaves the lines around it whole, though they share words with it."""
    old = "The bridge opens on Monday.\nThe tunnel stays closed.\n"
    new = "The bridge opens on Monday.\nThe bridge stays open on Monday.\nThe tunnel stays closed.\n"
    assert told(old, new) == (
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
def test_the_share_of_words_changed(old, new, ratio):
    assert edit_ratio(old, new) == pytest.approx(ratio)


def words(count: int, kinds: int, start: int = 0) -> list[str]:
    """Words that come again after `kinds` of them, with some of their own in between."""
    return [f"w{start + n}" if n % 2 else f"k{n % kinds}" for n in range(count)]


def nested(count: int, start: int) -> str:
    """Each word that stands once is found only when the text has been divided at the one before."""
    rows = (f"{start + n} a{n + 1} {start - n} a{n}" for n in range(count))
    return "u " + " ".join(rows)


LONG = {
    "every other word is another": lambda size: (
        " ".join(words(size // 5, 9_000)),
        " ".join(words(size // 5, 9_000, 20_000)),
    ),
    "few words come again and again": lambda size: (
        " ".join(words(size // 5, 40)),
        " ".join(words(size // 5, 40, 20_000)),
    ),
    "one word": lambda size: ("a " * (size // 2), "b " + "a " * (size // 2 - 10) + "c"),
    "one letter a line": lambda size: ("a\n" * (size // 2), "b\n" + "a\n" * (size // 2 - 10) + "c"),
    "no space": lambda size: ("x" * size, "y" * size),
    "nothing but marks": lambda size: ("-." * (size // 2), "-." * (size // 2 - 1) + "!"),
    "turned round": lambda size: (" ".join(words(size // 5, 9_000)), " ".join(words(size // 5, 9_000)[::-1])),
    "made to be divided without end": lambda size: (nested(size // 22, 10_000), nested(size // 22, 20_000)),
}


@pytest.mark.parametrize("made", LONG.values(), ids=LONG)
def test_the_longest_texts_take_time_in_proportion_to_their_length(made):
    assert_in_proportion(made, lambda both: difference(*both), 50_000)


@pytest.mark.parametrize("made", LONG.values(), ids=LONG)
def test_nothing_of_the_longest_texts_is_lost(made):
    old, new = made(50_000)
    pieces = difference(old, new)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == old
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == new


def test_a_few_words_changed_in_a_long_text_are_found_exactly():
    before = words(6_000, 40)
    after = [("changed" if n % 1_000 == 500 else word) for n, word in enumerate(before)]
    assert edit_ratio(" ".join(before), " ".join(after)) == pytest.approx(6 / 6_000)


def checks(*found: tuple[str, str]) -> Checks:
    findings = [
        Finding(rule=rule, severity=Severity(severity), message=f"{rule} {severity}") for rule, severity in found
    ]
    return Checks(ran=10, findings=tuple(findings))


def changed(old: Checks, new: Checks) -> tuple[list[str], list[str]]:
    better, worse = checks_changed(old, new)
    return [finding.message for finding in better], [finding.message for finding in worse]


def test_rules_that_stop_failing_are_better_and_those_that_begin_are_worse():
    old = checks(("length", "error"), ("hashtags", "warning"), ("emoji", "warning"))
    new = checks(("hashtags", "warning"), ("numbers", "error"))
    assert changed(old, new) == (["length error", "emoji warning"], ["numbers error"])


def test_a_rule_that_fails_less_badly_is_better():
    assert changed(checks(("length", "error")), checks(("length", "warning"))) == (["length error"], [])
    assert changed(checks(("length", "info")), checks(("length", "error"))) == ([], ["length error"])


def test_each_rule_is_told_once_by_its_worst_finding():
    many = checks(("avoid", "warning"), ("avoid", "error"), ("avoid", "error"))
    assert changed(many, checks()) == (["avoid error"], [])
    assert changed(many, checks(("avoid", "error"))) == ([], [])
