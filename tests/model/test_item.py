"""Tests for items and the digests that detect their changes."""

from hashlib import blake2b

from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.item import digest


@given(st.binary(max_size=40), st.integers(0, 400))
def test_digest_covers_whole_body(piece: bytes, times: int) -> None:
    assert digest(piece * times) == blake2b(piece * times, digest_size=16).digest()
