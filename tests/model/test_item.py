"""Tests for items, the digests that detect their changes, and the names of their sources."""

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console_driver import make_item
from copydesk.model.item import digest


@given(st.binary(max_size=40), st.integers(0, 400))
def test_digest_covers_whole_body(piece: bytes, times: int) -> None:
    assert digest(piece * times) == blake2b(piece * times, digest_size=16).digest()


@pytest.mark.parametrize(
    ("name", "title", "renamed"),
    [
        ("The Quay", "The Quay – News", True),
        ("The Quay – News", "The Quay – News", False),
        # As it is named without a name of the user's.
        ("The Quay", "The Quay – ", False),
        ("the quay  news", "The Quay\nNews", False),
        ("The Quay", None, False),
    ],
)
def test_source_is_renamed_if_its_name_is_not_its_title(name: str, title: str | None, renamed: bool) -> None:
    assert replace(make_item(), source_name=name, source_title=title).is_source_renamed is renamed
