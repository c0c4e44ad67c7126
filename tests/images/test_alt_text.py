"""Tests for suggesting an alt text from the page's description of its image."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.images.alt_text import MAX_LENGTH, suggest_alt

URL = "https://pictures.example/2026/River%20quay.jpg?w=1200"


def test_page_description_becomes_one_line():
    assert suggest_alt(URL, "Two <b>cranes</b> over the\nriver ") == "Two cranes over the river"


@pytest.mark.parametrize(
    "description",
    [
        None, "", "  \n", "River quay.jpg", "River quay", "river QUAY", "image", "Featured Image", "IMG_2034.JPG",
        "IMG_2034", "12345", "og-image", "logo", "The Title of It", "\u200b", "<img src=x>", "dsc.0001.png",
    ],
)  # fmt: skip
def test_meaningless_description_is_ignored(description):
    assert suggest_alt(URL, description, title="The title of it") is None


def test_redundant_prefix_is_removed():
    assert suggest_alt(URL, "A picture of a crane at work") == "A crane at work"


def test_long_description_ends_at_a_word():
    suggestion = suggest_alt(URL, "crane " * 1_000)

    assert suggestion.endswith("crane…")
    assert len(suggestion) <= MAX_LENGTH + 1


@given(st.text(), st.text(), st.text())
def test_suggestion_is_one_line_or_none(url, alt, title):
    suggestion = suggest_alt(url, alt, title=title)

    assert suggestion is None or suggestion.strip()
    assert "\n" not in (suggestion or "")
    assert "\x1b" not in (suggestion or "")
