"""A description is suggested where somebody wrote one, and asked for where nobody did."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.pictures.alt import LONGEST, Origin, Suggestion, suggest_alt

URL = "https://pictures.example/2026/River%20quay.jpg?w=1200"


def test_what_the_page_says_of_its_picture_comes_first():
    found = suggest_alt(URL, page_alt="Two cranes over the\nriver ", caption="The quay")

    assert found == Suggestion(alt="Two cranes over the river", origin=Origin.PAGE)
    assert not found.asked_for


def test_then_its_caption():
    assert suggest_alt(URL, caption="The <b>quay</b> at noon") == Suggestion(
        alt="The quay at noon", origin=Origin.CAPTION
    )


@pytest.mark.parametrize(
    "nothing",
    [
        None, "", "  \n", "River quay.jpg", "River quay", "river QUAY", "image", "Featured Image", "IMG_2034.JPG",
        "IMG_2034", "12345", "og-image", "logo", "The Title of It", "\u200b", "<img src=x>", "dsc.0001.png",
    ],
)  # fmt: skip
def test_what_tells_nothing_is_no_description_and_the_user_is_asked(nothing):
    found = suggest_alt(URL, page_alt=nothing, caption=nothing, title="The title of it")

    assert found == Suggestion()
    assert found.asked_for


def test_what_everybody_knows_is_left_out():
    assert suggest_alt(URL, page_alt="A picture of a crane at work").alt == "A crane at work"


def test_a_long_one_ends_at_a_word():
    found = suggest_alt(URL, page_alt="crane " * 1_000).alt

    assert found.endswith("crane…")
    assert len(found) <= LONGEST + 1


@given(st.text(), st.text(), st.text())
def test_whatever_comes_in_one_line_of_it_or_nothing_comes_out(url, alt, title):
    found = suggest_alt(url, page_alt=alt, title=title)

    assert found.asked_for == (found.alt == "")
    assert "\n" not in found.alt
    assert "\x1b" not in found.alt
