"""A description is suggested where somebody wrote one, and asked for where nobody did."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.pictures.alt import LONGEST, suggest_alt

URL = "https://pictures.example/2026/River%20quay.jpg?w=1200"


def test_what_the_page_says_of_its_picture_is_taken_on_one_line():
    assert suggest_alt(URL, "Two <b>cranes</b> over the\nriver ") == "Two cranes over the river"


@pytest.mark.parametrize(
    "nothing",
    [
        None, "", "  \n", "River quay.jpg", "River quay", "river QUAY", "image", "Featured Image", "IMG_2034.JPG",
        "IMG_2034", "12345", "og-image", "logo", "The Title of It", "\u200b", "<img src=x>", "dsc.0001.png",
    ],
)  # fmt: skip
def test_what_tells_nothing_is_no_description(nothing):
    assert suggest_alt(URL, nothing, title="The title of it") is None


def test_what_everybody_knows_is_left_out():
    assert suggest_alt(URL, "A picture of a crane at work") == "A crane at work"


def test_a_long_one_ends_at_a_word():
    found = suggest_alt(URL, "crane " * 1_000)

    assert found.endswith("crane…")
    assert len(found) <= LONGEST + 1


@given(st.text(), st.text(), st.text())
def test_whatever_comes_in_one_line_of_it_or_nothing_comes_out(url, alt, title):
    found = suggest_alt(url, alt, title=title)

    assert found is None or found.strip()
    assert "\n" not in (found or "")
    assert "\x1b" not in (found or "")
