"""Tests of the claims of a draft: spans, evidence, verdicts, and texts that state nothing."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.drafting.claims.find_claims import find_claims
from copydesk.drafting.claims.source_index import Material
from copydesk.model.draft import Claim, ClaimVerdict, Field
from cost_growth import assert_linear

SUPPORTED, CONTRADICTS, CANNOT_TELL = ClaimVerdict.SUPPORTED, ClaimVerdict.CONTRADICTS, ClaimVerdict.CANNOT_TELL
TEXT = (
    "The library in Lyon lends 1,200 tools. It opened on 4 May and did not receive a grant. "
    'The city pays the rent until 2028. "We lend what people use once a year," said its founder, Ana Ruiz. '
    "Mayor Paul Petit may close it. Its bill rose from 900 to 1,100 euros."
)
MATERIALS = (Material(Field.TITLE, "A library of tools"), Material(Field.TEXT, TEXT))


def judge(sentence: str, *names: str) -> Claim:
    (claim,) = find_claims(sentence, MATERIALS, names)
    return claim


def test_claim_has_its_span_and_that_of_the_source() -> None:
    text = "New in Lyon:\n\nThe library lends 1,200 tools."
    claim = find_claims(text, MATERIALS)[-1]
    assert text[claim.start : claim.end] == "The library lends 1,200 tools."
    assert claim.source is not None
    assert claim.source.field is Field.TEXT
    assert TEXT[claim.source.start : claim.source.end] == claim.source.text == "The library in Lyon lends 1,200 tools."


def test_second_of_two_opposite_verbs_is_judged_by_its_object() -> None:
    source = (Material(Field.TEXT, "The mayor closed the bridge in May and opened the tunnel in June."),)
    (right,) = find_claims("The mayor opened the tunnel in June.", source, ())
    (wrong,) = find_claims("The mayor opened the bridge in May.", source, ())
    assert (right.verdict, wrong.verdict) == (SUPPORTED, CONTRADICTS)


@pytest.mark.parametrize("credit", [" — Lyon Herald", " (Lyon Herald)", " — Ana Ruiz, Lyon Herald"])
def test_credit_behind_a_sentence_is_no_part_of_it(credit: str) -> None:
    sentence = "The library in Lyon lends 1,200 tools"
    claim = judge(sentence + credit, "Lyon Herald", "Ana Ruiz")
    assert (claim.verdict, claim.end) == (SUPPORTED, len(sentence))


@pytest.mark.parametrize("credit", ["Lyon Herald: ", "Ana Ruiz, Lyon Herald: "])
def test_credit_before_a_sentence_is_no_part_of_it(credit: str) -> None:
    sentence = "The library in Lyon lends 1,200 tools."
    for quoted in (sentence, f"“{sentence}”"):
        claim = judge(credit + quoted, "Lyon Herald", "Ana Ruiz")
        assert (claim.verdict, claim.start) == (SUPPORTED, len(credit))


@pytest.mark.parametrize("rest", [" — Paris Herald", " — says Lyon Herald's rival", " (Lyon Herald closes)"])
def test_more_than_a_credit_stays_part_of_the_sentence(rest: str) -> None:
    text = "The library in Lyon lends 1,200 tools" + rest
    assert find_claims(text, MATERIALS, ("Lyon Herald",))[-1].end == len(text)


def test_evidence_names_the_item_it_is_from() -> None:
    other = Material(Field.TEXT, "The market in Nice closes at noon.", item_id="other")
    (claim,) = find_claims("The market in Nice closes at noon.", (*MATERIALS, other))
    assert claim.source is not None
    assert claim.source.item_id == "other"


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("The city pays the rent until 2028.", SUPPORTED),
        ("The city pays the rent until 2026.", CONTRADICTS),
        ("It did not receive a grant.", SUPPORTED),
        ("It received a grant.", CONTRADICTS),
        ("It opened on 4 May.", SUPPORTED),
        ("It closed on 4 May.", CONTRADICTS),
        ("Its bill rose from 900 to 1,100 euros.", SUPPORTED),
        ("Its bill fell from 1,100 to 900 euros.", CONTRADICTS),
        ("Its bill rose from 900 to 1,100 dollars.", CONTRADICTS),
        ("“We lend what people use once a year,” said Ana Ruiz.", SUPPORTED),
        ("“We lend what people use once a year,” said Paul Petit.", CONTRADICTS),
        ("“We sell what people use once a year,” said Ana Ruiz.", CONTRADICTS),
        ("Founder Paul Petit may close it.", CONTRADICTS),
        ("Mayor Ana Petit may close it.", CONTRADICTS),
    ],
)
def test_meaning_is_compared(sentence: str, verdict: ClaimVerdict) -> None:
    assert judge(sentence).verdict is verdict


@pytest.mark.parametrize(("verb", "verdict"), [("fell", SUPPORTED), ("rose", CONTRADICTS)])
def test_word_that_the_source_repeats_is_compared_among_the_same_neighbours(verb: str, verdict: ClaimVerdict) -> None:
    source = Material(Field.TEXT, "Ferry fares rose in spring, while train fares fell in autumn.")
    (claim,) = find_claims(f"Train fares {verb} in autumn.", (source,))
    assert claim.verdict is verdict


@pytest.mark.parametrize(
    ("spelled", "number"),
    [
        ("twenty-five", 25),
        ("twenty-one", 21),
        ("two hundred", 200),
        ("three dozen", 36),
        ("half a dozen", 6),
        ("fifteen hundred", 1500),
        ("two hundred and fifty-six", 256),
        ("three hundred thousand", 300_000),
    ],
)
def test_spelled_number_is_the_same_in_digits(spelled: str, number: int) -> None:
    materials = (Material(Field.TEXT, f"The new library in Lyon lends {number:,} tools."),)
    (claim,) = find_claims(f"The new library in Lyon lends {spelled} tools.", materials)
    assert claim.verdict is SUPPORTED


@pytest.mark.parametrize(
    ("source", "draft", "verdict"),
    [
        ("102 tools", "two hundred tools", CONTRADICTS),  # the sum of the words
        ("a bonus of -5 euros", "a bonus of 5 euros", CANNOT_TELL),
        ("a bonus of −$5", "a bonus of $5", CANNOT_TELL),
        ("tools of the 19th century", "tools of the 18th century", CANNOT_TELL),
        ("tools until 10pm", "tools until 11pm", CONTRADICTS),
        ("tools for 3-5 days", "tools for 3-5 days", SUPPORTED),
        ("tools until 14:30", "tools until 2:30 pm", SUPPORTED),
        ("tools until 8 p.m.", "tools until 20:00", SUPPORTED),
        ("tools until 2:30 pm", "tools until 2:30", SUPPORTED),
        ("tools until 22:00", "tools until 20:00", CONTRADICTS),
        ("tools until 8am", "tools until 8pm", CONTRADICTS),
        ("tools until 08:00", "tools until 8 am", SUPPORTED),
        ("tools until 08:00", "tools until 8 pm", CONTRADICTS),
        ("tools until 00:30", "tools until 12:30 pm", CONTRADICTS),
        ("tools until 9.30pm", "tools until 21:30", SUPPORTED),
        ("tools until 9.30pm", "tools until 9.40pm", CONTRADICTS),
        ("tools until 10:30", "tools until 10", CANNOT_TELL),
        ("fewer than 500 tools", "500 tools", CANNOT_TELL),
        ("more than 500 tools", "500 tools", CANNOT_TELL),
        ("more than 500 tools", "over 500 tools", SUPPORTED),
        ("more than 500 tools", "under 500 tools", CONTRADICTS),
        ("tools to the 1,000th reader", "tools to 1 reader", CANNOT_TELL),
        ("at least 500 tools", "500 tools", CANNOT_TELL),
        ("at least 500 tools", "at least 500 tools", SUPPORTED),
    ],
)
def test_numbers_are_compared_whole(source: str, draft: str, verdict: ClaimVerdict) -> None:
    materials = (Material(Field.TEXT, f"The new library in Lyon lends {source}."),)
    (claim,) = find_claims(f"The new library in Lyon lends {draft}.", materials)
    assert claim.verdict is verdict


def test_german_am_is_no_half_of_the_day() -> None:
    materials = (Material(Field.TEXT, "Die Bibliothek in Lyon hat 12 am Montag an die Schule in der Stadt verliehen."),)
    (claim,) = find_claims("Die Bibliothek hat 13 am Montag an die Schule verliehen.", materials)
    assert claim.verdict is CONTRADICTS


def test_sentence_whose_language_is_mistaken_does_not_contradict_its_own_words() -> None:
    text = (
        "El músico murió el lunes en Sevilla, según anunció su familia. Estuvo cuatro días en cuidados intensivos."
        " Deja tres hijos y una larga carrera en los teatros de toda la ciudad."
    )
    (claim,) = find_claims("Estuvo cuatro días en cuidados intensivos allí.", (Material(Field.TEXT, text),))
    assert claim.verdict is not CONTRADICTS


@pytest.mark.parametrize(
    "sentence",
    [
        "Mayor Paul Petit will close it.",  # the source says "may"
        "People in Lyon love the tools of the library.",
        "Borrowing a drill there is easy.",
    ],
)
def test_what_the_source_does_not_say_cannot_be_told(sentence: str) -> None:
    assert judge(sentence).verdict is CANNOT_TELL


def test_sentence_about_nothing_in_the_source_has_no_evidence() -> None:
    claim = judge("Scientists discovered seventeen moons around Saturn yesterday.")
    assert claim.verdict is CANNOT_TELL
    assert claim.source is None
    assert "Scientists" in claim.reason


def test_reason_quotes_the_source() -> None:
    assert judge("Its bill rose from 900 to 1,300 euros.").reason == "The source says “1,100 euros”, not “1,300 euros”."


@pytest.mark.parametrize("text", ["", "Worth a read.", "Would you borrow a drill?", "Via River News, by Jane Doe:"])
def test_text_that_states_nothing_has_no_claims(text: str) -> None:
    assert find_claims(text, MATERIALS, ("River News", "Jane Doe")) == ()


def test_quotation_of_several_sentences_is_one_claim() -> None:
    text = "“The library in Lyon lends 1,200 tools. It opened on 4 May and did not receive a grant.” — River News"
    assert judge(text, "River News").verdict is SUPPORTED


def test_other_language_is_only_compared_in_numbers() -> None:
    assert judge("Die Stadt zahlt die Miete der Bibliothek in Lyon noch bis 2028.").verdict is CANNOT_TELL


def test_verbatim_sentence_of_any_language_is_supported() -> None:
    sentence = "図書館は千二百の道具を貸し出す。"
    (claim,) = find_claims(sentence, (Material(Field.TEXT, f"{sentence}市が家賃を払う。"),))
    assert claim.verdict is SUPPORTED


def test_sentence_of_the_same_two_words_takes_linear_time() -> None:
    def make_input(size: int) -> tuple[str, tuple[Material, ...]]:
        rng = random.Random(1)
        first, *others = (f"Zu {' '.join(rng.choices(['zu', 'ka'], k=size // 3))}." for _ in range(5))
        return first, (Material(Field.TEXT, " ".join(others)),)

    assert_linear(make_input, lambda arguments: find_claims(*arguments), 640)


def test_backslashes_in_a_name_take_linear_time() -> None:
    def make_input(size: int) -> tuple[str, tuple[str, ...]]:
        row = "\\" * size
        return f"Via {row}Salt.", (f"{row}Marl",)

    assert_linear(make_input, lambda arguments: find_claims(arguments[0], MATERIALS, arguments[1]), 160)


@pytest.mark.parametrize("credit", [r"¯\_(ツ)_/¯ Lyon", r"¯\\\_(ツ)\_/¯ Lyon"])
def test_name_with_a_backslash_is_credited(credit: str) -> None:
    sentence = "The library in Lyon lends 1,200 tools"
    claim = judge(f"{sentence} — {credit}", r"¯\_(ツ)_/¯ Lyon")
    assert (claim.verdict, claim.end) == (SUPPORTED, len(sentence))


def test_spaces_in_a_credit_take_linear_time() -> None:
    assert_linear(
        lambda size: f"The library lends tools — {' ' * size}— x",
        lambda text: find_claims(text, MATERIALS, ("Lyon Herald",)),
        16_000,
    )


def test_without_source_there_are_no_claims() -> None:
    assert find_claims("The library lends tools.", ()) == ()


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_has_ordered_claims_within_it(draft: str, source: str) -> None:
    claims = find_claims(draft, (Material(Field.TEXT, source),))
    ends = [0, *(claim.end for claim in claims)]
    for previous, claim in zip(ends, claims, strict=False):
        assert previous <= claim.start < claim.end <= len(draft)
        if claim.source:
            assert source[claim.source.start : claim.source.end] == claim.source.text


@given(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)))
def test_excerpt_of_the_source_never_contradicts_it_in_numbers(first: int, last: int) -> None:
    excerpt = TEXT[min(first, last) : max(first, last)]
    assert all("euros" not in claim.reason for claim in find_claims(excerpt.rsplit(" ", 1)[0], MATERIALS))
