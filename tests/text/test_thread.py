"""Tests for storing the parts of a thread as one text."""

import pytest

from copydesk.text.thread import join_parts, split_parts


def test_joined_parts_split_back() -> None:
    parts = ["One\n\ntwo", "three -- four", "five\n--- six"]
    assert join_parts(parts) == "One\n\ntwo\n\n---\n\nthree -- four\n\n---\n\nfive\n--- six"
    assert split_parts(join_parts(parts)) == parts


@pytest.mark.parametrize("text", ["a\n---\nb", "a\n\n---\n\nb", "---\na\n ---  \n\n---\nb\n---", "a\n\n---\n---\n\nb"])
def test_separator_spacing_does_not_matter(text: str) -> None:
    assert split_parts(text) == ["a", "b"]
